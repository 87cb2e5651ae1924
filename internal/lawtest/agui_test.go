package lawtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/server/agui"
)

// An aguiRun is a run, and what happened in its session.
type aguiRun struct {
	agui.Run
	events []openmanus.Event // with provisional ones
	frames []agui.Frame
}

// play sends events to the client of a run that has the frames up to from.
func (r *aguiRun) play(from agui.Position, events []openmanus.Event) []agui.Frame {
	p := agui.New(r.Run, from)
	var frames []agui.Frame
	for _, ev := range events {
		if p.Done() {
			break
		}
		frames = append(frames, p.Apply(ev)...)
	}
	return append(frames, p.Wait([]agui.Interrupt{{ID: "end", Reason: "of the journal"}})...)
}

// aguiRuns follows a session for its whole life: a run begins whenever the session
// has something to do and none is there.
func aguiRuns(events []openmanus.Event) []*aguiRun {
	var s openmanus.State
	var runs []*aguiRun
	var p *agui.Projector
	for i, ev := range events {
		s.Apply(ev)
		if p != nil {
			p.Apply(ev)
		}
		if p != nil && !p.Done() || s.Status() != openmanus.Running {
			continue
		}
		run := &aguiRun{Run: agui.Run{Session: "s", Thread: "t", ID: fmt.Sprint("r", ev.Seq), Start: ev.Seq, Least: ev.Seq,
			History: len(runs)%2 == 1}}
		run.events = typed(events, rand.New(rand.NewPCG(uint64(ev.Seq), uint64(len(events)))))
		run.frames = run.play(agui.Position{}, run.events)
		runs = append(runs, run)
		p = agui.New(run.Run, agui.Position{})
		for _, ev := range events[:i+1] {
			p.Apply(ev)
		}
	}
	return runs
}

// typed adds, before replies that count, what people see while models write them.
func typed(events []openmanus.Event, r *rand.Rand) []openmanus.Event {
	var all []openmanus.Event
	var s openmanus.State
	for _, ev := range events {
		turn := s.Turn
		s.Apply(ev)
		if said, ok := ev.Body.(openmanus.ModelSaid); ok && said.Turn == turn && s.Turn != turn {
			for i, part := range said.Message.Parts {
				for _, p := range torn(part, r) {
					all = append(all, openmanus.Event{Body: openmanus.Typing{Turn: said.Turn, Part: i, Parts: llm.Parts{p}}})
				}
			}
		}
		all = append(all, ev)
	}
	return all
}

// torn tears a text into pieces, also in the middle of characters.
func torn(part llm.Part, r *rand.Rand) (all []llm.Part) {
	cut := func(text string, add func(string)) {
		for len(text) > 0 {
			n := 1 + r.IntN(min(len(text), 400))
			add(text[:n])
			text = text[n:]
		}
	}
	switch part := part.(type) {
	case llm.Text:
		cut(part.Text, func(s string) { all = append(all, llm.Text{Text: s}) })
	case llm.Thinking:
		cut(part.Text, func(s string) { all = append(all, llm.Thinking{Text: s}) })
	default:
		all = append(all, part)
	}
	return all
}

// told joins the deltas of a message that follow each other: how a text is torn
// depends on the connection.
func told(frames []agui.Frame) string {
	var b strings.Builder
	last := ""
	for _, f := range frames {
		var e aguiEvent
		var text string
		if json.Unmarshal(f.Data, &e) == nil && strings.HasSuffix(e.Type, "_CONTENT") && json.Unmarshal(e.Delta, &text) == nil {
			if key := e.Type + e.MessageID; key != last {
				fmt.Fprintf(&b, "\n%s ", key)
				last = key
			}
			b.WriteString(text)
			continue
		}
		last = ""
		fmt.Fprintf(&b, "\n%s", f.Data)
	}
	return b.String()
}

// checkRuns checks all runs of a session, and cuts each at every frame: what a client
// gets that goes on from there is what it would have got.
func checkRuns(t *testing.T, runs []*aguiRun) {
	t.Helper()
	for _, run := range runs {
		if err := checkAGUI(run.frames); err != nil {
			t.Fatalf("run %s: %v", run.ID, err)
		}
		whole := told(run.frames)
		stored := make([]openmanus.Event, 0, len(run.events))
		for _, ev := range run.events {
			if ev.Seq > 0 {
				stored = append(stored, ev)
			}
		}
		if got := told(run.play(agui.Position{}, stored)); got != whole {
			t.Fatalf("run %s, read later:\n%s\nlive:\n%s", run.ID, got, whole)
		}
		step := 1 + len(run.frames)/50 // a long run is not cut everywhere
		for i := 0; i < len(run.frames)-1; i += step {
			from, err := agui.ParsePosition(run.frames[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, events := range [][]openmanus.Event{stored, run.events} {
				all := append(run.frames[:i+1:i+1], run.play(from, events)...)
				if got := told(all); got != whole {
					t.Fatalf("run %s, cut after %s:\n%s\nuncut:\n%s", run.ID, run.frames[i].ID, got, whole)
				}
			}
		}
	}
}

// exportAGUI writes the frames of runs to the file that AGUI_STREAMS names, if it does:
// scripts/clients lets the protocol's own client read them. A line is a journal.
func exportAGUI(t *testing.T, runs []*aguiRun) {
	name := os.Getenv("AGUI_STREAMS")
	if name == "" || len(runs) == 0 {
		return
	}
	var events []json.RawMessage
	for _, run := range runs {
		for _, f := range run.frames {
			events = append(events, f.Data)
		}
	}
	line, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Each golden journal is told in whole runs, live, later, and over a line that breaks
// after any frame.
func TestAGUIOfGoldenJournals(t *testing.T) {
	names, err := filepath.Glob("testdata/journals/*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	told := 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var events []openmanus.Event
		m := new(journal.Memory)
		id, err := journal.Import(t.Context(), m, m, "", bytes.NewReader(data))
		if err != nil {
			t.Fatal(name, err)
		}
		for ev, err := range m.Events(t.Context(), id, 0) {
			if err != nil {
				t.Fatal(name, err)
			}
			events = append(events, ev)
		}
		runs := aguiRuns(events)
		told += len(runs)
		checkRuns(t, runs)
		exportAGUI(t, runs)
	}
	if told < 12 {
		t.Errorf("the golden journals have %d runs", told)
	}
}

// aguiStory tells any events in any order.
func aguiStory(t *testing.T, noise []byte) []*aguiRun {
	st := &story{bytes: noise[:min(len(noise), 800)]} // the cuts take time
	defer st.log(t)
	var s openmanus.State
	var events []openmanus.Event
	for b := openmanus.Body(openmanus.Opened{}); ; b = st.body(&s) {
		if ev, ok := st.event(b); ok {
			s.Apply(ev)
			events = append(events, ev)
		}
		if len(st.bytes) == 0 {
			break
		}
	}
	return aguiRuns(events)
}

func FuzzAGUI(f *testing.F) {
	f.Add([]byte{20, 0, 0, 0, 1, 0, 1, 0, 14, 0, 9, 1, 1, 0, 11, 0, 1, 0, 12, 1, 1, 0, 1, 0, 1, 0})
	addNoise(f)
	f.Fuzz(func(t *testing.T, noise []byte) { checkRuns(t, aguiStory(t, noise)) })
}

// The client of the protocol reads 10,000 made-up journals: see scripts/clients.
func TestAGUIStreams(t *testing.T) {
	n := 100
	if os.Getenv("AGUI_STREAMS") != "" {
		n = 10_300 // in some nothing is asked
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range n {
		noise := make([]byte, 100+r.IntN(300))
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		runs := aguiStory(t, noise)
		if exportAGUI(t, runs); n < 1000 {
			checkRuns(t, runs)
		}
	}
}

// Whatever a model writes first and then takes back, the client gets whole messages,
// and the last words are those that count.
func TestAGUIReplyThatBeginsAgain(t *testing.T) {
	typing := func(reset bool, parts ...llm.Part) openmanus.Event {
		return openmanus.Event{Body: openmanus.Typing{Reset: reset, Parts: parts}}
	}
	events := []openmanus.Event{
		{Seq: 1, Body: openmanus.Opened{}},
		{Seq: 2, Body: openmanus.UserSaid{ID: "u", Message: llm.Say(llm.User, "Hello")}},
		typing(false, llm.Thinking{Text: "Hm"}, llm.Text{Text: "Good mor"}),
		typing(true, llm.Text{Text: "Bye"}),
		typing(false, llm.Text{Text: " now, friend"}),
		{Seq: 3, Body: openmanus.ModelSaid{Turn: 0, Re: 2, Stop: llm.End, Message: llm.Say(llm.Assistant, "Bye now, friend.")}},
	}
	run := &aguiRun{Run: agui.Run{Session: "s", Thread: "t", ID: "r", Start: 2, Least: 2}}
	run.frames = run.play(agui.Position{}, events)
	if err := checkAGUI(run.frames); err != nil {
		t.Fatal(err)
	}
	if s := told(run.frames); !strings.Contains(s, "reply-0-0-again-1 Bye now, friend.") {
		t.Error(s)
	}
	for i := range run.frames[:len(run.frames)-1] { // a client that goes on gets whole messages as well
		from, err := agui.ParsePosition(run.frames[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		for skip := 2; skip < 6; skip++ {
			all := append(run.frames[:i+1:i+1], run.play(from, append(events[:2:2], events[skip:]...))...)
			if err := checkAGUI(all); err != nil {
				t.Fatalf("cut after %d: %v\n%s", i, err, told(all))
			}
		}
	}
}

// Any text is a position, or an error; and a position is its text.
func FuzzAGUIPosition(f *testing.F) {
	f.Add("5.2.1.1")
	f.Add("5.2.1.1.0.1.t.2.40.0a1b2c3d")
	f.Add("5.2.1.1.1.0.n.0.0.00000000")
	f.Fuzz(func(t *testing.T, id string) {
		if p, err := agui.ParsePosition(id); err == nil && p.String() != id {
			t.Errorf("%q is %s", id, p)
		}
	})
}
