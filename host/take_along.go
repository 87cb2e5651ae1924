package host

import (
	"path"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/protected"
)

// StaysAtHome returns a function that says why a name in the workspace dir, and
// everything below it, is not taken along to another machine, nor brought from one, or
// "": what the program keeps for itself, what programs take orders from, and what
// usually holds secrets. A repository can be cloned, and settings are the person's.
func (e Env) StaysAtHome(cfg *config.Config, dir string) func(name string) string {
	own := e.Own(cfg, dir)
	return func(name string) string {
		switch r, _ := protected.Find(name); {
		case own(name):
			return "OpenManus keeps its own configuration or data there"
		case r.Protected:
			return "it stays on its machine: " + r.Reason
		case holdsSecrets(path.Base(name)):
			return "files of this name usually hold secrets"
		}
		return ""
	}
}

// StaysAtHome is [Env.StaysAtHome] with the host's configuration.
func (h *Host) StaysAtHome(dir string) func(name string) string {
	return h.Env.StaysAtHome(h.Config, dir)
}

// holdsSecrets reports whether a file of this name usually holds a secret.
func holdsSecrets(base string) bool {
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
