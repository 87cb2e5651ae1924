package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// A gateway decides what one browser may request: as its proxy, or, for a browser that
// runs already, request by request: see [Tab.judge]. Whatever a page of it requests passes
// through it, redirects and parts of pages too, so that the rules of the dialer hold
// for every hop. It is safe for concurrent use.
type gateway struct {
	url  string // http://HOST:PORT
	stop context.CancelFunc
	done chan struct{} // closed when it has stopped

	// check judges an address, if the gateway is no proxy.
	check func(context.Context, *url.URL) error

	mu      sync.Mutex
	named   map[string]bool // hosts that calls named: see name
	local   map[string]bool // HOST:PORT of local servers that the user allowed: see allow
	refused []*egress.Refused
}

// maxRefused is how many refusals are kept for the result of a call.
const maxRefused = 20

// startGateway starts a proxy that connects with d. The caller calls close.
func startGateway(d *egress.Dialer) (*gateway, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the proxy for the browser cannot be started: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &gateway{url: "http://" + l.Addr().String(), stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		p := egress.Proxy{Dialer: d, Named: g.isNamed, Local: g.isLocal, Refused: g.note}
		p.Serve(ctx, l) // it ends with ctx
	}()
	return g, nil
}

// close stops the proxy and waits for its connections to end; g may be nil.
func (g *gateway) close() {
	if g != nil && g.stop != nil {
		g.stop()
		<-g.done
	}
}

// name notes that a call names host, which may be "". Hosts that earlier calls
// named stay named only as long as a tab shows them: open has the hosts of the
// tabs. Otherwise one page could have others request what the user allowed once.
func (g *gateway) name(host string, open []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	named := map[string]bool{strings.ToLower(host): true}
	for _, h := range open {
		if g.named[h] {
			named[h] = true
		}
	}
	g.named, g.refused = named, nil
}

// isNamed reports whether a call has named a host: see [egress.WithNamed].
func (g *gateway) isNamed(host string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.named[host]
}

// allow notes that the user allowed a call to go to a server on this machine or in a
// private network, which may be "". Others stay allowed as long as a tab shows them: open
// has the servers of the tabs.
func (g *gateway) allow(target string, open []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	local := make(map[string]bool)
	for _, t := range append(open, target) {
		if t != "" && (t == target || g.local[t]) {
			local[t] = true
		}
	}
	g.local = local
}

// isLocal reports whether the user allowed a server: see [egress.WithLocal].
func (g *gateway) isLocal(target string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.local[target]
}

// note keeps what was refused. It ignores connections that failed otherwise: of
// these the browser says why.
func (g *gateway) note(err error) {
	var no *egress.Refused
	if !errors.As(err, &no) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.refused) < maxRefused {
		g.refused = append(g.refused, no)
	}
}

// refusals describes what was refused since the last call of name, three hosts at
// most: everything, or only what rules of the user refused.
func (g *gateway) refusals(everything bool) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var texts []string
	for _, no := range g.refused {
		text := no.Error()
		if (everything || no.Err != nil) && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if n := len(texts); n > 3 {
		texts = append(texts[:3], fmt.Sprintf("and %d more", n-3))
	}
	return strings.Join(texts, "; ")
}
