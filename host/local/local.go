// Package local lets surfaces use the sessions of this process and its store: a [Source]
// drives them with a [host.Host].
//
// A Source is what a terminal or an editor sees of sessions: it begins them, appends
// messages and decisions, and shows how they stand. It drives every session that it
// appends to, in the background, until Close. Sessions of other processes that share the
// store can be followed and answered as well; their own process goes on with them.
//
// Texts about what happens outside of sessions, such as a model that is asked again, go to
// [Options].Tell.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/llm"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/internal/surface"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/run"
)

// A Store keeps sessions; package store has one.
type Store interface {
	host.Store
	journal.Searcher
	Driven(session string) bool // a process, this one too, drives the session
}

// Options are what a [Source] is made with. Host and Store are needed.
type Options struct {
	*host.Host
	Store Store

	// Tell, if not nil, shows the person what happens beside the sessions; bad is for
	// what they may have to act on.
	Tell func(text string, bad bool)

	Delegates []string // of new sessions
	Worktree  bool     // new sessions get a git worktree of their own
	Endpoint  string   // the only one that sessions go to; "": those of the configuration
}

// A Source is the [surface.Source] of this process and its store.
type Source struct {
	Options
	ctx    context.Context // of what is driven
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	next   surface.Setting      // of new sessions; what is "" is as configured
	dir    string               // where new sessions work; "": as configured
	stands map[string]*standing // by session
}

// A standing is how a session stood after an event.
type standing struct {
	events int64
	surface.Session
}

// New returns a source of the sessions in this process's store. It drives them itself. The
// caller closes it, before the host and the store. ctx ends everything that the source
// began.
func New(ctx context.Context, o Options) *Source {
	if o.Tell == nil {
		o.Tell = func(string, bool) {}
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Source{Options: o, ctx: ctx, cancel: cancel, stands: make(map[string]*standing)}
	o.OnRetry = func(err error, wait time.Duration) {
		if wait == 0 { // it did answer, and err says what becomes of that
			o.Tell(err.Error(), true)
			return
		}
		o.Tell(fmt.Sprintf("the model did not answer (%v); trying again", err), true)
	}
	o.OnFailover = func(err error, to string) {
		o.Tell(fmt.Sprintf("the model failed (%v); asking %s instead", err, to), true)
	}
	return s
}

// Close interrupts the sessions that it drives, which can be continued later, and waits
// for them.
func (s *Source) Close() error {
	s.cancel()
	s.work.Wait()
	return nil
}

// Name implements [surface.Source].
func (s *Source) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.dir, s.Config.Run.Workspace)
}

// WorkIn has new sessions work in dir, which exists, in place of the configured workspace.
func (s *Source) WorkIn(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = dir
}

// wake drives the session on top of id until nothing is left to do.
func (s *Source) wake(id string) {
	top, _, _ := strings.Cut(id, ".")
	s.work.Go(func() {
		err := s.Local.Wake(s.ctx, top)
		if errors.Is(err, openmanus.ErrDriven) {
			return
		}
		_, serr := s.SyncWorktree(context.WithoutCancel(s.ctx), top)
		if err = errors.Join(err, serr); err != nil && s.ctx.Err() == nil {
			s.Tell(err.Error(), true)
		}
	})
}

// Start implements [surface.Source].
func (s *Source) Start(ctx context.Context, m surface.Message) (string, error) {
	said, err := s.message(ctx, m)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	set := s.next
	s.mu.Unlock()
	spec, err := s.Spec(ctx)
	if set.Model != "" {
		spec, err = s.SpecWith(set.Model)
	}
	if err != nil {
		return "", err
	}
	spec.Workspace = s.Name()
	spec.Delegates, spec.Approve, spec.Agent = s.Delegates, cmp.Or(set.Mode, spec.Approve), cmp.Or(set.Agent, spec.Agent)
	if spec, err = s.Complete(spec); err != nil {
		return "", err
	}
	id := ids.Session()
	var tree *host.NewWorktree
	if s.Options.Worktree {
		if tree, err = s.Host.Worktree(ctx, id, spec, ""); err != nil {
			return "", err
		}
		spec = tree.Spec
	}
	_, err = s.Host.Open(ctx, id, host.Opening{Spec: spec, Said: &said})
	if tree != nil {
		err = errors.Join(err, tree.Done(err))
	}
	if err != nil {
		return "", err
	}
	if tree != nil {
		s.Tell(tree.Text(), false)
	}
	s.wake(id)
	return id, nil
}

// message returns a message with what is attached to it.
func (s *Source) message(ctx context.Context, m surface.Message) (openmanus.UserSaid, error) {
	said, err := host.Message(s.Dir, m.Text, m.Attach)
	said.ID = m.ID
	if text := host.NotAttached(s.Dir, m.Text); err == nil && text != "" {
		s.Tell(text, false)
	}
	for _, f := range m.Files {
		if err != nil {
			break
		}
		var seen bool
		if seen, err = act.Attach(ctx, s.Host.Secrets.Blobs(s.Store), &said, f); err == nil && !seen {
			said.Message.Parts = append(said.Message.Parts, llm.Text{Text: fmt.Sprintf("\n\n[sent, and not shown to you: %s, %s, %d bytes]", f.Name, f.MIME, len(f.Data))})
		}
	}
	return said, err
}

// Say implements [surface.Source]. The first message of a session comes with the note
// about its environment, as in any other way to begin one.
func (s *Source) Say(ctx context.Context, id string, m surface.Message) error {
	said, err := s.message(ctx, m)
	if err != nil {
		return err
	}
	info, err := s.Store.Session(ctx, id)
	if err == nil && info.Events < firstEvents { // a longer one has messages
		_, err = s.acts().Prepare(ctx, id, &said)
	}
	if err == nil {
		_, err = s.acts().Append(ctx, id, said)
	}
	return err
}

// acts returns the sessions, for the person to act in.
func (s *Source) acts() act.Sessions {
	return act.Sessions{Journal: s.Store, Memory: s.Host, Note: s.Environment, Wake: func(_ context.Context, id string) error {
		s.wake(id)
		return nil
	}}
}

// Interrupt implements [surface.Source].
func (s *Source) Interrupt(ctx context.Context, id, said string) error {
	_, err := s.acts().Append(ctx, id, act.Stop(said))
	return err
}

// Continue implements [surface.Source]. A session that failed or was stopped gets a
// Resumed first; any other one is only woken.
func (s *Source) Continue(ctx context.Context, id string) error {
	_, err := s.acts().Continue(ctx, id, openmanus.Limits{})
	if errors.As(err, new(*act.Error)) {
		s.wake(id)
		return nil
	}
	return err
}

// Choices implements [surface.Source]. A call that must be asked about each time can be
// allowed only once, and a decision can be remembered only where the effect of the call
// depends on nothing but its arguments.
func (s *Source) Choices(ctx context.Context, session, call string) (surface.Choices, error) {
	st, err := openmanus.Load(ctx, s.Store, session)
	if err != nil {
		return surface.Choices{}, err
	}
	c, q, err := act.Waiting(st, call, openmanus.AskRuling)
	if err != nil {
		return surface.Choices{}, err
	}
	_, notLasting := s.Lasting(session, st, c)
	return surface.Choices{OnlyOnce: gate.OnlyPerson(q.Rule), Remember: notLasting == nil}, nil
}

// Decide implements [surface.Source].
func (s *Source) Decide(ctx context.Context, d surface.Decision) (err error) {
	if d.Kind == openmanus.AskRuling {
		_, err = s.acts().Rule(ctx, d.Session, act.Decision{
			Call: d.Call, Allow: d.Allow, By: act.ByPerson, Input: d.Input, Reason: d.Reason, Scope: d.Scope, Remember: d.Remember, Hash: d.Hash,
		})
		return err
	}
	_, err = s.acts().Answer(ctx, d.Session, act.Answer{Call: d.Call, By: act.ByPerson, Text: d.Text, Data: d.Data, Nth: d.N + 1})
	return err
}

// Session implements [surface.Source].
func (s *Source) Session(ctx context.Context, id string) (surface.Session, error) {
	info, err := s.Store.Session(ctx, id)
	if err != nil {
		return surface.Session{}, err
	}
	v := sessionOf(info)
	if s.Store.Driven(id) {
		return v, nil
	}
	return s.standingOf(ctx, info)
}

// firstEvents is how many events a session has at most before its first message.
const firstEvents = 50

// quickEvents is how many events a session may have whose state is read as a whole to
// list it.
const quickEvents = 5000

// Sessions implements [surface.Source].
func (s *Source) Sessions(ctx context.Context, limit int) (all []surface.Session, err error) {
	for info, err := range s.Store.Sessions(ctx, journal.ListOptions{Limit: limit, Roots: true}) {
		if err != nil {
			return nil, err
		}
		v, err := s.standingOf(ctx, info)
		if errors.Is(err, openmanus.ErrNoSession) {
			continue // deleted since it was listed
		}
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Search implements [surface.Source].
func (s *Source) Search(ctx context.Context, words string, limit int) (all []surface.Session, err error) {
	hits, err := s.Store.Search(ctx, words, journal.ListOptions{Limit: limit, Roots: true})
	if err != nil {
		return nil, err
	}
	marks := strings.NewReplacer(journal.MarkBegin, "", journal.MarkEnd, "")
	for _, h := range hits {
		v := sessionOf(h.SessionInfo)
		v.Seq, v.Found = h.Seq, marks.Replace(h.Snippet)
		all = append(all, v)
	}
	return all, nil
}

// sessionOf returns what the index knows of a session.
func sessionOf(info journal.SessionInfo) surface.Session {
	return surface.Session{
		ID: info.ID, Title: info.Title, Updated: info.Updated, Events: info.Events,
		Agent: host.FlowName(info.Flow), Model: info.Model, Workspace: info.Workspace,
		Cost: summary.UsageOf(info.Usage, info.Cost, info.Unpriced).Dollars(2),
	}
}

// endOf sets how a session stands by its head, which says how it is configured, and its last
// events. Questions of sessions below are not counted.
func (s *Source) endOf(ctx context.Context, v *surface.Session, info journal.SessionInfo) error {
	var end view.Session
	const head = 2
	for _, after := range []int64{0, info.Events - quickEvents/10} {
		for ev, err := range s.Store.Events(ctx, info.ID, after) {
			if err != nil {
				return err
			}
			end.Apply(ev)
			if after == 0 && ev.Seq == head {
				break
			}
		}
	}
	v.Status, v.Reason, v.Mode = string(end.Status()), string(end.State.Outcome.Reason), end.State.Config.Approve
	v.Questions = len(end.Questions())
	return nil
}

// standingOf returns a session and how it stands. The journal is read if it has
// events that were not there the last time.
func (s *Source) standingOf(ctx context.Context, info journal.SessionInfo) (surface.Session, error) {
	s.mu.Lock()
	known := s.stands[info.ID]
	s.mu.Unlock()
	if info.Events > quickEvents && (known == nil || known.events != info.Events) {
		// The state of so long a session takes seconds and much memory: its end says enough.
		v := sessionOf(info)
		if err := s.endOf(ctx, &v, info); err != nil {
			return v, err
		}
		known = &standing{info.Events, v}
	}
	if known == nil || known.events != info.Events {
		nodes, err := run.Tree(ctx, s.Store, info.ID)
		if err != nil {
			return surface.Session{}, err
		}
		qs := run.QuestionsIn(nodes)
		known = &standing{info.Events, sessionOf(info)}
		known.Status = string(summary.Standing(nodes[0].State, qs))
		known.Reason, known.Questions = string(nodes[0].State.Outcome.Reason), len(qs)
		known.Mode = nodes[0].State.Config.Approve
		s.mu.Lock()
		s.stands[info.ID] = known
		s.mu.Unlock()
	}
	v := known.Session
	if v.Status == string(openmanus.Running) && !s.Store.Driven(info.ID) {
		v.Status = surface.BrokenOff
	}
	return v, nil
}

// Events implements [surface.Source].
func (s *Source) Events(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return s.Store.Events(ctx, id, after)
}

// Follow implements [surface.Source].
func (s *Source) Follow(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return s.Local.Watch(ctx, id, after)
}

// Fork implements [surface.Source].
func (s *Source) Fork(ctx context.Context, id string, at int64) (string, error) {
	made, err := s.Host.Fork(ctx, host.Fork{From: id, At: at})
	if err != nil {
		return "", err
	}
	s.Tell("in the new session "+made.ID+"; "+id+" stays as it is. "+FilesOf(made), false)
	return made.ID, nil
}

// Back implements [surface.Source].
func (s *Source) Back(ctx context.Context, id string, b act.Rewind) (*act.Rewinding, error) {
	return s.GoBack(ctx, id, b, nil)
}

// Models implements [surface.Source].
func (s *Source) Models(ctx context.Context) (all []surface.Named, err error) {
	list, none := host.ListModels(ctx, s.Config)
	for _, m := range list {
		n := surface.Named{Name: m.Name, About: m.Model.String()}
		if m.Name == "default" {
			n.Name = m.Model.String()
		}
		if m.Err != nil {
			n.About = m.Err.Error()
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return nil, none
	}
	return all, nil
}

// Agents implements [surface.Source].
func (s *Source) Agents(context.Context) (all []surface.Named, err error) {
	for _, k := range s.AllKinds() {
		all = append(all, surface.Named{Name: k.Name, About: k.Description})
	}
	return all, nil
}

// Change implements [surface.Source]. Without a session the setting is for the next new
// one. A model that the configuration does not know is an error, and nothing changes.
func (s *Source) Change(ctx context.Context, id string, set surface.Setting) error {
	if set.Model != "" {
		if s.Endpoint != "" {
			return fmt.Errorf("these sessions go to %s: another model needs a new start, with its own --base-url or none", s.Endpoint)
		}
		if _, err := s.Config.Model(set.Model); err != nil {
			return err
		}
	}
	if id == "" {
		return s.setNext(set)
	}
	st, err := openmanus.Load(ctx, s.Store, id)
	if err != nil {
		return err
	}
	if set.Model != "" && !set.Elsewhere {
		m, err := s.Config.Model(set.Model)
		if err != nil {
			return err
		}
		if was := host.SpecOf(st); was.Endpoint != m.BaseURL {
			return &surface.Elsewhere{From: cmp.Or(was.Endpoint, was.Model), To: cmp.Or(m.BaseURL, set.Model)}
		}
	}
	bodies, err := s.Changes(st, act.Change{Model: set.Model, Approve: set.Mode, By: act.ByPerson})
	if err == nil && len(bodies) > 0 {
		_, err = s.acts().Append(ctx, id, bodies...)
	}
	return err
}

// setNext changes the settings with which new sessions are made.
func (s *Source) setNext(set surface.Setting) error {
	if set.Agent != "" {
		if _, err := s.Team(s.Name()).Choose(set.Agent); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next.Model, s.next.Mode, s.next.Agent = cmp.Or(set.Model, s.next.Model), cmp.Or(set.Mode, s.next.Mode), cmp.Or(set.Agent, s.next.Agent)
	return nil
}

// Proposal implements [surface.Planner].
func (s *Source) Proposal(ctx context.Context, id string) (string, error) {
	st, err := openmanus.Load(ctx, s.Store, id)
	if err != nil {
		return "", err
	}
	text, _ := st.Proposal()
	return text, nil
}

// Approve implements [surface.Planner].
func (s *Source) Approve(ctx context.Context, id, mode, text string) error {
	_, err := s.acts().Do(ctx, id, func(st *openmanus.State) ([]openmanus.Body, error) {
		return act.ApprovePlan(id, st, mode, text, act.ByPerson)
	})
	return err
}

// Preview implements [surface.Previewer].
func (s *Source) Preview(ctx context.Context, session, call, input string) (surface.CallEffect, error) {
	e, err := s.Local.Effect(ctx, session, call, input)
	return surface.CallEffect{Shown: e.Shown, Fails: e.Fails}, err
}

// Commands returns the commands of the person. Commands that cannot be used are named once.
func (s *Source) Commands(context.Context) ([]surface.Custom, error) {
	all, problems := s.Host.Commands(s.Name())
	for _, p := range problems {
		s.Tell(p.Error(), false)
	}
	return Customs(all), nil
}

// Customs returns commands as surfaces have them.
func Customs(all []*agents.Command) (custom []surface.Custom) {
	for _, c := range all {
		custom = append(custom, surface.Custom{
			Name: c.Name, Arguments: c.Arguments, Help: cmp.Or(c.Description, "your command"), Agent: c.Agent, Model: c.Model, Mode: c.Mode,
			Strict: c.From == "workspace", Expand: c.Expand,
		})
	}
	return custom
}
