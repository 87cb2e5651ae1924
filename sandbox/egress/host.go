package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// A host is a name or an address that was parsed.
type host struct {
	name string // in lower case, without a final dot; "": it is an address
	addr netip.Addr
}

func (h host) String() string {
	if h.name != "" {
		return h.name
	}
	return h.addr.String()
}

// with returns the host and the port as an entry of a policy.
func (h host) with(port uint16) string {
	return net.JoinHostPort(h.String(), strconv.Itoa(int(port)))
}

// entry returns the entry to list so that the host is allowed at the port.
func (h host) entry(port uint16) string {
	if port == 80 || port == 443 {
		return h.String()
	}
	return h.with(port)
}

// loops reports whether the name always stands for this machine (RFC 6761).
func (h host) loops() bool { return h.name == "localhost" || strings.HasSuffix(h.name, ".localhost") }

// readTarget parses HOST:PORT.
func readTarget(target string) (host, uint16, error) {
	name, port, err := net.SplitHostPort(target)
	if err != nil {
		return host{}, 0, fmt.Errorf("%q is not HOST:PORT", target)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '0' {
		return host{}, 0, fmt.Errorf("%q has no port from 1 to 65535", target)
	}
	h, err := readHost(name)
	if err != nil {
		return h, 0, fmt.Errorf("the host %q is not valid: %w", name, err)
	}
	return h, uint16(n), nil
}

// readHost parses a name or an address strictly: it refuses what two programs
// could read in two ways.
func readHost(text string) (host, error) {
	if text == "" {
		return host{}, errors.New("it is empty")
	}
	if strings.ContainsRune(text, ':') {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			return host{}, errors.New("it is not an address")
		case a.Zone() != "":
			return host{}, errors.New("an address with a zone belongs to this machine's own network")
		case a.Is4In6():
			return host{}, fmt.Errorf("it is an IPv4 address in an IPv6 one: write %s", a.Unmap())
		}
		return host{addr: a}, nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return host{addr: a}, nil
	}
	name := strings.ToLower(text)
	if err := checkName(name); err != nil {
		return host{}, err
	}
	return host{name: name}, nil
}

// checkName returns what is wrong with a name in lower case.
func checkName(name string) error {
	if len(name) > 253 {
		return errors.New("it is longer than 253 characters")
	}
	if strings.HasSuffix(name, ".") {
		return errors.New("it ends in a dot: remove the dot")
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		case c < ' ' || c == 0x7f:
			return fmt.Errorf("it contains the control character %#02x", c)
		case c >= 0x80:
			return errors.New("it is not in ASCII: write its xn-- form")
		default:
			return fmt.Errorf("it contains %q", c)
		}
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return errors.New("it has a part that is empty, longer than 63 characters, or begins or ends with a " +
				"hyphen")
		}
	}
	// Resolvers read 127.1, 0x7f.1, 017700000001 and 2130706433 as addresses.
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return errors.New("it is an address in an unusual form: write four decimal numbers")
	}
	return nil
}
