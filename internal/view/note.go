package view

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// Note returns what an event says that is neither a message nor about a call, as a
// sentence without its end; "" if it says nothing to a person. bad says that something went
// wrong.
func Note(b openmanus.Body) (text string, bad bool) {
	switch b := b.(type) {
	case openmanus.ModelSaid:
		if b.Stop != "" && !b.Stop.Whole() {
			return fmt.Sprintf("the reply is not whole: %s", b.Stop), true
		}
	case openmanus.ModelFailed:
		return "the model failed: " + b.Error, true
	case openmanus.Stopped:
		if b.Reason != openmanus.ByPerson { // that was said when they interrupted
			return fmt.Sprintf("stopped (%s): %s", b.Reason, b.Error), true
		}
	case openmanus.Resumed:
		return "resumed", false
	case openmanus.Interrupted:
		return "interrupted", true
	case openmanus.Ended:
		if b.Status == openmanus.Failed {
			return cmp.Or(b.Error, string(b.Reason)), true
		}
	case openmanus.Configured:
		if b.N > 0 {
			return "from here on: " + b.Model + " · " + b.Workspace + " · approve " + b.Approve, false
		}
	case openmanus.ModeSet:
		return "the mode is " + b.Mode + " from here on", false
	case openmanus.Elided:
		what := "old results"
		if len(b.Calls) > 0 && b.Calls[0].Input {
			what = "long arguments"
		}
		return fmt.Sprintf("to make room, the model no longer sees %d %s whole", len(b.Calls), what), false
	case openmanus.Compacted:
		text := fmt.Sprintf("compaction: the model sees a summary in place of the events before %d", b.UpTo)
		if b.Refused != "" {
			text += "; the provider said: " + clip.Text(clip.OneLine(b.Refused), 100)
		}
		return text, false
	case openmanus.Softened:
		how := "without pictures"
		switch {
		case b.Plain:
			how = "as plain text"
		case b.Thoughts:
			how = "without pictures and reasoning"
		}
		return fmt.Sprintf("the provider refused what was sent (%s): it is sent again %s", clip.Text(clip.OneLine(b.Refused), 200), how), false
	case openmanus.Rewound:
		return wentBack(b), false
	case openmanus.Noted:
		return b.Text, false
	case openmanus.TakenOver:
		return "it goes on after a break", false
	case openmanus.Foreign:
		return "an event of a newer version: " + b.Type, false
	}
	return "", false
}

// Sentence returns a note with a capital at its beginning.
func Sentence(note string) string {
	if r, n := utf8.DecodeRuneInString(note); n > 0 {
		return string(unicode.ToUpper(r)) + note[n:]
	}
	return note
}

// wentBack returns a sentence about a rewind: to which event, and whether it concerned the
// conversation, files, or both.
func wentBack(b openmanus.Rewound) string {
	var parts []string
	if b.Talk {
		parts = append(parts, "the conversation")
	}
	if b.Files && (len(b.Changes) > 0 || !b.Talk) {
		parts = append(parts, clip.Count(len(b.Changes), "file"))
	}
	verb := "went back to event"
	if b.Redo != "" {
		verb = "went forward again to event"
	}
	return fmt.Sprintf("%s %d: %s", verb, b.To, strings.Join(parts, ", "))
}
