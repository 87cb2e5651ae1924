package linemode

import (
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/llm"
)

// MaxShown is how many files of a kind a plan lists.
const MaxShown = 30

// maxOutside is how many calls a plan lists whose effects do not come back.
const maxOutside = 10

// A text is lines for a person.
type text []string

// line adds a line.
func (x *text) line(format string, a ...any) { *x = append(*x, clip.Plain(fmt.Sprintf(format, a...))) }

// note adds a remark.
func (x *text) note(format string, a ...any) { x.line("· "+format, a...) }

// PlanLines describes what going back would do, a line for each file and message, at most
// [MaxShown] of each kind. Texts are harmless to print.
func PlanLines(id string, p *act.Rewinding) []string {
	var x text
	if p.Nothing {
		x.note("nothing would change: what was after event %d is there", p.To)
	}
	if p.Unfollowed != "" {
		x.note("not everything was followed: %s", p.Unfollowed)
	}
	if p.Running {
		x.note("session %s is running, and is interrupted first", id)
	}
	if p.Talk {
		x.note("the conversation goes back to event %d, without:", p.To)
		for _, m := range p.Messages[:min(len(p.Messages), MaxShown)] {
			x.line("  > %s", termtext.OneLine(m, 100))
		}
	}
	if p.Files {
		x.note("%s would change:", clip.Count(p.Total, "file"))
	}
	unsure := make(map[string]bool)
	for _, name := range p.Unsure {
		unsure[name] = true
	}
	for i, c := range p.Changes {
		if i == MaxShown {
			x.line("  … and %d more", p.Total-i)
			break
		}
		why := ""
		if unsure[c.Path] {
			why = " (perhaps changed by others: a call was running when its process was killed)"
		}
		x.line("  %s %s%s", ChangeMark(c.Change), c.Path, why)
	}
	x = append(x, KeptLines(p)...)
	if len(p.Outside) > 0 {
		x.note("these calls may have had effects that do not come back:")
		for i, o := range p.Outside {
			if i == maxOutside {
				x.line("  … and %d more: openmanus sessions audit %s", len(p.Outside)-i, id)
				break
			}
			x.line("  %d %s  %s", o.Seq, o.Tool, CallLine(llm.Call{Name: o.Tool, Input: o.Input}))
		}
	}
	return x
}

// KeptLines names the files that going back leaves alone, with the reason, at most
// [MaxShown] of them.
func KeptLines(p *act.Rewinding) []string {
	var x text
	for i, k := range p.Kept {
		if i == MaxShown {
			x.line("  … and %d more stay as they are", len(p.Kept)-i)
			break
		}
		x.line("  = %s stays as it is: %s", k.Name, k.Why)
	}
	return x
}

// DoneText says in one line what going back did, or that nothing had to be done.
func DoneText(id string, p *act.Rewinding) string {
	if p.Nothing {
		return fmt.Sprintf("nothing to change: session %s has what was there after event %d", id, p.To)
	}
	what, files, messages := "back to", "put back", "taken back"
	if p.Redo != "" {
		what, files, messages = "forward again to", "changed", ""
	}
	var parts []string
	if p.Files {
		parts = append(parts, clip.Count(p.Total, "file")+" "+files)
	}
	if p.Talk && messages != "" {
		parts = append(parts, clip.Count(len(p.Messages), "message")+" "+messages)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s event %d: %s", id, what, p.To, strings.Join(parts, ", ")), ": ")
}

// ChangeMark returns one letter for a change.
func ChangeMark(change string) string {
	switch change {
	case openmanus.FileCreated:
		return "+"
	case openmanus.FileDeleted:
		return "-"
	}
	return "~"
}
