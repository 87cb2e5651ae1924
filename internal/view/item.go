package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/llm"
)

// A Kind is what an item shows.
type Kind int

// The kinds of items.
const (
	Said     Kind = iota // what the person said
	Answered             // what the agent said
	Thought              // what it thought
	Called               // a call, its result, and the session that it delegated to
	Agent                // a session below that a flow opened
	Remark               // what the program says
	Problem              // what went wrong
)

// An Item is a piece of a conversation that is shown together. Later events change the
// items of calls and of sessions below; Rev grows with each change.
type Item struct {
	Kind  Kind
	Seq   int64          // the event that began it
	Of    openmanus.Body // that event
	Rev   int
	Text  string    // of all but calls and agents
	By    string    // of an answer: the model, if it is another one than before
	Parts llm.Parts // of a message: the text, and what came with it

	Call  *Call     // of a call; else nil
	Below *Below    // of a call that delegates, and of an agent; else nil
	Begun time.Time // of a call or a session below; zero: it does not run yet
	Ended time.Time // zero: it has not ended
}

// A Call is a call, as far as it came.
type Call struct {
	llm.Call                    // with the arguments with which it runs
	Says     []openmanus.Saying // of its tool
	Asks     bool               // it waits for the person
	Notes    []CallNote         // what was said about it, in order
	Done     *openmanus.CallDone
	End      *gist.Ending // how it ended; nil: it has not
}

// A NoteKind is what a note says about a call.
type NoteKind int

// The kinds of notes about calls.
const (
	Asked   NoteKind = iota // what the person was asked
	Reply                   // what the person answered
	Allowed                 // a person or a rule allowed it
	Changed                 // likewise, with other arguments
	Denied                  // a person or a rule denied it
	Late                    // its result came late
)

// A CallNote is what was said about a call.
type CallNote struct {
	Kind  NoteKind
	By    string    // who allowed or denied it
	Text  string    // the question, the answer, the reason, the arguments, or the result
	Parts llm.Parts // of a late result
	Of    openmanus.Body
}

// A Change is what an event does to an item.
type Change struct {
	*Item
	Did Deed
}

// A Deed is a kind of [Change].
type Deed int

// The kinds of changes.
const (
	Added     Deed = iota // the item is new
	Noted                 // the last of its Call.Notes is
	Started               // its call runs
	Done                  // its call has ended
	Delegated             // it has a session below
	Reported              // that has ended
)

// A Below is a session below another one, as its parent shows it.
type Below struct {
	ID, Label string
	Status    string // how it ended; "": it runs
	Last      string // its last action, or its result
	Calls     int    // how many it made
	Tokens    int
	Cost      openmanus.Money
	Asks      int // how many of its questions wait; a surface that follows it sets it

	tools []openmanus.ToolSpec // that it has
}

// Words returns the text of a message, with a word for each part that is no text.
func (it *Item) Words() string {
	if it.Parts == nil {
		return it.Text
	}
	return Words(it.Parts)
}

// Words returns the text of parts, with a word for each that is no text: the name, the type
// and the size of a picture or a file.
func Words(parts llm.Parts) string {
	text := parts.Text()
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Blob:
			text += fmt.Sprintf(" [%s, %d bytes]", strings.TrimPrefix(p.Name+", "+p.MIME, ", "), len(p.Data))
		case llm.Unknown:
			text += " [a part of a kind this version does not know]"
		}
	}
	return text
}

// Asks reports whether the call of an item waits for the person.
func (it *Item) Asks() bool { return it.Call != nil && it.Call.Asks }

// End returns how the call of an item ended, or nil.
func (it *Item) End() *gist.Ending {
	if it.Call == nil {
		return nil
	}
	return it.Call.End
}

// Denied reports whether the call of an item was not allowed.
func (it *Item) Denied() bool {
	if it.Call == nil {
		return false
	}
	n := it.Call.Last()
	return n != nil && n.Kind == Denied
}

// Running reports whether the item is a call under way.
func (it *Item) Running() bool {
	return it.Kind == Called && it.End() == nil && !it.Begun.IsZero() && !it.Asks()
}

// Tense returns where the call of an item is, for the phrase about it.
func (it *Item) Tense() gist.Tense {
	switch {
	case it.Denied():
		return gist.Never
	case it.End() == nil && it.Begun.IsZero():
		return gist.Waiting
	case it.End() == nil:
		return gist.Running
	case it.Begun.IsZero():
		return gist.Never
	}
	return gist.Done
}

// Phrase returns the call of an item in words: see [gist.Phrase].
func (it *Item) Phrase() (does, target string) {
	return gist.Phrase(it.Call.Call, it.Tense(), it.Call.Says...)
}

// Last returns the last note about a call of a kind other than Asked, or nil.
func (c *Call) Last() *CallNote {
	for i := len(c.Notes) - 1; i >= 0; i-- {
		if c.Notes[i].Kind != Asked {
			return &c.Notes[i]
		}
	}
	return nil
}

// Words returns a note about a call as a line.
func (n CallNote) Words() string {
	switch n.Kind {
	case Asked:
		return n.Text
	case Reply:
		return "you said: " + n.Text
	case Allowed:
		return "allowed by " + n.who()
	case Changed:
		return "allowed by " + n.who() + ", with changed arguments: " + n.Text
	case Denied:
		if n.who() == "the person" { // the reason says so
			return "not allowed: " + n.Text
		}
		return "not allowed by " + n.who() + ": " + n.Text
	default:
		return "its result came late: " + n.Text
	}
}

// who returns who decided, as people say it. A program's only person has no name.
func (n CallNote) who() string {
	switch n.By {
	case act.ByPerson, openmanus.ByGate:
		return "the " + n.By
	}
	return n.By
}
