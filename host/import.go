package host

import (
	"context"
	"io"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
)

// An Imported is a session that Import has stored.
type Imported struct {
	ID  string
	Now *openmanus.State // as it is stored
	Was *openmanus.State // as it was in the file

	// Incomplete, if not nil, is why the session could not be configured here,
	// such as that no model is. It gets system prompt and tools from the first
	// [Host.Reconfigure] that succeeds, and none before.
	Incomplete error
}

// Import stores a session that was exported, here or elsewhere, in store; with the
// id to unless that is "". All of it is stored, or nothing.
//
// The file brings the conversation, and no authority. Anyone may have written it,
// so what it says that the user said is not trusted ([openmanus.Origin].Foreign),
// and the session goes on as one that is begun here and now: with the workspace,
// endpoint, sandbox, limits, system prompt and tools that the configuration says.
// It asks before anything is changed, whatever the configuration says, unless that
// allows less. The file chooses the agent, the flow and the model by their names,
// among those that there are here. A session that was under way is interrupted,
// and its open children are given up, since their ids may be those of other
// sessions here.
func (h *Host) Import(ctx context.Context, store interface {
	openmanus.Blobs
	openmanus.Restorer
}, r io.Reader, to string) (*Imported, error) {
	x, err := journal.ReadExport(ctx, r)
	if err != nil {
		return nil, err
	}
	if o, ok := x.Events[0].Body.(openmanus.Opened); ok {
		o.From = &openmanus.Origin{Session: x.Session, Seq: int64(len(x.Events)), Foreign: true}
		o.Owner, o.Parent = "", ""
		x.Events[0].Body = o
	}
	now := new(openmanus.State)
	for _, ev := range x.Events {
		now.Apply(ev)
	}
	in := &Imported{Now: now, Was: now.Clone()}
	for _, b := range settle(now) {
		in.add(x, b)
	}
	c, err := h.ownConfigured(ctx, in.Was)
	in.Incomplete = err
	in.add(x, c)
	in.ID, err = x.Store(ctx, store, store, to)
	return in, err
}

// add adds an event to an export that is being imported.
func (in *Imported) add(x *journal.Exported, b openmanus.Body) {
	ev := openmanus.Event{Seq: in.Now.Seq + 1, Time: journal.Now(), Body: b}
	x.Events = append(x.Events, ev)
	in.Now.Apply(ev)
}

// settle returns the events that keep an imported session in state s from doing
// anything by itself: its open calls were allowed by another user, or may be
// running where it came from.
func settle(s *openmanus.State) (bodies []openmanus.Body) {
	if st := s.Status(); st == openmanus.Running || st == openmanus.Waiting {
		bodies = append(bodies, openmanus.Interrupted{ID: ids.New()})
	}
	for _, c := range s.Children {
		if c.Done == nil {
			bodies = append(bodies, openmanus.ChildDone{
				Call: c.Call, Child: c.Child, Status: openmanus.Halted, Reason: openmanus.ByPerson, Text: "it was not imported",
			})
		}
	}
	return bodies
}

// ownConfigured returns the configuration with which an imported session in state
// s goes on here. If err is not nil, it lacks the system prompt and the tools.
func (h *Host) ownConfigured(ctx context.Context, s *openmanus.State) (c openmanus.Configured, err error) {
	spec, err := h.ownSpec(ctx, SpecOf(s))
	c = openmanus.Configured{N: s.Config.N + 1, Spec: spec, FlowEnds: s.Config.FlowEnds}
	if err != nil {
		return c, err
	}
	f, err := h.Flow(spec)
	if err != nil {
		return c, err
	}
	return f.Agent().Configured(c.N), nil
}

// ownSpec returns the spec of the configuration with the agent, the flow and the
// model of was, as far as they are known here.
func (h *Host) ownSpec(ctx context.Context, was openmanus.Spec) (openmanus.Spec, error) {
	run := h.Config.Run
	spec := openmanus.Spec{Agent: run.Agent, Model: was.Model, Workspace: run.Workspace}
	m, err := h.Config.Model(was.Model)
	if err != nil || m.Provider.Script || h.Config.Set("run.model") {
		var name string
		if name, m, err = h.Choose(ctx); err == nil {
			spec = h.specWith(name, m)
		}
	} else {
		spec = h.specWith(was.Model, m)
	}
	spec.Approve, spec.SandboxKind = openmanus.Stricter(run.Approve, openmanus.ApproveAsk), h.Config.Sandbox.Kind
	if _, known := h.Team(spec.Workspace).Find(was.Agent); known {
		spec.Agent = was.Agent
	}
	spec.Flow = ownFlow(was)
	if err != nil {
		return spec, err
	}
	return h.Complete(spec)
}

// ownFlow returns the flow of was without what its settings say of models and
// endpoints.
func ownFlow(was openmanus.Spec) *openmanus.FlowSpec {
	if p, ok := PlanOf(was); ok {
		p.Model, p.Endpoint = "", ""
		return WithPlan(was, p).Flow
	}
	return was.Flow
}

// imported reports whether a session in state s was imported and has not got its
// own configuration yet.
func imported(s *openmanus.State) bool {
	from := s.Opened.From
	return from != nil && from.Foreign && s.Config.System == "" && len(s.Config.Tools) == 0
}
