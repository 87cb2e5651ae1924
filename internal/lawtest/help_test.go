package lawtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// An actor is a model that plays one take each time it is asked. Unlike
// [llmtest.Model], it can fail, break off, and stop for any reason.
type actor struct {
	play func(ctx context.Context, n int, req *llm.Request) take // n asks came before

	mu   sync.Mutex
	asks []*llm.Request
}

// A take is a reply, streamed in fragments of a few letters.
type take struct {
	llm.Message
	stop  llm.Stop  // none: by whether there are calls; "-": it breaks off
	usage llm.Usage // none: 10 in and 5 out
	err   error     // in place of the stop
}

// cast returns an actor that gives the n-th take when it is asked for the n-th
// time, and after the last one again the last one.
func cast(takes ...take) *actor {
	return &actor{play: func(_ context.Context, n int, _ *llm.Request) take { return takes[min(n, len(takes)-1)] }}
}

// lines returns an actor whose takes are just these messages.
func lines(messages ...llm.Message) *actor {
	var takes []take
	for _, m := range messages {
		takes = append(takes, take{Message: m})
	}
	return cast(takes...)
}

func (a *actor) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		a.mu.Lock()
		n := len(a.asks)
		a.asks = append(a.asks, req)
		a.mu.Unlock()
		t := a.play(ctx, n, req)
		for i, p := range t.Parts {
			for _, piece := range fragments(p) {
				if !yield(llm.Delta{Part: i, Piece: piece}, nil) {
					return
				}
			}
		}
		switch {
		case t.err != nil:
			yield(llm.Delta{}, t.err)
			return
		case t.stop == "-":
			return
		case t.stop == "" && len(t.Calls()) > 0:
			t.stop = llm.ToolUse
		case t.stop == "":
			t.stop = llm.End
		}
		if t.usage == (llm.Usage{}) {
			t.usage = llm.Usage{Input: 10, Output: 5}
		}
		yield(llm.Delta{Stop: t.stop, Usage: &t.usage}, nil)
	}
}

func fragments(p llm.Part) []llm.Part {
	t, ok := p.(llm.Text)
	if !ok || len(t.Text) < 4 {
		return []llm.Part{p}
	}
	return []llm.Part{llm.Text{Text: t.Text[:2]}, llm.Text{Text: t.Text[2:4]}, llm.Text{Text: t.Text[4:]}}
}

// asked returns the requests so far.
func (a *actor) asked() []*llm.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asks[:len(a.asks):len(a.asks)]
}

// tool returns a tool of any arguments that does what run does.
func tool(name string, h openmanus.Hints, run func(ctx context.Context, call openmanus.Call) (openmanus.Result, error)) openmanus.Tool {
	spec := openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: name}, Hints: h}
	return openmanus.Func(spec, func(ctx context.Context, call openmanus.Call, _ map[string]any) (openmanus.Result, error) {
		return run(ctx, call)
	})
}

// counted returns a tool that counts how often it ran and says "done".
func counted(name string, h openmanus.Hints, runs *atomic.Int64) openmanus.Tool {
	return tool(name, h, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		runs.Add(1)
		return openmanus.TextResult("done"), nil
	})
}

// local returns a runtime for flows on j.
func local(j openmanus.Journal, flows ...openmanus.Flow) *run.Local {
	return &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(flows...), Name: "test"}}
}

// sess is the session of most tests.
const sess = "s"

// begin opens sess with a task and returns a runtime for it, on a journal in
// memory.
func begin(t *testing.T, f openmanus.Flow, task string) (*run.Local, *journal.Memory) {
	t.Helper()
	j := new(journal.Memory)
	if err := openmanus.Open(t.Context(), j, sess, f, ptr(userSays("task", task))); err != nil {
		t.Fatal(err)
	}
	return local(j, f), j
}

func ptr[T any](v T) *T { return &v }

func userSays(id, text string) openmanus.UserSaid {
	return openmanus.UserSaid{ID: id, Message: llm.Say(llm.User, text)}
}

// wake drives sess until someone has to speak.
func wake(t *testing.T, l *run.Local) *openmanus.State {
	t.Helper()
	if err := l.Wake(t.Context(), sess); err != nil {
		t.Fatalf("Wake: %v\n%s", err, log(t, l.Journal, sess))
	}
	s := load(t, l.Journal, sess)
	if st := s.Status(); st == openmanus.Running && len(s.Children) == 0 {
		t.Fatalf("Wake returned, but there is work to do:\n%s", log(t, l.Journal, sess))
	}
	replays(t, l)
	return s
}

// do carries out one task as a runtime does that keeps no state between tasks.
func do(ctx context.Context, w *run.Worker, session string, task openmanus.Task) error {
	x, err := w.Load(ctx, session)
	if err != nil {
		return err
	}
	bodies, err := w.Do(ctx, x, task)
	if start, ok := first(bodies).(openmanus.CallStarted); ok {
		if err := w.Append(ctx, x, start); errors.Is(err, openmanus.ErrExists) {
			return nil // another worker has claimed the call
		} else if err != nil {
			return err
		}
		bodies, err = w.Do(ctx, x, task)
	}
	for _, b := range bodies {
		err = errors.Join(err, w.Record(ctx, session, b))
	}
	return err
}

func first(bodies []openmanus.Body) openmanus.Body {
	if len(bodies) == 0 {
		return nil
	}
	return bodies[0]
}

// tasks returns the tasks of a session.
func tasks(ctx context.Context, w *run.Worker, session string) ([]openmanus.Task, error) {
	x, err := w.Load(ctx, session)
	if err != nil {
		return nil, err
	}
	return x.Flow.Next(x.State), nil
}

func load(t *testing.T, j openmanus.Journal, id string) *openmanus.State {
	t.Helper()
	s, err := openmanus.Load(t.Context(), j, id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put appends what others have to say.
func put(t *testing.T, j openmanus.Journal, bodies ...openmanus.Body) []openmanus.Event {
	t.Helper()
	evs, err := j.Append(context.WithoutCancel(t.Context()), sess, bodies...)
	if err != nil {
		t.Fatalf("append %s: %v", bodies[0].Key(), err)
	}
	return evs
}

func events(t *testing.T, j openmanus.Journal, id string) []openmanus.Event {
	t.Helper()
	var evs []openmanus.Event
	for ev, err := range j.Events(context.WithoutCancel(t.Context()), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		evs = append(evs, ev)
	}
	return evs
}

// log is a session for the reader of a failed test, if long without its middle.
func log(t *testing.T, j openmanus.Journal, id string) string {
	var b strings.Builder
	evs := events(t, j, id)
	for i, ev := range evs {
		if i > 20 && i < len(evs)-40 {
			continue
		}
		data, err := json.Marshal(ev.Body)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&b, "%4d %-14s %.300s\n", ev.Seq, ev.Body.Key(), data)
	}
	return b.String()
}

// keys are the keys of a session, separated by spaces.
func keys(t *testing.T, j openmanus.Journal, id string) string {
	var ks []string
	for _, ev := range events(t, j, id) {
		ks = append(ks, ev.Body.Key())
	}
	return strings.Join(ks, " ")
}

// result returns the result of a call of sess, as text; and whether it is an
// error.
func result(t *testing.T, j openmanus.Journal, call string) (string, bool) {
	t.Helper()
	s := load(t, j, sess)
	for _, m := range s.Transcript(s.Seq) {
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok && r.ID == call {
				return r.Parts.Text(), r.IsError
			}
		}
	}
	t.Fatalf("the call %s has no result:\n%s", call, log(t, j, sess))
	return "", false
}

// ended fails the test unless the session ended in this way.
func ended(t *testing.T, s *openmanus.State, status openmanus.Status, reason openmanus.Reason) {
	t.Helper()
	if got := s.Status(); got != status || s.Outcome.Reason != reason {
		t.Fatalf("the session is %s (%s: %s), want %s (%s)", got, s.Outcome.Reason, s.Outcome.Error, status, reason)
	}
}

// dialogue is a transcript in one line: "user: hi | assistant: add{} | tool: 3".
func dialogue(msgs []llm.Message) string {
	var all []string
	for _, m := range msgs {
		var parts []string
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				parts = append(parts, p.Text)
			case llm.Call:
				parts = append(parts, p.Name+p.Input)
			case llm.Result:
				parts = append(parts, p.Parts.Text())
			}
		}
		all = append(all, string(m.Role)+": "+strings.Join(parts, " + "))
	}
	return strings.Join(all, " | ")
}

// law7 says what is wrong with a transcript: every message with calls is
// followed by one with exactly their results, in their order, and no id is
// there twice.
func law7(msgs []llm.Message) error {
	seen := make(map[string]bool)
	for i, m := range msgs {
		calls := m.Calls()
		if m.Role == llm.Tool && (i == 0 || len(msgs[i-1].Calls()) != len(m.Parts)) {
			return fmt.Errorf("message %d: results without calls", i)
		}
		if len(calls) == 0 {
			continue
		}
		if i+1 == len(msgs) || msgs[i+1].Role != llm.Tool || len(msgs[i+1].Parts) != len(calls) {
			return fmt.Errorf("message %d: calls without results", i)
		}
		for k, c := range calls {
			r, ok := msgs[i+1].Parts[k].(llm.Result)
			if !ok || r.ID != c.ID || seen[c.ID] {
				return fmt.Errorf("message %d: the result of call %s is amiss", i, c.ID)
			}
			seen[c.ID] = true
		}
	}
	return nil
}

// lawful fails the test unless all requests keep laws 6 and 7: each begins
// with the one before, save a trailing message of the moment, and every call
// has a result.
func lawful(t *testing.T, asks []*llm.Request) {
	t.Helper()
	before := []llm.Message{}
	for i, req := range asks {
		if req.Fixed > len(req.Messages) || req.Fixed < len(req.Messages)-1 {
			t.Fatalf("request %d: %d of %d messages are fixed", i, req.Fixed, len(req.Messages))
		}
		now := req.Messages[:req.Fixed]
		if err := law7(req.Messages); err != nil {
			t.Fatalf("request %d: %v: %s", i, err, dialogue(req.Messages))
		}
		if len(now) < len(before) || encode(t, now[:len(before)]) != encode(t, before) {
			t.Fatalf("request %d does not begin with the one before:\n%s\n%s", i, dialogue(before), dialogue(now))
		}
		before = now
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A tamper is a journal in memory at which others have a hand: its functions,
// if not nil, are called around the n-th append, counted from 1 over all
// sessions.
type tamper struct {
	*journal.Memory
	before, after func(n int64, session string, bodies []openmanus.Body) error
	n             atomic.Int64
	mu            sync.Mutex // held by those who append
}

// say appends without the others having a hand in it.
func (j *tamper) say(ctx context.Context, session string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.Memory.Append(ctx, session, bodies...)
}

func (j *tamper) Append(ctx context.Context, session string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	n := j.n.Add(1)
	if j.before != nil {
		if err := j.before(n, session, bodies); err != nil {
			return nil, err
		}
	}
	evs, err := j.say(ctx, session, bodies...)
	if j.after != nil {
		if err := j.after(n, session, bodies); err != nil {
			return nil, err
		}
	}
	return evs, err
}

var errCrash = errors.New("the process was killed")

// A planFlow lets a planner write a plan with its tool "plan", has each step
// done by the flow that it names, and lets the planner sum up.
type planFlow struct{ planner *openmanus.Agent }

func (f planFlow) Agent() *openmanus.Agent { return f.planner }

func (f planFlow) Next(s *openmanus.State) []openmanus.Task {
	if s.Outcome.Status != "" || s.Open() {
		return f.planner.Next(s)
	}
	var todo []openmanus.Task
	for _, c := range s.Calls {
		var plan struct{ Steps []string }
		if c.Name != "plan" || c.Done.IsError || json.Unmarshal(c.Done.Detail, &plan) != nil {
			continue
		}
		for i, step := range plan.Steps {
			name := fmt.Sprintf("%s-step-%d", c.ID, i+1)
			if child := s.Child(openmanus.ChildID(sess, name)); child == nil || child.Done == nil {
				todo = append(todo, openmanus.Task{Do: openmanus.Delegate, Child: name, Flow: "hand", Prompt: step})
			}
		}
	}
	if len(todo) > 0 {
		return todo
	}
	return f.planner.Next(s)
}

// planner returns an agent that plans these steps, then says what it heard.
func planner(steps ...string) *openmanus.Agent {
	return &openmanus.Agent{
		Name: "planner", Tools: []openmanus.Tool{planTool()}, Gate: openmanus.AllowAll,
		Model: llmtest.Script(llmtest.Use("p", "plan", map[string]any{"steps": steps}), llmtest.Say("all done")),
	}
}

func planTool() openmanus.Tool {
	return tool("plan", openmanus.Hints{Internal: true, Idempotent: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		return openmanus.Result{Detail: json.RawMessage(call.Input)}, nil
	})
}
