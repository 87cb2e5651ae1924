// Package egress decides what a program may connect to, and connects.
//
// A [Policy] says which hosts are allowed. Everything that fetches dials with a
// [Dialer] made from it. The Dialer parses the name strictly, checks it against
// the policy, resolves it once, checks each address, and dials an address that
// passed. It dials what it checked, so a name that resolves to something else a
// moment later changes nothing.
//
//	d, err := egress.New(egress.Policy{
//		Mode: egress.Hosts, Hosts: []string{".example.org", "example.com:8443"}, Section: "[sandbox]",
//	})
//	conn, err := d.DialContext(ctx, "tcp", "www.example.org:443")
//	resp, err := d.Client().Get("https://www.example.org/")
//
// A [Proxy] gives the use of a Dialer to programs that cannot be passed one,
// such as a browser, or a command in a sandbox whose only way out is the socket
// of the proxy.
//
// What a policy allows, [Dialer].Judge can still refuse, such as by rules of the
// user. It is asked about every hop: redirects and the parts of a page lead to hosts
// that no one named.
//
// Addresses that are not public (private, loopback, link-local, those of a
// cloud's metadata, IPv4 inside IPv6, …) are refused unless the policy names
// them.
//
// # What it cannot see
//
// Of a TLS connection the proxy sees the name that the client asks the server
// for, and refuses one that differs from the host of the tunnel. It does not see
// what is requested once the connection is encrypted: a host that is allowed and
// serves many customers can be asked for any of them.
package egress
