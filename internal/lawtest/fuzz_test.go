package lawtest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// tools of the sessions that are made up: what they may do, by name.
var madeUp = []openmanus.ToolSpec{
	{ToolSpec: llm.ToolSpec{Name: "read"}, Hints: openmanus.Hints{ReadOnly: true}},
	{ToolSpec: llm.ToolSpec{Name: "write"}},
	{ToolSpec: llm.ToolSpec{Name: "end"}, Hints: openmanus.Hints{Final: true}},
	{ToolSpec: llm.ToolSpec{Name: "give"}, Hints: openmanus.Hints{Delegates: true}},
}

// A story is a journal that is made up of bytes: any events in any order, as
// long as no key is there twice.
type story struct {
	bytes []byte
	seq   int64
	now   time.Time
	keys  map[string]bool
	told  []string // the keys in order
}

// log shows the story of a test that failed.
func (st *story) log(t *testing.T) {
	if t.Failed() {
		t.Log(st.told)
	}
}

// next returns the next byte, or 0 after the last.
func (st *story) next() int {
	if len(st.bytes) == 0 {
		return 0
	}
	b := st.bytes[0]
	st.bytes = st.bytes[1:]
	return int(b)
}

// event makes an event of b, unless its key is taken.
func (st *story) event(b openmanus.Body) (openmanus.Event, bool) {
	if st.keys == nil {
		st.keys, st.now = make(map[string]bool), time.Unix(1e9, 0)
	}
	if st.keys[b.Key()] {
		return openmanus.Event{}, false
	}
	st.keys[b.Key()] = true
	st.told = append(st.told, b.Key())
	st.seq++
	st.now = st.now.Add(time.Duration(st.next()) * 20 * time.Second)
	return openmanus.Event{Seq: st.seq, Time: st.now, Body: b}, true
}

// call names a call: one of the last reply, or any.
func (st *story) call(s *openmanus.State) string {
	n := st.next()
	if len(s.Calls) > 0 && n%4 != 0 {
		return s.Calls[n/4%len(s.Calls)].ID
	}
	return fmt.Sprintf("c%d-%d", n/16, 1+n/4%4)
}

// reply makes up a reply: prose, calls, both, or nothing, and why it ended.
func (st *story) reply(turn int) (llm.Message, llm.Stop) {
	n := st.next()
	m := llm.Message{Role: llm.Assistant}
	if n%3 > 0 {
		m.Parts = append(m.Parts, llm.Text{Text: fmt.Sprint("words ", n%5)})
	}
	for i := range n / 3 % 4 {
		c := st.next()
		m.Parts = append(m.Parts, llm.Call{ID: fmt.Sprintf("c%d-%d", turn, i+1), Name: []string{"read", "write", "end", "none", "give"}[c%5], Input: `{}`})
	}
	return m, []llm.Stop{llm.End, llm.ToolUse, llm.End, llm.ToolUse, llm.Length, llm.Filter, llm.Refusal, ""}[n/12%8]
}

// body makes up what happened.
func (st *story) body(s *openmanus.State) openmanus.Body {
	kind, n := st.next(), st.next()
	turn, re := s.Turn+[]int{0, 0, 0, 1, -1}[n%5], s.Seq-[]int64{0, 0, 1, 3}[n/5%4]
	id := fmt.Sprint(n % 50)
	switch kind % 25 {
	case 0:
		return openmanus.UserSaid{ID: id, Message: llm.Say(llm.User, "say "+id)}
	case 1, 2, 3:
		m, stop := st.reply(turn)
		return openmanus.ModelSaid{Turn: turn, Re: re, Message: m, Stop: stop, Usage: llm.Usage{Input: n}}
	case 4:
		return openmanus.ModelFailed{Turn: turn, Re: re, Kind: llm.Network}
	case 5:
		return openmanus.Stopped{Turn: turn, Re: re, Reason: openmanus.NoSteps}
	case 6:
		return openmanus.Asked{Call: st.call(s), Kind: openmanus.AskRuling, Hints: openmanus.Hints{ReadOnly: n%2 == 0}}
	case 7:
		return openmanus.Asked{Call: st.call(s), N: n % 3, Kind: openmanus.AskText}
	case 8:
		return openmanus.Answered{Call: st.call(s), N: n % 3}
	case 9, 10:
		return openmanus.Ruled{Call: st.call(s), Allow: n%3 > 0, By: []string{"gate", "me"}[n%2], Hints: openmanus.Hints{ReadOnly: n%4 == 0, Delegates: n%5 == 0}}
	case 11:
		return openmanus.CallStarted{Call: st.call(s), Attempt: 1 + n%3}
	case 12, 13:
		return openmanus.CallDone{Call: st.call(s), IsError: n%3 == 0, Parts: llm.Parts{llm.Text{Text: id}}, Detail: st.detail()}
	case 14:
		return openmanus.CallLate{Call: st.call(s)}
	case 15:
		return openmanus.ChildOpened{Child: id, Call: st.call(s)}
	case 16:
		return openmanus.ChildDone{Child: id, Call: []string{"", st.call(s)}[n%2], Status: openmanus.Failed}
	case 17:
		return openmanus.Interrupted{ID: id, Said: []string{"", "I was ab"}[n%2]}
	case 18:
		return openmanus.Resumed{ID: id, Limits: openmanus.Limits{Steps: n%5 - 1, Stuck: n%7 - 1}}
	case 19:
		return openmanus.TakenOver{N: n % 4}
	case 20:
		return openmanus.Configured{N: n % 4, Tools: madeUp[n%4%3:], Spec: openmanus.Spec{Limits: openmanus.Limits{Steps: n % 7}}}
	}
	if kind%25 == 21 {
		return openmanus.Ended{Turn: turn, Re: re, Status: []openmanus.Status{openmanus.Finished, openmanus.Failed, ""}[n%3], Text: id}
	}
	switch kind % 25 {
	case 23:
		return openmanus.Snapped{ID: []string{id, openmanus.BeforeCall(st.call(s), 1)}[n%2], Tree: id}
	case 24:
		return openmanus.Rewound{ID: id, To: s.Seq - int64(n%7), Talk: n%3 > 0, Files: n%2 == 0, Changes: []openmanus.FileChange{{Path: id}}}
	}
	if n == 255 {
		return openmanus.Foreign{Type: "new", Stored: "new/1"}
	}
	return openmanus.Titled{ID: id}
}

func (st *story) detail() json.RawMessage {
	return []json.RawMessage{nil, json.RawMessage(`{"status":"failure","answer":"no"}`), json.RawMessage(`[1`), json.RawMessage(`null`)}[st.next()%4]
}

// addNoise adds long seeds, so that a run without fuzzing sees something too.
func addNoise(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 / testbed.Slower {
		noise := make([]byte, 600)
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		f.Add(noise)
	}
}

// No order of facts makes a state or a flow panic. The next step is a function
// of the journal, which looking at it does not change; what was foreseen is
// what happens; and whatever is sent keeps law 7.
func FuzzNext(f *testing.F) {
	f.Add([]byte{20, 0, 0, 0, 1, 0, 1, 0, 14, 0, 9, 1, 1, 0, 11, 0, 1, 0, 12, 1, 1, 0, 1, 0, 1, 0})
	f.Add([]byte{0, 1, 0, 3, 0, 48, 0, 0, 2, 0, 1, 0, 7, 0, 0, 3, 0})
	addNoise(f)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		a := &openmanus.Agent{}
		st := &story{bytes: bytes}
		defer st.log(t)
		var s, unseen openmanus.State
		first, _ := st.event(openmanus.Opened{})
		s.Apply(first)
		unseen.Apply(first)
		for len(st.bytes) > 0 {
			ev, ok := st.event(st.body(&s))
			if !ok {
				continue
			}
			clone, ahead := s.Clone(), s.Ahead()
			clone.Apply(ev)
			ahead.Apply(ev)
			foreseen := a.Next(ahead)
			s.Apply(ev)
			unseen.Apply(ev)
			inspect(t, a, &s)
			want := a.Next(&s)
			if got := a.Next(clone); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(foreseen, want) {
				t.Fatalf("in a clone: %+v\nforeseen: %+v\nhappened: %+v", got, foreseen, want)
			}
		}
		if !reflect.DeepEqual(&s, &unseen) {
			t.Fatalf("looking at the state changed it:\n%+v\n%+v", s, unseen)
		}
	})
}

// inspect checks what can be said of every state.
func inspect(t *testing.T, a *openmanus.Agent, s *openmanus.State) {
	tasks := a.Next(s)
	if again := a.Next(s); !reflect.DeepEqual(tasks, again) {
		t.Fatalf("Next is not a function: %+v, then %+v", tasks, again)
	}
	status := s.Status()
	if (status == openmanus.Running) != (len(tasks) > 0) && s.Foreign == "" {
		t.Fatalf("the session is %s, with the tasks %+v", status, tasks)
	}
	if status == openmanus.Waiting && len(s.Pending()) == 0 {
		t.Fatal("it waits for nobody")
	}
	for _, task := range tasks {
		if task.Do != openmanus.Reply {
			continue
		}
		req := s.Request(task)
		if err := law7(req.Messages); err != nil {
			t.Fatalf("%v: %s", err, dialogue(req.Messages))
		}
		if task.Re != s.Seq || req.Fixed == 0 {
			t.Fatalf("a reply to %d of %d, with %d messages", task.Re, s.Seq, req.Fixed)
		}
	}
}

// A life is a session with honest workers, who do what Next says, in any
// order, finish late, or die; and with a person, who does anything at any
// time.
type life struct {
	t      *testing.T
	st     *story
	s      openmanus.State
	unseen openmanus.State // the same, which nobody looks at
	a      *openmanus.Agent
	asked  []openmanus.Task // replies on their way
	using  []string         // calls under way
	before []llm.Message    // the last request, without its nudge
	ran    map[string]int
}

func (l *life) happen(b openmanus.Body) {
	if ev, ok := l.st.event(b); ok {
		l.s.Apply(ev)
		l.unseen.Apply(ev)
		inspect(l.t, l.a, &l.s)
		l.dream()
	}
}

// dream folds ahead what may well happen, and then does not: it leaves no
// trace in the state.
func (l *life) dream() {
	ahead := l.s.Ahead()
	for n := range int64(6) {
		var b openmanus.Body
		tasks := l.a.Next(ahead)
		if len(tasks) == 0 {
			b = openmanus.UserSaid{Message: llm.Say(llm.User, "in a dream")}
		} else {
			b = dreamt(ahead, tasks[len(tasks)-1])
		}
		ahead.Apply(openmanus.Event{Seq: l.s.Seq + 1 + n, Time: l.st.now, Body: b})
	}
}

func dreamt(s *openmanus.State, task openmanus.Task) openmanus.Body {
	switch task.Do {
	case openmanus.Rule:
		return openmanus.Ruled{Call: task.Call, Allow: true, By: "gate", Hints: openmanus.Hints{ReadOnly: true}}
	case openmanus.Use:
		if !s.Call(task.Call).Running {
			return openmanus.CallStarted{Call: task.Call, Attempt: 1}
		}
		return openmanus.CallDone{Call: task.Call, Detail: json.RawMessage(`"dreamt"`)}
	case openmanus.Stop:
		return openmanus.Stopped{Turn: task.Turn, Re: task.Re, Reason: task.Reason}
	case openmanus.Delegate:
		return openmanus.ChildOpened{Call: task.Call, Child: openmanus.ChildID("s", task.Child)}
	}
	return openmanus.ModelSaid{Turn: task.Turn, Re: task.Re, Stop: llm.ToolUse, Message: llmtest.Use(fmt.Sprintf("c%d-1", task.Turn), "read", `{"in":"a dream"}`)}
}

// work does one of the tasks there are, and reports whether there was one.
func (l *life) work() bool {
	tasks := l.a.Next(&l.s)
	if len(tasks) == 0 {
		return false
	}
	switch task := tasks[l.st.next()%len(tasks)]; task.Do {
	case openmanus.Reply:
		l.ask(task)
	case openmanus.Stop:
		l.happen(openmanus.Stopped{Turn: task.Turn, Re: task.Re, Reason: task.Reason})
	case openmanus.Rule:
		l.rule(task.Call)
	case openmanus.Use:
		l.use(task.Call)
	case openmanus.Delegate:
		l.delegate(task)
	}
	return true
}

// delegate opens a child, or ends it.
func (l *life) delegate(task openmanus.Task) {
	if id := openmanus.ChildID("s", task.Child); l.s.Child(id) == nil {
		l.happen(openmanus.ChildOpened{Call: task.Call, Child: id})
	} else {
		l.happen(openmanus.ChildDone{Call: task.Call, Child: id, Status: openmanus.Finished, Text: "it is done"})
	}
}

// ask sends a request, which has to begin with the one before: law 6.
func (l *life) ask(task openmanus.Task) {
	if n := len(l.asked); n > 0 && l.asked[n-1].Turn == task.Turn {
		return // it is on its way
	}
	req := l.s.Request(task)
	now := req.Messages[:req.Fixed]
	if len(now) < len(l.before) || !reflect.DeepEqual(now[:len(l.before)], l.before) {
		l.t.Fatalf("a request does not begin with the one before:\n%s\n%s", dialogue(l.before), dialogue(now))
	}
	l.before = now
	l.asked = append(l.asked, task)
}

func (l *life) rule(call string) {
	h := openmanus.Hints{}
	for _, spec := range madeUp {
		if spec.Name == l.s.Call(call).Name {
			h = spec.Hints
		}
	}
	switch n := l.st.next(); n % 5 {
	case 0:
		l.happen(openmanus.Asked{Call: call, Kind: openmanus.AskRuling, Hints: h})
	case 1:
		l.happen(openmanus.CallDone{Call: call, IsError: true, Parts: llm.Parts{llm.Text{Text: "no such tool"}}})
	default:
		l.happen(openmanus.Ruled{Call: call, Allow: n%5 > 2, By: "gate", Hints: h})
	}
}

func (l *life) use(call string) {
	c := l.s.Call(call)
	switch {
	case !c.Running:
		l.happen(openmanus.CallStarted{Call: call, Attempt: c.Attempts + 1})
		l.using = append(l.using, call)
		l.ran[call]++
	case c.Hints.ReadOnly:
		l.finishCall(call)
	default:
		l.happen(openmanus.CallDone{Call: call, IsError: true, Parts: llm.Parts{llm.Text{Text: "interrupted"}}})
	}
	if l.ran[call] > 1 && !c.Hints.ReadOnly && len(c.Questions) == 0 {
		l.t.Fatalf("%s ran twice", call)
	}
}

func (l *life) finishCall(call string) {
	n := l.st.next()
	if c := l.s.Call(call); n%7 == 0 && c != nil && c.Done == nil {
		q := len(c.Questions)
		if c.Ruling != nil {
			q++
		}
		l.happen(openmanus.Asked{Call: call, N: q, Kind: openmanus.AskText})
		return
	}
	l.happen(openmanus.CallDone{Call: call, IsError: n%3 == 0, Parts: llm.Parts{llm.Text{Text: fmt.Sprint(n % 2)}}, Detail: l.st.detail()})
}

// finish ends something that is on its way.
func (l *life) finish() {
	n := l.st.next()
	if len(l.using) > 0 && n%2 == 0 {
		l.finishCall(l.using[0])
		l.using = l.using[1:]
		return
	}
	if len(l.asked) == 0 {
		return
	}
	task := l.asked[0]
	l.asked = l.asked[1:]
	if n%5 == 1 {
		l.happen(openmanus.ModelFailed{Turn: task.Turn, Re: task.Re, Kind: llm.Timeout})
		return
	}
	m, stop := l.st.reply(task.Turn)
	if stop == "" {
		stop = llm.End
	}
	l.happen(openmanus.ModelSaid{Turn: task.Turn, Re: task.Re, Message: m, Stop: stop, Usage: llm.Usage{Input: 10}})
}

func (l *life) person() {
	id := fmt.Sprint(l.st.seq)
	switch n := l.st.next(); n % 6 {
	case 5:
		l.happen(openmanus.Rewound{
			ID: id, To: max(0, l.s.Seq-int64(l.st.next())), Talk: true, Files: n/6%2 == 0, Changes: []openmanus.FileChange{{Path: id}},
		})
		l.before = []llm.Message{} // what was said since has left the conversation
	case 0:
		l.happen(openmanus.UserSaid{ID: id, Message: llm.Say(llm.User, "say "+id)})
	case 1:
		l.happen(openmanus.Interrupted{ID: id, Said: []string{"", "I was ab"}[n/5%2]})
	case 2:
		l.happen(openmanus.Resumed{ID: id, Limits: openmanus.Limits{Steps: n / 5 % 3 * 10}})
	default:
		pending := l.s.Pending()
		if len(pending) == 0 {
			return
		}
		c := pending[0]
		if q := len(c.Questions); q > len(c.Answers) {
			l.happen(openmanus.Answered{Call: c.ID, N: c.Questions[q-1].N})
		} else {
			l.happen(openmanus.Ruled{Call: c.ID, Allow: n%2 == 0, By: "me"})
		}
	}
}

// Whatever honest workers and a person do, and whoever dies: requests grow at
// their end alone, what is not idempotent runs once, and the session comes to
// an end when the model does.
func FuzzLife(f *testing.F) {
	f.Add([]byte("0000"))
	f.Add([]byte{0, 0, 1, 1, 7, 1, 0, 0, 3, 0, 0, 1, 0, 2, 0, 3, 1, 3, 0})
	addNoise(f)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		l := &life{t: t, st: &story{bytes: bytes}, a: &openmanus.Agent{}, before: []llm.Message{}, ran: make(map[string]int)}
		defer l.st.log(t)
		l.happen(openmanus.Opened{})
		l.happen(openmanus.Configured{Tools: madeUp, Spec: openmanus.Spec{Limits: openmanus.Limits{Steps: 20, Time: -1}}})
		l.happen(openmanus.UserSaid{ID: "task", Message: llm.Say(llm.User, "go")})
		for len(l.st.bytes) > 0 {
			switch l.st.next() % 8 {
			case 0, 1, 2:
				l.work()
			case 3, 4, 5:
				l.finish()
			case 6:
				l.person()
			case 7:
				l.asked, l.using = nil, nil // the worker died
			}
		}
		l.asked, l.using = nil, nil
		l.happen(openmanus.UserSaid{ID: "last", Message: llm.Say(llm.User, "and end")})
		for n := 0; l.s.Status() == openmanus.Running; n++ {
			if n > 100 {
				t.Fatalf("it does not end: %+v", l.a.Next(&l.s))
			}
			l.end()
		}
		if !reflect.DeepEqual(&l.s, &l.unseen) {
			t.Fatalf("looking at the state, or ahead of it, changed it:\n%+v\n%+v", l.s, l.unseen)
		}
		if st := l.s.Status(); st != openmanus.Finished && st != openmanus.Waiting {
			t.Fatalf("it ended as %s: %+v", st, l.s.Outcome)
		}
	})
}

// end does the next task in the plainest way.
func (l *life) end() {
	switch task := l.a.Next(&l.s)[0]; task.Do {
	case openmanus.Reply:
		l.ask(task)
		l.asked = nil
		l.happen(openmanus.ModelSaid{Turn: task.Turn, Re: task.Re, Stop: llm.End, Message: llmtest.Say("that is all")})
	case openmanus.Rule:
		l.happen(openmanus.Ruled{Call: task.Call, By: "gate"})
	case openmanus.Use:
		l.happen(openmanus.CallDone{Call: task.Call})
	case openmanus.Delegate:
		l.delegate(task)
	default:
		l.t.Fatalf("%+v at the end", task)
	}
}
