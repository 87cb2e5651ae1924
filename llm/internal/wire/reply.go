package wire

import (
	"encoding/json"
	"io"
	"iter"
	"reflect"

	"github.com/openmanus-go/openmanus/llm"
)

// A Reader reads the response of a model: it yields its deltas and returns the
// last one, or why there is none. heard says that the deltas were. It calls
// finished with every event from the one that ends the reply on: what follows
// may be missing.
type Reader func(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (last llm.Delta, heard bool, err error)

// A Reply puts together what the events of a response say. A [Voice] in it
// passes that on.
type Reply[Event any] interface {
	// Add takes over what an event says.
	Add(Event) error
	// Ended reports whether the reply has ended, and whether nothing
	// follows any more.
	Ended() (ended, over bool)
	// Last is the last delta, or why the reply is none.
	Last() (llm.Delta, error)
	// Heard reports whether somebody listens.
	Heard() bool
}

// Read reads events into r: see [Reader]. What goes wrong after the end does
// no harm.
func Read[Event any](events iter.Seq2[Event, error], r Reply[Event], finished func()) (last llm.Delta, heard bool, err error) {
	for e, err := range events {
		if err == nil {
			err = r.Add(e)
		}
		ended, over := r.Ended()
		if !r.Heard() {
			return llm.Delta{}, false, nil
		}
		if err != nil && !ended {
			return llm.Delta{}, true, err
		}
		if err != nil || over {
			break
		}
		if ended {
			finished()
		}
	}
	last, err = r.Last()
	return last, true, err
}

// A Voice passes on the parts of a reply while somebody listens.
type Voice struct {
	Yield   func(llm.Delta, error) bool
	parts   int // how many there are
	kind    reflect.Type
	unheard bool
}

// Heard reports whether somebody listens.
func (v *Voice) Heard() bool { return !v.unheard }

// Part begins a part and returns its index.
func (v *Voice) Part() int {
	v.parts++
	return v.parts - 1
}

// Say yields a fragment of a part that has begun.
func (v *Voice) Say(part int, p llm.Part) {
	v.unheard = v.unheard || !v.Yield(llm.Delta{Part: part, Piece: p}, nil)
}

// Go goes on with p: text after text and thoughts after thoughts are one part,
// and each call is one.
func (v *Voice) Go(p llm.Part) {
	kind := reflect.TypeOf(p)
	if _, call := p.(llm.Call); call || kind != v.kind {
		v.Part()
	}
	v.kind = kind
	v.Say(v.parts-1, p)
}

// Arguments is the input of a call that came as JSON: an object, or the text
// of one. Where none came it is that of no arguments.
func Arguments(raw json.RawMessage) string {
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "{}"
	case json.Unmarshal(raw, &s) == nil:
		return s
	}
	return string(raw)
}
