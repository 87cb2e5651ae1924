package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// An EvaluateFlow has a task attempted several times, each time in a copy of the
// workspace of its own, has a judge compare the results, and merges the changes
// of the best attempt into the workspace. A session of this flow ends as
// finished only if an attempt did the task and all of its changes are merged.
//
// A round is one such comparison. A message that the user sends during a round
// starts another one, with the workspace in its state at that time.
//
// A round has these steps, each of which is an event of the session: the call
// copy_workspace; a child session for each attempt; if several finished, a child
// session of the judge; the call keep_attempt, which merges. The flow makes the
// calls itself: its agent has no model. After a failure, resuming the session
// repeats the step that failed, not those before it.
type EvaluateFlow struct {
	Evaluator *openmanus.Agent // made by [Evaluator]
	Attempts  []Attempt        // at least one
	Judge     string           // the flow that compares the attempts and answers with a [Judgement]
	Parallel  int              // the most attempts at once; 0 is 4
}

// An Attempt describes one attempt at a task.
type Attempt struct {
	Agent string `json:"agent"`           // the flow that makes the attempt
	Model string `json:"model,omitempty"` // the attempt's model; "": that of the evaluation
	Hint  string `json:"hint,omitempty"`  // advice that follows the task in the prompt
}

// maxJudged is how often a judge is asked in one round: an answer that is not a
// valid [Judgement] is asked for once more.
const maxJudged = 2

// Agent implements [openmanus.Flow].
func (f *EvaluateFlow) Agent() *openmanus.Agent { return f.Evaluator }

// Next implements [openmanus.Flow]. A round copies the workspace for each attempt, runs
// the attempts as child sessions, asks the judges, and merges the attempt that they
// choose. A message of the user begins another round. Everything that it needs to know of
// a round is in the results of the calls that the flow itself makes (copying and keeping),
// so the same round goes on in another process.
func (f *EvaluateFlow) Next(s *openmanus.State) []openmanus.Task {
	if todo, rests := resting(s); rests {
		return todo
	}
	r := readRound(s)
	todo := f.running(s, r)
	switch c := failedCall(s); {
	case heard(s) || r == nil && c == nil:
		if len(todo) > 0 {
			return todo
		}
		return f.copy(s)
	case c != nil && s.Moves > 0:
		return f.end(s, r, "", "it was not done: "+c.Done.Parts.Text())
	case c != nil && c.Name == copying: // resumed
		return f.copy(s)
	case r.kept != nil && len(r.kept.Conflicts) > 0 && again(s):
		return f.call(s, keeping, keepInput{r.kept.Attempt, r.kept.Why})
	case r.kept != nil:
		return f.end(s, r, r.kept.Why, r.kept.trouble())
	}
	if todo = append(todo, f.start(s, r, len(todo))...); len(todo) > 0 {
		return todo
	}
	return f.decide(s, r)
}

// running returns the tasks of the child sessions that are open.
func (f *EvaluateFlow) running(s *openmanus.State, r *round) (todo []openmanus.Task) {
	for _, c := range s.OpenChildren() {
		t := openmanus.Task{Do: openmanus.Delegate, Child: nameOf(c)}
		if r != nil {
			if n := slices.Index(r.attempts, c); n >= 0 {
				t = f.attempt(s, r, n)
			} else if slices.Contains(r.judges, c) {
				t = f.judge(s, r, nameOf(c))
			}
		}
		todo = append(todo, t)
	}
	return todo
}

// start returns the tasks of the attempts that can start while a number of child
// sessions are open.
func (f *EvaluateFlow) start(s *openmanus.State, r *round, open int) (todo []openmanus.Task) {
	most := cmp.Or(f.Parallel, 4)
	if l := s.Limits.FanOut; l > 0 {
		most = min(most, l)
	}
	for n := range r.Attempts {
		if r.attempts[n] != nil || open+len(todo) >= most {
			continue
		}
		if stop := spent(s); stop != nil {
			if open > 0 {
				return todo // the open sessions may finish
			}
			return stop
		}
		todo = append(todo, f.attempt(s, r, n))
	}
	return todo
}

// spent stops a session that has reached a limit on what its attempts use. The
// session itself asks no model, so steps and repetitions do not count.
func spent(s *openmanus.State) []openmanus.Task {
	reason, why := s.Spent()
	switch reason {
	case "", openmanus.NoSteps, openmanus.Stuck:
		return nil
	}
	return []openmanus.Task{{Do: openmanus.Stop, Turn: s.Turn, Re: s.Seq, Reason: reason, Error: why}}
}

// decide returns the next task after all attempts of a round have ended.
func (f *EvaluateFlow) decide(s *openmanus.State, r *round) []openmanus.Task {
	done := r.finished()
	switch {
	case len(done) == 0 && !again(s) && r.unpaid() != nil:
		d := r.unpaid()
		return []openmanus.Task{{Do: openmanus.Stop, Turn: s.Turn, Re: s.Seq, Reason: d.Reason, Error: clip.OneLine(d.Text)}}
	case len(done) == 0:
		return f.giveUp(s, r, "no attempt did the task", f.copy)
	case len(done) > 1 && r.judgement == nil && (len(r.judges) < maxJudged || again(s)):
		if stop := spent(s); stop != nil {
			return stop
		}
		return []openmanus.Task{f.judge(s, r, fmt.Sprintf("judge-%d-%d", r.Number, len(r.judges)+1))}
	case len(done) > 1 && r.judgement == nil:
		return f.giveUp(s, r, "the critic did not say which attempt is the best", nil)
	}
	best, why := r.choose()
	if best == 0 {
		return f.giveUp(s, r, "the critic found that no attempt does the task", f.copy)
	}
	if openmanus.Mode(s.Config.Approve).LooksOnly() && len(r.attempts[best-1].Done.Files) == 0 {
		return f.end(s, r, why, "")
	}
	return f.call(s, keeping, keepInput{Attempt: best, Why: why})
}

// again reports whether a person resumed the session after it failed, so that
// nothing has happened since.
func again(s *openmanus.State) bool {
	news := slices.ContainsFunc(s.Inbox, func(n openmanus.Note) bool { return n.Seq > s.Since })
	return s.Moves == 0 && !news
}

// giveUp ends the session as failed. If the user has resumed it since, it calls
// retry instead, unless retry is nil.
func (f *EvaluateFlow) giveUp(
	s *openmanus.State, r *round, why string, retry func(*openmanus.State) []openmanus.Task,
) []openmanus.Task {
	if retry != nil && again(s) {
		return retry(s)
	}
	return f.end(s, r, "", why)
}

// end ends the session, as failed if why is not "". reason is why the attempt that
// was kept is the best.
func (f *EvaluateFlow) end(s *openmanus.State, r *round, reason, why string) []openmanus.Task {
	t := openmanus.Task{Do: openmanus.End, Turn: s.Turn, Re: s.Seq, Status: openmanus.Finished, Text: r.summary(reason)}
	if why != "" {
		t.Status, t.Reason, t.Error = openmanus.Failed, openmanus.ByAgent, clip.OneLine(why)
		t.Text = strings.TrimSpace(clip.OneLine(why) + "\n\n" + t.Text)
	}
	return []openmanus.Task{t}
}

// copy starts a round.
func (f *EvaluateFlow) copy(s *openmanus.State) []openmanus.Task {
	return f.call(s, copying, struct{}{})
}

// call returns the task that makes a tool call of the flow itself.
func (f *EvaluateFlow) call(s *openmanus.State, tool string, input any) []openmanus.Task {
	if stop := spent(s); stop != nil {
		return stop
	}
	data, err := json.Marshal(input)
	if err != nil {
		return []openmanus.Task{{Do: openmanus.Stop, Turn: s.Turn, Re: s.Seq, Reason: openmanus.ByTooling, Error: err.Error()}}
	}
	return []openmanus.Task{{Do: openmanus.MakeCall, Turn: s.Turn, Re: s.Seq, Name: tool, Input: string(data)}}
}

// failedCall returns the last call if it failed, or nil.
func failedCall(s *openmanus.State) *openmanus.CallState {
	if len(s.Calls) == 0 {
		return nil
	}
	c := s.Calls[len(s.Calls)-1]
	if c.Done == nil || !c.Done.IsError {
		return nil
	}
	return c
}

// attempt returns the task that opens or continues attempt n, counted from 0.
func (f *EvaluateFlow) attempt(s *openmanus.State, r *round, n int) openmanus.Task {
	a := r.Attempts[n]
	t := openmanus.Task{
		Do: openmanus.Delegate, Child: attemptName(r.Number, n), Flow: a.Agent, Model: a.Model,
		Copy: &openmanus.Copy{Round: r.Number, Attempt: n + 1}, Prompt: strings.Join(s.Requests, "\n\n"),
	}
	if a.Hint != "" {
		t.Prompt += "\n\nHow to go about it: " + a.Hint
	}
	return t
}

// attemptName returns the name of the session of attempt n, counted from 0. See
// [StepOf].
func attemptName(round, n int) string { return fmt.Sprintf("attempt-%d-%d", round, n+1) }

// judge returns the task that opens or continues a comparison.
func (f *EvaluateFlow) judge(s *openmanus.State, r *round, name string) openmanus.Task {
	var b strings.Builder
	fmt.Fprintf(&b, "The task that was attempted:\n\n%s\n\n"+
		"The directory before/ has the files as they were.\n", strings.Join(s.Requests, "\n\n"))
	for _, n := range r.finished() {
		d := r.attempts[n-1].Done
		fmt.Fprintf(&b, "\nAttempt %d: its files are in attempt-%[1]d/, its changes are in attempt-%[1]d.diff. "+
			"Its report:\n<report>\n%s\n</report>\n", n, shortened(d.Text, 8000))
	}
	b.WriteString("\nWhich of them do the task, and how well?")
	return openmanus.Task{
		Do: openmanus.Delegate, Child: name, Flow: f.Judge, Copy: &openmanus.Copy{Round: r.Number}, Prompt: b.String(),
	}
}
