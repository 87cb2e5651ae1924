package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

// A world is what comes from outside of the program in one attempt to make an event.
// The zero world has nothing.
type world struct {
	reply      func(n int) (openmanus.ModelSaid, error) // what the model says to the n-th request, from 0
	asked      int                                      // how many requests there were
	summarizer openmanus.Helper
	reached    map[string]bool // the names of tools that use_tool reaches

	result  func() (openmanus.Result, error) // what a tool returns
	cancel  bool                             // the run ends while the tool runs
	absent  bool                             // the agent has no tools
	wrote   []string                         // see [openmanus.CallDone].Wrote
	hints   openmanus.Hints
	preview string
	fails   error // what looking at a call fails with
	scope   string
	picture []byte

	verdict openmanus.Verdict
	leads   map[string]string // where names led by links
	sources bool              // the gate asks where the arguments came from
	budget  error
	hooks   run.Screened // what hooks said of a call or a request

	own, meanwhile []openmanus.FileChange
	seen           []openmanus.SeenFile

	child    []openmanus.Event // the child session that the task is about, as far as it has come
	begins   []openmanus.Event // the child session that is to be opened
	opened   []openmanus.Body  // what was appended to it
	config   *openmanus.Configured
	delegate *openmanus.Delegation
	next     openmanus.Event // what is being appended
}

// An actor answers from the world of its player: as a model and as a gate.
type actor struct{ p *player }

// Stream implements [llm.Model].
func (a actor) Stream(_ context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		w := &a.p.world
		if w.reply == nil {
			yield(llm.Delta{}, &llm.Error{Kind: llm.Protocol, Permanent: true, Err: errors.New("nothing was asked here")})
			return
		}
		said, err := w.reply(w.asked)
		w.asked++
		first := llm.Delta{By: said.By}
		for _, u := range said.Aside {
			first.Aside = append(first.Aside, llm.Aside{By: u.By, Usage: u.Usage})
		}
		if !yield(first, nil) {
			return
		}
		for i, part := range said.Message.Parts {
			if !yield(llm.Delta{Part: i, Piece: part}, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.Delta{Usage: &said.Usage}, nil)
			yield(llm.Delta{}, err)
			return
		}
		yield(llm.Delta{Stop: said.Stop, Usage: &said.Usage}, nil)
	}
}

// Rule implements [openmanus.Gate].
func (a actor) Rule(_ context.Context, call openmanus.Call, _ openmanus.ToolSpec) (openmanus.Verdict, error) {
	if a.p.world.sources {
		call.Provenance()
	}
	return a.p.world.verdict, nil
}

// Places implements [openmanus.Placer].
func (a actor) Places(openmanus.Call, openmanus.ToolSpec) (all []openmanus.Place, known bool) {
	for name, real := range a.p.world.leads {
		all = append(all, openmanus.Place{Name: name, Real: real})
	}
	return all, true
}

// In implements [openmanus.ModalGate]: what was ruled is in the record, whatever the mode was.
func (a actor) In(openmanus.Mode) openmanus.Gate { return a }

// Asks implements [run.Hooks].
func (a actor) Asks(*openmanus.State, string) bool {
	return a.p.world.hooks != run.Screened{}
}

// BeforeCall implements [run.Hooks].
func (a actor) BeforeCall(context.Context, string, *openmanus.State, openmanus.Call, openmanus.ToolSpec) (run.Screened, error) {
	return a.p.world.hooks, nil
}

// BeforeRequest implements [run.Hooks].
func (a actor) BeforeRequest(context.Context, string, *openmanus.State) (run.Screened, error) {
	return a.p.world.hooks, nil
}

// Reserve implements [run.Budget].
func (p *player) Reserve(context.Context, run.Spending) error { return p.world.budget }

// Settle implements [run.Budget].
func (p *player) Settle(context.Context, run.Spending, run.Spending) error { return nil }

// A changes is the [run.Follower] of a replay: it has the changes of the record. The
// content of the workspace comes from the record, so it makes no snapshots.
type changes struct{ p *player }

func (c changes) Begin(
	context.Context, string, *openmanus.State, openmanus.Call, openmanus.ToolSpec, func(int),
) (openmanus.Body, func(context.Context) run.Followed) {
	return nil, func(context.Context) run.Followed {
		return run.Followed{Own: c.p.world.own, Meanwhile: c.p.world.meanwhile}
	}
}

func (changes) Added(context.Context, string, *openmanus.State, *openmanus.CallState, []string) openmanus.Body {
	return nil
}

func (changes) Broken(context.Context, string, *openmanus.State, *openmanus.CallState) openmanus.Body {
	return nil
}

func (changes) Restore(_ context.Context, _ string, s *openmanus.State) (openmanus.Body, error) {
	return nil, fmt.Errorf("a replay puts no files back: %s", s.Unfinished.ID)
}

// tool returns a tool that answers from the world.
func (p *player) tool(spec openmanus.ToolSpec) openmanus.Tool {
	t := &recordedTool{spec, p}
	switch {
	case p.world.wrote != nil:
		return writingTool{t}
	case p.world.delegate != nil:
		return delegatingTool{t}
	}
	return t
}

// A recordedTool can do all that tools can, as far as the record says that it did.
type recordedTool struct {
	spec openmanus.ToolSpec
	p    *player
}

func (t *recordedTool) Spec() openmanus.ToolSpec { return t.spec }

func (t *recordedTool) Run(ctx context.Context, _ openmanus.Call) (openmanus.Result, error) {
	w := &t.p.world
	for _, f := range w.seen {
		sight.SawFile(ctx, sight.File(f))
	}
	if w.hints.ReadOnly || w.hints.Internal || w.hints.Final { // what it made all the same
		for _, f := range w.own {
			sight.Of(ctx).Wrote(f.Path, "", "")
		}
	}
	if t.p.world.result == nil {
		return openmanus.Result{}, errors.New("nothing ran here")
	}
	return t.p.world.result()
}

// Reaches implements [openmanus.Reacher].
func (t *recordedTool) Reaches(name string) bool { return t.p.world.reached[name] }

func (t *recordedTool) Hints(openmanus.Call) openmanus.Hints { return t.p.world.hints }

func (t *recordedTool) Preview(ctx context.Context, _ openmanus.Call) (string, error) {
	for _, f := range t.p.world.seen {
		sight.SawFile(ctx, sight.File(f))
	}
	return t.p.world.preview, t.p.world.fails
}

func (t *recordedTool) Scope(context.Context, openmanus.Call) (string, error) {
	return t.p.world.scope, nil
}

func (t *recordedTool) Depict(context.Context, openmanus.Call) ([]byte, error) {
	return t.p.world.picture, nil
}

// A writingTool says of each call which files it writes.
type writingTool struct{ *recordedTool }

// ArgumentsOf implements [openmanus.ArgumentHinter].
func (t writingTool) ArgumentsOf(openmanus.Call) (args []openmanus.Argument) {
	for _, path := range t.p.world.wrote {
		// no call has an argument without a name, so the value counts
		args = append(args, openmanus.Argument{Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: path})
	}
	return args
}

// A delegatingTool says itself what its child session is to do.
type delegatingTool struct{ *recordedTool }

// Delegate implements [openmanus.Delegator].
func (t delegatingTool) Delegate(context.Context, openmanus.Call) (openmanus.Delegation, error) {
	return *t.p.world.delegate, nil
}

// A tape is the journal that the worker of a player sees: it appends what the record
// has next, and has of other sessions what the task is about.
type tape struct{ p *player }

// Append implements [openmanus.Journal].
func (t tape) Append(_ context.Context, session string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	if session != t.p.id {
		t.p.world.opened = bodies
		return make([]openmanus.Event, len(bodies)), nil
	}
	return []openmanus.Event{t.p.world.next}, nil
}

// Events implements [openmanus.Journal].
func (t tape) Events(_ context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		if session == t.p.id {
			return
		}
		for _, ev := range t.p.world.child {
			if ev.Seq > after && !yield(ev, nil) {
				return
			}
		}
	}
}

// Follow implements [openmanus.Journal]. Nothing comes.
func (t tape) Follow(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return t.Events(ctx, session, after)
}

// childSpec is the [run.Worker].Child.
func (p *player) childSpec(context.Context, string, *openmanus.State, openmanus.Task) (openmanus.Spec, error) {
	if p.world.fails != nil {
		return openmanus.Spec{}, p.world.fails
	}
	return p.world.config.Spec, nil
}

// childFlow is the [run.Worker].Flow of a session that is being opened.
func (p *player) childFlow(context.Context, *openmanus.State) (openmanus.Flow, error) {
	return p.recorded(*p.world.config), nil
}

// note is the [run.Worker].Note.
func (p *player) note(context.Context, openmanus.Configured) (llm.Parts, error) {
	for _, ev := range p.world.begins {
		if said, ok := ev.Body.(openmanus.UserSaid); ok {
			return said.Note, nil
		}
	}
	return nil, nil
}
