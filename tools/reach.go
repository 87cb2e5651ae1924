package tools

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/localaddr"
	"github.com/openmanus-go/openmanus/workspace"
)

// A reachInput has the arguments with which a call asks for more than the sandbox
// gives. The person is asked about each such call, so it must say why.
type reachInput struct {
	Why     string `json:"why"`
	Network bool   `json:"network"`
	Outside bool   `json:"outside_sandbox"`
}

// of returns how far the call goes beyond what every command in ws can do. Where that
// is nothing more, because there is no sandbox or because it has a network, the call
// is one like others.
func (in reachInput) of(ws workspace.Runner) openmanus.Reach {
	switch {
	case in.Outside && workspace.Confines(ws, workspace.OutsideCage):
		return openmanus.ReachOutside
	case in.Network && workspace.Confines(ws, workspace.WithNetwork):
		return openmanus.ReachNetwork
	}
	return ""
}

// check returns an error for the model if the call asks for more and does not say why,
// or if it also asks for what such a call cannot have: other is its name if it does.
func (in reachInput) check(r openmanus.Reach, other string) error {
	switch {
	case r == "":
		return nil
	case strings.TrimSpace(in.Why) == "":
		return errors.New("the argument why is missing: say in a sentence why the command needs it, " +
			"for the person who is asked")
	case other != "":
		return fmt.Errorf("%s cannot be combined with network or outside_sandbox, which run a process of their own: "+
			"make two calls", other)
	}
	return nil
}

// hints returns the hints of a call whose tool has the hints h.
func (in reachInput) hints(h openmanus.Hints, ws workspace.Runner) openmanus.Hints {
	if h.Reach = in.of(ws); h.Reach != "" {
		h.Sandboxed = false
	}
	return h
}

// maxWhy is how many characters a person is shown of the model's reason.
const maxWhy = 400

// shown returns what a person is shown before a call runs: how far it goes, the reason
// as the model gave it, in quotation marks and without control characters, where it
// runs, and all of it. Nothing else decides what it does: it has neither the
// directory nor the variables of the session's shell, which earlier commands set
// unasked.
func (in reachInput) shown(r openmanus.Reach, ws workspace.Workspace, what, text string) string {
	why := []rune(strings.Join(strings.Fields(in.Why), " "))
	if len(why) > maxWhy {
		why = append(why[:maxWhy-1], '…')
	}
	where := r.Where()
	return fmt.Sprintf("%s, in %s.\nThe agent's reason: %s\n%s:\n%s",
		strings.ToUpper(where[:1])+where[1:], ws.Dir(), strconv.Quote(string(why)), what, text)
}

// between stands between the servers of a scope.
const between = ", "

// localScope returns HOST:PORT of the servers on this machine that a command names, if
// ws can let it connect to them.
func localScope(ws workspace.Runner, text string) string {
	if !workspace.Opens(ws) {
		return ""
	}
	return strings.Join(localaddr.Find(text), between)
}

// localSources are the sources of a result of a command that could connect to the servers
// of a scope: what they answer may be anyone's, and is the person's own. nil: there are
// none.
func localSources(scope string) []openmanus.Source {
	if scope == "" {
		return nil
	}
	all := []openmanus.Source{openmanus.FileSource(".")}
	for target := range strings.SplitSeq(scope, between) {
		all = append(all, openmanus.Source{From: "http://" + target, Private: true})
	}
	return all
}

// openLocal opens the ports of the servers in a scope that the person allowed, for a
// command in a shell, until shut is called. note is for the model. A port that a program
// in the sandbox has leads there, as it did before.
func openLocal(ctx context.Context, door *workspace.Door, scope string) (shut func(), note string, err error) {
	var all []func()
	shut = func() {
		for _, f := range all {
			f()
		}
	}
	seen := make(map[int]bool)
	for target := range strings.SplitSeq(scope, between) {
		port := localaddr.Port(target)
		if port == 0 || seen[port] {
			continue
		}
		seen[port] = true
		f, err := door.Open(ctx, port)
		switch {
		case errors.Is(err, workspace.ErrTaken):
			note += fmt.Sprintf("[%s is a program in the sandbox, not the server of the person's machine]\n", target)
		case err != nil:
			shut()
			return nil, "", fmt.Errorf("the command did not run: %s: %w", target, err)
		default:
			all = append(all, f)
		}
	}
	return shut, note, nil
}

// maxScope is the length of the longest command that can be allowed for the session.
const maxScope = 300

// scope returns what the person can decide about for the whole session: this very
// command with a network, if it is one line. "" for others, and outside the sandbox,
// where the same command may do something else the next time.
func scope(r openmanus.Reach, text string) string {
	if r != openmanus.ReachNetwork || len(text) > maxScope || strings.ContainsAny(text, "\r\n") {
		return ""
	}
	return strings.TrimSpace(text) + ", with the network"
}

// cmd makes a command go as far as r.
func cmd(r openmanus.Reach, c workspace.Cmd) *workspace.Cmd {
	switch r {
	case openmanus.ReachNetwork:
		c.Reach = workspace.WithNetwork
	case openmanus.ReachOutside:
		c.Reach = workspace.OutsideCage
		c.Args = append([]string{"bash", "--noprofile", "--norc", "-c", leashed, "bash"}, c.Args...)
		c.Env = append(c.Env, "BASH_ENV=", "ENV=")
	}
	return &c
}

// leashed is a script that becomes its arguments. Within a second after the death of
// this process it kills them, with their process group: outside the sandbox nothing else
// ends a command whose Run was killed. It looks at the parent of the command, which
// changes then, in Linux's /proc; there are no sandboxes elsewhere.
const leashed = `main=$$ home=$PPID
held() {
	local key value
	while read -r key value; do
		[ "$key" = PPid: ] && { [ "$value" = "$home" ]; return; }
	done <"/proc/$main/status"
	return 1
}
{ while held; do sleep 1; done; kill -KILL -- "-$main"; } </dev/null >/dev/null 2>&1 &
exec "$@"`

// reached returns a line for the model about a call that went beyond the sandbox.
func reached(r openmanus.Reach, ws workspace.Workspace) string {
	return fmt.Sprintf("\n[ran %s, in %s, apart from the shell; nothing of it goes on running]", r.Where(), ws.Dir())
}

var (
	_ openmanus.CallHinter = (*Bash)(nil)
	_ openmanus.Previewer  = (*Bash)(nil)
	_ openmanus.Scoper     = (*Bash)(nil)
	_ openmanus.CallHinter = (*Python)(nil)
	_ openmanus.Previewer  = (*Python)(nil)
	_ openmanus.Scoper     = (*Python)(nil)
)

// Hints implements [openmanus.CallHinter]: a call that asks for more than the sandbox
// gives is not sandboxed, and has a Reach.
func (b *Bash) Hints(call openmanus.Call) openmanus.Hints {
	in, _, _ := b.read(call) // without valid arguments, it does not run
	return in.hints(b.hints(), b.ws)
}

// Preview implements [openmanus.Previewer] for calls that have a Reach.
func (b *Bash) Preview(_ context.Context, call openmanus.Call) (string, error) {
	in, r, err := b.read(call)
	if err != nil || r == "" {
		return "", err
	}
	return in.shown(r, b.ws, "Command", in.Command), nil
}

// Scope implements [openmanus.Scoper] for calls that have a Reach, and for those that
// name servers on this machine.
func (b *Bash) Scope(_ context.Context, call openmanus.Call) (string, error) {
	in, r, err := b.read(call)
	if err != nil || r != "" {
		return scope(r, in.Command), err
	}
	return localScope(b.ws, in.Command), nil
}

// Hints implements [openmanus.CallHinter], as for [Bash].
func (p *Python) Hints(call openmanus.Call) openmanus.Hints {
	in, _, _ := p.read(call) // without valid arguments, it does not run
	return in.hints(p.hints(), p.ws)
}

// Preview implements [openmanus.Previewer] for calls that have a Reach.
func (p *Python) Preview(_ context.Context, call openmanus.Call) (string, error) {
	in, r, err := p.read(call)
	if err != nil || r == "" {
		return "", err
	}
	return in.shown(r, p.ws, "Python code", in.Code), nil
}

// Scope implements [openmanus.Scoper] for calls that have a Reach.
func (p *Python) Scope(_ context.Context, call openmanus.Call) (string, error) {
	in, r, err := p.read(call)
	return scope(r, in.Code), err
}
