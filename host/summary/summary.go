// Package summary describes sessions for programs and people: how they stand,
// what they used, what waits in them. The structs are what openmanus prints as
// JSON and offers to MCP clients.
package summary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

// A Run is how a session stood when a run of it ended, or now.
type Run struct {
	Session *string           `json:"session"`
	Status  string            `json:"status"`
	Reason  string            `json:"reason"`
	Answer  string            `json:"answer"`
	Steps   int               `json:"steps"`
	Usage   Usage             `json:"usage"`
	Files   []host.FileChange `json:"files"` // what the session's calls changed
	// how many of Files have a diff that is not here, because all of them would be too
	// long: "openmanus sessions diff" has them
	DiffsLeftOut int `json:"diffs_left_out,omitempty"`
	// what changed besides: by others, or by programs that its calls left running
	Meanwhile []host.FileChange `json:"meanwhile,omitempty"`
	Error     string            `json:"error"`
	Waiting   []Waiting         `json:"waiting,omitempty"`
	Models    []ModelUse        `json:"models,omitempty"` // only if there were several: see [Spent]
}

// Usage is what was used of models.
type Usage struct {
	Input     int      `json:"input_tokens"`
	Output    int      `json:"output_tokens"`
	Cached    int      `json:"cached_tokens"`
	Estimated int      `json:"estimated_tokens,omitempty"` // of Input and Output: no provider reported them
	Cost      *float64 `json:"cost_usd"`                   // nil: not known; a lower bound if Unpriced is not 0
	Unpriced  int      `json:"unpriced_tokens,omitempty"`  // of Input and Output: their price is not known
}

// UsageOf returns a Usage of what events record.
func UsageOf(u llm.Usage, cost openmanus.Money, unpriced int) Usage {
	return Usage{u.Input, u.Output, u.Cached, u.Estimated, openmanus.KnownUSD(cost, unpriced), unpriced}
}

// Tokens returns the tokens in words.
func (u Usage) Tokens() string {
	text := fmt.Sprintf("%d tokens in (%d cached), %d out", u.Input, u.Cached, u.Output)
	switch {
	case u.Estimated >= u.Input+u.Output && u.Estimated > 0:
		text += " (estimated)"
	case u.Estimated > 0:
		text += fmt.Sprintf(" (%d of them estimated)", u.Estimated)
	}
	return text
}

// Dollars returns the cost in words, with so many decimals; "" if it is nothing.
func (u Usage) Dollars(decimals int) string {
	switch {
	case u.Cost == nil:
		return "cost unknown"
	case u.Unpriced > 0:
		return fmt.Sprintf("at least $%.*f", decimals, *u.Cost)
	case *u.Cost == 0:
		return ""
	}
	return fmt.Sprintf("$%.*f", decimals, *u.Cost)
}

// String returns the tokens and the cost in words.
func (u Usage) String() string {
	text := u.Tokens()
	if cost := u.Dollars(4); cost != "" {
		text += " · " + cost
	}
	return text
}

// A Waiting is a call that waits for a person.
type Waiting struct {
	Session  string `json:"session,omitempty"` // the session below that asks; "": the session itself
	Path     string `json:"path,omitempty"`    // the agents down to that session
	Call     string `json:"call"`
	Tool     string `json:"tool"`
	Kind     string `json:"kind"`
	Question string `json:"question"`
	Input    string `json:"input,omitempty"`
}

// Of returns the summary of the session id in state s. qs are the questions in
// it and below, and files what it made.
func Of(id string, s *openmanus.State, qs []run.Question, files []host.FileChange) Run {
	sum := Run{
		Session: &id, Status: string(Standing(s, qs)), Reason: string(s.Outcome.Reason), Answer: s.Answer, Steps: s.Steps,
		Usage: UsageOf(s.Usage, s.Cost, s.Unpriced),
		Files: files, Error: s.Outcome.Error,
	}
	for _, w := range qs {
		q := w.Call.Question()
		e := Waiting{Call: w.Call.ID, Tool: w.Call.Name, Kind: string(q.Kind), Question: q.Question, Input: w.Call.Arguments()}
		if e.Path = Asker(id, w); e.Path != "" {
			e.Session = w.Session
		}
		sum.Waiting = append(sum.Waiting, e)
	}
	return sum
}

// Standing returns how a session stands together with those below it: one that
// runs waits if something below it does.
func Standing(s *openmanus.State, qs []run.Question) openmanus.Status {
	if st := s.Status(); st != openmanus.Running || len(qs) == 0 {
		return st
	}
	return openmanus.Waiting
}

// Asker names the session that asks q by the agents from root down to it and its
// id below root. It is "" if root itself asks.
func Asker(root string, q run.Question) string {
	if q.Session == root {
		return ""
	}
	var names []string
	for _, flow := range q.Path {
		names = append(names, host.FlowName(flow))
	}
	return strings.Join(names, " > ") + " (" + strings.TrimPrefix(q.Session, root+".") + ")"
}

// A ModelUse is what was used of one model.
type ModelUse struct {
	Model     string `json:"model"`
	Reasoning int    `json:"reasoning_tokens"`
	Usage
}

// Spent adds up what a session and those below it used of each model, sorted by
// the names of the models. Models that used nothing are left out.
func Spent(ctx context.Context, j openmanus.Journal, id string) ([]ModelUse, error) {
	l := ledger{journal: j, uses: map[string]*modelUse{}}
	if err := l.read(ctx, id); err != nil {
		return nil, fmt.Errorf("adding up what each model cost: %w", err)
	}
	var uses []ModelUse
	for model, u := range l.uses {
		uses = append(uses, ModelUse{model, u.usage.Reasoning, UsageOf(u.usage, u.cost, u.unpriced)})
	}
	slices.SortFunc(uses, func(a, b ModelUse) int { return strings.Compare(a.Model, b.Model) })
	return uses, nil
}

// A ledger adds up usage by model. An outcome without a model of its own is of
// the configured one.
type ledger struct {
	journal openmanus.Journal
	uses    map[string]*modelUse
}

// A modelUse is what was used of one model.
type modelUse struct {
	usage    llm.Usage
	cost     openmanus.Money
	unpriced int
}

func (l *ledger) read(ctx context.Context, id string) error {
	model := ""
	for ev, err := range l.journal.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		switch b := ev.Body.(type) {
		case openmanus.Configured:
			model = b.Model
		case openmanus.ChildOpened:
			if err := l.read(ctx, b.Child); err != nil {
				return err
			}
		}
		for _, use := range openmanus.ModelUses(ev.Body) {
			by := cmp.Or(use.By, model)
			u := l.uses[by]
			if u == nil {
				u = new(modelUse)
				l.uses[by] = u
			}
			u.usage, u.cost, u.unpriced = u.usage.Add(use.Usage), u.cost+use.Cost, u.unpriced+use.Unpriced()
		}
	}
	return nil
}

// A Session describes a session of a list.
type Session struct {
	Run
	Title     string            `json:"title"`
	Created   time.Time         `json:"created"`
	Updated   time.Time         `json:"updated"`
	Events    int64             `json:"events"`
	Agent     string            `json:"agent"`
	Model     string            `json:"model"`
	Endpoint  string            `json:"endpoint"`
	Workspace string            `json:"workspace"`
	Approve   string            `json:"approve"`
	Parent    string            `json:"parent"`            // the session that opened it, if one did
	From      *openmanus.Origin `json:"from"`              // what it was copied from
	Unknown   string            `json:"unknown,omitempty"` // the type of an event that this program does not know
}

// OfSession describes the session that the index knows as kept and that is in
// state s. qs are the questions in it and below.
func OfSession(kept journal.SessionInfo, s *openmanus.State, qs []run.Question) *Session {
	return &Session{
		Run: Of(kept.ID, s, qs, []host.FileChange{}), Title: title(kept.Title), Created: kept.Created, Updated: s.Updated, Events: s.Seq,
		Agent: host.FlowName(s.Opened.Flow), Model: s.Config.Model, Endpoint: s.Config.Endpoint, Workspace: s.Config.Workspace,
		Approve: s.Config.Approve, Parent: s.Opened.Parent, From: s.Opened.From, Unknown: s.Foreign,
	}
}

// List describes the sessions that match opts, the newest first. It reads the
// journal of each of them.
func List(ctx context.Context, store host.Store, opts journal.ListOptions) ([]*Session, error) {
	infos := []*Session{}
	for kept, err := range store.Sessions(ctx, opts) {
		if err != nil {
			return nil, err
		}
		s, err := openmanus.Load(ctx, store, kept.ID)
		var qs []run.Question
		if err == nil {
			qs, err = run.Questions(ctx, store, kept.ID)
		}
		if errors.Is(err, openmanus.ErrNoSession) {
			continue // deleted since it was listed
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, OfSession(kept, s, qs))
	}
	return infos, nil
}

// maxTitle is how many characters of a title are shown.
const maxTitle = 200

// title returns a title as one line of at most maxTitle characters.
func title(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > maxTitle {
		return string(r[:maxTitle-1]) + "…"
	}
	return string(r)
}
