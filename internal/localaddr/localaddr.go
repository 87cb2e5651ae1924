// Package localaddr finds the addresses of servers on this machine in a command. The
// gate asks about what it finds, and the shell opens exactly that.
package localaddr

import (
	"net"
	"regexp"
	"strconv"
	"strings"
)

// address matches a host that is this machine by its name or number, with the scheme
// and the user before it and the port after it, if there are any.
var address = regexp.MustCompile(`(?i)(?:([a-z][a-z0-9+.-]*)://(?:[^\s/@"'<>]*@)?)?` +
	`(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]|0\.0\.0\.0)(?::(\d{1,5}))?`)

// usual are the ports of addresses without one.
var usual = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}

// Find returns HOST:PORT of the servers on this machine that a text names, each once,
// in their order: localhost, an address of 127.0.0.0/8, [::1] or 0.0.0.0, with a port or
// with a scheme that has a usual one. It does not know which programs connect there.
func Find(text string) []string {
	var found []string
	seen := make(map[string]bool)
	for _, m := range address.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return strings.ToLower(text[m[2*n]:m[2*n+1]])
		}
		host, port := strings.Trim(group(2), "[]"), group(3)
		if port == "" {
			port = usual[group(1)]
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || inWord(text, m[0], m[1]) || net.ParseIP(host) == nil && host != "localhost" {
			continue
		}
		if target := net.JoinHostPort(host, strconv.FormatUint(n, 10)); !seen[target] {
			seen[target] = true
			found = append(found, target)
		}
	}
	return found
}

// inWord reports whether text[from:to] is a part of a longer name or number.
func inWord(text string, from, to int) bool {
	part := func(b byte) bool {
		return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-'
	}
	if from > 0 && (part(text[from-1]) || text[from-1] == '.') {
		return true
	}
	rest := text[to:]
	return rest != "" && part(rest[0]) || len(rest) > 1 && rest[0] == '.' && part(rest[1])
}

// Port returns the port of a target that Find returned.
func Port(target string) int {
	_, port, err := net.SplitHostPort(target)
	n, err2 := strconv.Atoi(port)
	if err != nil || err2 != nil {
		return 0
	}
	return n
}
