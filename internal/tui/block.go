package tui

import (
	"time"

	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/llm"
)

// A kind is what a block shows.
type kind int

const (
	said     kind = iota // what the person said
	answered             // what the agent said
	thought              // what it thought
	called               // a call, its result, and the session that it delegated to
	agent                // a session below that a flow opened
	remark               // what the program says
	problem              // what went wrong
)

// A block is a piece of a conversation that is shown together. Events add blocks and
// change those of what runs; a block whose rev has not changed has the same lines.
type block struct {
	kind kind
	seq  int64  // the event that began it
	rev  int    // grows when what is shown changes
	text string // its content, as it came: it is cleaned where it is drawn
	by   string // of an answer: the model, if it is another one than before

	call  llm.Call     // of a call
	end   *gist.Ending // of a call that has ended
	begun time.Time    // of a call or a session below; zero: it does not run yet
	done  time.Time    // zero: it has not ended
	note  string       // the outcome of a call before it ran: a denial, or an answer
	asks  bool         // it waits for the person
	open  bool         // the person unfolded it

	below *below // of a call that delegates, and of an agent

	drawn cache
}

// A below is a session below another one, as its parent shows it.
type below struct {
	id, label string
	status    string // how it stands; "": it runs
	last      string // its last action, or its result
	calls     int    // how many it made
	tokens    int
	cost      string // in words
	asks      int    // how many of its questions wait
}

// A cache is the lines of a block, and what they were made for.
type cache struct {
	lines []string
	rev   int
	width int
	how   drawing
}

// changed notes that what the block shows has changed.
func (b *block) changed() { b.rev++ }

// folds reports whether the block can be unfolded.
func (b *block) folds() bool { return b.kind == called || b.kind == thought || b.kind == agent }

// running reports whether the block is a call under way.
func (b *block) running() bool {
	return b.kind == called && b.end == nil && !b.begun.IsZero() && !b.asks
}
