package llm_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// An image in a message and one in a result are read once each, and the
// reading goes in as text.
func TestReadImages(t *testing.T) {
	var asked *llm.Request
	blind := &llmtest.Model{Reply: func(req *llm.Request) llm.Message { asked = req; return llmtest.Say("Thanks.") }}
	seen := &llmtest.Model{Reply: func(req *llm.Request) llm.Message {
		return llmtest.Say("a " + string(req.Messages[0].Parts[1].(llm.Blob).Data))
	}}
	cat, dog := llm.Blob{MIME: "image/png", Name: "cat.png", Data: []byte("cat")}, llm.Blob{MIME: "image/jpeg", Data: []byte("dog")}
	table := llm.Blob{MIME: "text/csv", Data: []byte("a,b")}
	req := &llm.Request{Memo: new(llm.Memo), Messages: []llm.Message{
		{Role: llm.User, Parts: llm.Parts{llm.Text{Text: "Look."}, cat, table}},
		{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "a", Name: "shot"}}},
		{Role: llm.Tool, Parts: llm.Parts{llm.Result{ID: "a", Parts: llm.Parts{dog, cat}}}},
	}}
	m := llm.ReadImages(blind, seen, nil, "Argus")
	want := llm.Usage{Input: 10, Output: 5}
	for i, readings := range []int{2, 0} { // two readings and the reply, then the reply
		r, err := llm.Generate(t.Context(), m, req)
		if err != nil || r.Message.Text() != "Thanks." || r.Usage != want || len(r.Aside) != readings {
			t.Fatalf("reply %d: %+v, error %v; want usage %+v and %d readings", i, r, err, want, readings)
		}
		for _, a := range r.Aside {
			if a != (llm.Aside{By: "Argus", Usage: want}) {
				t.Errorf("a reading used %+v", a)
			}
		}
	}
	const reading = "[Here is the image \"cat.png\". You cannot see it; another model, Argus, read it to you:\na cat\n(end of the reading)]"
	if got := asked.Messages[0].Text(); got != "Look."+reading || asked.Messages[0].Parts[2] == nil {
		t.Errorf("the first message is %q", got)
	}
	if got := asked.Messages[2].Parts[0].(llm.Result).Parts.Text(); !strings.Contains(got, "a dog") || !strings.HasSuffix(got, reading) {
		t.Errorf("the result is %q", got)
	}
	if seen.Asked.Load() != 2 {
		t.Errorf("the images were read %d times", seen.Asked.Load())
	}
	if _, ok := req.Messages[0].Parts[1].(llm.Blob); !ok {
		t.Error("the request was changed")
	}
}

// Without a reader the model is told that there is something to see.
func TestImagesThatNobodyReads(t *testing.T) {
	var asked *llm.Request
	blind := &llmtest.Model{Reply: func(req *llm.Request) llm.Message { asked = req; return llmtest.Say("") }}
	req := &llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: llm.Parts{llm.Blob{MIME: "image/png", Name: "a.png"}}}}}
	if _, err := llm.Generate(t.Context(), llm.ReadImages(blind, nil, nil, ""), req); err != nil {
		t.Fatal(err)
	}
	if got := asked.Messages[0].Text(); !strings.Contains(got, `the image "a.png"`) || !strings.Contains(got, "cannot see") {
		t.Errorf("it is told %q", got)
	}
}

// A reader that fails is named.
func TestAReaderThatFails(t *testing.T) {
	broken := brokenModel{&llm.Error{Kind: llm.Auth, Status: 401, Err: errString("no key")}}
	req := &llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: llm.Parts{llm.Blob{MIME: "image/png"}}}}}
	_, err := llm.Generate(t.Context(), llm.ReadImages(llmtest.Script(), broken, nil, "Argus"), req)
	if llm.KindOf(err) != llm.Auth || !strings.Contains(err.Error(), "Argus, reading an image for a model that cannot see: no key") {
		t.Errorf("error %v", err)
	}
}

type errString string

func (e errString) Error() string { return string(e) }

// brokenModel fails.
type brokenModel struct{ err error }

func (b brokenModel) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, b.err) }
}
