package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// A Reader reads the response of a model. It yields all deltas but the last, and
// returns that, or the error of an incomplete reply. heard is false if the consumer
// stopped. It calls finished with the event that ends the reply and with each one
// after it: from then on the stream may break off without harm.
type Reader func(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (last llm.Delta, heard bool, err error)

// A Reply decodes the events of one response, in the format of a provider. It
// embeds a [Voice], which yields the deltas.
type Reply[Event any] interface {
	// Add decodes an event.
	Add(Event) error
	// Ended reports whether the reply has ended, and whether no event of use
	// can follow.
	Ended() (ended, over bool)
	// Last returns the last delta, or the error of a reply that is incomplete.
	Last() (llm.Delta, error)
	// Live yields a sign of life, if no delta was yielded since it was called last.
	// It reports whether the consumer still wants deltas.
	Live() bool
}

// Read passes events to r, and returns what a [Reader] does. Errors after the end
// of the reply do no harm.
func Read[Event any](events iter.Seq2[Event, error], r Reply[Event], finished func()) (last llm.Delta, heard bool, err error) {
	for e, err := range events {
		data, framed := any(e).([]byte)
		idle := framed && len(data) == 0 && err == nil // see [Events]
		if err == nil && !idle {
			err = r.Add(e)
		}
		ended, over := r.Ended()
		if !r.Live() {
			return llm.Delta{}, false, nil
		}
		if idle {
			continue
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

// Decode decodes an event. The error is the one that the data is, where it is an error and no
// event: if it cannot be decoded, or if known, called then, says that it is of no known kind.
func Decode(data []byte, event any, known func() bool) error {
	err := json.Unmarshal(data, event)
	if err == nil && known() {
		return nil
	}
	if e := InBand(data); e != nil {
		return e
	}
	if err != nil {
		return NoEvent(data, err)
	}
	return nil
}

// Ended returns the error of a reply that ended for a reason that is not known, or nil if it
// may count as complete: said reports that there is something of it. Providers have new
// reasons, and a reply that was paid for is not dropped for one.
func Ended(why string, said bool) error {
	text := strings.ToLower(why)
	for _, word := range []string{"error", "abort", "cancel", "fail", "timeout", "malformed", "invalid"} {
		said = said && !strings.Contains(text, word)
	}
	if said {
		return nil
	}
	return &llm.Error{Kind: llm.Protocol, Err: fmt.Errorf("the reply was not finished: %s", OneLine(why, 100))}
}

// A Voice yields the parts of a reply until the consumer stops.
type Voice struct {
	Yield   func(llm.Delta, error) bool
	parts   int // the number of parts that have begun
	kind    reflect.Type
	said    bool // a delta, since Live was called
	unheard bool
}

// Live yields a sign of life, if no delta was yielded since it was called last. It
// reports whether the consumer still wants deltas.
func (v *Voice) Live() bool {
	if !v.said {
		v.unheard = v.unheard || !v.Yield(llm.Delta{}, nil)
	}
	v.said = false
	return !v.unheard
}

// Began reports whether a part has begun.
func (v *Voice) Began() bool { return v.parts > 0 }

// Part begins a part and returns its index.
func (v *Voice) Part() int {
	v.parts++
	return v.parts - 1
}

// Progress yields that the model has read a part of the request.
func (v *Voice) Progress(read, total int) {
	if total > 0 && read > 0 {
		v.said = true
		v.unheard = v.unheard || !v.Yield(llm.Delta{Read: min(100, max(1, int(int64(read)*100/int64(total))))}, nil)
	}
}

// Say yields a fragment of a part that has begun.
func (v *Voice) Say(part int, p llm.Part) {
	v.said = true
	v.unheard = v.unheard || !v.Yield(llm.Delta{Part: part, Piece: p}, nil)
}

// Extend yields a fragment of a block, and begins its part if that is its first one.
func (v *Voice) Extend(b *Block, p llm.Part) {
	if b.Part < 0 {
		b.Part = v.Part()
	}
	v.Say(b.Part, p)
}

// Go yields p. Text after text, and thinking after thinking, extends the last part;
// each call is a part of its own.
func (v *Voice) Go(p llm.Part) {
	kind := reflect.TypeOf(p)
	if _, call := p.(llm.Call); call || kind != v.kind {
		v.Part()
	}
	v.kind = kind
	v.Say(v.parts-1, p)
}

// Arguments returns the input of a call that arrived as JSON: an object, or an
// object in a string. Without any it returns "{}".
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
