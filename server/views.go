package server

import (
	"cmp"
	"context"
	"math"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// A Session is the view of a session that the API returns.
type Session struct {
	ID        string    `json:"id"`
	Title     string    `json:"title" doc:"The title that was given, or the first words of the user."`
	Agent     string    `json:"agent"`
	Model     string    `json:"model"`
	Workspace string    `json:"workspace" doc:"Relative to your directory of workspaces."`
	Approve   string    `json:"approve" doc:"The approval mode: what runs without a question."`
	Status    string    `json:"status" enum:"idle,running,waiting,finished,failed,stopped" doc:"waiting: for the user, here or in a child session, and nothing else runs."`
	Reason    string    `json:"reason,omitempty" doc:"Why it failed or was stopped, in one word."`
	Error     string    `json:"error,omitempty" doc:"Why it failed or was stopped, in a sentence."`
	Answer    string    `json:"answer,omitempty" doc:"The agent's last message since the last message of the user."`
	Proposal  string    `json:"proposal,omitempty" doc:"The plan that waits for your approval, in plan mode: POST …/plan/approve. Lists leave it out."`
	Parent    string    `json:"parent,omitempty" doc:"The session that opened this one."`
	Children  []string  `json:"children,omitempty"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Events    int64     `json:"events" doc:"The number of events: the sequence number of the last one."`
	Steps     int       `json:"steps" doc:"The model's replies since the last request."`
	Usage     Usage     `json:"usage"`
	Limits    Limits    `json:"limits"`
	Doing     string    `json:"doing,omitempty" doc:"The latest tool call, or the start of the latest message, on one line."`
	Plan      *Plan     `json:"plan,omitempty" doc:"The plan, if the session has one."`
	Waiting   []Waiting `json:"waiting,omitempty" doc:"The calls that wait for the user, also while the session runs."`
	Below     []Waiting `json:"below,omitempty" doc:"The calls that wait for the user in child sessions. Send the decision there."`
	Found     *Found    `json:"found,omitempty" doc:"Where a search found its words."`
}

// Usage is what the model calls of one or more sessions consumed.
type Usage struct {
	Input     int      `json:"input_tokens"`
	Output    int      `json:"output_tokens"`
	Cached    int      `json:"cached_tokens"`
	Reasoning int      `json:"reasoning_tokens"`
	Estimated int      `json:"estimated_tokens,omitempty" doc:"Of the tokens: counted here, because the provider reported none."`
	Cost      *float64 `json:"cost_usd" nullable:"true" doc:"null if it is not known; a lower bound if unpriced_tokens is not 0."`
	Unpriced  int      `json:"unpriced_tokens,omitempty" doc:"Of the tokens: their price is not known."`
}

// usageView returns the view of what events record.
func usageView(u llm.Usage, cost openmanus.Money, unpriced int) Usage {
	return Usage{u.Input, u.Output, u.Cached, u.Reasoning, u.Estimated, openmanus.KnownUSD(cost, unpriced), unpriced}
}

// Limits are the limits of a session. 0 is the configured limit, -1 is none.
type Limits struct {
	Steps   int     `json:"steps,omitempty" minimum:"-1" doc:"The model's replies to one request."`
	Tokens  int     `json:"tokens,omitempty" minimum:"-1" doc:"Input and output tokens in total."`
	Cost    float64 `json:"cost_usd,omitempty" minimum:"-1" doc:"The cost in total."`
	Seconds float64 `json:"seconds,omitempty" minimum:"-1" doc:"The working time for one request."`
	Depth   int     `json:"depth,omitempty" minimum:"0" maximum:"16" doc:"How deep agents give work to agents."`
	FanOut  int     `json:"fan_out,omitempty" minimum:"0" maximum:"64" doc:"How many sessions one session has work for it at once."`
	Stuck   int     `json:"stuck,omitempty" minimum:"0" maximum:"100" doc:"The repetitions after which the model is told to try another way; twice as many stop the session."`
	Tries   int     `json:"attempts,omitempty" minimum:"0" maximum:"21" doc:"How often a request to the model is made while it fails."`
}

// Found is the place in a session where a search found its words.
type Found struct {
	Event   int64  `json:"event"`
	Snippet string `json:"snippet" doc:"Matches stand between U+E000 and U+E001."`
}

// limitsView returns limits in the units of the API: dollars and seconds; -1 is no limit.
func limitsView(l openmanus.Limits) Limits {
	v := Limits{Steps: l.Steps, Tokens: l.Tokens, Cost: l.Money.USD(), Seconds: l.Time.Seconds(),
		Depth: l.Depth, FanOut: l.FanOut, Stuck: l.Stuck, Tries: l.Attempts}
	if l.Money < 0 {
		v.Cost = -1
	}
	if l.Time < 0 {
		v.Seconds = -1
	}
	return v
}

// limits is the reverse of limitsView.
func (l Limits) limits() openmanus.Limits {
	m := openmanus.Limits{
		Steps: l.Steps, Tokens: l.Tokens, Depth: l.Depth, FanOut: l.FanOut, Stuck: l.Stuck, Attempts: l.Tries,
		Money: openmanus.Money(bounded(l.Cost * float64(openmanus.Dollar))),
		Time:  time.Duration(bounded(l.Seconds * float64(time.Second))),
	}
	if l.Cost < 0 {
		m.Money = -1
	}
	if l.Seconds < 0 {
		m.Time = -1
	}
	return m
}

// bounded returns a number that is not negative as an integer, the largest one for more than
// that: a very high limit must not become none, nor a very low one the default.
func bounded(n float64) int64 {
	switch {
	case n >= math.MaxInt64:
		return math.MaxInt64
	case n > 0 && n < 1:
		return 1
	}
	return int64(n)
}

// view returns the view of a session, folded at least up to info.Events. Its status
// includes the questions of child sessions.
func (s *Server) view(ctx context.Context, info journal.SessionInfo) (v Session, err error) {
	agent, _, _ := strings.Cut(info.Flow, "?") // without the settings of a flow
	v = Session{
		ID: info.ID, Title: info.Title, Agent: agent, Model: info.Model, Parent: info.Parent,
		Created: info.Created, Updated: info.Updated, Events: info.Events,
		Workspace: userOf(ctx).relative(info.Workspace),
		Usage:     usageView(info.Usage, info.Cost, info.Unpriced),
	}
	err = s.states.viewAt(ctx, info.ID, info.Events, func(st *openmanus.State) error {
		status, waiting, err := standing(ctx, s.states.view, info.ID, st)
		if err != nil {
			return err
		}
		own := len(st.Pending()) // which come first in waiting
		v.Status, v.Waiting, v.Below = string(status), waiting[:own:own], waiting[own:]
		v.Reason, v.Error, v.Answer = string(st.Outcome.Reason), st.Outcome.Error, st.Answer
		v.Approve, v.Steps = cmp.Or(st.Config.Approve, openmanus.ApproveAsk), st.Steps
		v.Limits, v.Doing = limitsView(st.Limits), doing(st)
		v.Proposal, _ = st.Proposal()
		if p, ok := s.Host.(Planner); ok {
			v.Plan = p.Plan(st)
		}
		for _, c := range st.Children {
			v.Children = append(v.Children, c.Child)
		}
		return nil
	})
	return v, err
}

// doing returns the latest thing that a session did, on one line: its last
// call, or the start of its last message if there is no call.
func doing(st *openmanus.State) string {
	text := st.Answer
	for _, c := range st.Calls {
		if c.Attempts > 0 || c.Asking || text == "" {
			text = c.Name + " " + c.Arguments()
		}
	}
	return clip.Text(strings.Join(strings.Fields(text), " "), 200)
}
