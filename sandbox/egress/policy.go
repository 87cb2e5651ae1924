package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A Mode says which hosts a [Policy] allows.
type Mode string

// The modes. The zero Mode is [None].
const (
	None  Mode = "none"  // no host
	Hosts Mode = "hosts" // the hosts of the list
	Allow Mode = "allow" // every public host, and the hosts of the list
)

// A Policy says what may be connected to. The zero value allows nothing.
type Policy struct {
	Mode Mode

	// Hosts is the list. Its entries are
	//
	//	example.com      this name
	//	.example.com     this name and all below it
	//	*.example.com    all below it, not the name itself
	//	192.0.2.7        this address
	//	10.0.0.0/8       these addresses
	//
	// each with a port behind it (example.com:8443, [2001:db8::1]:80) or
	// with every port (example.com:*); without, [Policy].Ports hold. Names
	// are in ASCII: xn--bcher-kva.example.
	//
	// An address that is not public is allowed by an entry that has it, and
	// then also for the names of the list that resolve to it; localhost is
	// allowed by its name alone. An empty list is empty.
	Hosts []string

	// Ports are those of entries that name none. If there are none either,
	// these are 80 and 443, and in mode Allow every port.
	Ports []uint16

	// Section is where this policy is configured, such as "[sandbox]": what
	// is refused says what to change there, in its keys "network" and
	// "hosts".
	Section string
}

// The rules are a policy that was parsed.
type rules struct {
	mode    Mode
	entries []entry
	ports   []uint16
	section string
}

// An entry is one of [Policy].Hosts.
type entry struct {
	name     string // "": it is an address or a prefix
	itself   bool   // the name itself
	below    bool   // all names below it
	prefix   netip.Prefix
	port     uint16 // 0: the entry names none
	anyPorts bool
}

// read parses the policy.
func (p Policy) read() (*rules, error) {
	r := &rules{mode: p.Mode, ports: slices.Clone(p.Ports), section: p.Section}
	switch r.mode {
	case "":
		r.mode = None
	case None, Hosts, Allow:
	default:
		return nil, fmt.Errorf("%snetwork = %q: it is none, hosts or allow", r.at(), p.Mode)
	}
	for _, text := range p.Hosts {
		e, err := readEntry(text)
		if err != nil {
			return nil, fmt.Errorf("%shosts: %q %w", r.at(), text, err)
		}
		r.entries = append(r.entries, e)
	}
	return r, nil
}

// at returns the section, to begin an error with.
func (r *rules) at() string {
	if r.section == "" {
		return ""
	}
	return r.section + " "
}

// readEntry parses an entry. Its errors continue a sentence that begins with the
// entry.
func readEntry(text string) (e entry, err error) {
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		return e, fmt.Errorf("is a URL: leave out %q, and what follows the host in %q", scheme+"://", rest)
	}
	host, port := splitEntry(text)
	switch {
	case port == "*":
		e.anyPorts = true
	case port != "":
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return e, fmt.Errorf("has no port from 1 to 65535 after the colon")
		}
		e.port = uint16(n)
	}
	if host == "*" {
		return e, fmt.Errorf(`means every host: use network = "allow"`)
	}
	if p, err := netip.ParsePrefix(host); err == nil {
		if p != p.Masked() {
			return e, fmt.Errorf("has bits outside its prefix: did you mean %s?", p.Masked())
		}
		e.prefix = p
		return e, nil
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" {
		e.prefix = netip.PrefixFrom(a, a.BitLen())
		return e, nil
	}
	e.itself = true
	if name, ok := strings.CutPrefix(host, "*."); ok {
		host, e.itself, e.below = name, false, true
	} else if name, ok := strings.CutPrefix(host, "."); ok {
		host, e.below = name, true
	}
	h, err := readHost(strings.ToLower(host))
	if err != nil {
		return e, fmt.Errorf("is not a host: %w", err)
	}
	e.name = h.name
	return e, nil
}

// splitEntry separates the port from an entry, if it has one.
func splitEntry(text string) (host, port string) {
	if rest, ok := strings.CutPrefix(text, "["); ok {
		if host, port, ok := strings.Cut(rest, "]"); ok && (port == "" || port[0] == ':') {
			return host, strings.TrimPrefix(port, ":")
		}
		return text, ""
	}
	if strings.Count(text, ":") != 1 {
		return text, "" // an IPv6 address, or no port
	}
	host, port, _ = strings.Cut(text, ":")
	if port == "" {
		return text, ""
	}
	return host, port
}

// covers reports whether e has the host, whatever the port.
func (e entry) covers(h host) bool {
	if e.name == "" {
		return h.name == "" && e.prefix.Contains(h.addr)
	}
	return e.itself && h.name == e.name || e.below && strings.HasSuffix(h.name, "."+e.name)
}

// passes reports whether e allows port.
func (r *rules) passes(e entry, port uint16) bool {
	switch {
	case e.anyPorts:
		return true
	case e.port != 0:
		return e.port == port
	case len(r.ports) > 0:
		return slices.Contains(r.ports, port)
	}
	return r.mode == Allow || port == 80 || port == 443
}

// host checks a host before it is resolved.
func (r *rules) host(h host, port uint16) *Refused {
	no := &Refused{Host: h.String(), Port: port}
	if r.mode == None {
		no.Rule, no.Try = "there is no network", r.try(`network = "hosts" and hosts = [%q]`, no.Host)
		return no
	}
	listed := false
	for _, e := range r.entries {
		if !e.covers(h) {
			continue
		}
		listed = true
		if r.passes(e, port) {
			return nil
		}
	}
	switch {
	case listed && r.mode == Hosts:
		no.Rule, no.Try = fmt.Sprintf("the port %d is not allowed for this host", port), r.try("hosts = [%q]",
			h.with(port))
	case r.mode == Hosts:
		no.Rule, no.Try = "the host is not on the list", r.try("hosts = [%q]", h.entry(port))
	case len(r.ports) > 0 && !slices.Contains(r.ports, port):
		no.Rule, no.Try = fmt.Sprintf("the port %d is not allowed", port), r.try("hosts = [%q]", h.with(port))
	default:
		return nil
	}
	return no
}

// address checks an address of h before it is dialled. One that is not public
// passes if it is listed itself and, unless it was asked for as an address, the
// name is listed too; for an address with another inside, both must be.
func (r *rules) address(h host, a netip.Addr, port uint16) *Refused {
	why := notPublic(a)
	if why == "" || h.loops() && a.IsLoopback() && r.listed(h, port) {
		return nil
	}
	if r.has(a, port) && (h.name == "" || r.listed(h, port)) {
		if inner, ok := within(a); !ok || notPublic(inner) == "" || r.has(inner, port) {
			return nil
		}
	}
	entries := strconv.Quote(netip.PrefixFrom(a, a.BitLen()).Addr().String())
	switch {
	case h.loops():
		entries = strconv.Quote(h.with(port))
	case h.name != "":
		entries = strconv.Quote(h.entry(port)) + ", " + entries
	}
	return &Refused{Host: h.String(), Port: port, Addr: a, Rule: fmt.Sprintf("%s is %s", a, why),
		Try: r.try("hosts = [%s]", entries), local: isLocal(a)}
}

// listed reports whether an entry has the host with the port.
func (r *rules) listed(h host, port uint16) bool {
	return slices.ContainsFunc(r.entries, func(e entry) bool { return e.covers(h) && r.passes(e, port) })
}

// has reports whether an entry has the address. If a name was asked for, its own
// entry has decided about ports that the address leaves open.
func (r *rules) has(a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(r.entries, func(e entry) bool {
		return e.name == "" && e.prefix.Contains(a) && (e.port == 0 || e.port == port)
	})
}

// try returns what to change in the configuration.
func (r *rules) try(format string, a ...any) string {
	return fmt.Sprintf("to allow it: "+r.at()+format, a...)
}
