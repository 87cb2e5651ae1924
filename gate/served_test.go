package gate

import (
	"context"
	"testing"

	"github.com/openmanus-go/openmanus"
)

// A person is asked about a server of their own that they named and a command in a
// sandbox names, if there is one; and about nothing else.
func TestServersThatCommandsName(t *testing.T) {
	spec := openmanus.ToolSpec{Hints: openmanus.Hints{Sandboxed: true, Destructive: true}, Arguments: []openmanus.Argument{
		{Name: "command", Kind: openmanus.CommandArgument, Does: openmanus.Runs, Local: true}}}
	spec.Name = "bash"
	const question = "ask localhost:8000 is a server on this machine. May bash connect to it?"
	for _, c := range []struct {
		name, said, command string
		o                   Options
		hints               openmanus.Hints
		read                text
		want                string // "" means not by this rule
	}{
		{name: "named", said: "My site is http://127.0.0.1:8000/", command: "curl http://localhost:8000/", want: question},
		{name: "not a web site", said: "Postgres is at localhost:8000", command: "psql postgres://me@localhost:8000/db", want: question},
		{name: "not listening", said: "Serve it on localhost:9000", command: "curl localhost:9000"},
		{name: "one listens", said: "localhost:8000 and localhost:9000", command: "curl localhost:9000 localhost:8000", want: question},
		{name: "not named", said: "Test my site", command: "curl http://localhost:8000/"},
		{name: "another port", said: "Test localhost:9000", command: "curl http://localhost:8000/"},
		{name: "one is not named", said: "Test localhost:8000", command: "curl localhost:8000 localhost:8001"},
		{name: "others named it", said: "Read the page", read: text{"https://example.org/a", "http://localhost:8000/"}, command: "curl http://localhost:8000/"},
		{name: "mode all", said: "localhost:8000", o: Options{Mode: openmanus.ApproveAll}, command: "curl localhost:8000", want: "allow "},
		{name: "mode readonly", said: "localhost:8000", o: Options{Mode: openmanus.ApproveReadOnly}, command: "curl localhost:8000",
			hints: openmanus.Hints{ReadOnly: true, Sandboxed: true}},
		{name: "no sandbox", said: "localhost:8000", o: Options{Sandbox: "none"}, command: "curl localhost:8000"},
		{name: "with the network", said: "localhost:8000", command: "curl localhost:8000", hints: openmanus.Hints{Reach: openmanus.ReachNetwork}},
		{name: "a rule that denies", said: "localhost:8000", o: Options{Rules: Rules{Deny: []string{"host:localhost"}}}, command: "nc localhost:8000"},
		{name: "a rule that allows", said: "localhost:8000", o: Options{Rules: Rules{Allow: []string{"command:curl"}}}, command: "curl localhost:8000", want: question},
	} {
		texts := []text{}
		if c.read.from != "" {
			texts = append(texts, c.read)
		}
		s := readSession(c.said, texts...)
		call, _ := call("bash", map[string]any{"command": c.command})
		call.Provenance = func() *openmanus.Provenance { return s.Provenance(call.Input) }
		spec := spec
		if c.hints != (openmanus.Hints{}) {
			spec.Hints = c.hints
		}
		if c.o.Workspace = "/w"; c.o.Sandbox == "" {
			c.o.Sandbox = "bubblewrap"
		}
		c.o.Serves = func(_ context.Context, port int) bool { return port == 8000 || port == 8001 }
		g, err := New(c.o)
		if err != nil {
			t.Fatal(err)
		}
		v, err := g.Rule(t.Context(), call, spec)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		switch {
		case v.Rule != RuleLocal || !v.Scoped:
		case v.Allow:
			got = "allow " + v.Reason
		case v.Ask:
			got = "ask " + v.Reason
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %q by %s\nwant %q", c.name, got, v.Rule, c.want)
		}
	}
}
