package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
	"golang.org/x/term"
)

// An output is a form in which a run reports to standard output.
type output string

const (
	outText  output = "text"
	outJSON  output = "json"
	outJSONL output = "jsonl"
)

// code returns the exit code for a session in state s.
func code(s *openmanus.State, qs []run.Question) int {
	o := s.Outcome
	switch summary.Standing(s, qs) {
	case openmanus.Finished:
		return exitFinished
	case openmanus.Waiting:
		return exitWaits
	case openmanus.Failed:
		if o.Reason == "auth" || o.Reason == "model" || o.HTTP == 401 || o.HTTP == 403 {
			return exitUsage
		}
		return exitFailed
	case openmanus.Halted:
		if o.Reason == openmanus.ByPerson {
			return exitInterrupted
		}
		return exitLimit
	}
	return exitFailed
}

// report prints the result of the request: the answer to standard output, the
// rest to standard error. Its error has the exit code.
func (d *drive) report(s *openmanus.State) error {
	after := d.scan()
	files, meanwhile, err := d.ownChanges(host.Changes(d.before, after))
	if err != nil {
		return err
	}
	shown := d.print.Flush()
	sum := summary.Of(d.id, s, d.waiting, files)
	sum.Meanwhile = meanwhile
	if d.Output == outJSON {
		d.addDiffs(&sum, s.Snapshot.Tree != "")
	}
	models, err := summary.Spent(context.Background(), d.db, d.id) // also if this was interrupted
	if err != nil {
		return err
	}
	if len(models) > 1 {
		sum.Models = models
	}
	switch d.Output {
	case outJSON:
		if err := d.t.encoder().Encode(sum); err != nil {
			return exit{exitFailed, fmt.Errorf("the result of session %s was not written: %w", d.id, err), true}
		}
	case outText:
		text, ok := planOutcome(s, d.waiting)
		if !ok && answered(s) && !(d.onScreen && shown == s.Answer) {
			text, ok = s.Answer, true
		}
		if ok {
			if _, err := fmt.Fprintln(d.t.out, strings.TrimRight(d.forOut(text), "\n")); err != nil {
				return fmt.Errorf("the answer of session %s was not written: %w", d.id, err)
			}
		}
	}
	if !d.Quiet {
		d.footer(s, sum, d.before.Partial() || after.Partial())
	}
	d.syncWorktree()
	c := code(s, d.waiting)
	if c == exitFailed && s.Outcome.Reason == openmanus.Reason(llm.Network) && d.WrongEndpoint() {
		c = exitUsage
	}
	if c != exitFinished {
		return exit{c, d.explain(s), true}
	}
	return nil
}

// maxDiffs is how many bytes of diffs the object of --output json has.
const maxDiffs = 1 << 20

// addDiffs replaces the files of a summary by what the snapshots of the session say: all
// files that its calls changed, with diffs, but for those of package managers and the
// like. Where there are none, the files stay; followed says that there is one.
func (d *drive) addDiffs(sum *summary.Run, followed bool) {
	diffs, err := d.Diff(context.Background(), d.id, d.from, 0)
	if err != nil || len(diffs) == 0 && !followed {
		return
	}
	sum.Files = []host.FileChange{}
	size := 0
	for _, f := range diffs {
		c := host.FileChange{Path: f.Path, Change: f.Change, Bytes: f.Bytes, Was: f.Was, From: f.From}
		if size += len(f.Diff); size <= maxDiffs {
			c.Diff = f.Diff
		} else if size -= len(f.Diff); f.Diff != "" {
			sum.DiffsLeftOut++
		}
		sum.Files = append(sum.Files, c)
	}
}

// syncWorktree brings the commits of a session with a worktree to its branch, and says
// how the work comes to the person. If it fails now, sessions apply does it again.
func (d *drive) syncWorktree() {
	text, err := d.SyncWorktree(context.Background(), d.id) // also if this was interrupted
	if err != nil {
		text = "the commits of the worktree did not come to its branch: " + err.Error()
	}
	if text != "" {
		d.print.Remark("%s", text)
	}
}

// ownChanges divides what changed in the workspace during the run: what calls of the
// session and of those below it did, and what others may have done. There is one list
// where that is not known: of a workspace that is too large to look at call by call, and
// after a call that changed more files than its event names.
func (d *drive) ownChanges(all []host.FileChange) (own, meanwhile []host.FileChange, err error) {
	own = []host.FileChange{}
	if len(all) == 0 || d.Large(d.root.Name()) {
		return append(own, all...), nil, nil
	}
	nodes, err := run.Tree(context.Background(), d.db, d.id)
	if err != nil {
		return nil, nil, err
	}
	known := make(map[string]bool)
	for _, n := range nodes {
		since := int64(0)
		if n.Session == d.id {
			since = d.from
		}
		if n.State.FilesLeftOut {
			return append(own, all...), nil, nil
		}
		files, _ := n.State.Files(since)
		for _, f := range files {
			known[f.Path] = true
		}
	}
	for _, f := range all {
		if known[f.Path] {
			own = append(own, f)
		} else {
			meanwhile = append(meanwhile, f)
		}
	}
	return own, meanwhile, nil
}

// answered reports whether s has an answer: what the agent said before it was
// stopped is not one.
func answered(s *openmanus.State) bool {
	return s.Answer != "" && (s.Status() == openmanus.Finished || s.Outcome.Reason == openmanus.ByAgent)
}

// forOut returns the answer for standard output, formatted if that is a terminal.
func (d *drive) forOut(answer string) string {
	if !isTerminal(d.t.out) {
		return answer
	}
	if width := columns(d.t.out); width > 0 && !d.t.dumb() {
		return strings.Join(d.t.style(d.globals).Markdown(answer, min(width-1, 100)), "\n")
	}
	return clip.Plain(answer)
}

// footer prints the files, models and costs of a run.
func (d *drive) footer(s *openmanus.State, sum summary.Run, partial bool) {
	const most = 20
	for i, f := range sum.Files {
		if i == most {
			d.print.Remark("and %s", clip.Count(len(sum.Files)-most, "more file"))
			break
		}
		d.print.Remark("%-8s %s%s", f.Change, f.Path, sizeOf(f))
	}
	if len(sum.Meanwhile) > 0 {
		var names []string
		for _, f := range sum.Meanwhile[:min(len(sum.Meanwhile), most)] {
			names = append(names, f.Path)
		}
		if more := len(sum.Meanwhile) - most; more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		d.print.Remark("changed in the workspace meanwhile: %s", strings.Join(names, ", "))
	}
	if partial {
		d.print.Remark("the workspace is large: not every file was checked for changes")
	}
	for _, m := range sum.Models {
		d.print.Remark("%s: %s", m.Model, m.Usage)
	}
	d.print.Remark("%s · %s · %s", describe(s, d.waiting), clip.Count(s.Steps, "step"), sum.Usage)
	if _, ok := s.Proposal(); ok && !d.passing {
		d.print.Remark("the plan waits for your approval: openmanus sessions plan %s --accept (after --edit, if you like)", d.id)
	}
	if s.Status() == openmanus.Finished && !d.passing {
		d.print.Remark("continue with: openmanus run --session %s \"…\"", d.id)
	}
}

func sizeOf(f host.FileChange) string {
	if f.Change == "deleted" {
		return ""
	}
	return " (" + clip.Count(int(f.Bytes), "byte") + ")"
}

// describe returns how a session stands, in words.
func describe(s *openmanus.State, qs []run.Question) string {
	text := string(summary.Standing(s, qs))
	if s.Outcome.Reason != "" {
		text += " (" + string(s.Outcome.Reason) + ")"
	}
	return text
}

// explain returns why a run did not finish, and the command that continues it.
func (d *drive) explain(s *openmanus.State) error {
	o := s.Outcome
	switch summary.Standing(s, d.waiting) {
	case openmanus.Waiting:
		var b strings.Builder
		b.WriteString("input or approval is needed, and no terminal is attached")
		for _, w := range d.waiting {
			c, q := w.Call, w.Call.Question()
			verb, target := linemode.Phrase(c.Call, gist.Waiting, gist.SaysOf(w.State.Config.Tools, c.Name)...)
			fmt.Fprintf(&b, "\n  %s%s  %s", above(summary.Asker(d.id, w)), verb, target)
			if q.Kind == openmanus.AskRuling {
				fmt.Fprintf(&b, "\n    %s", termtext.OneLine(q.Question, 200))
				if q.Rule == gate.RuleReach && q.Shown != "" { // the whole command, and the reason
					fmt.Fprintf(&b, "\n%s", indent(clip.Visible(strings.TrimRight(q.Shown, "\n")), "    │ "))
				}
				fmt.Fprintf(&b, "\n    openmanus sessions approve %s %s", w.Session, c.ID)
			} else {
				fmt.Fprintf(&b, "\n    openmanus sessions answer %s %s \"…\"", w.Session, c.ID)
			}
		}
		fmt.Fprintf(&b, "\nthen: openmanus sessions resume %s", d.id)
		return errors.New(b.String())
	case openmanus.Failed:
		if d.onScreen && o.Reason == openmanus.ByAgent {
			return nil
		}
		if d.print.HasShown(o.Error) {
			return fmt.Errorf("the session is saved; continue with: openmanus sessions resume %s", d.id)
		}
		return fmt.Errorf("%s\nthe session is saved; continue with: openmanus sessions resume %s", o.Error, d.id)
	}
	if o.Reason == openmanus.ByPerson {
		return fmt.Errorf("interrupted; continue with: openmanus sessions resume %s", d.id)
	}
	if d.print.HasShown(o.Error) {
		return fmt.Errorf("the session is saved; continue with: openmanus sessions resume %s%s", d.id, larger(o))
	}
	return fmt.Errorf("stopped: %s; continue with: openmanus sessions resume %s%s", o.Error, d.id, larger(o))
}

// above returns the name of a session that asks, as it precedes its question.
func above(who string) string {
	if who == "" {
		return ""
	}
	return who + ": "
}

// larger returns the flag that raises the limit that was reached.
func larger(o openmanus.Outcome) string {
	switch o.Reason {
	case openmanus.NoTokens:
		if strings.Contains(o.Error, "max_tokens") { // a reply was cut, and no budget was used up
			return ""
		}
		return " --budget-tokens N"
	case openmanus.NoMoney:
		return " --max-cost USD"
	}
	return ""
}

// encoder returns an encoder that writes a JSON value on each line of standard
// output.
func (t *terminal) encoder() *json.Encoder {
	enc := json.NewEncoder(t.out)
	enc.SetEscapeHTML(false)
	return enc
}

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := bare(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// bare returns the writer below those that replace secrets.
func bare(w any) any {
	for {
		u, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = u.Unwrap()
	}
}
