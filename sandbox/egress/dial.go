package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Refused error says that the policy forbids a connection, and which rule
// does.
type Refused struct {
	Host string
	Port uint16     // 0: the port does not matter
	Addr netip.Addr // the address of the host that was refused, if the host itself was not
	Rule string     // the rule, as a clause: "the host is not on the list"
	Try  string     // what to change, and where, to allow it; "" if nothing can
	Err  error      // what [Dialer].Judge said, if that refused it

	local bool // a user may allow it: see [Local]
}

// Unwrap returns e.Err.
func (e *Refused) Unwrap() error { return e.Err }

// Error names the host and the rule that refused it, and, if there is one, the setting
// that would allow it.
func (e *Refused) Error() string {
	to := e.Host
	if e.Port != 0 {
		to = net.JoinHostPort(to, strconv.Itoa(int(e.Port)))
	}
	text := fmt.Sprintf("no connection to %s: %s", to, e.Rule)
	if e.Try != "" {
		text += "; " + e.Try
	}
	return text
}

// refuse returns a Refused without a port. host may be any text.
func refuse(host, rule string, a ...any) *Refused {
	return &Refused{Host: clean(host), Rule: fmt.Sprintf(rule, a...)}
}

// A Resolver finds the addresses of a name. A [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Dialer connects to what its policy allows. Several goroutines may use it.
type Dialer struct {
	rules *rules

	// Resolver resolves names that are allowed, and no others. nil: the
	// system's resolver. It must be set before the first use.
	Resolver Resolver

	// Judge, if it is not nil, can refuse what the policy allows, such as by
	// rules of the user. It is called from many goroutines, before each request
	// and each connection: with the host as it was parsed (a name in lower case,
	// or an address in its usual form), and with each address that a name
	// resolves to. named reports whether the call that makes the request names
	// this very host: see [WithNamed]. The text of the error is a clause, such as
	// "the rule X denies it"; [Refused].Err has the error. Judge must be set
	// before the first use.
	Judge func(host string, named bool) error

	// local returns the addresses of this machine, which are not public
	// whatever they look like. dial connects to an address that passed.
	// Tests replace them.
	local func() ([]net.Addr, error)
	dial  func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
}

// dialTimeout is how long connecting may take, over all addresses of a host.
const dialTimeout = 30 * time.Second

// New returns a dialer for a policy. The error says what is wrong with the
// policy.
func New(p Policy) (*Dialer, error) {
	r, err := p.read()
	if err != nil {
		return nil, err
	}
	d := &Dialer{rules: r, local: net.InterfaceAddrs}
	d.dial = d.connect
	return d, nil
}

// Mode returns the mode of the policy.
func (d *Dialer) Mode() Mode { return d.rules.mode }

// Check returns a [*Refused] if no connection to HOST:PORT may be tried. It does
// not resolve the host, so a nil error does not mean that its addresses are
// allowed.
func (d *Dialer) Check(target string) error {
	_, _, err := d.check(context.Background(), target)
	return err
}

// check parses a target and checks its host, and if that is an address the
// address too.
func (d *Dialer) check(ctx context.Context, target string) (host, uint16, error) {
	h, port, err := readTarget(target)
	if err != nil {
		return h, 0, &Refused{Host: clean(target), Rule: err.Error()}
	}
	if no := d.rules.host(h, port); no != nil {
		return h, port, no
	}
	if h.name == "" {
		if no := d.addressFor(ctx, h, h.addr, port); no != nil {
			return h, port, no
		}
	}
	if no := d.judge(ctx, h, port, h.addr); no != nil {
		return h, port, no
	}
	return h, port, nil
}

// judge asks Judge about a host, or if a is valid about that address of it.
func (d *Dialer) judge(ctx context.Context, h host, port uint16, a netip.Addr) *Refused {
	if d.Judge == nil {
		return nil
	}
	text := h.String()
	if a.IsValid() {
		text = a.String()
	}
	if err := d.Judge(text, isNamed(ctx, text)); err != nil {
		return &Refused{Host: h.String(), Port: port, Addr: a, Rule: err.Error(), Err: err}
	}
	return nil
}

// namedKey is the key of the function of WithNamed in a context.
type namedKey struct{}

// WithNamed returns a context for the requests of a call. named reports whether
// the call itself names a host, in the form that [Dialer].Judge gets, so that
// whoever ruled on the call has ruled on this host. It is called from many
// goroutines. Redirects, links and the parts of a page lead to hosts that no call
// named.
func WithNamed(ctx context.Context, named func(host string) bool) context.Context {
	return context.WithValue(ctx, namedKey{}, named)
}

func isNamed(ctx context.Context, host string) bool {
	named, ok := ctx.Value(namedKey{}).(func(string) bool)
	return ok && named(host)
}

// clean returns text that is safe to show: quoted if it has control characters
// or is not ASCII.
func clean(text string) string {
	if q := strconv.QuoteToASCII(text); q != `"`+text+`"` {
		return q
	}
	return text
}

// address checks an address of the host h.
func (d *Dialer) address(h host, a netip.Addr, port uint16) *Refused {
	if no := d.rules.address(h, a, port); no != nil {
		return no
	}
	if notPublic(a) != "" || d.rules.has(a, port) {
		return nil // the rules have decided
	}
	own, err := d.local()
	if err != nil {
		return &Refused{Host: h.String(), Port: port, Addr: a, Rule: "cannot find out the addresses of this " +
			"machine: " + err.Error()}
	}
	for _, o := range own {
		if n, ok := o.(*net.IPNet); ok && n.IP.String() == a.String() {
			return &Refused{Host: h.String(), Port: port, Addr: a, Rule: fmt.Sprintf("%s is this machine", a),
				Try: d.rules.try("hosts = [%q]", a), local: true}
		}
	}
	return nil
}

// DialContext connects to HOST:PORT over TCP. The error is a [*Refused] if the
// policy forbids it. If a host has allowed and forbidden addresses, only the
// allowed ones are tried.
func (d *Dialer) DialContext(ctx context.Context, network, target string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, &Refused{Host: clean(target), Rule: "only TCP is allowed, not " + clean(network)}
	}
	h, port, err := d.check(ctx, target)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err := d.resolve(ctx, h, network)
	if err != nil {
		return nil, err
	}
	var refused, failed []error
	for i, a := range addrs {
		no := d.addressFor(ctx, h, a, port)
		if no == nil && h.name != "" {
			no = d.judge(ctx, h, port, a)
		}
		if no != nil {
			refused = append(refused, no)
			continue
		}
		conn, err := d.try(ctx, network, netip.AddrPortFrom(a, port), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	return nil, refused[0]
}

// try connects to one of the addresses that are left, and takes at most its
// share of the time.
func (d *Dialer) try(ctx context.Context, network string, to netip.AddrPort, left int) (net.Conn, error) {
	if at, ok := ctx.Deadline(); ok && left > 1 {
		share := max(time.Until(at)/time.Duration(left), 2*time.Second)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, share)
		defer cancel()
	}
	return d.dial(ctx, network, to)
}

// resolve returns the addresses of h, at least one. IPv4 addresses inside IPv6
// ones are unwrapped.
func (d *Dialer) resolve(ctx context.Context, h host, network string) ([]netip.Addr, error) {
	if h.name == "" {
		return []netip.Addr{h.addr}, nil
	}
	if h.loops() { // no resolver decides about these names
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	var r Resolver = net.DefaultResolver
	if d.Resolver != nil {
		r = d.Resolver
	}
	found, err := r.LookupNetIP(ctx, strings.Replace(network, "tcp", "ip", 1), h.name)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no address", h.name)
	}
	addrs := make([]netip.Addr, len(found))
	for i, a := range found {
		addrs[i] = a.Unmap()
	}
	return addrs, nil
}

// connect connects to an address that passed, and to no other.
func (d *Dialer) connect(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	nd := net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || at != to {
			return fmt.Errorf("%s passed the policy, but the system was about to dial %s", to, clean(address))
		}
		return nil
	}}
	return nd.DialContext(ctx, network, to.String())
}
