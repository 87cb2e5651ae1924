package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

// reply looks for the request that b replies to.
func (t *search) reply(ctx context.Context, b openmanus.ModelSaid) {
	t.p.modelCalls++
	if b.Sent == (llm.Sent{}) {
		t.p.unchecked++
	}
	said := b
	if b.By == t.p.state.Config.Model {
		said.By = ""
	}
	w := world{reply: func(int) (openmanus.ModelSaid, error) { return said, nil }, reached: make(map[string]bool)}
	for _, c := range b.Message.Calls() {
		w.reached[c.Name] = w.reached[c.Name] || slices.Contains(b.Reached, c.ID)
	}
	t.tasksAt(ctx, b.Re, openmanus.Reply, "", w)
}

// A failure is the recorded error of a model.
type failure struct {
	text string
	kind *llm.Error
}

func (f failure) Error() string { return f.text }
func (f failure) Unwrap() error { return f.kind }

// failed returns the error of a model.
func failed(kind llm.Kind, status int, text string) error {
	return failure{text, &llm.Error{Kind: kind, Status: status, Permanent: true, Err: errors.New(text)}}
}

// noReply looks for the request that failed, or for the decision that none would do.
func (t *search) noReply(ctx context.Context, b openmanus.ModelFailed) {
	t.p.modelCalls++
	said := openmanus.ModelSaid{By: b.By, Usage: b.Usage, Aside: b.Aside}
	if b.By == t.p.state.Config.Model {
		said.By = ""
	}
	if b.Usage != (llm.Usage{}) { // there was something of a reply; what, is not recorded
		said.Message = llm.Say(llm.Assistant, "…")
	}
	all := world{reply: func(int) (openmanus.ModelSaid, error) {
		return said, failed(b.Kind, b.Status, b.Error)
	}}
	first := world{reply: func(n int) (openmanus.ModelSaid, error) {
		if n == 0 {
			return openmanus.ModelSaid{}, failed(llm.Context, 0, "too large")
		}
		return said, failed(b.Kind, b.Status, b.Error)
	}}
	old := world{reply: func(int) (openmanus.ModelSaid, error) { // before there were softenings
		return said, failed(b.Kind, 0, b.Error)
	}}
	for _, w := range []world{all, first, old} {
		w.summarizer = t.p.writer(b.By)
		for _, do := range []openmanus.Verb{openmanus.Reply, openmanus.Compact, openmanus.Stop} {
			if !t.over() {
				t.tasksAt(ctx, b.Re, do, "", w)
			}
		}
	}
}

// end looks for the end that a flow declares.
func (t *search) end(ctx context.Context, _ openmanus.Ended) {
	t.tasks(ctx, openmanus.End, "", world{})
}

// softening looks for the request that was refused.
func (t *search) softening(ctx context.Context, b openmanus.Softened) {
	t.p.modelCalls++
	t.tasks(ctx, openmanus.Reply, "", world{reply: func(int) (openmanus.ModelSaid, error) {
		return openmanus.ModelSaid{Aside: b.Aside}, failed(llm.Protocol, 400, b.Refused)
	}})
}

// stop looks for the limit at which the session stopped.
func (t *search) stop(ctx context.Context, b openmanus.Stopped) {
	s := t.p.state
	if b.Reason == openmanus.NoTime && s.Status() == openmanus.Running && s.Limits.Time > 0 {
		// the clock is that of the record
		if s.Active+t.ev.Time.Sub(s.Updated) >= s.Limits.Time {
			t.compare(openmanus.Stopped{Turn: s.Turn, Re: s.Seq, Reason: openmanus.NoTime, Error: s.TimeUp()}, s)
		}
	}
	w := world{budget: errors.New(b.Error)}
	verbs := []openmanus.Verb{openmanus.Stop, openmanus.Delegate}
	if b.Reason == openmanus.NoMoney || b.Reason == openmanus.NoTokens { // a budget may have refused
		verbs = append(verbs, openmanus.Compact, openmanus.Reply)
	}
	if b.Reason == openmanus.ByHook {
		w.hooks, verbs = run.Screened{Denied: true, Reason: b.Error}, []openmanus.Verb{openmanus.Reply}
	}
	for _, do := range verbs {
		if !t.over() {
			t.tasksAt(ctx, b.Re, do, "", w)
		}
	}
}

// compaction looks for what b sums up. The words of the model stand in the middle of
// the summary: what is around them is found by a summary of other words.
func (t *search) compaction(ctx context.Context, b openmanus.Compacted) {
	t.p.modelCalls++
	const other = "\x01"
	writer := t.p.writer(b.By)
	for s := range t.states(0) {
		for _, task := range t.p.flow.Next(s) {
			if task.Do != openmanus.Compact && (task.Do != openmanus.Reply || b.Refused == "") {
				continue
			}
			for attempts := 1; attempts < 10; attempts++ { // requests for a summary
				says := func(words string) world {
					return world{summarizer: writer, reply: summarizing(b, task.Do == openmanus.Reply, attempts, words)}
				}
				frame, err := t.p.do(ctx, t.p.session1(s), task, says(other))
				if err != nil {
					t.err = err
					return
				}
				c, ok := frame.(openmanus.Compacted)
				if !ok {
					t.compare(frame, s)
					continue
				}
				before, after, _ := strings.Cut(c.Summary, other)
				words := b.Summary
				if rest, ok := strings.CutPrefix(words, before); ok && strings.HasSuffix(rest, after) {
					words = strings.TrimSuffix(rest, after)
				}
				t.try(ctx, s, task, says(words))
				if t.over() {
					return
				}
			}
		}
	}
}

// elision looks for what leaves results out: a task, or a request that was refused as
// too large.
func (t *search) elision(ctx context.Context, _ openmanus.Elided) {
	t.tasks(ctx, openmanus.Elide, "", world{})
	if !t.over() {
		t.tasks(ctx, openmanus.Reply, "", world{reply: func(int) (openmanus.ModelSaid, error) {
			return openmanus.ModelSaid{}, failed(llm.Context, 0, "too large")
		}})
	}
}

// writer returns the model that only writes summaries, if there is one: that of the
// agent, or else the one that wrote one.
func (p *player) writer(by string) openmanus.Helper {
	h := p.agent.Summarizer
	if h.Model == nil && h.Name == "" && by != "" && by != p.state.Config.Model {
		h.Name = by
	}
	if h.Model != nil || h.Name != "" {
		h.Model = actor{p}
	}
	return h
}

// summarizing returns a model that refuses the request of a reply, if there is one,
// and all requests for a summary but the last.
func summarizing(
	b openmanus.Compacted, reply bool, attempts int, words string,
) func(int) (openmanus.ModelSaid, error) {
	last := attempts - 1
	if reply {
		last++
	}
	return func(n int) (openmanus.ModelSaid, error) {
		switch {
		case n == 0 && reply:
			return openmanus.ModelSaid{}, failed(llm.Context, 0, b.Refused)
		case n < last:
			return openmanus.ModelSaid{}, failed(llm.Context, 0, "too large")
		}
		return openmanus.ModelSaid{Message: llm.Say(llm.Assistant, words), Stop: llm.End, Usage: b.Usage}, nil
	}
}

// changed returns what hooks said that changed the arguments of a call.
func changed(input, by string) run.Screened {
	if by == "" {
		return run.Screened{}
	}
	return run.Screened{Input: input, ChangedBy: by}
}

// ruling looks for the call that the gate ruled on.
func (t *search) ruling(ctx context.Context, b openmanus.Ruled) {
	w := world{
		verdict: openmanus.Verdict{Allow: b.Allow, Rule: b.Rule, Reason: b.Reason, Scoped: b.Scope != ""},
		scope:   b.Scope, hints: b.Hints, sources: len(b.Sources) > 0, leads: b.Leads,
		hooks: changed(b.Input, b.ChangedBy),
	}
	t.tasks(ctx, openmanus.Rule, b.Call, w)
	if !t.over() && b.Allow && b.Scope != "" { // the person had allowed it for the session
		w.verdict = openmanus.Verdict{Ask: true, Scoped: true}
		t.tasks(ctx, openmanus.Rule, b.Call, w)
	}
}

// question looks for what asks: the gate, or the tool of a call that runs.
func (t *search) question(ctx context.Context, b openmanus.Asked) {
	if b.Kind != openmanus.AskRuling {
		ask := &openmanus.Ask{Question: b.Question, Schema: b.Schema}
		t.use(ctx, b.Call, world{result: func() (openmanus.Result, error) { return openmanus.Result{}, ask }})
		return
	}
	w := world{
		verdict: openmanus.Verdict{Ask: true, Rule: b.Rule, Reason: b.Question, Scoped: b.Scope != ""},
		scope:   b.Scope, hints: b.Hints, preview: b.Shown, hooks: changed(b.Input, b.ChangedBy), leads: b.Leads,
	}
	if b.Picture != "" && !t.p.rec.lost[b.Picture] {
		w.picture, t.err = openmanus.ReadBlob(ctx, t.p.rec.blobs, b.Picture)
	}
	if !t.over() {
		t.tasks(ctx, openmanus.Rule, b.Call, w)
	}
}

// compareHead compares what requests begin with as it was recorded with that of an
// agent of today.
func (p *player) compareHead(s *openmanus.State, today *openmanus.Agent) error {
	was, is := s.Config, today.Configured(s.Config.N)
	differs := func(was, is, format string, a ...any) error {
		what := "configured: " + fmt.Sprintf(format, a...)
		return &Difference{Session: p.id, Seq: s.Seq, What: what, Was: []byte(was), Is: []byte(is)}
	}
	if was.System != is.System {
		return differs(was.System, is.System, "the system prompt differs")
	}
	now := make(map[string]openmanus.ToolSpec)
	for _, t := range is.Tools {
		now[t.Name] = t
	}
	for _, t := range was.Tools {
		n, ok := now[t.Name]
		delete(now, t.Name)
		switch {
		case t.From != "", len(t.Sources) > 0: // it is not this program's, or describes what is not
		case !ok:
			return differs(t.Name, "", "there is no tool %s any more", t.Name)
		case t.Deferred != n.Deferred:
			return differs(fmt.Sprint(!t.Deferred), fmt.Sprint(!n.Deferred), "whether requests offer the tool %s differs", t.Name)
		case t.Description != n.Description:
			return differs(t.Description, n.Description, "the description of the tool %s differs", t.Name)
		case sorted(t.Input) != sorted(n.Input):
			return differs(sorted(t.Input), sorted(n.Input), "the schema of the tool %s differs", t.Name)
		}
	}
	for _, t := range is.Tools {
		if _, added := now[t.Name]; added && t.From == "" {
			return differs("", t.Name, "there is a tool %s now", t.Name)
		}
	}
	settings := func(s llm.Settings) string {
		data, _ := json.Marshal(s) // it holds nothing that does not encode
		return sorted(data)
	}
	if one, other := settings(was.Settings), settings(is.Settings); one != other {
		return differs(one, other, "the settings of requests differ")
	}
	return nil
}

// sorted returns JSON with the names in it sorted: a store may have done that.
func sorted(data json.RawMessage) string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return string(data)
	}
	data, _ = json.Marshal(v) // what was decoded encodes
	return string(data)
}
