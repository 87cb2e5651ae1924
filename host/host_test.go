package host_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/served"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/server"
)

// The agent of a session is made once in a process, however often the session
// is opened, driven and spoken to; sessions that differ in their limits alone
// share it; and a delegate is made once for all its sessions.
func TestAgentsAreMadeOnce(t *testing.T) {
	var boss, hand int
	p := newPlace(t, `
-- 1 --
@when last contains Do it.
@call delegate {"agent": "hand", "task": "Look."}
@call delegate {"agent": "hand", "task": "Look again."}
-- any --
Done.
`)
	p.kinds = []agents.Kind{counted("boss", &boss), counted("hand", &hand)}
	schema := []byte("{\n  \"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}}")
	for name, change := range map[string]func(*openmanus.Spec){
		"plain":    func(s *openmanus.Spec) {},
		"landlock": func(s *openmanus.Spec) { s.SandboxKind = "landlock" },
		"schema":   func(s *openmanus.Spec) { s.Answer = schema },
	} {
		if name == "landlock" && !hasLandlock(t, p) {
			continue
		}
		h, db, end := p.open("agent=boss", "data-dir="+p.path(name))
		boss, hand = 0, 0
		spec := p.spec(h, func(s *openmanus.Spec) { s.Delegates = []string{"hand"}; change(s) })
		s := p.do(h, db, "a", spec)
		if name != "schema" && s.Status() != openmanus.Finished {
			t.Errorf("%s: it is %s: %s", name, s.Status(), s.Outcome.Error)
		}
		if _, err := db.Append(t.Context(), "a", *says("2", "And now?")); err != nil {
			t.Fatal(err)
		}
		p.wake(h, db, "a")
		spec.Limits.Steps = 3
		p.do(h, db, "b", spec)
		if boss != 1 || hand != 1 {
			t.Errorf("%s: the agent was made %d times, and its delegate %d times", name, boss, hand)
		}
		end()
		h, db, _ = p.open("agent=swe", "data-dir="+p.path(name)) // configured otherwise by now
		if _, err := db.Append(t.Context(), "a", *says("3", "Go on.")); err != nil {
			t.Fatal(err)
		}
		p.wake(h, db, "a")
		if boss != 2 {
			t.Errorf("%s: in another process the agent was made %d times", name, boss-1)
		}
	}
}

// hasLandlock reports whether commands can run in Landlock here.
func hasLandlock(t *testing.T, p *place) bool {
	t.Helper()
	ws, err := sandbox.Open(t.Context(), sandbox.Options{Dir: p.path("ws"), Kind: sandbox.Landlock})
	if err != nil {
		t.Log(err)
		return false
	}
	return ws.Close() == nil
}

// With --sandbox landlock commands run in Landlock: at first, when the session
// goes on, in a copy of it, in a session below it and on a server; and the
// journal says so. The sandbox is identified from inside: bubblewrap gives them
// a first process of their own, Landlock keeps them from looking at the
// machine's.
func TestLandlockIsLandlock(t *testing.T) {
	p := newPlace(t, `
-- 1 --
@when last contains Look yourself
@call bash {"command": "cat /proc/1/comm"}
-- 1 --
@when last contains Do it.
@call bash {"command": "cat /proc/1/comm"}
@call delegate {"agent": "swe", "task": "Look yourself."}
-- 2 --
@when last contains Look yourself
Done.
-- 3 --
@call bash {"command": "cat /proc/1/comm"}
-- any --
Done.
`)
	if !hasLandlock(t, p) {
		if os.Getenv("CI") != "" {
			t.Fatal("this kernel has no Landlock, so what this test holds was not seen")
		}
		t.Skip("no Landlock here")
	}
	h, db, end := p.open("sandbox=landlock", "agent=manus")
	s := p.do(h, db, "a", p.spec(h, func(s *openmanus.Spec) { s.Delegates = []string{"swe"} }))
	check := func(id string, seen int) {
		t.Helper()
		s := p.load(db, id)
		if s.Config.Sandbox != "landlock" || host.SpecOf(s).SandboxKind != "landlock" {
			t.Errorf("session %s runs in %q and was made for %q", id, s.Config.Sandbox, host.SpecOf(s).SandboxKind)
		}
		got := results(t.Context(), db, id)
		if strings.Count(got, "/proc/1/comm: Permission denied") != seen || strings.Contains(got, "bwrap") {
			t.Errorf("%d commands of session %s ran in Landlock, and this is what they saw:\n%s", seen, id, got)
		}
	}
	if s.Status() != openmanus.Finished {
		t.Errorf("it is %s: %s", s.Status(), s.Outcome.Error)
	}
	check("a", 1)
	check("a.c0-2", 1)
	if err := journal.Fork(t.Context(), db, "a", 0, "b"); err != nil {
		t.Fatal(err)
	}
	if err := (served.Host{Host: h}).Open(t.Context(), "c", server.NewSession{Owner: "ann", Workspace: p.path("ws"), Approve: "all"}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Append(t.Context(), "c", *says("1", "Look yourself.")); err != nil {
		t.Fatal(err)
	}
	p.wake(h, db, "c")
	check("c", 1)
	end()
	h, db, _ = p.open("sandbox=auto")
	for _, id := range []string{"a", "b"} {
		if _, err := db.Append(t.Context(), id, *says("2", "And now?")); err != nil {
			t.Fatal(err)
		}
		p.wake(h, db, id)
		check(id, 2)
	}
}

// A session that goes on where it runs in another sandbox says so: the audit is
// of what was really used.
func TestTheSandboxThatIsUsedIsRecorded(t *testing.T) {
	p := newPlace(t, "-- any --\n@call bash {\"command\": \"true\"}\n")
	h, db, _ := p.open("sandbox=none", "max-steps=1")
	p.do(h, db, "a", p.spec(h, nil))
	s := p.load(db, "a")
	c := s.Config
	c.N, c.Sandbox = c.N+1, "gvisor" // as if it came from another machine
	if _, err := db.Append(t.Context(), "a", c, *says("2", "Again.")); err != nil {
		t.Fatal(err)
	}
	if s = p.wake(h, db, "a"); s.Config.Sandbox != "none" || s.Config.N != c.N+1 || s.Limits.Steps != 1 {
		t.Errorf("it is recorded to run in %q, by configuration %d, with %+v", s.Config.Sandbox, s.Config.N, s.Limits)
	}
}

// Sessions that a session opens are made from what it is made from, save for
// what the task, the agent's file and its own profile say.
func TestSpecsOfChildren(t *testing.T) {
	p := newPlace(t, `
-- 1 --
@when last contains Do it.
@call delegate {"agent": "swe", "task": "A."}
@call delegate {"agent": "scribe", "task": "B."}
@call delegate {"agent": "manus", "task": "C."}
-- any --
Done.
`)
	p.write("ws/agents/scribe.md", "---\napprove: readonly\nmax_steps: 7\n---\nYou write.\n")
	p.write("home/config/openmanus/config.toml", "[llm.swe]\nmodel = \"scripted:"+p.path("other.txt")+"\"\n")
	h, db, _ := p.open("sandbox=none")
	spec := p.spec(h, func(s *openmanus.Spec) {
		s.Delegates, s.Answer = []string{"swe", "scribe", "manus"}, []byte(`{"type":"object"}`)
	})
	p.do(h, db, "a", spec)
	for id, want := range map[string]struct {
		agent, model, approve string
		steps                 int
	}{
		"a.c0-1": {"swe", "swe", "all", 50},
		"a.c0-2": {"scribe", "scripted:" + p.path("s.txt"), "readonly", 7},
		"a.c0-3": {"manus", "scripted:" + p.path("s.txt"), "all", 50},
	} {
		s := p.load(db, id)
		got := host.SpecOf(s)
		if got.Agent != want.agent || got.Model != want.model || got.Approve != want.approve || s.Limits.Steps != want.steps ||
			len(got.Answer) > 0 || got.SandboxKind != "none" || got.Workspace != spec.Workspace {
			t.Errorf("%s: %+v with %d steps, want %+v", id, got, s.Limits.Steps, want)
		}
		if s.Opened.Flow != want.agent {
			t.Errorf("%s is opened as %s", id, s.Opened.Flow)
		}
	}
}

// A program may have flows of its own. They are made once for a session, too, and
// get the settings that its spec has.
func TestFlowsOfAProgram(t *testing.T) {
	p := newPlace(t, "-- any --\nDone.\n")
	made := 0
	type settings struct{ Rounds int }
	p.flows = map[string]host.FlowMaker{"rounds": func(spec openmanus.Spec, configure func(*openmanus.Agent) error) (openmanus.Flow, error) {
		var s settings
		if err := host.Settings(spec.Flow, &s); err != nil {
			return nil, err
		}
		made++
		a := &openmanus.Agent{Instructions: strings.Repeat("Again. ", s.Rounds)}
		return a, configure(a)
	}}
	h, db, _ := p.open("sandbox=none")
	spec := p.spec(h, func(s *openmanus.Spec) {
		s.Flow = &openmanus.FlowSpec{Name: "rounds", Settings: []byte(`{"Rounds":2}`)}
	})
	s := p.do(h, db, "a", spec)
	if made != 1 || s.Status() != openmanus.Finished || s.Opened.Flow != "rounds" || s.Config.System != "Again. Again. " {
		t.Errorf("made %d times: %s, %+v", made, s.Status(), s.Opened)
	}
	spec.Flow = &openmanus.FlowSpec{Name: "rounds", Settings: []byte(`{"Round":2}`)}
	if _, err := h.Flow(spec); err == nil || !strings.Contains(err.Error(), `unknown field "Round"`) {
		t.Errorf("%v", err)
	}
}

// The resources of a workspace end with the last session that holds it, and are
// made again when they are needed.
func TestKeep(t *testing.T) {
	var made int
	p := newPlace(t, "-- any --\nDone.\n")
	p.kinds = []agents.Kind{counted("boss", &made)}
	h, db, _ := p.open("agent=boss", "sandbox=none")
	spec := p.spec(h, nil)
	one, two := h.Hold("a", spec.Workspace), h.Hold("b", spec.Workspace)
	p.do(h, db, "a", spec)
	p.do(h, db, "b", spec)
	for i, release := range []func() error{one, two} {
		if err := release(); err != nil {
			t.Fatal(err)
		}
		if made != 1 {
			t.Errorf("it was made %d times", made)
		}
		if i == 1 {
			p.do(h, db, "c", spec)
		}
	}
	if made != 2 {
		t.Errorf("after all let go of it, it was made %d times", made)
	}
}

// The parts of its workspace that an agent reads: names, and an AGENTS.md that
// is a file of the workspace, not a pipe or a link out of it.
func TestEnvironment(t *testing.T) {
	p := newPlace(t, justAnswers)
	h, _, _ := p.open()
	read := func() string {
		in, err := h.Instructions(h.Config, p.path("ws"))
		if err != nil {
			t.Fatal(err)
		}
		if _, names := in.Unvouched(); len(names) > 0 {
			if err := in.Vouch(names...); err != nil {
				t.Fatal(err)
			}
		}
		var b strings.Builder
		parts, by := h.Environment(p.path("ws"))
		for _, part := range parts {
			b.WriteString(openmanus.TextResult("%s", part).Parts.Text())
		}
		if guided := strings.Contains(b.String(), "<file name=\"AGENTS.md\">"); guided != (len(by) == 1 && by[0].From == openmanus.FileSource("AGENTS.md").From) {
			t.Errorf("%q was written by %+v", &b, by)
		}
		return b.String()
	}
	if got := read(); !strings.Contains(got, "files: none yet") || strings.Contains(got, "AGENTS.md") {
		t.Errorf("%s", got)
	}
	p.write("outside", "TOP SECRET")
	p.write("ws/sub/x", "")
	for _, c := range []struct {
		name       string
		make       func() error
		want, deny string
	}{
		{"a file", func() error { return os.WriteFile(p.path("ws/AGENTS.md"), []byte("Use tabs.\n"), 0o600) }, "Use tabs.", "[cut here"},
		{"a long file", func() error {
			return os.WriteFile(p.path("ws/AGENTS.md"), []byte(strings.Repeat("tabs ", 10_000)), 0o600)
		}, "[cut here: the rest is in the file]", "SECRET"},
		{"a link inside", func() error { return os.Symlink("guide.md", p.path("ws/AGENTS.md")) }, "Use spaces.", "SECRET"},
		{"a link out", func() error { return os.Symlink("../outside", p.path("ws/AGENTS.md")) }, "sub/", "SECRET"},
		{"an absolute link", func() error { return os.Symlink(p.path("outside"), p.path("ws/AGENTS.md")) }, "sub/", "SECRET"},
		{"a pipe", func() error { return mkfifo(p.path("ws/AGENTS.md")) }, "sub/", "SECRET"},
	} {
		p.write("ws/guide.md", "Use spaces.")
		if err := c.make(); err != nil {
			t.Fatal(c.name, err)
		}
		if got := read(); !strings.Contains(got, c.want) || strings.Contains(got, c.deny) {
			t.Errorf("%s: %.300s", c.name, got)
		}
		if err := os.Remove(p.path("ws/AGENTS.md")); err != nil {
			t.Fatal(err)
		}
	}
}

// A server opens sessions of all kinds as the configuration says, and names the
// field that is wrong.
func TestServed(t *testing.T) {
	p := newPlace(t, justAnswers)
	h, db, _ := p.open("sandbox=none", "max-steps=9")
	sh := served.Host{Host: h}
	replans := 0
	for name, c := range map[string]struct {
		n    server.NewSession
		want string // the field of the error, or the flow
	}{
		"plain":     {server.NewSession{}, "manus"},
		"agent":     {server.NewSession{Agent: "swe", Limits: openmanus.Limits{Tokens: 5}}, "swe"},
		"no agent":  {server.NewSession{Agent: "gandalf"}, "agent: "},
		"hidden":    {server.NewSession{Agent: "critic"}, "agent: "},
		"no model":  {server.NewSession{Model: "acme/x"}, "model: "},
		"script":    {server.NewSession{Model: "scripted:" + p.path("s.txt")}, "manus"}, // the configured one
		"a file":    {server.NewSession{Model: "scripted:" + p.path("ws")}, "model: a model that is a file"},
		"no file":   {server.NewSession{Model: "scripted:" + p.path("nowhere")}, "model: a model that is a file"},
		"attempted": {server.NewSession{Evaluate: &server.Evaluation{Models: []string{"", "scripted:/etc/passwd"}}}, "body.evaluate.models[1]: a model that is a file"},
		"plan":      {server.NewSession{Flow: &server.Flow{Agents: []string{"SWE"}, Replans: &replans}}, "plan"},
		"no hand":   {server.NewSession{Flow: &server.Flow{Agents: []string{"gandalf"}}}, "body.flow.agents: "},
		"attempts":  {server.NewSession{Evaluate: &server.Evaluation{Hints: []string{"a", "b"}}}, "evaluate"},
		"too few":   {server.NewSession{Evaluate: &server.Evaluation{Attempts: 1, Hints: []string{"a", "b"}}}, "body.evaluate.attempts: "},
		"long hint": {server.NewSession{Evaluate: &server.Evaluation{Hints: []string{strings.Repeat("a", host.MaxHint+1)}}}, "body.evaluate.hints[0]: "},
		"bad model": {server.NewSession{Evaluate: &server.Evaluation{Models: []string{"acme/x"}}}, "body.evaluate.models[0]: "},
	} {
		c.n.Workspace, c.n.Owner = p.path("ws"), "ann"
		id := strings.ReplaceAll(name, " ", "-")
		err := sh.Open(t.Context(), id, c.n)
		if strings.Contains(c.want, ": ") {
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := p.load(db, id)
		if s.Opened.Flow != c.want || s.Opened.Owner != "ann" || s.Config.Approve != "ask" || s.Limits.Steps != 9 || c.n.Limits.Tokens > 0 && s.Limits.Tokens != 5 {
			t.Errorf("%s: %+v %+v", name, s.Opened, s.Limits)
		}
	}
	cat, err := sh.Catalogue(t.Context())
	if err != nil || len(cat.Agents) < 5 || len(cat.Tools) < 10 || len(cat.Models) != 1 || !cat.Models[0].Default {
		t.Errorf("%+v, %v", cat, err)
	}
}

// The files that changed are found, and the program's own are left out.
func TestChanges(t *testing.T) {
	p := newPlace(t, justAnswers)
	for _, name := range []string{"ws/same", "ws/changed", "ws/gone", "ws/.git/x", "ws/own/x"} {
		p.write(name, "1")
	}
	scan := func() host.Scan {
		return host.ScanFiles(t.Context(), os.DirFS(p.path("ws")), func(name string) bool { return name == "own" })
	}
	before := scan()
	p.write("ws/new/file", "123")
	p.write("ws/own/y", "1")
	p.write("ws/.git/y", "1")
	p.write("ws/changed", "22")
	if err := os.Remove(p.path("ws/gone")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range host.Changes(before, scan()) {
		got = append(got, c.Change+" "+c.Path)
	}
	if strings.Join(got, ", ") != "modified changed, deleted gone, created new/file" {
		t.Errorf("%q", got)
	}
}

// The models of a configuration, the default one first.
func TestListModels(t *testing.T) {
	p := newPlace(t, justAnswers)
	p.write("home/config/openmanus/config.toml", "[llm.planner]\nmodel = \"scripted:x\"\n[models.\"openai/big\"]\nwindow = 5\n")
	h, _, _ := p.open()
	list, err := host.ListModels(t.Context(), h.Config)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, m.Name)
	}
	if strings.Join(got, " ") != "default planner openai/big" || !list[0].Default {
		t.Errorf("%q", got)
	}

	none := newPlace(t, justAnswers)
	o := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"data":[{"id":"small"},{"id":"large"}],"models":[{"name":"small"},{"name":"large"}]}`))
	}))
	defer o.Close()
	none.env["OLLAMA_HOST"] = o.URL
	h, _, _ = none.open("model=")
	list, err = host.ListModels(t.Context(), h.Config)
	if err != nil || len(list) != 2 || list[0].Name != "ollama/small" || !list[0].Default {
		t.Errorf("%+v, %v", list, err)
	}
}
