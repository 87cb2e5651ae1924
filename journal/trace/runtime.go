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

// A Runtime exports spans of the sessions that another runtime drives, which it
// makes from their journals. It has no effect on the sessions, and errors of the
// export none either. Its fields must be set before use.
type Runtime struct {
	run.Runtime
	Journal openmanus.Journal
	Export  func(...Span) // such as [Exporter.Export]; several goroutines call it, and it must not block

	// Providers map the names of providers to those of OpenTelemetry. Others
	// keep the names in the journal.
	Providers provider.List
}

// Wake implements [run.Runtime]. It returns when all spans of operations that
// ended meanwhile were passed to Export.
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

// A watch follows the journals of a session and of its descendants.
type watch struct {
	*Runtime
	began time.Time // spans that ended before it have been exported before
	ctx   context.Context
	all   sync.WaitGroup

	mu    sync.Mutex
	folds []*fold
}

// follow applies the events of a session, from the first, as they come.
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

// apply exports the spans that an event ends, and returns folds for the sessions
// that it opens.
func (w *watch) apply(f *fold, ev openmanus.Event) []*fold {
	spans, children := f.apply(ev)
	if !ev.Time.Before(w.began) && len(spans) > 0 {
		w.Export(spans...)
	}
	return children
}

// finish applies the events that follow has not applied. No follow is running.
func (w *watch) finish(ctx context.Context) {
	for i := 0; i < len(w.folds); i++ {
		f := w.folds[i]
		for ev, err := range w.Journal.Events(ctx, f.session, f.s.Seq) {
			if err != nil {
				break // the runtime reports the error
			}
			w.folds = append(w.folds, w.apply(f, ev)...)
		}
	}
}

// A fold makes spans from the events of a session:
//
//	span           starts with                        ends with
//	invoke_agent   a message, or a retry              the end of the session
//	chat           the event that the model answers   ModelSaid or ModelFailed
//	execute_tool   CallStarted or ChildOpened         CallDone or ChildDone
//
// The spans of replies and calls are children of the request's; the request of
// a child session is a child of the call that delegated to it. A call that was
// interrupted by a crash has no span until it is run again.
type fold struct {
	session   string
	providers provider.List
	parent    SpanID  // the span of the parent session; zero: none
	trace     TraceID // of the parent session; zero: each request is a trace of its own, or part of its client's

	s       openmanus.State
	request *Span               // that is running, or nil
	times   map[int64]time.Time // of the events that a future reply may start from
	calls   map[string]running  // by call
}

// A running is a call that is running.
type running struct {
	name  string
	start time.Time
}

// apply applies the next event of the session. It returns the spans that end
// with it, and folds for the sessions that it opens.
func (f *fold) apply(ev openmanus.Event) (spans []Span, children []*fold) {
	if f.calls == nil {
		f.calls, f.times = make(map[string]running), make(map[int64]time.Time)
	}
	names := make(map[string]string)
	for _, c := range f.s.Calls {
		names[c.ID] = c.Name
	}
	f.s.Apply(ev)
	f.times[ev.Seq] = ev.Time
	if f.request == nil {
		f.startRequest(ev)
	}
	switch b := ev.Body.(type) {
	case openmanus.ModelSaid:
		spans = append(spans, f.chat(ev, b.Re, b.By, "", b.Usage, string(b.Stop)))
	case openmanus.ModelFailed:
		spans = append(spans, f.chat(ev, b.Re, "", string(b.Kind), b.Usage, ""))
	case openmanus.CallStarted:
		f.calls[b.Call] = running{names[b.Call], ev.Time}
	case openmanus.CallDone:
		if c, ok := f.calls[b.Call]; ok {
			spans = append(spans, f.tool(ev, b.Call, c, b.IsError))
		}
	case openmanus.ChildOpened:
		child := &fold{session: b.Child, providers: f.providers, trace: f.traceOf(), parent: f.requestID()}
		if b.Call != "" {
			f.calls[b.Call] = running{names[b.Call], ev.Time}
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
			spans = append(spans, f.endRequest(ev, st))
		}
	}
	return spans, children
}

// startRequest starts the span of a request if the event starts one: a message
// of the user or of the parent session, or a retry. A message that came in a trace is part
// of it.
func (f *fold) startRequest(ev openmanus.Event) {
	said, ok := ev.Body.(openmanus.UserSaid)
	if _, again := ev.Body.(openmanus.Resumed); !ok && !again {
		return
	}
	id := spanID(f.session, "request "+ev.Time.UTC().Format(time.RFC3339Nano))
	f.request = &Span{Trace: f.trace, ID: id, Parent: f.parent, Start: ev.Time}
	if f.trace != (TraceID{}) {
		return
	}
	if f.request.Trace, f.request.Parent, ok = parse(said.Trace); !ok {
		f.request.Trace = traceID(f.session, ev.Seq)
	}
}

// traceOf returns the trace of the running request.
func (f *fold) traceOf() TraceID {
	if f.request == nil {
		return f.trace
	}
	return f.request.Trace
}

// requestID returns the span that the spans of the session have as their parent.
func (f *fold) requestID() SpanID {
	if f.request == nil {
		return f.parent
	}
	return f.request.ID
}

// callID returns the id of the span of a call. It is the same in every process, so
// that a session that another process goes on with keeps its trace.
func (f *fold) callID(call string) SpanID { return spanID(f.session, "call "+call) }

// common returns the attributes that all spans of the session have.
func (f *fold) common(operation string) []Attr {
	return []Attr{
		{"gen_ai.operation.name", operation},
		{"gen_ai.conversation.id", f.session},
		{"gen_ai.provider.name", f.providers.TraceName(f.s.Config.Model)},
	}
}

// endRequest ends the span of the request.
func (f *fold) endRequest(ev openmanus.Event, st openmanus.Status) Span {
	s := *f.request
	f.request = nil
	agent, _, _ := strings.Cut(f.s.Opened.Flow, "?")
	s.Name, s.End = "invoke_agent "+agent, ev.Time
	s.Attrs = append(f.common("invoke_agent"),
		Attr{"gen_ai.agent.name", agent}, Attr{"gen_ai.request.model", f.s.Config.Model})
	if st != openmanus.Finished {
		s.Failed = string(f.s.Outcome.Reason)
	}
	clear(f.calls)
	return s
}

// chat returns the span of a model's reply, or of a failed one. It starts with the
// event re, to which the model replies.
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
	s := Span{
		Trace: f.traceOf(), ID: spanID(f.session, "event "+ev.Time.UTC().Format(time.RFC3339Nano)), Parent: f.requestID(),
		Name: "chat " + f.s.Config.Model, Client: true, Start: start, End: ev.Time, Failed: failed,
	}
	s.Attrs = append(f.common("chat"),
		Attr{"gen_ai.request.model", f.s.Config.Model}, Attr{"gen_ai.response.model", by},
		Attr{"gen_ai.usage.input_tokens", u.Input}, Attr{"gen_ai.usage.output_tokens", u.Output})
	if stop != "" {
		s.Attrs = append(s.Attrs, Attr{"gen_ai.response.finish_reasons", []string{stop}})
	}
	return s
}

// tool returns the span of a call that has ended.
func (f *fold) tool(ev openmanus.Event, call string, c running, failed bool) Span {
	delete(f.calls, call)
	s := Span{
		Trace: f.traceOf(), ID: f.callID(call), Parent: f.requestID(),
		Name: "execute_tool " + c.name, Start: c.start, End: ev.Time,
	}
	s.Attrs = append(f.common("execute_tool"),
		Attr{"gen_ai.tool.name", c.name}, Attr{"gen_ai.tool.call.id", call}, Attr{"gen_ai.tool.type", "function"})
	if failed {
		s.Failed = "tool_error"
	}
	return s
}
