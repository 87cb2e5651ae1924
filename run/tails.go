package run

import (
	"slices"

	"github.com/openmanus-go/openmanus"
)

// tails are the ends of what running calls have printed, for those who begin to
// watch in the middle.
type tails []*tail

// A tail is the end of what a call has printed.
type tail struct {
	call string
	at   int64  // how many bytes it printed before kept
	kept []byte // of at most 2*maxKept bytes
}

// add adds what a call has just printed.
func (ts *tails) add(o openmanus.Output) {
	i := slices.IndexFunc(*ts, func(t *tail) bool { return t.call == o.Call })
	if i < 0 {
		*ts = append(*ts, &tail{call: o.Call, at: o.At})
		i = len(*ts) - 1
	}
	t := (*ts)[i]
	t.kept = append(t.kept, o.Text...)
	if old := len(t.kept) - maxKept; old > maxKept {
		t.at += int64(old)
		t.kept = append(t.kept[:0], t.kept[old:]...)
	}
}

// drop drops what a call has printed.
func (ts *tails) drop(call string) {
	*ts = slices.DeleteFunc(*ts, func(t *tail) bool { return t.call == call })
}

// output returns the last maxKept bytes, in whole characters.
func (t *tail) output() openmanus.Output {
	text := ending(string(t.kept), maxKept)
	return openmanus.Output{Call: t.call, At: t.at + int64(len(t.kept)-len(text)), Text: text}
}

// printsAnew returns the call that an event says has begun or ended to run: what it
// prints from then on is counted from 0.
func printsAnew(b openmanus.Body) (call string, ok bool) {
	switch b := b.(type) {
	case openmanus.CallStarted:
		return b.Call, true
	case openmanus.CallDone:
		return b.Call, true
	case openmanus.CallLate:
		return b.Call, true
	case openmanus.Asked:
		return b.Call, true
	}
	return "", false
}

// printedOnce returns a yield that takes out of provisional output what it had before.
func printedOnce(yield func(openmanus.Event, error) bool) func(openmanus.Event, error) bool {
	ends := make(map[string]int64)
	return func(ev openmanus.Event, err error) bool {
		if call, ok := printsAnew(ev.Body); ok {
			delete(ends, call)
		}
		if o, ok := ev.Body.(openmanus.Output); ok {
			if o, ends[o.Call] = o.Rest(ends[o.Call]); o.Text == "" {
				return true
			}
			ev.Body = o
		}
		return yield(ev, err)
	}
}
