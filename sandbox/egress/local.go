package egress

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// A Local is a server on this machine or in a private network. The policy refuses a
// connection to it, unless the user lists it or allows a call to connect to it: see
// [WithLocal].
type Local struct {
	Target string     // HOST:PORT, as it was asked for
	Addr   netip.Addr // of the host
	What   string     // the address, as a clause: "127.0.0.1 is a loopback address"
	Here   bool       // it is on this machine
}

// localTime is how long Local may take to resolve a name.
const localTime = 2 * time.Second

// Local reports whether an address, as users write it, is that of a server on this
// machine or in a private network, to which the policy allows no connection for no
// other reason than that. It resolves names, and so asks other machines about them: the
// caller has checked that this is harmless. Where credentials of the machine are
// served, and what is in no network that people use, is not local.
func (d *Dialer) Local(ctx context.Context, address string) (Local, bool) {
	u, err := ParseURL(address)
	if err != nil {
		return Local{}, false
	}
	h, port, err := readTarget(TargetOf(u))
	if err != nil || d.rules.host(h, port) != nil {
		return Local{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, localTime)
	defer cancel()
	addrs, err := d.resolve(ctx, h, "tcp")
	if err != nil {
		return Local{}, false // the request says what is wrong
	}
	var found Local
	for _, a := range addrs {
		no := d.address(h, a, port)
		if no == nil {
			return Local{}, false // there is an address that is allowed
		}
		if no.local && found.Target == "" {
			own := a.IsLoopback() || a.IsUnspecified() || notPublic(a) == ""
			found = Local{Target: h.with(port), Addr: a, What: no.Rule, Here: own || h.loops()}
		}
	}
	return found, found.Target != ""
}

// TargetOf returns where a request to u goes, as HOST:PORT.
func TargetOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// isLocal reports whether a user may allow connections to an address that is not
// public.
func isLocal(a netip.Addr) bool {
	if a.IsUnspecified() { // where servers say that they listen: this machine
		return true
	}
	i := slices.IndexFunc(special, func(b block) bool { return b.prefix.Contains(a) })
	return i >= 0 && slices.Contains([]string{loopbacks, privates, shareds}, special[i].what)
}

// localKey is the key of the function of WithLocal in a context.
type localKey struct{}

// WithLocal returns a context for the requests of a call that the user allowed to
// connect to servers on this machine or in a private network: those for whose
// [Local].Target allowed returns true. It is called from many goroutines. nil: none. A
// redirect from another server does not lead there.
func WithLocal(ctx context.Context, allowed func(target string) bool) context.Context {
	return context.WithValue(ctx, localKey{}, allowed)
}

func localAllowed(ctx context.Context, target string) bool {
	allowed, _ := ctx.Value(localKey{}).(func(string) bool)
	return allowed != nil && allowed(target)
}

// addressFor is address for a call, which may have been allowed local ones.
func (d *Dialer) addressFor(ctx context.Context, h host, a netip.Addr, port uint16) *Refused {
	no := d.address(h, a, port)
	if no != nil && no.local && localAllowed(ctx, h.with(port)) {
		return nil
	}
	return no
}

// ownConnection returns the transport for a request: shared, or for a local server one
// whose connection no other request uses, since that may not be allowed there.
func (d *Dialer) ownConnection(req *http.Request, shared http.RoundTripper) http.RoundTripper {
	if !localAllowed(req.Context(), TargetOf(req.URL)) {
		return shared
	}
	own := d.Transport()
	own.DisableKeepAlives, own.DisableCompression = true, true
	return own
}

// withoutLocal returns req without the permission to go to local servers.
func withoutLocal(req *http.Request) *http.Request {
	return req.WithContext(WithLocal(req.Context(), nil))
}

// crossSite reports whether a browser says that a page of another site makes a
// request, or redirected to it.
func crossSite(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return true
	}
	for _, name := range []string{"Origin", "Referer"} {
		if from, err := url.Parse(r.Header.Get(name)); err == nil && from.Host != "" && from.Hostname() != r.URL.Hostname() {
			return true
		}
	}
	return r.Header.Get("Origin") == "null"
}
