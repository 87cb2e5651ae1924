package host_test

import (
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/sandbox"
)

// aCriticLooks is a plan of one step, and a critic that runs commands.
const aCriticLooks = `
-- 1 --
@when system contains planning assistant
@call planning
  command: create
  plan_id: p
  title: T
  steps = [{"text": "Write a.txt", "acceptance": "a.txt says one"}]
-- any --
@when system contains planning assistant
Done.
-- 1 --
@when system contains You check whether
@call bash {"command": "cd / && export SEEN=yes; cat $OLDPWD/a.txt; echo two > $OLDPWD/a.txt; echo new > $OLDPWD/b.txt"}
-- 2 --
@when system contains You check whether
@call bash {"command": "echo seen: $SEEN; pwd", "network": true}
@call bash {"command": "echo seen: $SEEN; pwd"}
-- 3 --
@when system contains You check whether
@call create_chat_completion {"met": true, "reason": "It does."}
-- any --
@when system contains You check whether
Nothing.
-- 1 --
@call bash {"command": "echo one > a.txt"}
-- any --
Done.
`

// A critic runs commands that change nothing, and its session says so: the one that
// goes on elsewhere, too. The session above it is as it was.
func TestACriticRunsCommandsThatChangeNothing(t *testing.T) {
	for _, kind := range []string{"bubblewrap", "landlock"} {
		p := newPlace(t, aCriticLooks)
		ws, err := sandbox.Open(t.Context(), sandbox.Options{Dir: p.path("ws"), Kind: sandbox.Kind(kind)})
		if err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Log(err)
			continue
		}
		if err := ws.Close(); err != nil {
			t.Fatal(err)
		}
		h, db, end := p.open("sandbox=" + kind)
		spec := p.spec(h, func(s *openmanus.Spec) { *s = host.WithPlan(*s, host.Plan{}) })
		s := p.do(h, db, "a", spec)
		if s.Status() != openmanus.Finished || host.SpecOf(s).SandboxReadOnly {
			t.Errorf("%s: it is %s: %s; %+v", kind, s.Status(), s.Outcome.Error, host.SpecOf(s))
		}
		var critic string
		for _, c := range s.Children {
			if got := host.SpecOf(p.load(db, c.Child)); got.Agent == "critic" {
				critic = c.Child
			} else if got.SandboxReadOnly {
				t.Errorf("%s: %s is read-only", kind, c.Child)
			}
		}
		check := func(times int) {
			t.Helper()
			c := p.load(db, critic)
			got := host.SpecOf(c)
			if !got.SandboxReadOnly || got.SandboxKind != kind || got.Approve != openmanus.ApproveReadOnly || c.Config.Sandbox != kind {
				t.Errorf("%s: the critic was made from %+v and runs in %q", kind, got, c.Config.Sandbox)
			}
			out := results(t.Context(), db, critic)
			if strings.Count(out, "one\n") != times || strings.Count(out, "Read-only file system") != 2*times {
				t.Errorf("%s: commands of the critic saw:\n%s", kind, out)
			}
			if !strings.Contains(out, "seen: yes\n/\n") || !strings.Contains(out, "network") || c.Status() != openmanus.Finished {
				t.Errorf("%s: it is %s, and its commands saw:\n%s", kind, c.Status(), out)
			}
			data, err := os.ReadFile(p.path("ws/a.txt"))
			if _, no := os.Stat(p.path("ws/b.txt")); err != nil || string(data) != "one\n" || !os.IsNotExist(no) {
				t.Errorf("%s: a.txt is %q, %v; b.txt: %v", kind, data, err, no)
			}
		}
		check(1)
		// The session is made again from what was recorded, whatever is configured.
		end()
		h, db, _ = p.open("sandbox=none")
		f, err := h.Flow(host.SpecOf(p.load(db, critic)))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Agent().Configured(0); !host.Equal(got.Spec, host.SpecOf(p.load(db, critic))) || got.Sandbox != kind {
			t.Errorf("%s: it is configured with %+v, in %q", kind, got.Spec, got.Sandbox)
		}
	}
}

// Without a sandbox a critic has no shell, and no text names one.
func TestACriticWithoutASandbox(t *testing.T) {
	p := newPlace(t, aCriticLooks)
	h, db, _ := p.open("sandbox=none")
	s := p.do(h, db, "a", p.spec(h, func(s *openmanus.Spec) { *s = host.WithPlan(*s, host.Plan{}) }))
	for _, c := range s.Children {
		c := p.load(db, c.Child)
		if host.SpecOf(c).Agent != "critic" {
			continue
		}
		if !host.SpecOf(c).SandboxReadOnly || strings.Contains(c.Config.System, "bash") || strings.Contains(c.Config.System, "Commands") {
			t.Errorf("it was made from %+v and told %q", host.SpecOf(c), c.Config.System)
		}
		for _, tool := range c.Config.Tools {
			if tool.Name == "bash" {
				t.Error("it has a shell")
			}
		}
		return
	}
	t.Errorf("there is no critic: %s: %s", s.Status(), s.Outcome.Error)
}
