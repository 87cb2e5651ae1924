package egress

import (
	"net/netip"
	"slices"
)

// A block is a range of addresses that are not public, and what they are, after
// the IANA registries of special-purpose addresses
// (https://www.iana.org/assignments/iana-ipv4-special-registry and
// iana-ipv6-special-registry).
type block struct {
	prefix netip.Prefix
	what   string
}

// blocks returns one block for each prefix.
func blocks(what string, prefixes ...string) (bs []block) {
	for _, p := range prefixes {
		bs = append(bs, block{netip.MustParsePrefix(p), what})
	}
	return bs
}

// notPublic returns what kind of address a is, or "" if it is an address of the
// public internet. If several blocks have it, the first counts.
func notPublic(a netip.Addr) string {
	for _, b := range special {
		if b.prefix.Contains(a) {
			return b.what
		}
	}
	if a.Is6() {
		// ISATAP: an IPv4 address behind 0000:5efe or 0200:5efe.
		if b := a.As16(); b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
			return "an IPv4 address in an IPv6 one (ISATAP)"
		}
	}
	return ""
}

const (
	metadata = "where a cloud serves the credentials of a machine"
	inside   = "an IPv4 address in an IPv6 one"

	// see isLocal
	loopbacks = "a loopback address"
	privates  = "a private address"
	shareds   = "an address that a provider shares among its customers"
)

var special = slices.Concat(
	blocks(metadata, "169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "192.0.0.192/32",
		"168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
	blocks(loopbacks, "127.0.0.0/8", "::1/128"),
	blocks(privates, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
	blocks("a link-local address", "169.254.0.0/16", "fe80::/10"),
	blocks(shareds, "100.64.0.0/10"),
	blocks("a multicast address", "224.0.0.0/4", "ff00::/8"),
	blocks("an address that belongs to no machine", "0.0.0.0/8", "::/128", "255.255.255.255/32"),
	blocks("an address for documentation", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32",
		"3fff::/20"),
	blocks("an address for measurements", "198.18.0.0/15", "2001:2::/48"),
	blocks("a reserved address", "192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4"),
	blocks(inside, "::ffff:0:0/96"),
	blocks(inside+" (NAT64)", "64:ff9b::/96", "64:ff9b:1::/48"),
	blocks(inside+" (6to4)", "2002::/16"),
	blocks(inside+" (Teredo)", "2001::/32"),
	blocks("a reserved address", "2001::/23", "::/3", "4000::/2", "8000::/1"), // public ones are in 2000::/3
)

// within returns the IPv4 address that an IPv6 address stands for, by NAT64 or
// 6to4.
func within(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	v4 := func(at int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(b[at : at+4])), true }
	switch {
	case !a.Is6():
		return netip.Addr{}, false
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a):
		return v4(12)
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return v4(2)
	}
	return netip.Addr{}, false
}
