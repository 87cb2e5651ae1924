package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host"
)

const justAnswers = "-- any --\nDone.\n"

// The spec of a session comes back from its journal, for every kind of session.
func TestSpecOfConfigured(t *testing.T) {
	p := newPlace(t, justAnswers)
	p.write("ws/agents/scribe.md", "---\ndescription: Writes.\napprove: readonly\nagents: swe\nmax_steps: 7\n---\nYou write.\n")
	h, db, _ := p.open()
	for name, change := range map[string]func(*openmanus.Spec){
		"plain":     nil,
		"landlock":  func(s *openmanus.Spec) { s.SandboxKind = "landlock" },
		"none":      func(s *openmanus.Spec) { s.SandboxKind = "none" },
		"readonly":  func(s *openmanus.Spec) { s.Approve = openmanus.ApproveReadOnly },
		"schema":    func(s *openmanus.Spec) { s.Answer = json.RawMessage("{\n \"type\": \"object\",\"title\":\"a<b & c\"}") },
		"delegates": func(s *openmanus.Spec) { s.Delegates = []string{"SWE", "manus"} },
		"limits":    func(s *openmanus.Spec) { s.Limits = openmanus.Limits{Steps: 3, Tokens: -1} },
		"endpoint":  func(s *openmanus.Spec) { s.Agent = "swe" },
		"file":      func(s *openmanus.Spec) { s.Agent = "scribe" },
		"research":  func(s *openmanus.Spec) { s.Agent = "research" },
		"plan": func(s *openmanus.Spec) {
			*s = host.WithPlan(*s, host.Plan{Agents: []string{"manus", "Swe"}, Parallel: 2, Replans: 1, Only: true})
		},
		"plan of one": func(s *openmanus.Spec) { *s = host.WithPlan(*s, host.Plan{}) },
		"evaluation": func(s *openmanus.Spec) {
			models := []string{"scripted:" + p.path("s.txt"), "scripted:" + p.path("other.txt")}
			*s = host.WithEvaluation(*s, host.Evaluation{
				Attempts: host.Attempts(3, "manus", models, []string{`Use {} & "quotes"?=%`}), Parallel: 1, MaxMiB: 7,
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &place{t: t, dir: p.dir}
			want := p.spec(h, change)
			id := strings.ReplaceAll(name, " ", "-")
			agent, err := h.Open(t.Context(), id, host.Opening{Spec: want})
			if err != nil {
				t.Fatal(err)
			}
			s := p.load(db, id)
			if got := host.SpecOf(s); !reflect.DeepEqual(got, want) || !host.Equal(got, want) {
				t.Errorf("the journal has\n%+v, and the session was opened with\n%+v", got, want)
			}
			if s.Opened.Flow != want.Name() || agent.Name != want.Name() || s.Opened.Version != openmanus.FormatVersion {
				t.Errorf("it is opened as %+v, the agent is called %s", s.Opened, agent.Name)
			}
			if got := agent.Configured(0).Spec; !reflect.DeepEqual(got, want) {
				t.Errorf("configured with %+v", got)
			}
		})
	}
}

// A spec is completed by the full names of agents, and by an agent's file.
func TestComplete(t *testing.T) {
	p := newPlace(t, justAnswers)
	p.write("ws/agents/scribe.md", "---\napprove: all\nagents: swe\nmax_steps: 7\n---\nYou write.\n")
	p.write("home/config/openmanus/agents/mine.md", "---\napprove: all\n---\nYou are mine.\n")
	p.write("home/config/openmanus/config.toml", "[llm.planner]\nmodel = \"scripted:"+p.path("other.txt")+"\"\n")
	p.env["OPENMANUS_RUN_APPROVE"] = ""
	h, _, _ := p.open("approve=edits", "max-steps=9")
	scribe := p.spec(h, func(s *openmanus.Spec) { s.Agent = "scribe" })
	if scribe.Approve != openmanus.ApproveEdits || !slices.Equal(scribe.Delegates, []string{"swe"}) || scribe.Limits.Steps != 7 {
		t.Errorf("a file of the workspace allows no more than the run: %+v", scribe)
	}
	if mine := p.spec(h, func(s *openmanus.Spec) { s.Agent = "mine" }); mine.Approve != openmanus.ApproveEdits || mine.Limits.Steps != 9 {
		t.Errorf("a mode on the command line comes before the user's file: %+v", mine)
	}
	plan := p.spec(h, func(s *openmanus.Spec) { *s = host.WithPlan(*s, host.Plan{Agents: []string{"SWE"}}) })
	settings, ok := host.PlanOf(plan)
	if !ok || plan.Model != "planner" || settings.Model != "scripted:"+p.path("s.txt") || !slices.Equal(settings.Agents, []string{"swe"}) {
		t.Errorf("the planner has a model of its own: %+v %+v", plan, settings)
	}
	again, err := h.Complete(plan)
	if err != nil || !host.Equal(again, plan) {
		t.Errorf("completed twice it is %+v, %v", again, err)
	}
}

// A spec that names what there is not: one sentence that names it.
func TestUnknownNames(t *testing.T) {
	p := newPlace(t, justAnswers)
	h, db, _ := p.open()
	n := 0
	for want, change := range map[string]func(*openmanus.Spec){
		`there is no agent "gandalf"; there are manus`:       func(s *openmanus.Spec) { s.Agent = "gandalf" },
		`there is no sandbox "igloo"; there are`:             func(s *openmanus.Spec) { s.SandboxKind = "igloo" },
		`there is no flow "dance"; there are evaluate, plan`: func(s *openmanus.Spec) { s.Flow = &openmanus.FlowSpec{Name: "dance"} },
		`acme`: func(s *openmanus.Spec) { s.Model, s.Endpoint = "acme/large", "" },
		`there is no agent "saruman" to give work to`:                 func(s *openmanus.Spec) { s.Delegates = []string{"saruman"} },
		`the settings of the flow plan: json: unknown field "agentz"`: func(s *openmanus.Spec) { s.Flow = &openmanus.FlowSpec{Name: "plan", Settings: []byte(`{"agentz":[]}`)} },
		`an evaluation has from 1 to 16 attempts, not 0`:              func(s *openmanus.Spec) { *s = host.WithEvaluation(*s, host.Evaluation{}) },
	} {
		spec := p.spec(h, nil)
		change(&spec)
		_, err := h.Open(t.Context(), "no", host.Opening{Spec: spec})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one line with %q", err, want)
		}
		// A session that has such a spec can be looked at and not driven.
		n++
		id := fmt.Sprint("named-", n)
		bodies := []openmanus.Body{openmanus.Opened{Flow: spec.Name(), Version: 2}, openmanus.Configured{Spec: spec}, *says("1", "go")}
		if _, err := db.Append(t.Context(), id, bodies...); err != nil {
			t.Fatal(err)
		}
		if err := h.Local.Wake(t.Context(), id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("driven: %v, want %q", err, want)
		}
		if got := host.SpecOf(p.load(db, id)); !host.Equal(got, spec) {
			t.Errorf("it reads as %+v", got)
		}
	}
	// A journal of a version that is not known.
	bodies := []openmanus.Body{openmanus.Opened{Flow: "manus", Version: 99}, openmanus.Configured{}, *says("1", "go")}
	if _, err := db.Append(t.Context(), "future", bodies...); err != nil {
		t.Fatal(err)
	}
	if err := h.Local.Wake(t.Context(), "future"); err == nil || !strings.Contains(err.Error(), "version 99 of the journal format") {
		t.Errorf("driven: %v", err)
	}
}

// Specs are read from the journals of every version, also of version 1, which
// records none.
func TestSpecOfGoldens(t *testing.T) {
	scripted := func(name string) string { return "scripted:/golden/" + name + ".txt" }
	plain := func(model string) openmanus.Spec {
		return openmanus.Spec{Agent: "manus", Model: scripted(model), Workspace: "/golden/ws", Approve: "ask", SandboxKind: "none"}
	}
	change := func(s openmanus.Spec, f func(*openmanus.Spec)) openmanus.Spec { f(&s); return s }
	for name, want := range map[string]openmanus.Spec{
		"run":      plain("run"),
		"landlock": change(plain("run"), func(s *openmanus.Spec) { s.SandboxKind = "landlock" }),
		"schema": change(plain("schema"), func(s *openmanus.Spec) {
			s.Approve = "readonly"
			s.Answer = json.RawMessage(`{"type":"object","properties":{"months":{"type":"array","items":{"type":"string"}}},` +
				`"required":["months"],"additionalProperties":false}`)
		}),
		"delegate":   change(plain("delegate"), func(s *openmanus.Spec) { s.Delegates = []string{"swe", "manus"} }),
		"delegate.1": change(plain("delegate"), func(s *openmanus.Spec) { s.Agent, s.Delegates = "swe", []string{"swe", "manus"} }),
		"flow": change(plain("flow"), func(s *openmanus.Spec) {
			*s = host.WithPlan(*s, host.Plan{Agents: []string{"manus", "swe"}, Parallel: 1, Replans: 1})
		}),
		"flow.1": plain("flow"),
		"evaluate": change(plain("evaluate"), func(s *openmanus.Spec) {
			*s = host.WithEvaluation(*s, host.Evaluation{Parallel: 1, MaxMiB: 1024, Attempts: []agents.Attempt{
				{Agent: "manus", Model: scripted("evaluate"), Hint: `Use {} & "quotes"?`}, {Agent: "manus", Model: scripted("other"), Hint: `Use {} & "quotes"?`},
			}})
		}),
		"evaluate.1": change(plain("evaluate"), func(s *openmanus.Spec) { s.Workspace = "attempt-1" }),
		"research":   change(plain("research"), func(s *openmanus.Spec) { s.Agent = "research" }),
	} {
		for _, version := range []string{"v1", "v2"} {
			sameSpec(t, version, name, want)
		}
	}
}

func sameSpec(t *testing.T, version, name string, want openmanus.Spec) {
	t.Helper()
	s := readGolden(t, version, name)
	got := host.SpecOf(s)
	if s.Limits.Steps != 50 {
		t.Errorf("%s %s: the limits are %+v", version, name, s.Limits)
	}
	got.Limits = openmanus.Limits{}
	if strings.Contains(got.Workspace, "attempts") {
		got.Workspace = filepath.Base(got.Workspace)
	}
	if !host.Equal(got, want) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		t.Errorf("%s %s:\n%s, want\n%s", version, name, g, w)
	}
}

// readGolden folds a golden journal.
func readGolden(t *testing.T, version, name string) *openmanus.State {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", version, name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s := new(openmanus.State)
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, `{"seq"`) {
			continue
		}
		var ev openmanus.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		s.Apply(ev)
	}
	return s
}

// [runflow] has the analyst do steps as well, where no agents are named.
func TestTheAnalystDoesSteps(t *testing.T) {
	p := newPlace(t, justAnswers)
	h, _, _ := p.open()
	h.Config.Run.FlowAnalyst = true
	for _, c := range []struct{ agents, want []string }{
		{nil, []string{"manus", "data_analysis"}},
		{[]string{"swe"}, []string{"swe"}},
	} {
		spec := p.spec(h, func(s *openmanus.Spec) { *s = host.WithPlan(*s, host.Plan{Agents: c.agents}) })
		if plan, _ := host.PlanOf(spec); !slices.Equal(plan.Agents, c.want) {
			t.Errorf("%v of %v", plan.Agents, c.agents)
		}
	}
}
