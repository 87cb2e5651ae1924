package gate

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// CheckHost returns an error if a rule denies host, or asks about it. It is for
// the place where a request is made, which may lead to other hosts than those
// that the call's arguments name: by redirects, links, and the parts of a page.
// host is a name or an address, without a port. named reports whether the call
// names this host: then [Gate.Rule] has ruled on it, the question of a rule that
// asks was answered, and only rules that deny are left. The text of the error is
// a clause that names the rule.
func (g *Gate) CheckHost(host string, named bool) error {
	about := func(rules []rule) int {
		return slices.IndexFunc(rules, func(r rule) bool { return r.kind == "host" && r.fitsHost(canonical(host)) })
	}
	if i := about(g.deny); i >= 0 {
		return fmt.Errorf("the rule %q denies it", "deny "+g.deny[i].text)
	}
	if i := about(g.ask); i >= 0 && !named {
		return fmt.Errorf("the rule %q asks the person about it, who cannot be asked in the middle of a request: "+
			"request an address of %s itself, then the person is asked", "ask "+g.ask[i].text, host)
	}
	return nil
}

// canonical returns the host that the most lenient of programs would connect to,
// so that no spelling of a host gets past a rule: names in lower case, in ASCII
// and without a final dot, addresses in their usual form. It returns what it
// cannot read in lower case.
func canonical(name string) string {
	name = strings.TrimSpace(strings.ToLower(name))
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Unmap().WithZone("").String()
	}
	if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		name = ascii
	}
	name = strings.TrimRight(name, ".")
	if a, err := looseAddr(name); err == nil {
		return a.String()
	}
	return name
}

var errNoAddr = errors.New("not an IPv4 address")

// looseAddr reads an IPv4 address as inet_aton of the C library does: in one to
// four parts, the last of which fills the rest, each in decimal, octal (0…) or
// hexadecimal (0x…).
func looseAddr(text string) (netip.Addr, error) {
	parts := strings.Split(text, ".")
	if len(parts) > 4 {
		return netip.Addr{}, errNoAddr
	}
	var value uint64
	for i, p := range parts {
		if strings.ContainsAny(p, "_ob") && !strings.HasPrefix(p, "0x") {
			return netip.Addr{}, errNoAddr // forms of Go's numbers alone
		}
		n, err := strconv.ParseUint(p, 0, 32)
		if err != nil {
			return netip.Addr{}, errNoAddr
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if n >= 1<<bits {
			return netip.Addr{}, errNoAddr
		}
		value = value<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), nil
}
