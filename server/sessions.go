package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
)

// A Session is how a session stands.
type Session struct {
	ID        string    `json:"id"`
	Title     string    `json:"title" doc:"The one that was given, or the first words that a person said."`
	Agent     string    `json:"agent"`
	Model     string    `json:"model"`
	Workspace string    `json:"workspace" doc:"Relative to your directory of workspaces."`
	Approve   string    `json:"approve" doc:"What may be done without asking."`
	Status    string    `json:"status" enum:"idle,running,waiting,finished,failed,stopped" doc:"waiting: for a person, here or in the sessions below, and nothing else goes on."`
	Reason    string    `json:"reason,omitempty" doc:"One word for why it failed or was stopped."`
	Error     string    `json:"error,omitempty" doc:"A sentence to it."`
	Answer    string    `json:"answer,omitempty" doc:"The last thing that the agent said since a person spoke."`
	Parent    string    `json:"parent,omitempty" doc:"The session that asked for this one."`
	Children  []string  `json:"children,omitempty"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Events    int64     `json:"events" doc:"How many, which is the sequence number of the last."`
	Steps     int       `json:"steps" doc:"Replies of the model to the last request."`
	Usage     Usage     `json:"usage"`
	Limits    Limits    `json:"limits"`
	Doing     string    `json:"doing,omitempty" doc:"The last thing that it did, in a line: a call, or the beginning of what it said."`
	Plan      *Plan     `json:"plan,omitempty" doc:"Of a flow that plans."`
	Waiting   []Waiting `json:"waiting,omitempty" doc:"What waits for a person, also while something else goes on."`
	Below     []Waiting `json:"below,omitempty" doc:"What waits for a person in the sessions below: to be ruled on or answered there."`
	Found     *Found    `json:"found,omitempty" doc:"If it was searched for."`
}

// Usage is what asking models took.
type Usage struct {
	Input     int     `json:"input_tokens"`
	Output    int     `json:"output_tokens"`
	Cached    int     `json:"cached_tokens"`
	Reasoning int     `json:"reasoning_tokens"`
	Cost      float64 `json:"cost_usd"`
}

// Limits bound a session. 0 is as configured, -1 is no limit.
type Limits struct {
	Steps   int     `json:"steps,omitempty" minimum:"-1" doc:"Replies of the model to one request."`
	Tokens  int     `json:"tokens,omitempty" minimum:"-1" doc:"Read and written, in all."`
	Cost    float64 `json:"cost_usd,omitempty" minimum:"-1" doc:"Spent in all."`
	Seconds float64 `json:"seconds,omitempty" minimum:"-1" doc:"At work on one request."`
}

// Found is where words were found.
type Found struct {
	Event   int64  `json:"event"`
	Snippet string `json:"snippet" doc:"What was found stands between U+E000 and U+E001."`
}

func limits(l openmanus.Limits) Limits {
	m := Limits{Steps: l.Steps, Tokens: l.Tokens, Cost: l.Money.USD(), Seconds: l.Time.Seconds()}
	if l.Money < 0 {
		m.Cost = -1
	}
	if l.Time < 0 {
		m.Seconds = -1
	}
	return m
}

func (l Limits) limits() openmanus.Limits {
	m := openmanus.Limits{Steps: l.Steps, Tokens: l.Tokens, Money: openmanus.Money(l.Cost * float64(openmanus.Dollar)), Time: time.Duration(l.Seconds * float64(time.Second))}
	if l.Cost < 0 {
		m.Money = -1
	}
	if l.Seconds < 0 {
		m.Time = -1
	}
	return m
}

// describe is how a session stands.
func (s *Server) describe(ctx context.Context, info journal.SessionInfo) (x Session, err error) {
	u := info.Usage
	agent, _, _ := strings.Cut(info.Flow, "?") // without the settings of a flow
	x = Session{
		ID: info.ID, Title: info.Title, Agent: agent, Model: info.Model, Parent: info.Parent, Created: info.Created, Updated: info.Updated, Events: info.Events,
		Workspace: userOf(ctx).relative(info.Workspace),
		Usage:     Usage{u.Input, u.Output, u.Cached, u.Reasoning, info.Cost.USD()},
	}
	err = s.states.viewAt(ctx, info.ID, info.Events, func(st *openmanus.State) error {
		status, waiting, err := standing(ctx, s.states.view, info.ID, st)
		if err != nil {
			return err
		}
		own := len(st.Pending()) // which come first
		x.Status, x.Waiting, x.Below = string(status), waiting[:own:own], waiting[own:]
		x.Reason, x.Error, x.Answer = string(st.Outcome.Reason), st.Outcome.Error, st.Answer
		x.Approve, x.Steps, x.Limits = cmp.Or(st.Config.Approve, openmanus.ApproveAsk), st.Steps, limits(st.Limits)
		x.Doing = doing(st)
		if p, ok := s.Host.(Planner); ok {
			x.Plan = p.Plan(st)
		}
		for _, c := range st.Children {
			x.Children = append(x.Children, c.Child)
		}
		return nil
	})
	return x, err
}

// doing is the last thing that a session did.
func doing(st *openmanus.State) string {
	text := st.Answer
	for _, c := range st.Calls {
		if c.Attempts > 0 || c.Asking || text == "" {
			text = c.Name + " " + c.Arguments()
		}
	}
	return cut(strings.Join(strings.Fields(text), " "), 200)
}

// mine returns what is known of a session of the user who asks. To others it
// is as if there were none.
func (s *Server) mine(ctx context.Context, id string) (journal.SessionInfo, error) {
	info, err := s.Store.Session(ctx, id)
	if err == nil && info.Owner != userOf(ctx).Name {
		err = fmt.Errorf("session %s is another user's: %w", id, openmanus.ErrNoSession)
	}
	return info, err
}

type sessionAnswer struct{ Body Session }

func (s *Server) answerWith(ctx context.Context, id string) (*sessionAnswer, error) {
	info, err := s.mine(ctx, id)
	if err != nil {
		return nil, err
	}
	x, err := s.describe(ctx, info)
	return &sessionAnswer{x}, err
}

type createRequest struct {
	Body struct {
		Agent     string `json:"agent,omitempty" maxLength:"200" doc:"Default: the one that is configured."`
		Model     string `json:"model,omitempty" maxLength:"200" doc:"PROVIDER/NAME or the name of a profile. Default: the one that is configured."`
		Workspace string `json:"workspace,omitempty" maxLength:"1000" doc:"Relative to your directory of workspaces; made if it is not there. Default: a new one."`
		Approve   string `json:"approve,omitempty" enum:"ask,edits,all,readonly" doc:"What may be done without asking. Default: ask."`
		Limits    Limits `json:"limits,omitempty"`
		Flow      *Flow  `json:"flow,omitempty" doc:"A planner makes a plan first; agents do its steps, each in a session of its own."`

		Evaluate *Evaluation `json:"evaluate,omitempty" doc:"The task is done several times over, and the best is kept. Not beside flow."`
	}
}

func (s *Server) create(ctx context.Context, in *createRequest) (*sessionAnswer, error) {
	b := in.Body
	if b.Flow != nil && b.Evaluate != nil {
		return nil, &FieldError{"evaluate", errors.New("a session either plans or evaluates: leave out flow or evaluate")}
	}
	id, err := s.open(ctx, NewSession{Agent: b.Agent, Model: b.Model, Workspace: b.Workspace, Approve: b.Approve, Limits: b.Limits.limits(), Flow: b.Flow, Evaluate: b.Evaluate})
	if err != nil {
		return nil, err
	}
	return s.answerWith(ctx, id)
}

// open opens a session of the user who asks, in a directory that may be named
// as users name theirs.
func (s *Server) open(ctx context.Context, n NewSession) (string, error) {
	u := userOf(ctx)
	if n.Owner = u.Name; !u.mayHave(n.Approve) {
		return "", &FieldError{"approve", fmt.Errorf("%q is more than you may have: %s", n.Approve, cmp.Or(u.Approve, openmanus.ApproveAsk))}
	}
	id := ids.Session()
	var err error
	if n.Workspace, err = u.workspace(cmp.Or(n.Workspace, id)); err != nil {
		return "", &FieldError{"workspace", err}
	}
	of := journal.SessionInfo{ID: id, Owner: n.Owner, Workspace: n.Workspace}
	end, ok := s.scheduler.reserve(of)
	if !ok {
		return "", huma.Error503ServiceUnavailable("the server is ending")
	}
	defer end()
	s.scheduler.acquire(of)
	return id, s.Host.Open(ctx, id, n)
}

// modes are the approval modes, from the narrowest on.
var modes = [...]string{openmanus.ApproveReadOnly, openmanus.ApproveAsk, openmanus.ApproveEdits, openmanus.ApproveAll}

// mayHave reports whether a user's sessions may have a mode. Asking is always
// allowed: it is the person who decides.
func (u User) mayHave(mode string) bool {
	if mode == "" || mode == openmanus.ApproveAsk {
		return true
	}
	rank := func(m string) (n int) {
		for i, known := range modes {
			if known == m {
				n = i
			}
		}
		return n
	}
	return rank(mode) <= rank(cmp.Or(u.Approve, openmanus.ApproveAsk))
}

// workspace returns the absolute path of a user's workspace, and makes it. No
// path leads out of the user's directory.
func (u User) workspace(name string) (string, error) {
	root, err := u.openRoot()
	if err != nil {
		return "", err
	}
	defer root.Close()
	if filepath.IsAbs(name) {
		if name, err = filepath.Rel(root.Name(), name); err != nil {
			return "", err
		}
	}
	name = filepath.Clean(name)
	if !filepath.IsLocal(name) {
		return "", errors.New("it lies outside of your directory of workspaces")
	}
	if err := root.MkdirAll(name, 0o700); err != nil {
		return "", err
	}
	sub, err := root.OpenRoot(name) // follows no link out of it
	if err != nil {
		return "", err
	}
	if err := sub.Close(); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(filepath.Join(root.Name(), name))
}

// relative is a workspace as its user knows it.
func (u User) relative(dir string) string {
	root, err := filepath.EvalSymlinks(u.Root)
	if err != nil {
		root = u.Root
	}
	if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}

type listRequest struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"500"`
	Query  string `query:"q" maxLength:"1000" doc:"Only sessions in which all of these words were said."`
	Parent string `query:"parent" maxLength:"255" doc:"The sessions that this one asked for, instead of those that no other did."`
}

func (s *Server) list(ctx context.Context, in *listRequest) (*list[Session], error) {
	opts := journal.ListOptions{Limit: in.Limit, Owner: userOf(ctx).Name, Roots: in.Parent == "", Parent: in.Parent}
	var hits []journal.Hit
	if in.Query != "" {
		var err error
		if hits, err = s.Store.Search(ctx, in.Query, opts); err != nil {
			return nil, err
		}
	} else {
		for info, err := range s.Store.Sessions(ctx, opts) {
			if err != nil {
				return nil, err
			}
			hits = append(hits, journal.Hit{SessionInfo: info})
		}
	}
	var all []Session
	for _, h := range hits {
		x, err := s.describe(ctx, h.SessionInfo)
		if errors.Is(err, openmanus.ErrNoSession) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		if x.Answer = ""; h.Seq > 0 {
			x.Found = &Found{h.Seq, h.Snippet}
		}
		all = append(all, x)
	}
	return listOf(all), nil
}

type readRequest struct {
	OneSession
	Wait int `query:"wait" minimum:"0" maximum:"300" doc:"Answer when it is no longer running, or something in it or below waits for a person, or after so many seconds."`
}

func (s *Server) read(ctx context.Context, in *readRequest) (*sessionAnswer, error) {
	if in.Wait > 0 {
		if err := s.wait(ctx, in.ID, time.Duration(in.Wait)*time.Second); err != nil {
			return nil, err
		}
	}
	return s.answerWith(ctx, in.ID)
}

type planRequest struct {
	OneSession
	At int64 `query:"at" minimum:"0" doc:"As it stood after this event. Default: as it stands."`
}

type planAnswer struct{ Body Plan }

// plan is what a session was to do after an event, and how far it was. Where
// there is none it has no steps.
func (s *Server) plan(ctx context.Context, in *planRequest) (*planAnswer, error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	out := &planAnswer{Plan{Steps: []Step{}}}
	p, ok := s.Host.(Planner)
	if !ok {
		return out, nil
	}
	var st openmanus.State
	for ev, err := range s.Store.Events(ctx, in.ID, 0) {
		if err != nil {
			return nil, err
		}
		if in.At > 0 && ev.Seq > in.At {
			break
		}
		st.Apply(ev)
	}
	if plan := p.Plan(&st); plan != nil {
		out.Body = *plan
	}
	return out, nil
}

type renameRequest struct {
	OneSession
	Body struct {
		Title string `json:"title" minLength:"1" maxLength:"200"`
	}
}

func (s *Server) rename(ctx context.Context, in *renameRequest) (*sessionAnswer, error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	if _, err := s.Store.Append(ctx, in.ID, openmanus.Titled{ID: ids.New(), Title: in.Body.Title}); err != nil {
		return nil, err
	}
	return s.answerWith(ctx, in.ID)
}

// remove deletes a session and those that it asked for.
func (s *Server) remove(ctx context.Context, in *OneSession) (*struct{}, error) {
	info, err := s.mine(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	end, ok := s.scheduler.reserve(info)
	if !ok {
		return nil, fmt.Errorf("session %s: %w", in.ID, openmanus.ErrDriven)
	}
	defer end()
	// Nothing of it goes if somebody else drives it.
	lease, err := s.Store.Lock(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := lease.Release(); err != nil {
		return nil, err
	}
	s.scheduler.release(in.ID)
	return nil, s.removeAll(ctx, in.ID)
}

func (s *Server) removeAll(ctx context.Context, id string) error {
	for child, err := range s.Store.Sessions(ctx, journal.ListOptions{Parent: id}) {
		if err != nil {
			return err
		}
		if err := s.removeAll(ctx, child.ID); err != nil {
			return err
		}
	}
	s.states.forget(id)
	if err := s.Store.Delete(ctx, id); err != nil {
		return err
	}
	if d, ok := s.Host.(Cleaner); ok {
		return d.Deleted(id)
	}
	return nil
}

type forkRequest struct {
	OneSession
	Body struct {
		At int64 `json:"at,omitempty" minimum:"0" doc:"The last event of the copy. Default: all there are."`
	}
}

func (s *Server) fork(ctx context.Context, in *forkRequest) (*sessionAnswer, error) {
	info, err := s.mine(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if in.Body.At > info.Events {
		return nil, &FieldError{"at", fmt.Errorf("the last event is %d", info.Events)}
	}
	id := ids.Session()
	if err := openmanus.Fork(ctx, s.Store, in.ID, in.Body.At, id); err != nil {
		return nil, err
	}
	return s.answerWith(ctx, id)
}

func (s *Server) export(ctx context.Context, in *OneSession) (*huma.StreamResponse, error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "application/jsonl")
		hc.SetHeader("Content-Disposition", `attachment; filename="`+in.ID+`.jsonl"`)
		if err := openmanus.Export(hc.Context(), s.Store, s.Store, in.ID, hc.BodyWriter()); err != nil {
			s.Log.Error("export ended early", "session", in.ID, "error", err) // and the file lacks its end, which import notices
		}
	}}, nil
}

type usageAnswer struct {
	Body struct {
		Usage
		Sessions int `json:"sessions"`
	}
}

func (s *Server) usage(ctx context.Context, _ *struct{}) (*usageAnswer, error) {
	out := new(usageAnswer)
	for info, err := range s.Store.Sessions(ctx, journal.ListOptions{Owner: userOf(ctx).Name}) {
		if err != nil {
			return nil, err
		}
		u, b := info.Usage, &out.Body
		b.Input, b.Output, b.Cached, b.Reasoning = b.Input+u.Input, b.Output+u.Output, b.Cached+u.Cached, b.Reasoning+u.Reasoning
		b.Cost += info.Cost.USD()
		b.Sessions++
	}
	return out, nil
}
