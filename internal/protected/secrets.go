package protected

import (
	"path"
	"slices"
	"strings"
)

// HoldsSecrets reports whether a file of this name usually holds a secret.
func HoldsSecrets(base string) bool {
	base = strings.ToLower(base)
	if rest, ok := strings.CutPrefix(base, ".env"); ok && (rest == "" || rest[0] == '.') {
		return !slices.Contains([]string{".example", ".sample", ".template", ".dist"}, path.Ext(rest))
	}
	for _, pattern := range []string{
		"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
		".htpasswd", ".pgpass", ".my.cnf", "credentials.json", "service-account*.json", "*.ovpn",
	} {
		if ok, _ := path.Match(pattern, base); ok { // the patterns are valid
			return true
		}
	}
	return false
}
