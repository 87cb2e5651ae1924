package trace

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/run"
)

// A Runtime tells of the sessions that another runtime drives, by reading
// their journals while it does. It changes nothing of them: where spans are
// not taken, the work goes on. Its fields are set before use.
type Runtime struct {
	run.Runtime
	Journal openmanus.Journal
	Export  func(...Span) // such as [Exporter.Export]; it must not wait

	// Providers name the providers of models as OpenTelemetry does. Those that
	// it lacks keep the names in the journal.
	Providers provider.List
}

// Wake implements [run.Runtime].
func (r *Runtime) Wake(ctx context.Context, session string) error {
	follow, stop := context.WithCancel(ctx)
	defer stop()
	w := &watch{Runtime: r, began: time.Now(), ctx: follow}
	w.follow(&fold{session: session, providers: r.Providers})
	err := r.Runtime.Wake(ctx, session)
	stop()
	w.all.Wait()
	w.finish(context.WithoutCancel(ctx))
	return err
}

// A watch reads the journals of a session and of those below it.
type watch struct {
	*Runtime
	began time.Time // what ended before was told of before
	ctx   context.Context
	all   sync.WaitGroup

	mu    sync.Mutex
	folds []*fold
}

// follow reads what is there of a session, and what comes.
func (w *watch) follow(f *fold) {
	w.mu.Lock()
	w.folds = append(w.folds, f)
	w.mu.Unlock()
	w.all.Go(func() {
		for ev, err := range w.Journal.Follow(w.ctx, f.session, 0) {
			if err != nil {
				return // finish reads the rest
			}
			for _, child := range w.apply(f, ev) {
				w.follow(child)
			}
		}
	})
}

// apply tells of what an event ends, and returns the sessions that it begins.
func (w *watch) apply(f *fold, ev openmanus.Event) []*fold {
	spans, children := f.apply(ev)
	if !ev.Time.Before(w.began) && len(spans) > 0 {
		w.Export(spans...)
	}
	return children
}

// finish reads what nobody has read yet.
func (w *watch) finish(ctx context.Context) {
	for i := 0; i < len(w.folds); i++ {
		f := w.folds[i]
		for ev, err := range w.Journal.Events(ctx, f.session, f.s.Seq) {
			if err != nil {
				break // it cannot be read: whoever drives it says so
			}
			w.folds = append(w.folds, w.apply(f, ev)...)
		}
	}
}

// A fold makes spans of the events of a session.
type fold struct {
	session   string
	providers provider.List
	parent    SpanID  // of another session
	trace     TraceID // zero: each request is a trace of its own

	s       openmanus.State
	request *Span               // under way
	times   map[int64]time.Time // of events that no reply has seen yet
	calls   map[string]begun    // under way
}

// A begun is a call under way.
type begun struct {
	name  string
	start time.Time
}

// apply takes the next event of the session. It returns the spans that are
// over with it, and folds for the sessions that it opens.
func (f *fold) apply(ev openmanus.Event) (spans []Span, children []*fold) {
	if f.calls == nil {
		f.calls, f.times = make(map[string]begun), make(map[int64]time.Time)
	}
	names := make(map[string]string)
	for _, c := range f.s.Calls {
		names[c.ID] = c.Name
	}
	f.s.Apply(ev)
	f.times[ev.Seq] = ev.Time
	if f.request == nil {
		f.begin(ev)
	}
	switch b := ev.Body.(type) {
	case openmanus.ModelSaid:
		spans = append(spans, f.chat(ev, b.Re, b.By, "", b.Usage, string(b.Stop)))
	case openmanus.ModelFailed:
		spans = append(spans, f.chat(ev, b.Re, "", string(b.Kind), b.Usage, ""))
	case openmanus.CallStarted:
		f.calls[b.Call] = begun{names[b.Call], ev.Time}
	case openmanus.CallDone:
		if c, ok := f.calls[b.Call]; ok {
			spans = append(spans, f.tool(ev, b.Call, c, b.IsError))
		}
	case openmanus.ChildOpened:
		child := &fold{session: b.Child, providers: f.providers, trace: f.traceOf(), parent: f.requestID()}
		if b.Call != "" {
			f.calls[b.Call] = begun{names[b.Call], ev.Time}
			child.parent = f.callID(b.Call)
		}
		children = append(children, child)
	case openmanus.ChildDone:
		if c, ok := f.calls[b.Call]; ok {
			spans = append(spans, f.tool(ev, b.Call, c, b.Status != openmanus.Finished))
		}
	}
	switch st := f.s.Status(); st {
	case openmanus.Finished, openmanus.Failed, openmanus.Halted:
		if f.request != nil {
			spans = append(spans, f.end(ev, st))
		}
	}
	return spans, children
}

// begin begins a request: with what a person or another session says, or
// with what lets the session go on.
func (f *fold) begin(ev openmanus.Event) {
	switch ev.Body.(type) {
	case openmanus.UserSaid, openmanus.Resumed:
	default:
		return
	}
	f.request = &Span{Trace: f.trace, ID: spanID(f.session, "request "+ev.Time.UTC().Format(time.RFC3339Nano)), Parent: f.parent, Start: ev.Time}
	if f.trace == (TraceID{}) {
		f.request.Trace = traceID(f.session, ev.Seq)
	}
}

func (f *fold) traceOf() TraceID {
	if f.request == nil {
		return f.trace
	}
	return f.request.Trace
}

func (f *fold) requestID() SpanID {
	if f.request == nil {
		return f.parent
	}
	return f.request.ID
}

func (f *fold) callID(call string) SpanID { return spanID(f.session, "call "+call) }

// common are the attributes that all spans of the session have.
func (f *fold) common(operation string) []Attr {
	return []Attr{{"gen_ai.operation.name", operation}, {"gen_ai.conversation.id", f.session}, {"gen_ai.provider.name", f.providers.TraceName(f.s.Config.Model)}}
}

// end ends the request.
func (f *fold) end(ev openmanus.Event, st openmanus.Status) Span {
	s := *f.request
	f.request = nil
	agent, _, _ := strings.Cut(f.s.Opened.Flow, "?")
	s.Name, s.End = "invoke_agent "+agent, ev.Time
	s.Attrs = append(f.common("invoke_agent"), Attr{"gen_ai.agent.name", agent}, Attr{"gen_ai.request.model", f.s.Config.Model})
	if st != openmanus.Finished {
		s.Failed = string(f.s.Outcome.Reason)
	}
	clear(f.calls)
	return s
}

// chat is a reply of the model, or that there was none.
func (f *fold) chat(ev openmanus.Event, re int64, by, failed string, u llm.Usage, stop string) Span {
	start, ok := f.times[re]
	if !ok {
		start = ev.Time
	}
	for seq := range f.times {
		if seq < re {
			delete(f.times, seq)
		}
	}
	s := Span{Trace: f.traceOf(), ID: spanID(f.session, "event "+ev.Time.UTC().Format(time.RFC3339Nano)), Parent: f.requestID(),
		Name: "chat " + f.s.Config.Model, Client: true, Start: start, End: ev.Time, Failed: failed}
	s.Attrs = append(f.common("chat"), Attr{"gen_ai.request.model", f.s.Config.Model}, Attr{"gen_ai.response.model", by},
		Attr{"gen_ai.usage.input_tokens", u.Input}, Attr{"gen_ai.usage.output_tokens", u.Output})
	if stop != "" {
		s.Attrs = append(s.Attrs, Attr{"gen_ai.response.finish_reasons", []string{stop}})
	}
	return s
}

// tool is a call that is over.
func (f *fold) tool(ev openmanus.Event, call string, c begun, failed bool) Span {
	delete(f.calls, call)
	s := Span{Trace: f.traceOf(), ID: f.callID(call), Parent: f.requestID(), Name: "execute_tool " + c.name, Start: c.start, End: ev.Time}
	s.Attrs = append(f.common("execute_tool"), Attr{"gen_ai.tool.name", c.name}, Attr{"gen_ai.tool.call.id", call}, Attr{"gen_ai.tool.type", "function"})
	if failed {
		s.Failed = "tool_error"
	}
	return s
}
