package gate

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/localaddr"
	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// RuleLocal is the rule of questions about calls that go to a server on this machine
// or in a private network, and of calls that the mode "all" allows to. Where requests
// are made, such a server is refused, unless the user lists it or allowed the call.
const RuleLocal = "local"

// localOf returns the verdict on a call that goes to servers on this machine or in a
// private network and nowhere else, if each of them stands in what the user said. It is
// nil for all others: they are refused where requests are made. Others cannot put an
// address before the user in this way, however the model came to it. A name is resolved
// only if the user wrote it.
func (g *Gate) localOf(ctx context.Context, call openmanus.Call, spec openmanus.ToolSpec, f facts) *openmanus.Verdict {
	if len(f.served) > 0 {
		return g.servedOf(ctx, call, spec, f)
	}
	if g.o.Local == nil || call.Provenance == nil || spec.From != "" || len(f.locals) == 0 || f.badURL {
		return nil
	}
	said := call.Provenance().Said
	var what []string
	for _, address := range f.locals {
		if u, err := egress.ParseURL(address); err != nil || !wroteAddress(said, u) {
			return nil
		}
	}
	for _, address := range f.locals {
		l, ok := g.o.Local(ctx, address)
		if !ok {
			return nil
		}
		where := "in your own network"
		if l.Here {
			where = "on this machine"
		}
		text := fmt.Sprintf("%s is a server %s", l.Target, where)
		if !strings.HasPrefix(l.Target, l.Addr.String()) {
			text += fmt.Sprintf(" (%s)", l.Addr)
		}
		if !slices.Contains(what, text) {
			what = append(what, text)
		}
	}
	if f.edits && g.consider(f, spec.Hints).Ask {
		return nil // what it writes is asked about, and no answer for the session is for that
	}
	return g.localVerdict(call, f, what)
}

// localVerdict is the verdict on a call that goes to servers of the user's own.
func (g *Gate) localVerdict(call openmanus.Call, f facts, what []string) *openmanus.Verdict {
	v := openmanus.Verdict{Rule: RuleLocal, Scoped: true, Owner: true}
	if g.o.Mode == openmanus.ApproveAll && g.asking(f) == nil {
		v.Allow = true
		return &v
	}
	v.Ask, v.Reason = true, strings.Join(what, ", ")+". May "+call.Name+" connect to it?"
	return &v
}

// servedOf is localOf for a command in a sandbox, which reaches no server on this machine
// unless the user allows it. There is nothing to ask where no program listens: the
// command may start one of its own in the sandbox.
func (g *Gate) servedOf(ctx context.Context, call openmanus.Call, spec openmanus.ToolSpec, f facts) *openmanus.Verdict {
	h := spec.Hints
	if g.o.Serves == nil || call.Provenance == nil || spec.From != "" || !g.sandboxed() || !h.Sandboxed || h.Reach != "" ||
		g.o.Mode.LooksOnly() {
		return nil
	}
	said := call.Provenance().Said
	for _, target := range f.served {
		if !wroteAddress(said, &url.URL{Scheme: "tcp", Host: target}) {
			return nil
		}
	}
	var what []string
	for _, target := range f.served {
		if g.o.Serves(ctx, localaddr.Port(target)) {
			what = append(what, target+" is a server on this machine")
		}
	}
	if len(what) == 0 {
		return nil
	}
	return g.localVerdict(call, f, what)
}

// loopbackNames are hosts that mean the same server.
var loopbackNames = []string{"localhost", "127.0.0.1", "::1", "0.0.0.0"}

// wroteAddress reports whether the user wrote the host and the port of an address:
// together, or the host alone if the port is the usual one or stands elsewhere by
// itself, as in "port 8000 on localhost".
func wroteAddress(said []string, u *url.URL) bool {
	hosts := []string{canonical(u.Hostname())}
	if slices.Contains(loopbackNames, hosts[0]) {
		hosts = loopbackNames
	}
	port := u.Port()
	usual := port == ""
	if usual {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	for _, text := range said {
		text = strings.ToLower(text)
		alone := usual || port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" ||
			slices.Contains(numbers.FindAllString(text, -1), port)
		for _, h := range hosts {
			for _, with := range portsOf(text, h) {
				if with == port || with == "" && alone {
					return true
				}
			}
		}
	}
	return false
}

var (
	numbers = regexp.MustCompile(`\b\d+\b`)
	colon   = regexp.MustCompile(`^\]?:(\d+)`)
)

// portsOf returns the ports with which a host stands in a text; "" where it stands
// without one. It does not stand in a longer name.
func portsOf(text, host string) (ports []string) {
	isName := func(b byte) bool {
		return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || strings.IndexByte("-_@", b) >= 0
	}
	for at := 0; ; {
		i := strings.Index(text[at:], host)
		if i < 0 || host == "" {
			return ports
		}
		from, to := at+i, at+i+len(host)
		at = from + 1
		before := from > 0 && (isName(text[from-1]) || text[from-1] == '.' || strings.Contains(host, ":") && text[from-1] == ':')
		rest := text[to:]
		after := rest != "" && isName(rest[0]) || len(rest) > 1 && rest[0] == '.' && isName(rest[1])
		if before || after {
			continue
		}
		if m := colon.FindStringSubmatch(rest); m != nil {
			ports = append(ports, m[1])
		} else {
			ports = append(ports, "")
		}
	}
}
