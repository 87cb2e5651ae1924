package summary_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/local"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

func usage(in, out int) llm.Usage { return llm.Usage{Input: in, Output: out} }

func put(t *testing.T, j openmanus.Journal, id string, bodies ...openmanus.Body) {
	t.Helper()
	if _, err := j.Append(t.Context(), id, bodies...); err != nil {
		t.Fatal(err)
	}
}

// A session with a child of another model, which waits for a person.
func family(t *testing.T) *journal.Memory {
	t.Helper()
	j := new(journal.Memory)
	call := func(id, tool string) llm.Message {
		return llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: id, Name: tool, Input: "{}"}}}
	}
	tools := func(names ...string) (specs []openmanus.ToolSpec) {
		for _, n := range names {
			specs = append(specs, openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: n, Input: json.RawMessage("{}")}, Hints: openmanus.Hints{Delegates: n == "delegate"}})
		}
		return specs
	}
	put(t, j, "s", openmanus.Opened{Flow: "manus?copy=1-1", Version: 1}, openmanus.Configured{Spec: openmanus.Spec{Agent: "manus", Model: "a/big"}, Tools: tools("delegate")},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")},
		openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: call("c0-1", "delegate"), Usage: usage(10, 1), Cost: 5},
		openmanus.ChildOpened{Call: "c0-1", Child: "s.c0-1"})
	put(t, j, "s.c0-1", openmanus.Opened{Flow: "swe", Parent: "s", Depth: 1, Version: 1}, openmanus.Configured{Spec: openmanus.Spec{Agent: "swe", Model: "b/small"}, Tools: tools("bash")},
		openmanus.UserSaid{ID: "task", Message: llm.Say(llm.User, "do")},
		openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: call("c0-1", "bash"), Usage: usage(20, 2), Cost: 7, By: "c/other"},
		openmanus.Asked{Call: "c0-1", Kind: openmanus.AskRuling, Question: "May bash run?"})
	return j
}

func TestOf(t *testing.T) {
	j := family(t)
	s, err := openmanus.Load(t.Context(), j, "s")
	if err != nil {
		t.Fatal(err)
	}
	qs, err := run.Questions(t.Context(), j, "s")
	if err != nil || len(qs) != 1 {
		t.Fatalf("%d questions, %v", len(qs), err)
	}
	sum := summary.Of("s", s, qs, []host.FileChange{})
	if sum.Status != "waiting" || *sum.Session != "s" || sum.Usage.Input != 10 || len(sum.Waiting) != 1 {
		t.Errorf("%+v", sum)
	}
	if w := sum.Waiting[0]; w.Session != "s.c0-1" || w.Path != "manus > swe (c0-1)" || w.Tool != "bash" || w.Kind != "ruling" {
		t.Errorf("%+v", w)
	}
	if own := summary.Asker("s.c0-1", qs[0]); own != "" {
		t.Errorf("the session itself asks as %q", own)
	}
	in := summary.OfSession(journal.SessionInfo{ID: "s", Title: "one\ntwo\x00"}, s, nil)
	if in.Title != "one two\x00" || in.Agent != "manus" || in.Model != "a/big" || in.Status != "running" {
		t.Errorf("%+v", in)
	}
}

// The cost of each model is added up over all child sessions, by the model that
// replied.
func TestSpent(t *testing.T) {
	uses, err := summary.Spent(t.Context(), family(t), "s")
	if err != nil || len(uses) != 2 {
		t.Fatalf("%+v, %v", uses, err)
	}
	if a, b := uses[0], uses[1]; a.Model != "a/big" || a.Input != 10 || b.Model != "c/other" || b.Output != 2 || *b.Cost != 7e-9 {
		t.Errorf("%+v", uses)
	}
}

func TestUsageInWords(t *testing.T) {
	u := llm.Usage{Input: 10, Cached: 4, Output: 2}
	part, all := u, u
	part.Estimated, all.Estimated = 2, 12
	for _, c := range []struct {
		u        llm.Usage
		cost     openmanus.Money
		unpriced int
		want     string
	}{
		{u, openmanus.Dollar, 0, "10 tokens in (4 cached), 2 out · $1.0000"},
		{u, 0, 0, "10 tokens in (4 cached), 2 out"},
		{u, 0, 12, "10 tokens in (4 cached), 2 out · cost unknown"},
		{part, openmanus.Dollar, 3, "10 tokens in (4 cached), 2 out (2 of them estimated) · at least $1.0000"},
		{all, 0, 12, "10 tokens in (4 cached), 2 out (estimated) · cost unknown"},
	} {
		if got := summary.UsageOf(c.u, c.cost, c.unpriced).String(); got != c.want {
			t.Errorf("%+v, %d, %d: %s; want %s", c.u, c.cost, c.unpriced, got, c.want)
		}
	}
	data, err := json.Marshal(summary.UsageOf(all, 0, 12))
	if want := `{"input_tokens":10,"output_tokens":2,"cached_tokens":4,"estimated_tokens":12,"cost_usd":null,"unpriced_tokens":12}`; err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
}

// A shop is a store of which a session was deleted after it had been listed.
type shop struct {
	openmanus.Journal
	openmanus.Blobs
	journal.Index
	journal.Searcher
}

func (*shop) Driven(string) bool { return false }

func (*shop) Sessions(context.Context, journal.ListOptions) iter.Seq2[journal.SessionInfo, error] {
	return func(yield func(journal.SessionInfo, error) bool) {
		_ = yield(journal.SessionInfo{ID: "gone"}, nil) && yield(journal.SessionInfo{ID: "s"}, nil)
	}
}

func TestDeletedWhileListing(t *testing.T) {
	store := &shop{Journal: new(journal.Memory)}
	put(t, store, "s", openmanus.Opened{Flow: "manus", Version: 1})
	all, err := summary.List(t.Context(), store, journal.ListOptions{})
	if err != nil || len(all) != 1 || *all[0].Session != "s" {
		t.Errorf("%v, %v", all, err)
	}
	sessions, err := local.New(t.Context(), local.Options{Host: new(host.Host), Store: store}).Sessions(t.Context(), 9)
	if err != nil || len(sessions) != 1 || sessions[0].ID != "s" {
		t.Errorf("%v, %v", sessions, err)
	}
}
