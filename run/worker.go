package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// A Worker carries out the tasks of sessions. It keeps nothing of a session:
// any number of workers may share a journal. It is safe for concurrent use;
// its fields are set before use.
type Worker struct {
	Journal openmanus.Journal

	// Flow returns the flow that decides in a session in this state; often
	// by s.Opened.Flow alone, or by the spec in s.Config. The same session
	// gets the same flow. For a session that is about to be opened, s has
	// only Opened and the spec.
	Flow func(ctx context.Context, s *openmanus.State) (openmanus.Flow, error)

	// Child, if not nil, returns the spec of the session that the given one,
	// in state parent, opens for the task t, without its limits. Nil: it has
	// the name of the task's flow, and nothing else.
	Child func(ctx context.Context, session string, parent *openmanus.State, t openmanus.Task) (openmanus.Spec, error)

	// Blobs keep what is large. If nil, the journal does, if it can.
	Blobs openmanus.Blobs

	// Secrets are replaced in what calls keep as blobs, and in what is shown
	// of replies and calls under way. The journal replaces them in events.
	Secrets *journal.Secrets

	// Purse, if not nil, bounds what all sessions spend together.
	Budget Budget

	// Name says in the journal who ran a call, such as a host and process.
	Name string

	// MaxOutput is how many bytes of text of a result the model sees; the
	// whole is kept as a blob. 0 means 10,000.
	MaxOutput int

	// Files, if not nil, returns what a session in state s made or changed
	// since it began, for its parent to hear of.
	Files func(ctx context.Context, s *openmanus.State) ([]string, error)

	// Note, if not nil, returns what a session that another one opens is
	// told before its task: see [UserSaid].
	Note func(ctx context.Context, c openmanus.Configured) (llm.Parts, error)

	// Live, if not nil, gets the provisional bodies of a session as they
	// come. It must not block.
	Live func(session string, b openmanus.Body)

	schemas sync.Map // string → *args.Schema
}

// FlowsByName returns a function for [Worker].Flow that knows just these flows, by
// the names of their agents.
func FlowsByName(flows ...openmanus.Flow) func(context.Context, *openmanus.State) (openmanus.Flow, error) {
	return func(_ context.Context, s *openmanus.State) (openmanus.Flow, error) {
		for _, f := range flows {
			if f.Agent().Name == s.Opened.Flow {
				return f, nil
			}
		}
		return nil, fmt.Errorf("there is no flow %q", s.Opened.Flow)
	}
}

// Next returns the tasks that a session calls for.
func (w *Worker) Next(ctx context.Context, session string) ([]openmanus.Task, error) {
	s, f, err := w.load(ctx, session)
	if err != nil {
		return nil, err
	}
	return f.Next(s), nil
}

// Do carries out one task and appends what came of it. It is safe to do a task
// twice: the second time finds the question answered. Of a delegation it does
// the writing down alone: who drives a session opens and drives its children
// ([Worker.OpenChild]) and reports on them ([Worker.Report]).
func (w *Worker) Do(ctx context.Context, session string, t openmanus.Task) error {
	s, f, err := w.load(ctx, session)
	if err != nil {
		return err
	}
	var body openmanus.Body
	switch t.Do {
	case openmanus.Reply:
		if t.Turn != s.Turn {
			return nil
		}
		body, err = w.reply(ctx, session, f.Agent(), s, t, s.Request(t))
	case openmanus.Compact:
		if t.Turn != s.Turn {
			return nil
		}
		body, err = w.compact(ctx, f.Agent(), s, t, nil)
	case openmanus.Use:
		body, err = w.claim(s, t.Call, nil)
		if _, start := body.(openmanus.CallStarted); start {
			if _, err := w.Journal.Append(ctx, session, body); err != nil {
				return answered(err) // another worker has it
			}
			body, err = w.use(ctx, session, f.Agent(), s, t.Call)
		}
	default:
		body, err = w.clerical(ctx, session, f.Agent(), s, t, nil)
	}
	if err != nil || body == nil {
		return err
	}
	return w.record(context.WithoutCancel(ctx), session, body) // what happened is recorded
}

// answered takes an answered question for success.
func answered(err error) error {
	if errors.Is(err, openmanus.ErrExists) {
		return nil
	}
	return err
}

// record appends an outcome. A result whose call has another one by now is
// late, and is told.
func (w *Worker) record(ctx context.Context, session string, b openmanus.Body) error {
	_, err := w.Journal.Append(ctx, session, b)
	if d, ok := b.(openmanus.CallDone); ok && errors.Is(err, openmanus.ErrConflict) && !d.IsError {
		_, err = w.Journal.Append(ctx, session, openmanus.CallLate{Call: d.Call, Parts: d.Parts})
	}
	return answered(err)
}

func (w *Worker) load(ctx context.Context, session string) (*openmanus.State, openmanus.Flow, error) {
	s, err := openmanus.Load(ctx, w.Journal, session)
	if err != nil {
		return nil, nil, err
	}
	f, err := w.flow(ctx, session, s)
	if err == nil {
		s.CountWith(f.Agent().Counter)
	}
	return s, f, err
}

func (w *Worker) flow(ctx context.Context, session string, s *openmanus.State) (openmanus.Flow, error) {
	if v := s.Opened.Version; v > openmanus.FormatVersion {
		return nil, fmt.Errorf("session %s has version %d of the journal format, and this program knows versions up to %d: it can be read and exported, not driven", session, v, openmanus.FormatVersion)
	}
	if s.Foreign != "" {
		return nil, fmt.Errorf("session %s has events of the type %q, which this version does not know: it can be read and exported, not driven", session, s.Foreign)
	}
	f, err := w.Flow(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", session, err)
	}
	return f, nil
}

func (w *Worker) blobs() openmanus.Blobs {
	if w.Blobs != nil {
		return w.Secrets.Blobs(w.Blobs)
	}
	if b, ok := w.Journal.(openmanus.Blobs); ok {
		return w.Secrets.Blobs(b)
	}
	return new(journal.Memory)
}

// reply asks the model, in state s. It returns the outcome, or the context's
// error. If the provider takes the request for too large, the outcome is a
// compaction, but not twice in a row.
func (w *Worker) reply(ctx context.Context, session string, a *openmanus.Agent, s *openmanus.State, t openmanus.Task, req *llm.Request) (openmanus.Body, error) {
	c := s.Config
	if a.Model == nil {
		return nil, fmt.Errorf("the agent %q has no model", a.Name)
	}
	about := s.EstimateCost(c.Prices)
	if stop := w.broke(ctx, t, about); stop != nil {
		return stop, nil
	}
	typed := &typist{w: w, session: session, turn: t.Turn}
	r, err := llm.Collect(ctx, a.Model, req, typed.delta)
	typed.end()
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err() // ours, not the model's
	}
	by, prices := c.Model, c.Prices
	for _, h := range a.Fallbacks {
		if h.Name == r.By {
			by, prices = h.Name, h.Prices
		}
	}
	cost := prices.Cost(r.Usage)
	if e := w.pay(ctx, about, cost); e != nil {
		return nil, e
	}
	if err != nil && llm.KindOf(err) == llm.Context {
		if !s.TooLarge {
			if b, e := w.compact(ctx, a, s, t, err); b != nil || e != nil {
				return b, e
			}
		} else {
			err = &llm.Error{Kind: llm.Context, Err: fmt.Errorf("%w; older parts of the conversation have been left out already", err)}
		}
	}
	if err != nil {
		f := openmanus.ModelFailed{Turn: t.Turn, Re: t.Re, Kind: llm.KindOf(err), Error: err.Error(), Usage: r.Usage, Cost: cost}
		if e := (*llm.Error)(nil); errors.As(err, &e) {
			f.Status = e.Status
		}
		return f, nil
	}
	own(r.Message.Parts, t.Turn)
	return openmanus.ModelSaid{Turn: t.Turn, Re: t.Re, Stop: r.Stop, Message: r.Message, Usage: r.Usage, Cost: cost, By: by}, nil
}

// own gives calls ids of ours: providers repeat theirs, or give none.
func own(parts llm.Parts, turn int) {
	n := 0
	for i, p := range parts {
		if c, ok := p.(llm.Call); ok {
			n++
			c.ID = callID(turn, n)
			parts[i] = c
		}
	}
}

// callID returns the id of the n-th call of a turn, from 1.
func callID(turn, n int) string { return fmt.Sprintf("c%d-%d", turn, n) }

// clerical does what needs no time and no world: rulings, claims and ends.
// It returns nil if t is not of that sort or has been done. mine says which
// calls the caller itself has under way.
func (w *Worker) clerical(ctx context.Context, session string, a *openmanus.Agent, s *openmanus.State, t openmanus.Task, mine func(call string) bool) (openmanus.Body, error) {
	switch t.Do {
	case openmanus.Rule:
		return w.rule(ctx, session, a, s, t.Call)
	case openmanus.Use:
		return w.claim(s, t.Call, mine)
	case openmanus.MakeCall:
		if t.Turn == s.Turn {
			return openmanus.Called{Turn: t.Turn, Re: t.Re, Call: callID(t.Turn, 1), Name: t.Name, Input: t.Input}, nil
		}
	case openmanus.Elide:
		return w.elide(context.WithoutCancel(ctx), s)
	case openmanus.Stop:
		if t.Turn == s.Turn && t.Reason == openmanus.Reason(llm.Context) {
			return openmanus.ModelFailed{Turn: t.Turn, Re: t.Re, Kind: llm.Context, Error: t.Error}, nil
		}
		if t.Turn == s.Turn {
			return openmanus.Stopped{Turn: t.Turn, Re: t.Re, Reason: t.Reason, Error: t.Error}, nil
		}
	case openmanus.End:
		if t.Turn == s.Turn {
			return openmanus.Ended{Turn: t.Turn, Re: t.Re, Status: t.Status, Reason: t.Reason, Error: t.Error, Text: t.Text}, nil
		}
	case openmanus.Delegate:
		return w.reserve(session, s, t), nil
	}
	return nil, nil
}

// rule answers whether a call may run, or why it cannot.
func (w *Worker) rule(ctx context.Context, session string, a *openmanus.Agent, s *openmanus.State, id string) (openmanus.Body, error) {
	c := s.Call(id)
	if c == nil || c.Done != nil || c.Ruled != nil || c.Ruling != nil {
		return nil, nil
	}
	call, spec, err := w.prepare(session, a, s, c)
	if err != nil {
		return openmanus.FailedCall(c.ID, err.Error()), nil
	}
	gate := a.Gate
	if gate == nil {
		gate = openmanus.Mode(openmanus.ApproveAsk)
	}
	v, err := gate.Rule(ctx, call, spec)
	if err != nil {
		return nil, fmt.Errorf("ruling on %s: %w", c.Name, err)
	}
	repaired := ""
	if call.Input != c.Input {
		repaired = call.Input
	}
	if v.Ask {
		shown, err := w.show(ctx, a.Tool(c.Name), call)
		if err != nil {
			return openmanus.FailedCall(c.ID, err.Error()), nil // nobody need be asked for that
		}
		return openmanus.Asked{Call: c.ID, Kind: openmanus.AskRuling, Question: v.Reason, Input: repaired, Shown: shown, Hash: fingerprint(call, shown), Hints: spec.Hints}, nil
	}
	return openmanus.Ruled{Call: c.ID, Allow: v.Allow, By: openmanus.ByGate, Rule: v.Rule, Reason: v.Reason, Input: repaired, Hash: fingerprint(call, ""), Hints: spec.Hints}, nil
}

// show returns what would come of a call, if its tool can tell.
func (w *Worker) show(ctx context.Context, t openmanus.Tool, call openmanus.Call) (shown string, err error) {
	s, ok := t.(openmanus.Previewer)
	if !ok {
		return "", nil
	}
	defer func() {
		if p := recover(); p != nil {
			shown, err = "", fmt.Errorf("%s crashed: %v", call.Name, p)
		}
	}()
	shown, err = s.Preview(ctx, call)
	return w.Secrets.Replace(strings.ToValidUTF8(shown, "\uFFFD")), err
}

// fingerprint is the hash of all that a person is shown of a call.
func fingerprint(call openmanus.Call, shown string) string {
	if shown != "" {
		shown = "\x00" + shown
	}
	return openmanus.Fingerprint(call.Name, call.Input+shown)
}

// stale says why a call that a person allowed must not run: what they were
// shown is not what would come of it now.
func (w *Worker) stale(ctx context.Context, t openmanus.Tool, c *openmanus.CallState, call openmanus.Call) error {
	if c.Ruling == nil || c.Ruling.Shown == "" || c.Ruled.Input != "" || c.Attempts > 1 {
		return nil
	}
	shown, err := w.show(ctx, t, call)
	if err != nil {
		return err
	}
	if fingerprint(call, shown) != c.Ruling.Hash {
		return fmt.Errorf("%s did not run: what it is about has changed since the person allowed it. Look at it as it is now, and make the call again if it is still right", c.Name)
	}
	return nil
}

// prepare returns c as its tool is to get it. Its error is for the model.
func (w *Worker) prepare(session string, a *openmanus.Agent, s *openmanus.State, c *openmanus.CallState) (openmanus.Call, openmanus.ToolSpec, error) {
	spec, known := s.ToolSpec(c.Name)
	t := a.Tool(c.Name)
	if !known || t == nil {
		return openmanus.Call{}, spec, fmt.Errorf("unknown tool '%s'. The tools are: %s", c.Name, strings.Join(toolNames(s), ", "))
	}
	input, err := w.check(spec, c.Arguments())
	if err != nil {
		return openmanus.Call{}, spec, fmt.Errorf("%s did not run: %w", c.Name, err)
	}
	if p := journal.Placeholder(input); p != "" {
		return openmanus.Call{}, spec, fmt.Errorf("%s did not run: its arguments contain %s, which stands for a secret that was left out of what you read; the secret itself is not known to you and cannot be written", c.Name, p)
	}
	call := openmanus.Call{Call: c.Call, Session: session, Last: s.Last(c.Name), Children: s.Children, Blobs: w.blobs(), Live: io.Discard}
	call.Input = input
	for _, ans := range c.Answers {
		call.Answers = append(call.Answers, openmanus.Answer{Text: ans.Text, Data: ans.Data})
	}
	now := t.Spec()
	spec.Hints, spec.Arguments = now.Hints, now.Arguments
	if h, ok := t.(openmanus.CallHinter); ok {
		spec.Hints, err = hintsOf(h, call)
	}
	return call, spec, err
}

// hintsOf asks h for the hints of a call. A panic in it is an error.
func hintsOf(h openmanus.CallHinter, call openmanus.Call) (hints openmanus.Hints, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s crashed: %v", call.Name, p)
		}
	}()
	return h.Hints(call), nil
}

func toolNames(s *openmanus.State) []string {
	var names []string
	for _, t := range s.Config.Tools {
		names = append(names, t.Name)
	}
	return names
}

func (w *Worker) check(spec openmanus.ToolSpec, input string) (string, error) {
	v, ok := w.schemas.Load(string(spec.Input))
	if !ok {
		schema, err := args.Compile(spec.Input)
		if err != nil {
			return "", err
		}
		v, _ = w.schemas.LoadOrStore(string(spec.Input), schema)
	}
	return v.(*args.Schema).Check(input)
}

// claim is what precedes the running of a call: the note that it started; or,
// if it started once before and nobody knows how it went, that it is in doubt:
// law 4.
func (w *Worker) claim(s *openmanus.State, id string, mine func(string) bool) (openmanus.Body, error) {
	c := s.Call(id)
	if c == nil || c.Done != nil || !c.Allowed() || mine != nil && mine(id) {
		return nil, nil
	}
	if c.Running && !c.Hints.ReadOnly && !c.Hints.Idempotent {
		return openmanus.FailedCall(id, "interrupted while it ran: this may or may not have happened; look before you try again"), nil
	}
	return openmanus.CallStarted{Call: id, Attempt: c.Attempts + 1, Worker: w.Name}, nil
}

// use runs a call that was claimed, and returns what came of it, or nil if it
// was cancelled.
func (w *Worker) use(ctx context.Context, session string, a *openmanus.Agent, s *openmanus.State, id string) (openmanus.Body, error) {
	c := s.Call(id)
	if a.Tool(c.Name) == nil {
		return openmanus.FailedCall(id, "the tool "+c.Name+" is no longer there"), nil
	}
	call, _, err := w.prepare(session, a, s, c)
	if err != nil {
		return openmanus.FailedCall(id, changedNote(c)+err.Error()), nil
	}
	if err := w.stale(ctx, a.Tool(c.Name), c, call); err != nil {
		return openmanus.FailedCall(id, err.Error()), nil
	}
	if w.Live != nil {
		live := &liveWriter{w: w, session: session, call: id, clean: w.Secrets.Redactor()}
		defer live.end()
		call.Live = live
	}
	res, detail, err := run(ctx, a.Tool(c.Name), call)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if ask := (*openmanus.Ask)(nil); errors.As(err, &ask) {
		return openmanus.Asked{Call: id, N: c.AskCount(), Kind: openmanus.AskText, Question: ask.Question, Schema: ask.Schema}, nil
	}
	if note := changedNote(c); note != "" {
		res.Parts = append(llm.Parts{llm.Text{Text: note}}, res.Parts...)
	}
	return w.done(ctx, id, res, detail, err)
}

// changedNote tells the model that its call has other arguments than it wrote, if
// that is so.
func changedNote(c *openmanus.CallState) string {
	if c.Ruled == nil || c.Ruled.Input == "" || c.Ruled.Input == c.Input {
		return ""
	}
	return "(with changed arguments: " + c.Ruled.Input + ")\n"
}

// run runs a tool. A panic in it is an error, with the stack for people.
func run(ctx context.Context, t openmanus.Tool, call openmanus.Call) (res openmanus.Result, detail any, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, detail = openmanus.Result{}, map[string]string{"panic": fmt.Sprint(p), "stack": string(debug.Stack())}
			err = fmt.Errorf("%s crashed: %v", call.Name, p)
		}
	}()
	res, err = t.Run(ctx, call)
	return res, res.Detail, err
}

// done makes an event of a result: text that is UTF-8, cut to its limit, with
// the error behind it.
func (w *Worker) done(ctx context.Context, id string, res openmanus.Result, detail any, err error) (openmanus.Body, error) {
	d := openmanus.CallDone{Call: id, Parts: res.Parts, IsError: err != nil, Source: res.Source}
	if detail != nil {
		d.Detail = encodeDetail(detail)
	}
	if err != nil {
		text := err.Error()
		if len(res.Parts) > 0 {
			text = "\n" + text
		}
		d.Parts = append(slices.Clone(res.Parts), llm.Text{Text: text})
	}
	if werr := w.shorten(context.WithoutCancel(ctx), &d); werr != nil {
		return nil, werr
	}
	return d, nil
}

// encodeDetail encodes what a tool has for people, or says why it cannot be.
func encodeDetail(detail any) (data json.RawMessage) {
	sorry := func(why any) {
		// A map of strings always encodes.
		data, _ = json.Marshal(map[string]string{"error": fmt.Sprint("the detail cannot be encoded: ", why)})
	}
	defer func() {
		if p := recover(); p != nil {
			sorry(p)
		}
	}()
	data, err := json.Marshal(detail)
	if err != nil {
		sorry(err)
	}
	return data
}
