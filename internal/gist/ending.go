package gist

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// An Ending is what people see of a call that has ended.
type Ending struct {
	Word string // how it ended: "done", "exit 1", "error", "+9 −6"
	Bad  bool   // it failed, or what it ran did

	// Lines are the text of the result. None of them is of this program: pass
	// them through [clip.Clean] or [clip.Visible].
	Lines []string

	// Diff are the lines of a unified diff of what the call changed. The text of a
	// result that has one says the same for models, and Lines is without it.
	Diff []string

	Pictures int // how many the result has
}

// detail is what is read of the Detail of a result, whichever tool made it: see
// [tools.BashDetail], [tools.PythonDetail] and [tools.FileChange].
type detail struct {
	ExitCode *int              `json:"exit_code"`
	TimedOut bool              `json:"timed_out"`
	Diff     string            `json:"diff"`
	Files    []json.RawMessage `json:"files"`
}

// End returns how the call of d ended.
func End(d openmanus.CallDone) Ending {
	var in detail
	if len(d.Detail) > 0 && json.Unmarshal(d.Detail, &in) != nil {
		in = detail{}
	}
	e := Ending{Word: "done", Bad: d.IsError || d.Failed, Lines: lines(d)}
	for _, part := range d.Parts {
		if _, ok := part.(llm.Blob); ok {
			e.Pictures++
		}
	}
	switch {
	case d.Partial:
		e.Word = "interrupted"
	case in.TimedOut:
		e.Word, e.Bad = "out of time", true
	case d.IsError:
		e.Word = "error"
	case in.ExitCode != nil && *in.ExitCode != 0:
		e.Word, e.Bad = fmt.Sprint("exit ", *in.ExitCode), true
	case d.Failed:
		e.Word = "failed"
	case in.Diff != "":
		e.Diff = strings.Split(strings.TrimRight(in.Diff, "\n"), "\n")
		if in.Files == nil { // the text of a patch has the names of its files
			e.Lines = nil
		}
		var all Lines
		for _, n := range linesIn(e.Diff) {
			all = all.Plus(n)
		}
		e.Word = all.String()
	}
	if in.ExitCode != nil {
		e.Lines = withoutExitCode(e.Lines, *in.ExitCode)
	}
	return e
}

// withoutExitCode returns the lines of a command's result without the one that tells
// models its exit code, which Word has.
func withoutExitCode(lines []string, code int) []string {
	if i := slices.Index(lines, fmt.Sprintf("[exit code %d]", code)); i >= 0 {
		return slices.Delete(slices.Clone(lines), i, i+1)
	}
	return lines
}

// lines returns the lines of a result. For a page in the browser, which models
// read whole, they are the action or its error, the address and the title.
func lines(d openmanus.CallDone) []string {
	split := func(text string) []string {
		if text = strings.TrimRight(text, "\n"); strings.TrimSpace(text) == "" {
			return nil
		}
		return strings.Split(text, "\n")
	}
	isView := func(p llm.Part) bool { t, ok := p.(llm.Text); return ok && t.View }
	i := slices.IndexFunc(d.Parts, isView)
	if i < 0 {
		return split(d.Parts.Text())
	}
	ls := split(llm.Parts(slices.DeleteFunc(slices.Clone(d.Parts), isView)).Text())
	view := split(strings.TrimSpace(d.Parts[i].(llm.Text).Text))
	const first = 2 // the address and the title
	ls = append(ls, view[:min(first, len(view))]...)
	if n := len(view) - first; n > 0 {
		ls = append(ls, "… "+clip.Count(n, "more line")+" …")
	}
	return ls
}

// Tail returns the last n lines of a text, or the steps if it is that of the plan
// which a planning tool returns with its detail: a plan is read from its beginning.
func Tail(ls []string, detail json.RawMessage, n int) (tail []string, left int) {
	if ps, err := tools.ReadPlans(detail); err == nil && len(ps.Plans) > 0 {
		if i := slices.Index(ls, "Steps:"); i >= 0 {
			return strings.Split(FromOne(strings.Join(ls[i+1:], "\n")), "\n"), 0
		}
	}
	if left = len(ls) - n; left > 0 {
		return ls[left:], left
	}
	return ls, 0
}

// stepNumber matches the number before a step, where models read a plan.
var stepNumber = regexp.MustCompile(`(?m)^\d+(\. \[.\] )`)

// FromOne returns a plan as models read it, who count steps from 0, with the steps
// counted from 1, as on the screen.
func FromOne(plan string) string {
	return stepNumber.ReplaceAllStringFunc(plan, func(head string) string {
		number, rest, _ := strings.Cut(head, ".")
		n, err := strconv.Atoi(number)
		if err != nil {
			return head
		}
		return strconv.Itoa(n+1) + "." + rest
	})
}
