package llm_test

import (
	"context"
	"errors"
	"iter"
	"slices"
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

// A provider that refuses images is asked once more with words in their place, and not
// shown again what it refused: neither in this conversation nor in another one.
func TestSpareImages(t *testing.T) {
	cat := llm.Blob{MIME: "image/png", Name: "cat.png", Data: []byte("cat")}
	dog := llm.Blob{MIME: "image/png", Name: "dog.png", Data: []byte("dog")}
	asks := func(images ...llm.Part) *llm.Request {
		return &llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: append(llm.Parts{llm.Text{Text: "look"}}, images...)}}}
	}
	seenIn := func(req *llm.Request) (names string) {
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if b, ok := p.(llm.Blob); ok {
					names += b.Name + " "
				}
			}
		}
		return names
	}
	for _, c := range []struct {
		name    string
		refuses func(seen string) llm.Images // why it refuses a request with these images
		wants   []string                     // the images of each request to it
		says    string                       // in place of the cat, at last
	}{
		{"it takes none", func(seen string) llm.Images {
			if seen != "" {
				return llm.NoImages
			}
			return ""
		}, []string{"cat.png ", "", "", ""}, `[Here is the image "cat.png". You cannot see it; another model, Argus, read it to you:`},
		{"it cannot read one", func(seen string) llm.Images {
			if strings.Contains(seen, "cat") {
				return llm.BadImages
			}
			return ""
		}, []string{"cat.png ", "", "dog.png ", "dog.png "}, `[Here is the image "cat.png", of type image/png. The provider of the model refuses it`},
		{"it says so, and it is about something else", func(string) llm.Images { return llm.NoImages }, []string{"cat.png ", "", "cat.png dog.png ", "", "cat.png dog.png ", ""}, ""},
		{"it is about something else", func(string) llm.Images { return llm.BadImages }, []string{"cat.png ", "", "cat.png dog.png ", "", "cat.png dog.png ", ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var saw []string
			var last *llm.Request
			m := picky(func(req *llm.Request) llm.Images {
				saw, last = append(saw, seenIn(req)), req
				return c.refuses(seenIn(req))
			})
			argus := llmtest.Script(llmtest.Say("A cat."))
			blind := 0
			seen := llm.Seen{OnBlind: func(error) { blind++ }}
			refusals := 0
			memo := new(llm.Memo)
			ask := func(req *llm.Request) {
				req.Memo, req.Fixed = memo, len(req.Messages)
				spare := llm.SpareImages(m, argus, nil, "Argus", &seen, func(error) { refusals++ })
				if _, err := llm.Generate(t.Context(), spare, req); (err != nil) != (c.says == "") {
					t.Fatal(err)
				}
			}
			ask(asks(cat))
			ask(asks(cat, dog))
			memo = new(llm.Memo) // of another conversation
			ask(asks(cat, dog))
			if !slices.Equal(saw, c.wants) || refusals == 0 {
				t.Errorf("it was shown %q, want %q; %d refusals", saw, c.wants, refusals)
			}
			if (blind == 1) != (c.name == "it takes none") || blind > 1 {
				t.Errorf("it was found to be blind %d times", blind)
			}
			if text := last.Messages[0].Text(); !strings.Contains(text, c.says) {
				t.Errorf("it reads %q", text)
			}
		})
	}
}

// A picky model says "ok", or refuses a request because of its images.
type picky func(*llm.Request) llm.Images

// Stream implements [llm.Model].
func (p picky) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if why := p(req); why != "" {
			yield(llm.Delta{}, &llm.Error{Kind: llm.Protocol, Permanent: true, Status: 400, Images: why, Err: errors.New("no")})
			return
		}
		yield(llm.Delta{Piece: llm.Text{Text: "ok"}, Stop: llm.End}, nil)
	}
}
