package llm_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// stream is a model that yields fixed deltas, then err if it is not nil.
type stream struct {
	deltas []llm.Delta
	err    error
}

func (s stream) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, d := range s.deltas {
			if !yield(d, nil) {
				return
			}
		}
		if s.err != nil {
			yield(llm.Delta{}, s.err)
		}
	}
}

func text(part int, s string) llm.Delta { return llm.Delta{Part: part, Piece: llm.Text{Text: s}} }

func TestReplyIsTheSumOfItsDeltas(t *testing.T) {
	usage := func(in, out int) *llm.Usage { return &llm.Usage{Input: in, Output: out} }
	m := stream{deltas: []llm.Delta{
		text(0, "void"),
		{Part: 1, Piece: llm.Call{ID: "x", Input: "{}"}},
		{Reset: true},
		{Piece: llm.Thinking{Text: "Let", By: "m"}},
		{Piece: llm.Thinking{Text: " me", Opaque: []byte(`"s"`)}},
		text(1, "I "), text(1, "look."),
		{Part: 2, Piece: llm.Call{ID: "a", Name: "gr"}, Usage: usage(1, 1)},
		{Part: 3, Piece: llm.Call{ID: "b", Name: "bash", Input: "{}"}},
		{Part: 2, Piece: llm.Call{Name: "grep", Input: `{"p`}},
		{Part: 2, Piece: llm.Call{Input: `":1}`}},
		{Part: 4, Piece: llm.Blob{MIME: "image/png"}},
		{Stop: llm.ToolUse, Usage: usage(9, 4)},
	}}
	var shown int
	r, err := llm.Collect(t.Context(), m, nil, func(llm.Delta) { shown++ })
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Reply{
		Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{
			llm.Thinking{Text: "Let me", Opaque: []byte(`"s"`), By: "m"},
			llm.Text{Text: "I look."},
			llm.Call{ID: "a", Name: "grep", Input: `{"p":1}`},
			llm.Call{ID: "b", Name: "bash", Input: "{}"},
			llm.Blob{MIME: "image/png"},
		}},
		Stop:  llm.ToolUse,
		Usage: llm.Usage{Input: 9, Output: 4},
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v\nwant %+v", r, want)
	}
	if shown != len(m.deltas) {
		t.Errorf("%d deltas were shown, want %d", shown, len(m.deltas))
	}
	if got := r.Message.Text(); got != "I look." {
		t.Errorf("Text() = %q", got)
	}
	if cs := r.Message.Calls(); len(cs) != 2 || cs[1].ID != "b" {
		t.Errorf("Calls() = %v", cs)
	}
}

func TestReplyRefusesWhatDoesNotContinueIt(t *testing.T) {
	for name, ds := range map[string][]llm.Delta{
		"a gap":              {text(0, "a"), text(2, "b")},
		"a negative index":   {text(-1, "a")},
		"text for a call":    {{Piece: llm.Call{ID: "a"}}, text(0, "b")},
		"a second blob":      {{Piece: llm.Blob{}}, {Piece: llm.Blob{}}},
		"thinking for text":  {text(0, "a"), {Piece: llm.Thinking{Text: "b"}}},
		"a gap from a reset": {text(0, "a"), {Reset: true, Part: 1, Piece: llm.Text{Text: "b"}}},
	} {
		_, err := llm.Generate(t.Context(), stream{deltas: ds}, nil)
		if llm.KindOf(err) != llm.Protocol || !strings.Contains(err.Error(), "part") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestGenerateTellsHowItEnded(t *testing.T) {
	said := []llm.Delta{text(0, "half a sen")}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		m    stream
		want error // or nil for an *Error of kind Protocol
	}{
		"no reason to stop":           {t.Context(), stream{said, nil}, nil},
		"an error":                    {t.Context(), stream{said, io.ErrUnexpectedEOF}, io.ErrUnexpectedEOF},
		"ended by its context":        {over, stream{said, nil}, context.Canceled},
		"an error after the fragment": {t.Context(), stream{append(said, text(7, "")), nil}, nil},
	} {
		r, err := llm.Generate(c.ctx, c.m, nil)
		var e *llm.Error
		if c.want != nil && !errors.Is(err, c.want) || c.want == nil && (!errors.As(err, &e) || !e.Temporary()) {
			t.Errorf("%s: error %v", name, err)
		}
		if r.Message.Text() != "half a sen" || r.Stop != "" {
			t.Errorf("%s: what was said is not returned: %+v", name, r)
		}
	}
}

func TestUsageAdds(t *testing.T) {
	u := llm.Usage{Input: 1, Output: 2, Cached: 3, CacheWrite: 4, Reasoning: 5}
	if got, want := u.Add(u), (llm.Usage{Input: 2, Output: 4, Cached: 6, CacheWrite: 8, Reasoning: 10}); got != want || got.Total() != 6 {
		t.Errorf("got %+v, %d in all", got, got.Total())
	}
}

func TestMemoKeepsPerKey(t *testing.T) {
	var m llm.Memo
	if m.Load("a") != nil {
		t.Error("an empty memo has something")
	}
	m.Store("a", 1)
	m.Store("b", 2)
	if m.Load("a") != 1 || m.Load("b") != 2 {
		t.Error("what was stored does not come back")
	}
	var none *llm.Memo
	none.Store("a", 1) // is allowed and does nothing
	if none.Load("a") != nil {
		t.Error("a nil memo has something")
	}
}

func TestOnlyWhatCanSucceedIsTemporary(t *testing.T) {
	for _, c := range []struct {
		err  llm.Error
		want bool
	}{
		{llm.Error{Kind: llm.RateLimit, Status: 429}, true},
		{llm.Error{Kind: llm.RateLimit, Status: 429, Permanent: true}, false}, // out of credit
		{llm.Error{Kind: llm.Network}, true},
		{llm.Error{Kind: llm.Timeout}, true},
		{llm.Error{Kind: llm.Protocol}, true},
		{llm.Error{Kind: llm.Protocol, Permanent: true}, false}, // a setting that the adapter cannot honour
		{llm.Error{Kind: llm.Protocol, Status: 400}, false},
		{llm.Error{Kind: llm.Auth, Status: 401}, false},
		{llm.Error{Kind: llm.NoModel}, false},
		{llm.Error{Kind: llm.Context}, false},
		{llm.Error{Kind: llm.Filtered}, false},
		{llm.Error{Kind: llm.Refused}, false},
		{llm.Error{Kind: llm.ScriptOver}, false},
	} {
		if got := c.err.Temporary(); got != c.want {
			t.Errorf("%+v: Temporary() = %v", c.err, got)
		}
	}
}

func TestErrorReads(t *testing.T) {
	e := &llm.Error{Kind: llm.Network, Status: 502, Err: io.ErrUnexpectedEOF}
	if e.Error() != "unexpected EOF (HTTP 502)" || !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Errorf("got %q", e.Error())
	}
	if k := llm.KindOf(errors.New("x")); k != llm.Protocol {
		t.Errorf("KindOf an unknown error = %s", k)
	}
}
