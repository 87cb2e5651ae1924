package agents

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/tools"
)

// A Round is the Detail of a result of copy_workspace, which starts a round.
type Round struct {
	Number   int       `json:"round"` // from 1
	Dir      string    `json:"dir"`   // of the copies
	Attempts []Attempt `json:"attempts"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Left     []string  `json:"left,omitempty"` // files that were not copied, and why
}

// A round is a Round with its progress.
type round struct {
	Round
	attempts  []*openmanus.ChildState // by attempt; nil: not started
	judges    []*openmanus.ChildState // the comparisons, in order
	judgement *Judgement              // nil: none yet
	kept      *Kept                   // nil: none yet
}

// A Judgement is the answer of a judge.
type Judgement struct {
	Attempts []Score `json:"attempts"`
	Reason   string  `json:"reason"` // why the best attempt is the best
}

// A Score is a judge's opinion of one attempt.
type Score struct {
	Attempt int     `json:"attempt"` // from 1
	Done    bool    `json:"done"`    // whether it does the task
	Score   float64 `json:"score"`   // from 0 to 100
	Reason  string  `json:"reason"`
}

// readRound returns the latest round of a session, or nil.
func readRound(s *openmanus.State) *round {
	r := new(round)
	if data := s.Last(copying); data == nil || json.Unmarshal(data, &r.Round) != nil || r.Number == 0 {
		return nil
	}
	r.attempts = make([]*openmanus.ChildState, len(r.Attempts))
	judge := fmt.Sprintf("judge-%d-", r.Number)
	for _, c := range s.Children {
		name := nameOf(c)
		if strings.HasPrefix(name, judge) {
			r.judges = append(r.judges, c)
		}
		for n := range r.attempts {
			if name == attemptName(r.Number, n) {
				r.attempts[n] = c
			}
		}
	}
	for _, c := range r.judges {
		if r.judgement == nil && c.Done != nil && c.Done.Status == openmanus.Finished {
			r.judgement = readJudgement(c.Done.Text, r.finished())
		}
	}
	var k Kept
	if data := s.Last(keeping); data != nil && json.Unmarshal(data, &k) == nil && k.Round == r.Number {
		r.kept = &k
	}
	return r
}

// readJudgement parses a judgement of these attempts. It returns nil unless it
// contains each of them once, with a valid score.
func readJudgement(text string, attempts []int) *Judgement {
	var j Judgement
	if json.Unmarshal([]byte(text), &j) != nil || len(j.Attempts) != len(attempts) {
		return nil
	}
	for _, n := range attempts {
		i := slices.IndexFunc(j.Attempts, func(s Score) bool { return s.Attempt == n })
		if i < 0 || j.Attempts[i].Score < 0 || j.Attempts[i].Score > 100 {
			return nil
		}
	}
	return &j
}

// finished returns the attempts, counted from 1, that ended as finished.
func (r *round) finished() (done []int) {
	for n, c := range r.attempts {
		if c != nil && c.Done != nil && c.Done.Status == openmanus.Finished {
			done = append(done, n+1)
		}
	}
	return done
}

// unpaid returns the report of the last attempt if its share of a budget was too
// small, or nil.
func (r *round) unpaid() *openmanus.ChildDone {
	c := r.attempts[len(r.attempts)-1]
	if c == nil || c.Done == nil || c.Done.Reason != openmanus.NoTokens && c.Done.Reason != openmanus.NoMoney {
		return nil
	}
	return c.Done
}

// score returns the judge's opinion of an attempt, counted from 1, or nil.
func (r *round) score(n int) *Score {
	if r.judgement == nil {
		return nil
	}
	for i := range r.judgement.Attempts {
		if s := &r.judgement.Attempts[i]; s.Attempt == n {
			return s
		}
	}
	return nil
}

// choose returns the best attempt, counted from 1, and why it is the best: of
// those that do the task the one with the highest score; of equal ones the
// cheapest, then the first. best is 0 if none does the task. At least one
// attempt has finished, and if several have, there is a judgement.
func (r *round) choose() (best int, why string) {
	done := r.finished()
	switch {
	case len(r.Attempts) == 1:
		return done[0], "it is the only attempt"
	case len(done) == 1:
		return done[0], "no other attempt finished"
	}
	tie := false
	for _, n := range done {
		switch s := r.score(n); {
		case !s.Done:
		case best == 0 || s.Score > r.score(best).Score:
			best, tie = n, false
		case s.Score == r.score(best).Score:
			tie = true
			if r.cheaper(n, best) {
				best = n
			}
		}
	}
	if best == 0 {
		return 0, ""
	}
	if why = clip.OneLine(r.judgement.Reason); why == "" {
		why = clip.OneLine(r.score(best).Reason)
	}
	if tie {
		why += " (another one is equally good; this one cost less, or came first)"
	}
	return best, why
}

// cheaper reports whether attempt a cost less than b, by money or else by tokens.
func (r *round) cheaper(a, b int) bool {
	x, y := r.attempts[a-1].Done, r.attempts[b-1].Done
	if x.Cost != y.Cost {
		return x.Cost < y.Cost
	}
	return x.Usage.Total() < y.Usage.Total()
}

// best returns the attempt that was kept, or would be, or 0.
func (r *round) best() int {
	switch done := r.finished(); {
	case r.kept != nil:
		return r.kept.Attempt
	case len(done) == 0, len(done) > 1 && r.judgement == nil:
		return 0
	}
	n, _ := r.choose()
	return n
}

// summary returns the answer of the flow: the answer of the best attempt, the
// statuses of all attempts, and the changes that were merged. why is why the best
// attempt is the best, or "".
func (r *round) summary(why string) string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	if n := r.best(); n > 0 {
		fmt.Fprintf(&b, "%s\n\n", strings.TrimSpace(r.attempts[n-1].Done.Text))
		if why != "" {
			fmt.Fprintf(&b, "Attempt %d is the best: %s\n\n", n, why)
		}
	}
	b.WriteString("Attempts:\n")
	for n := range r.Attempts {
		st := r.attemptStep(n)
		fmt.Fprintf(&b, "%d. %s %s\n", n+1, st.Status.Mark(), st.Text)
		if st.Notes != "" {
			fmt.Fprintf(&b, "   %s\n", st.Notes)
		}
	}
	if r.kept != nil {
		b.WriteString("\n" + r.kept.String())
	}
	fmt.Fprintf(&b, "\nThe copies are in %s", r.Dir)
	return b.String()
}

// attemptStep returns attempt n, counted from 0, as a step of a plan.
func (r *round) attemptStep(n int) tools.Step {
	a, c := r.Attempts[n], r.attempts[n]
	st := tools.Step{ID: n + 2, Text: a.String(), Agent: a.Agent, Status: tools.NotStarted}
	switch {
	case c == nil:
		return st
	case c.Done == nil:
		st.Status = tools.InProgress
		return st
	case c.Done.Status != openmanus.Finished:
		st.Status, st.Notes = tools.Blocked, shortened(clip.OneLine(c.Done.Text), 300)
		return st
	}
	st.Status = tools.Completed
	if s := r.score(n + 1); s != nil {
		st.Notes = fmt.Sprintf("%g of 100: %s", s.Score, shortened(clip.OneLine(s.Reason), 300))
		if !s.Done {
			st.Status, st.Notes = tools.Blocked, "it does not do the task: "+shortened(clip.OneLine(s.Reason), 300)
		}
	}
	return st
}

// String returns a name for the attempt: its agent, its model and its hint, which is cut
// to 80 characters.
func (a Attempt) String() string {
	text := a.Agent
	if a.Model != "" {
		text += " with " + a.Model
	}
	if a.Hint != "" {
		text += ": " + shortened(clip.OneLine(a.Hint), 80)
	}
	return text
}

// progress returns the round as a plan, for users to look at.
func (r *round) progress() *tools.Plan {
	p := &tools.Plan{ID: fmt.Sprintf("round-%d", r.Number)}
	p.Title = fmt.Sprintf("%d attempts, of which the best is kept", len(r.Attempts))
	if len(r.Attempts) == 1 {
		p.Title = "One attempt, in a copy"
	}
	p.Steps = append(p.Steps, tools.Step{ID: 1, Text: "Copy the workspace", Status: tools.Completed})
	ended := 0
	for n := range r.Attempts {
		if p.Steps = append(p.Steps, r.attemptStep(n)); r.attempts[n] != nil && r.attempts[n].Done != nil {
			ended++
		}
	}
	if len(r.Attempts) > 1 {
		st := tools.Step{ID: len(p.Steps) + 1, Text: "Compare them", Agent: "judge", Status: tools.NotStarted}
		switch {
		case r.judgement != nil:
			st.Status, st.Notes = tools.Completed, shortened(clip.OneLine(r.judgement.Reason), 300)
		case len(r.judges) > 0 && (len(r.judges) < maxJudged || r.judges[len(r.judges)-1].Done == nil):
			st.Status = tools.InProgress
		case len(r.judges) >= maxJudged:
			st.Status, st.Notes = tools.Blocked, "the critic did not say which is the best"
		case ended == len(r.Attempts) && len(r.finished()) == 1:
			st.Status, st.Notes = tools.Completed, "only one attempt finished"
		}
		p.Steps = append(p.Steps, st)
	}
	st := tools.Step{ID: len(p.Steps) + 1, Text: "Keep the best", Status: tools.NotStarted}
	if r.kept != nil {
		st.Status, st.Notes = tools.Completed, fmt.Sprintf("attempt %d", r.kept.Attempt)
	}
	p.Steps = append(p.Steps, st)
	return p
}
