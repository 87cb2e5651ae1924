// Package egress decides where a program may connect to, and connects.
//
// A [Policy] says which hosts are allowed. A [Dialer] made from it is what
// everything that fetches dials with: it reads the name strictly, asks the
// policy about it, resolves it once, asks the policy about each address, and
// dials an address that passed. What was decided on is what is dialled, so a
// name that resolves to something else a moment later changes nothing.
//
//	d, err := egress.New(egress.Policy{Mode: egress.Hosts, Hosts: []string{".golang.org", "registry.npmjs.org"}, Section: "[sandbox]"})
//	conn, err := d.DialContext(ctx, "tcp", "proxy.golang.org:443")
//	resp, err := d.Client().Get("https://proxy.golang.org/")
//
// A [Proxy] lends a Dialer to programs that cannot be given one, such as a
// browser, or a command in a sandbox whose only way out is the proxy's socket.
//
// Addresses that are not public (private, loopback, link-local, of a cloud's
// metadata, IPv4 within IPv6, …) are refused unless the policy names them.
//
// # What it cannot see
//
// Within TLS, the proxy sees the name that the client asks the server for, and
// refuses another than that of the tunnel. It does not see what is asked for
// once the connection is encrypted: a host that is allowed and serves many
// customers can be asked for those.
package egress
