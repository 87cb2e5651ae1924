package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// story is a session whose request is answered with two replies and a call between them.
// With waits, the second reply calls a tool of the client's, which waits.
func story(first, second string, waits bool) []openmanus.Body {
	tools := []llm.ToolSpec{{Name: "weather", Input: json.RawMessage(`{"type":"object"}`)}}
	spec := openmanus.Spec{Agent: "manus", Client: &openmanus.Client{Tools: tools}}
	bash := openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "bash"}}
	bodies := []openmanus.Body{
		openmanus.Opened{Flow: "manus", Version: openmanus.FormatVersion},
		openmanus.Configured{Spec: spec, Tools: []openmanus.ToolSpec{bash, {ToolSpec: tools[0]}}},
		userMessage("u", llm.Parts{llm.Text{Text: "Do it."}}),
		openmanus.ModelSaid{Turn: 0, Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{
			llm.Text{Text: first}, llm.Call{ID: "a", Name: "bash", Input: `{"command":"ls"}`}}}},
		openmanus.Ruled{Call: "a", Allow: true, By: "gate"},
		openmanus.CallStarted{Call: "a"},
		openmanus.CallDone{Call: "a", Parts: llm.Parts{llm.Text{Text: "x"}}},
	}
	reply := llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Text{Text: second}}}
	if !waits {
		return append(bodies, openmanus.ModelSaid{Turn: 1, Re: 7, Stop: llm.End, Message: reply})
	}
	reply.Parts = append(reply.Parts, llm.Call{ID: "b", Name: "weather", Input: `{"city":"Rome"}`})
	return append(bodies,
		openmanus.ModelSaid{Turn: 1, Re: 7, Stop: llm.ToolUse, Message: reply},
		openmanus.Ruled{Call: "b", Allow: true, By: "gate"},
		openmanus.CallStarted{Call: "b"},
		openmanus.Asked{Call: "b", Kind: openmanus.AskText, Question: "The client runs weather."},
	)
}

// events are the bodies as a journal yields them. With size above 0, the text of replies
// also comes before, in pieces of so many bytes.
func events(bodies []openmanus.Body, size int) (all []openmanus.Event) {
	turn := 0
	for i, b := range bodies {
		if said, ok := b.(openmanus.ModelSaid); ok && size > 0 {
			for piece := range slices.Chunk([]rune(said.Message.Text()), size) {
				parts := llm.Parts{llm.Text{Text: string(piece)}}
				all = append(all, openmanus.Event{Body: openmanus.Typing{Turn: turn, Parts: parts}})
			}
			turn++
		}
		all = append(all, openmanus.Event{Seq: int64(i + 1), Time: time.Unix(1_800_000_000, 0), Body: b})
	}
	return all
}

// A sent is an event of a stream, as a client reads it.
type sent struct {
	id    int
	event string
	data  string
}

// text is what the event adds to the text, and rest what it says besides.
func (s sent) text() (text, rest string) {
	var v struct {
		Type    string
		Delta   json.RawMessage
		Choices []struct{ Delta struct{ Content string } }
	}
	_ = json.Unmarshal([]byte(s.data), &v) // [DONE] is none
	var inner struct{ Text string }
	switch {
	case v.Type == "response.output_text.delta":
		_ = json.Unmarshal(v.Delta, &text)
		return text, ""
	case v.Type == "content_block_delta" && json.Unmarshal(v.Delta, &inner) == nil && inner.Text != "":
		return inner.Text, ""
	case len(v.Choices) > 0 && v.Choices[0].Delta.Content != "":
		return v.Choices[0].Delta.Content, ""
	}
	return "", s.event + " " + s.data
}

var formats = map[string]func(*turn) format{
	"chat":      func(t *turn) format { return &chatFormat{session: t.id, model: "manus", usage: true} },
	"responses": func(t *turn) format { return &responseFormat{turn: t, model: "manus"} },
	"messages":  func(t *turn) format { return &messageFormat{session: t.id, model: "manus"} },
}

// play is the stream that a client gets of events after a position, and the whole response.
func play(t testing.TB, name string, evs []openmanus.Event, cut cutter, after int) (all []sent, whole string) {
	x := &turn{id: "s", projector: projector{since: 2, upTo: 3, cut: cut}}
	f := formats[name](x)
	var last sent
	e := emitter{after: after, write: func(data []byte) error {
		for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
			key, value, _ := strings.Cut(line, ": ")
			switch key {
			case "id":
				fmt.Sscan(value, &last.id)
			case "event":
				last.event = value
			case "data":
				last.data = value
			default:
				t.Fatalf("a line %q", line)
			}
		}
		all = append(all, last)
		return nil
	}}
	for _, ev := range evs {
		for _, s := range x.apply(ev) {
			for _, fr := range f.frames(&x.projector, s, e.at) {
				if err := e.emit(fr); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	data, err := json.Marshal(f.whole(&x.projector))
	if err != nil || !x.over {
		t.Fatalf("over is %t, %v", x.over, err)
	}
	return all, string(data)
}

// join makes one text of the pieces that follow each other.
func join(all []sent) (out []string) {
	open := false
	for _, s := range all {
		text, rest := s.text()
		switch {
		case rest != "":
			out = append(out, rest)
		case open:
			out[len(out)-1] += text
		default:
			out = append(out, text)
		}
		open = rest == ""
	}
	return out
}

// check holds the stream of a story against the law of this package: it does not depend
// on when a client came, where its connection broke, and in which pieces text arrived.
func check(t testing.TB, name, first, second string, waits bool, cut cutter, size int) []sent {
	bodies := story(first, second, waits)
	stored, whole := play(t, name, events(bodies, 0), cut, 0)
	live, wholeLive := play(t, name, events(bodies, size), cut, 0)
	if want, got := join(stored), join(live); !slices.Equal(got, want) || whole != wholeLive {
		t.Fatalf("%s live, in pieces of %d:\n got %q\nwant %q\n%s\n%s", name, size, got, want, wholeLive, whole)
	}
	want := join(stored)
	for i := range live {
		if i > 0 && live[i].id <= live[i-1].id {
			t.Fatalf("%s: the id %d follows %d", name, live[i].id, live[i-1].id)
		}
		for _, evs := range [][]openmanus.Event{events(bodies, 0), events(bodies, size+1)} {
			rest, _ := play(t, name, evs, cut, live[i].id)
			if got := join(append(slices.Clone(live[:i+1]), rest...)); !slices.Equal(got, want) {
				t.Fatalf("%s cut after frame %d of %d:\n got %q\nwant %q", name, i, len(live), got, want)
			}
		}
	}
	return stored
}

func TestCutAnywhere(t *testing.T) {
	cuts := 0
	for name := range formats {
		for _, waits := range []bool{false, true} {
			for _, cut := range []cutter{{}, {stop: []string{"stop", "o öd"}}, {max: 5}, {max: 9, stop: []string{"two"}}} {
				for size := range 6 {
					cuts += len(check(t, name, "I look. Ünd so öde.", "There is one, and two stops.", waits, cut, size))
				}
			}
		}
	}
	if cuts < 500 {
		t.Errorf("only %d cuts", cuts)
	}
}

// Pieces may come before the message that they answer, and again from the beginning.
func TestPiecesThatComeEarlyAndTwice(t *testing.T) {
	bodies := story("I look.", "Done.", false)
	want, _ := play(t, "chat", events(bodies, 0), cutter{}, 0)
	piece := func(text string, reset bool) openmanus.Event {
		return openmanus.Event{Body: openmanus.Typing{Reset: reset, Parts: llm.Parts{llm.Text{Text: text}}}}
	}
	evs := events(bodies, 0)
	evs = slices.Insert(evs, 3, piece("ook.", false), piece("I l", true), piece("oo", false))
	evs = slices.Insert(evs, 2, piece("I ", false), piece("l", false))
	if got, _ := play(t, "chat", evs, cutter{}, 0); !slices.Equal(join(got), join(want)) {
		t.Errorf("got %q\nwant %q", join(got), join(want))
	}
}

func TestStream(t *testing.T) {
	all, whole := play(t, "chat", events(story("I look.", "Done.", true), 3), cutter{}, 0)
	text := ""
	for _, s := range all {
		more, _ := s.text()
		text += more
	}
	if text != "I look.\n\nDone.\n\n" || all[len(all)-1].data != "[DONE]" {
		t.Errorf("%q, and %v at the end", text, all[len(all)-1])
	}
	for _, want := range []string{`"finish_reason":"tool_calls"`, `"id":"call_s_b"`, `"arguments":"{\"city\":\"Rome\"}"`, `"content":"Done."`, `"created":1800000000`} {
		if !strings.Contains(whole, want) {
			t.Errorf("%s has no %s", whole, want)
		}
	}
}

func TestCutter(t *testing.T) {
	for _, c := range []struct {
		stop  []string
		max   int
		text  string
		want  string
		ended string
	}{
		{nil, 0, "one two", "one two", ""},
		{[]string{"two"}, 0, "one two three", "one ", "two"},
		{[]string{"wo t", "two"}, 0, "one two three", "one ", "two"},
		{[]string{"twos"}, 0, "one two", "one two", ""},
		{nil, 2, "one two three four", "one two", byLength},
		{nil, 4, "one two three four", "one two three four", ""},
		{[]string{"four"}, 2, "one two three four", "one two", byLength},
		{[]string{"two"}, 2, "one two three four", "one ", "two"},
	} {
		for size := 1; size <= len(c.text); size++ {
			x := cutter{stop: c.stop, max: c.max}
			got := ""
			for piece := range slices.Chunk([]byte(c.text), size) {
				got += x.add(string(piece), false)
			}
			if got += x.add("", true); got != c.want || x.ended != c.ended {
				t.Errorf("%q in pieces of %d, stop %q, max %d: %q %q, want %q %q", c.text, size, c.stop, c.max, got, x.ended, c.want, c.ended)
			}
		}
	}
}

func TestFailures(t *testing.T) {
	worked := story("I look.", "Done.", false)[:7]
	for _, c := range []struct {
		then   openmanus.Body
		status int
		final  bool
	}{
		{openmanus.ModelFailed{Turn: 1, Re: 7, Kind: llm.Auth, Error: "Bad key."}, 500, true},
		{openmanus.ModelFailed{Turn: 1, Re: 7, Kind: llm.RateLimit, Error: "Slow down."}, 429, true},
		{openmanus.Interrupted{ID: "x"}, 500, true},
		{openmanus.ModelSaid{Turn: 1, Re: 7, Stop: llm.End, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Text{Text: "Done."}}}}, 0, false},
	} {
		p := projector{since: 2, upTo: 3}
		for _, ev := range events(append(slices.Clone(worked), c.then), 0) {
			p.apply(ev)
		}
		e := p.failure()
		if e == nil {
			e = &Error{}
		}
		if !p.over || e.Status != c.status || e.Final != c.final {
			t.Errorf("%T: %+v, want %d", c.then, e, c.status)
		}
	}
	p := projector{since: 2, upTo: 3}
	for _, ev := range events(append(story("", "", false)[:3], openmanus.ModelFailed{Turn: 0, Re: 3, Kind: llm.RateLimit, Error: "Slow down."}), 0) {
		p.apply(ev)
	}
	if e := p.failure(); e == nil || e.Status != 429 || e.Final {
		t.Errorf("before any work: %+v", e)
	}
}

// Whatever the agent says, in whatever pieces, a stream can be cut anywhere.
func FuzzProject(f *testing.F) {
	f.Add("I look.", "Done.", "on", byte(3), byte(2), true)
	f.Fuzz(func(t *testing.T, first, second, stop string, most, size byte, waits bool) {
		if len(first)+len(second) > 60 {
			return
		}
		first, second = strings.ToValidUTF8(first, "?"), strings.ToValidUTF8(second, "?")
		cut := cutter{max: int(most % 20)}
		if stop = strings.ToValidUTF8(stop, "?"); stop != "" {
			cut.stop = []string{stop}
		}
		for name := range formats {
			check(t, name, first, second, waits, cut, int(size%9))
		}
	})
}
