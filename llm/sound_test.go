package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus/llm"
)

// heard is a model whose n-th reply is the n-th stream, or the last. It keeps the requests.
type heard struct {
	attempts
	requests []*llm.Request
}

func (h *heard) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	h.requests = append(h.requests, req)
	return h.attempts.Stream(ctx, req)
}

// sounds is a reply that ends for a reason; its usage is 10 and 5.
func sounds(stop llm.Stop, pieces ...llm.Part) stream {
	s := stream{}
	for i, p := range pieces {
		s.deltas = append(s.deltas, llm.Delta{Part: i, Piece: p})
	}
	s.deltas = append(s.deltas, llm.Delta{Stop: stop, Usage: &llm.Usage{Input: 10, Output: 5}})
	return s
}

func prose(s string) llm.Part { return llm.Text{Text: s} }

// A reply that is none is asked for again with a word, twice at most, and is never a success.
func TestSound(t *testing.T) {
	whole := sounds(llm.End, prose("All is well."))
	call := sounds(llm.ToolUse, llm.Call{ID: "a", Name: "bash", Input: "{}"})
	wild := prose("I am going to the market and back.\n")
	loop := stream{}
	for range 2000 {
		loop.deltas = append(loop.deltas, llm.Delta{Piece: wild})
	}
	loop.deltas = append(loop.deltas, llm.Delta{Stop: llm.End})
	table := prose(strings.Repeat("| name | 0 |\n", 300))
	rule := prose(strings.Repeat("-", 200) + "\n")
	marks := func(s string) stream {
		return sounds(llm.Length, prose(strings.Repeat(s, 1000)), prose(strings.Repeat(s, 1500)))
	}
	for _, c := range []struct {
		name    string
		replies []stream
		asked   int
		text    string // of the reply; or of the error, with a ! before it
		nudge   string // in the last request
		lost    int    // usages of what was in vain
	}{
		{"a good one", []stream{whole}, 1, "All is well.", "", 0},
		{"a call", []stream{call}, 1, "", "", 0},
		{"empty", []stream{sounds(llm.End), whole}, 2, "All is well.", "was empty", 1},
		{"blank", []stream{sounds(llm.End, prose(" \n")), sounds(llm.ToolUse), whole}, 3, "All is well.", "was empty", 2},
		{"thinking alone", []stream{sounds(llm.End, llm.Thinking{Text: "hm"}), whole}, 2, "All is well.", "was empty", 1},
		{"empty for ever", []stream{sounds(llm.End)}, 3, "!the model's reply is empty, as the 2 before it", "was empty", 2},
		{"a call as text", []stream{sounds(llm.End, prose("Now: <tool_call>{\"name\":\"bash\",\"arguments\":{}}</tool_call>")), call}, 2, "", "as text", 1},
		{"another notation", []stream{sounds(llm.End, prose("<function=bash><parameter=command>ls</parameter></function>\n")), call}, 2, "", "as text", 1},
		{"an answer about calls", []stream{sounds(llm.End, prose("Write `<tool_call>{\"name\":\"bash\"}` for it."))}, 1, "Write `<tool_call>{\"name\":\"bash\"}` for it.", "", 0},
		{"a call of nothing that is there", []stream{sounds(llm.End, prose("<tool_call>{\"name\":\"fly\"}</tool_call>"))}, 1, "<tool_call>{\"name\":\"fly\"}</tool_call>", "", 0},
		{"a loop", []stream{loop, whole}, 2, "All is well.", "over and over", 1},
		{"nothing but lines", []stream{marks("\n"), whole}, 2, "All is well.", "over and over", 1},
		{"nothing but white space", []stream{sounds(llm.Length, prose(strings.Repeat("\n    \n\t", 400)+strings.Repeat(" ", 50))), whole}, 2, "All is well.", "over and over", 1},
		{"one mark", []stream{marks("!"), whole}, 2, "All is well.", "over and over", 1},
		{"one character of three bytes", []stream{marks("哈"), whole}, 2, "All is well.", "over and over", 1},
		{"thinking of one word", []stream{sounds(llm.Length, llm.Thinking{Text: strings.Repeat("no, ", 600)}), whole}, 2, "All is well.", "over and over", 1},
		{"a long rule", []stream{sounds(llm.End, rule)}, 1, strings.Repeat("-", 200) + "\n", "", 0},
		{"a table", []stream{sounds(llm.End, table)}, 1, strings.Repeat("| name | 0 |\n", 300), "", 0},
		{"a call in our own words", []stream{sounds(llm.End, prose("(Here I called bash with {\"command\":\"ls\"})")), call}, 2, "", "as text", 1},
		{"arguments that repeat themselves", []stream{sounds(llm.Length, llm.Call{ID: "a", Name: "bash", Input: `{"command":"` + strings.Repeat("echo again and again; ", 3000)}), call}, 2, "", "over and over", 1},
		{"arguments of white space", []stream{sounds(llm.Length, llm.Call{ID: "a", Name: "bash", Input: `{"command":` + strings.Repeat("\n", 9000)}), call}, 2, "", "over and over", 1},
		{"a file with many equal lines", []stream{sounds(llm.ToolUse, llm.Call{ID: "a", Name: "bash", Input: `{"command":"` + strings.Repeat("0,0,0,0,0\\n", 2000) + `"}`})}, 1, "", "", 0},
		{"one call over and over", []stream{sounds(llm.Length, slices.Repeat([]llm.Part{llm.Call{Name: "bash", Input: "{}"}}, 30)...), call}, 2, "", "over and over", 1},
		{"some equal calls", []stream{sounds(llm.ToolUse, slices.Repeat([]llm.Part{llm.Call{Name: "bash", Input: "{}"}}, 12)...)}, 1, "", "", 0},
		{"a call that does not come", []stream{sounds(llm.ToolUse, prose("I look.")), call}, 2, "", "none came", 1},
		{"withheld", []stream{sounds(llm.Filter)}, 1, "", "", 0},
		{"a failure", []stream{fails(llm.Error{Kind: llm.Auth})}, 1, "!no luck", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &heard{attempts: attempts{streams: c.replies}}
			faults := 0
			req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go")}, Tools: []llm.ToolSpec{{Name: "bash"}}}
			r, err := llm.Measure(t.Context(), llm.Sound(m, 0, func(error) { faults++ }), nil, req, nil)
			got := r.Message.Text()
			if err != nil {
				got = "!" + err.Error()
			}
			if got != c.text || m.asked != c.asked || len(r.Aside) != c.lost || faults != c.asked-1 {
				t.Errorf("%q after %d requests, %d in vain, %d faults", got, m.asked, len(r.Aside), faults)
			}
			last := m.requests[len(m.requests)-1].Messages
			if nudge := last[len(last)-1].Text(); c.nudge != "" && !strings.Contains(nudge, c.nudge) || len(last) > 2 {
				t.Errorf("%d messages, the last is %q", len(last), nudge)
			}
			var e *llm.Error
			if errors.As(err, &e) && e.NoReply != (c.name == "empty for ever") {
				t.Errorf("no reply: %v", e.NoReply)
			}
			if c.name == "a loop" && r.Aside[0].Usage.Output > 5<<10 {
				t.Errorf("it was heard for %d tokens", r.Aside[0].Usage.Output)
			}
		})
	}
}

// A text that is cut is gone on with and is one reply; not for ever, not in the middle of a
// call, and not where a budget has cut it.
func TestSoundGoesOn(t *testing.T) {
	cut := func(s string) stream { return sounds(llm.Length, llm.Thinking{Text: "hm"}, prose(s)) }
	broken := stream{deltas: []llm.Delta{text(0, "x")}, err: &llm.Error{Kind: llm.Network, Err: errors.New("gone")}}
	for _, c := range []struct {
		name    string
		replies []stream
		budget  int
		asked   int
		text    string
		stop    llm.Stop
		output  int
	}{
		{"once", []stream{cut("It is be"), cut("cause of "), sounds(llm.End, prose("the rain."))}, 0, 3, "It is because of the rain.", llm.End, 15},
		{"with a call at last", []stream{cut("I lo"), sounds(llm.ToolUse, prose("ok."), llm.Call{ID: "a", Name: "bash", Input: "{}"})}, 0, 2, "I look.", llm.ToolUse, 10},
		{"for ever", []stream{cut("a")}, 0, 5, "aaaaa", llm.Length, 25},
		{"in a call", []stream{sounds(llm.Length, prose("I "), llm.Call{ID: "a", Name: "bash", Input: "{"})}, 0, 1, "I ", llm.Length, 5},
		{"by a budget", []stream{cut("a")}, 7, 1, "a", llm.Length, 5},
		{"and then no more", []stream{cut("a"), broken}, 0, 2, "ax", llm.Length, 5},
		{"in a call as text", []stream{cut("Now: <tool_call>{\"name\":\"ba")}, 0, 1, "Now: <tool_call>{\"name\":\"ba", llm.Length, 5},
		{"in a call in a block", []stream{cut("```json\n{\"name\":\"bash\", \"argum")}, 0, 1, "```json\n{\"name\":\"bash\", \"argum", llm.Length, 5},
		{"after a call as text", []stream{cut("<tool_call>bash</tool_call> and"), sounds(llm.End, prose(" so"))}, 0, 2, "<tool_call>bash</tool_call> and so", llm.End, 10},
		{"in a block of code", []stream{cut("```go\nfunc "), sounds(llm.End, prose("f()"))}, 0, 2, "```go\nfunc f()", llm.End, 10},
		{"of nothing", []stream{cut("")}, 0, 1, "", llm.Length, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &heard{attempts: attempts{streams: c.replies}}
			req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go")}, Tools: []llm.ToolSpec{{Name: "bash"}}, Settings: llm.Settings{MaxTokens: c.budget}}
			r, err := llm.Generate(t.Context(), llm.Sound(m, 0, nil), req)
			all := r.Usage
			for _, a := range r.Aside {
				all = all.Add(a.Usage)
			}
			if err != nil || r.Message.Text() != c.text || r.Stop != c.stop || m.asked != c.asked || r.Usage.Input != 10 || all.Output != c.output || all.Input != 2*c.output {
				t.Errorf("%q, %s, %d requests, %+v of %+v, %v", r.Message.Text(), r.Stop, m.asked, r.Usage, all, err)
			}
			for i, req := range m.requests[1:] {
				if n := len(req.Messages); n != 3 || req.Messages[1].Role != llm.Assistant || !strings.HasPrefix(c.text, req.Messages[1].Text()) {
					t.Errorf("request %d has %d messages", i+2, n)
				}
			}
		})
	}
}

// A piece that is asked for again goes on with the same message: what was heard of the
// attempt in vain is not in it.
func TestSoundGoesOnAfterARetry(t *testing.T) {
	broken := stream{deltas: []llm.Delta{text(0, "cau")}, err: &llm.Error{Kind: llm.Network, Err: errors.New("gone")}}
	m := &heard{attempts: attempts{streams: []stream{sounds(llm.Length, prose("It is "), prose("be")), broken, sounds(llm.End, prose("cause."))}}}
	synctest.Test(t, func(t *testing.T) {
		r, err := llm.Generate(t.Context(), llm.Sound(llm.Retry(m, llm.RetryOptions{}), 0, nil), &llm.Request{})
		if err != nil || r.Message.Text() != "It is because." {
			t.Errorf("%q, %v", r.Message.Text(), err)
		}
		if again := m.requests[2].Messages[0].Text(); again != "It is be" {
			t.Errorf("the last request has %q", again)
		}
	})
}

// Sound makes no more requests than the budget has room for, and names no tool to a model
// that has none.
func TestSoundIsBounded(t *testing.T) {
	m := &heard{attempts: attempts{streams: []stream{sounds(llm.Length, prose("a"))}}}
	r, err := llm.Generate(t.Context(), llm.Sound(m, 0, nil), &llm.Request{Requests: 2})
	if err != nil || r.Message.Text() != "aa" || m.asked != 2 {
		t.Errorf("%q after %d, %v", r.Message.Text(), m.asked, err)
	}
	m = &heard{attempts: attempts{streams: []stream{sounds(llm.End)}}}
	_, err = llm.Generate(t.Context(), llm.Sound(m, 0, nil), &llm.Request{Requests: 2})
	if err == nil || !strings.Contains(err.Error(), "budget") || m.asked != 2 {
		t.Errorf("%v after %d", err, m.asked)
	}
	if said := m.requests[1].Messages[0].Text(); strings.Contains(said, "tool") {
		t.Errorf("it was told %q", said)
	}
}

// A server that is loading a model is waited for, minutes, and not for ever.
func TestRetryWaitsForAModelThatLoads(t *testing.T) {
	for _, loads := range []time.Duration{3 * time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			begun, told := time.Now(), 0
			m := modelFunc(func(yield func(llm.Delta, error) bool) {
				if time.Since(begun) < loads {
					yield(llm.Delta{}, &llm.Error{Kind: llm.Network, Status: 503, Loading: true, Err: errors.New("Loading model")})
					return
				}
				yield(llm.Delta{Piece: prose("up")}, nil)
				yield(llm.Delta{Stop: llm.End}, nil)
			})
			r, err := llm.Generate(t.Context(), llm.Retry(m, llm.RetryOptions{OnRetry: func(error, time.Duration, int) { told++ }}), &llm.Request{})
			if took := time.Since(begun); loads < 10*time.Minute && (err != nil || r.Message.Text() != "up" || took > loads+10*time.Second || told < 3 || told > 4) ||
				loads > 10*time.Minute && (err == nil || took > 12*time.Minute) {
				t.Errorf("%v: %q, %v after %v, told %d times", loads, r.Message.Text(), err, took, told)
			}
		})
	}
}

// modelFunc is a model that is a function.
type modelFunc func(func(llm.Delta, error) bool)

func (m modelFunc) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return iter.Seq2[llm.Delta, error](m)
}

// Signs of life alone do not keep a request alive for ever.
func TestWatchdogWantsMoreThanLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		m := aliveModel{}
		_, err := llm.Generate(t.Context(), llm.Watchdog(m, time.Minute), &llm.Request{})
		var e *llm.Error
		if took := time.Since(begun); !errors.As(err, &e) || e.Kind != llm.Timeout || e.Temporary() || strings.Contains(err.Error(), "sent nothing") || took < 11*time.Minute || took > 14*time.Minute {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// aliveModel shows signs of life, and nothing else, until its context ends.
type aliveModel struct{}

func (aliveModel) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for {
			select {
			case <-time.After(10 * time.Second):
				if !yield(llm.Delta{}, nil) {
					return
				}
			case <-ctx.Done():
				yield(llm.Delta{}, fmt.Errorf("over: %w", ctx.Err()))
				return
			}
		}
	}
}
