package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// A bashSession is the shell of one session, if it has one, and the state with
// which the next shell begins. Only the call that has the turn (see procSlot)
// uses its fields; the reader of records uses records, which locked guards.
type bashSession struct {
	procSlot
	ws       workspace.Workspace
	patience time.Duration
	limit    procTime
	records  *bashRecords // of the shell; nil before the first one in this process
	state    bashState    // of the shell after its last command
}

// start starts a shell, with the exported variables of the last one if that has ended.
func (s *bashSession) start() (*procShell, error) {
	s.records = new(bashRecords)
	sh, err := startProc(s.ws,
		[]string{"bash", "--noprofile", "--norc", "-c", bashText().script},
		[]string{"TERM=dumb", "BASH_ENV=", "ENV="},
		s.records, s.patience)
	if err == nil && s.state.env != "" {
		sh.send("+{ builtin eval " + bashQuote(s.state.env) + "; } >/dev/null 2>&1 </dev/null\n")
	}
	return sh, err
}

// goesOn returns a note for the first command in this process of a session that
// had a shell elsewhere. The new shell begins in the directory of that one, or in the same
// one of its own workspace, if that is a copy.
func (s *bashSession) goesOn(last json.RawMessage) string {
	var d BashDetail
	if s.records != nil || json.Unmarshal(last, &d) != nil || d.Cwd == "" {
		return "" // the session had a shell in this process, or never had one
	}
	s.state.cwd = d.Cwd
	if in, err := filepath.Rel(d.Dir, d.Cwd); d.Dir != "" && err == nil && filepath.IsLocal(in) {
		s.state.cwd = filepath.Join(s.ws.Dir(), in)
	}
	return fmt.Sprintf("[this is a new shell, in %s: the last one was ended while the session was idle, "+
		"with its variables, functions and background jobs]\n", cmp.Or(s.state.cwd, s.ws.Dir()))
}

// run runs a command in the shell. The result says so if the shell is a new one, since its
// functions and unexported variables are gone.
func (s *bashSession) run(ctx context.Context, in bashInput, call openmanus.Call) (openmanus.Result, error) {
	began, note := time.Now(), ""
	if !in.Restart {
		note = s.goesOn(call.Last)
	}
	shell, fresh, lost, err := s.ready(s.start)
	if err != nil {
		return openmanus.Result{}, err
	}
	command := in.Command
	if fresh {
		s.state.flags, s.state.traps = "", "" // they are lost with a shell
		if s.state.cwd != "" {
			// bash prints an error if it is gone
			command = "builtin cd -- " + bashQuote(s.state.cwd) + "\n" + command
		}
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(in.Timeout*float64(time.Second)))
	defer cancel()
	shut, more, err := openLocal(limited, &shell.door, call.Scope)
	if err != nil {
		return openmanus.Result{}, err
	}
	defer shut()
	note += more
	out := &procOutput{live: call.Live}
	shell.locked(func() { s.records.state = nil })
	end := shell.run(limited, newBashCall(command, s.state), out)
	var told *bashState
	shell.locked(func() { told, end.mute = s.records.state, s.records.mute })
	if told != nil {
		s.state = *told
	}
	if end.died {
		s.forget()
	}
	d := BashDetail{Command: in.Command, Seconds: seconds(began), Cwd: cmp.Or(s.state.cwd, s.ws.Dir()), Dir: s.ws.Dir()}
	text, err := report(ctx, in, s.limit, end, told, out, &d)
	if err == nil {
		text = advised(s.ws, text, out.text(), d.ExitCode)
	}
	if lost {
		note = "[the shell had ended since the last command; this is a new one]\n" + more
	}
	text = note + text
	res := openmanus.Result{Detail: d, Failed: d.ExitCode != 0, Waited: waits(d), Sources: localSources(call.Scope)}
	if text != "" {
		res.Parts = llm.Parts{llm.Text{Text: text}}
	}
	return res, err
}

// waiting are the commands that wait.
var waiting = regexp.MustCompile(`(^|[^-\w./])(sleep|wait|inotifywait|tail +(-\w+ +)*(-f|-F|--pid|--follow))\b`)

// waits reports whether a command waited: it has a word for that, and it took its time.
func waits(d BashDetail) bool { return d.Seconds >= 1 && waiting.MatchString(d.Command) }

// advised adds to the text of a result what the workspace says about the reason why
// the command failed.
func advised(ws workspace.Runner, text, output string, code int) string {
	if line := workspace.Advise(ws, output, code); line != "" {
		return newlineAfter(text) + "[" + line + "]"
	}
	return text
}

// undone returns lines that say what a command did to the shell and does not last.
func undone(told *bashState) (text string) {
	if told == nil {
		return ""
	}
	if strings.Contains(told.undid, "exec") {
		text = "\n[exec sent the output of the shell elsewhere; that ended with this command]"
	}
	for _, name := range strings.Split(told.undid, ",") {
		if name == "builtin" || name == "." {
			text += fmt.Sprintf("\n[the function %s was removed: the shell itself needs that word]", name)
		}
	}
	return text
}

// report returns the result of a command: the text for the model, and an error
// if the command was killed or could not run. told is the state that the shell
// reported, if it did; report completes d.
func report(
	ctx context.Context, in bashInput, limit procTime, end procEnd, told *bashState, out *procOutput, d *BashDetail,
) (string, error) {
	text := out.text()
	if end.between != "" {
		text = "[printed by background jobs since the last command:]\n" + newlineAfter(end.between) +
			"[the output of this command:]\n" + text
	}
	var lost string
	if end.died {
		why := "the shell has ended"
		if end.mute {
			why = "something that the command changed kept the shell from going on, so it was ended"
		}
		lost = why + fmt.Sprintf("; the next command gets a new one in %s with the same "+
			"exported "+
			"variables, but other variables, functions, aliases, options and background jobs are gone", d.Cwd)
	}
	if end.gaveUp {
		d.ExitCode, d.TimedOut = -1, ctx.Err() == nil
		advice := ", or run it in the background with & and look at it later"
		if d.Reach != "" {
			advice = ""
		}
		return strings.TrimRight(text, "\n"), givenUp(ctx, "command", in.Timeout, limit, lost, advice)
	}
	code, err := end.code()
	if told != nil {
		code, err = told.code, nil
	}
	d.ExitCode = code
	if err != nil {
		return strings.TrimRight(text, "\n"), errNoBash(err)
	}
	text = fmt.Sprintf("%s[exit code %d]", newlineAfter(text), code) + undone(told)
	if lost != "" {
		text += "\n[" + lost + "]"
	}
	return text, nil
}
