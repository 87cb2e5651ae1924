package agui

import (
	"errors"
	"fmt"
)

// A Position says what a client has received of a run. Its text is the id of the
// last frame: "SEQ.N.START.LEAST", and more while a reply is being sent.
type Position struct {
	Seq int64 // the event that the last frame came from
	N   int   // how many frames came from it

	// Start is the event that the run began after. It does not end before Least.
	Start, Least int64

	reply reply
}

// A reply says how much of a reply was sent. A reply is sent while the model
// writes it, so there may be no event that has what was sent.
type reply struct {
	Attempt int    // how often the reply began again with other words
	Part    int    // the index of the part that is being sent
	Kind    byte   // of that part: prose or thought; 0: nothing was sent
	Step    int    // see the steps
	Off     int    // how many bytes of that part were sent
	Hash    uint32 // of everything that was sent, up to Off
}

const (
	prose   byte = 't'
	thought byte = 'r'
)

// The steps of sending a part. Prose has no spans.
const (
	stepNone  = iota
	stepSpan  // REASONING_START
	stepBegun // the message has begun
	stepEnded // the message has ended
	stepDone  // REASONING_END
)

// String returns the id of the frame after which the position is.
func (p Position) String() string {
	s := fmt.Sprintf("%d.%d.%d.%d", p.Seq, p.N, p.Start, p.Least)
	if r := p.reply; r != (reply{}) {
		kind := r.Kind
		if kind == 0 {
			kind = 'n'
		}
		s += fmt.Sprintf(".%d.%d.%c.%d.%d.%08x", r.Attempt, r.Part, kind, r.Step, r.Off, r.Hash)
	}
	return s
}

// ErrPosition is the error of [ParsePosition].
var ErrPosition = errors.New("it is no id of a frame of this endpoint")

// ParsePosition reads the id of a frame.
func ParsePosition(id string) (p Position, err error) {
	r := &p.reply
	n, _ := fmt.Sscanf(id, "%d.%d.%d.%d.%d.%d.%c.%d.%d.%x", &p.Seq, &p.N, &p.Start, &p.Least,
		&r.Attempt, &r.Part, &r.Kind, &r.Step, &r.Off, &r.Hash)
	if n != 4 && n != 10 {
		return Position{}, ErrPosition
	}
	if r.Kind == 'n' {
		r.Kind = 0
	}
	negative := p.Seq < 0 || p.N < 0 || p.Start < 0 || p.Least < 0 || r.Attempt < 0 || r.Part < 0 || r.Off < 0
	if negative || p.String() != id || r.Step < stepNone || r.Step > stepDone ||
		r.Kind != 0 && r.Kind != prose && r.Kind != thought {
		return Position{}, ErrPosition
	}
	return p, nil
}
