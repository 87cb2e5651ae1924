// Package agui says what happens in a session in the words of AG-UI 1.0, the protocol
// between agents and what shows them to people: see https://docs.ag-ui.com.
//
// A [Projector] is a function of the events of a session, so a stream that is live
// and one that is read again later are the same. A run is what happens from a
// message to the next outcome, or until the session waits for the person. Each
// frame has an id, from which a client that lost its connection goes on: see
// [Position].
//
// Nothing is here about HTTP: package server has the endpoint.
package agui

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
)

// Version is the version of the protocol.
const Version = "1.0"

// A Frame is an event of the protocol.
type Frame struct {
	ID   string // see [Position]
	Data []byte // JSON
}

// fields are the members of an event of the protocol.
type fields = map[string]any

// A Run is a request to follow a session from an event on.
type Run struct {
	Session string // its id
	Thread  string // the client's name for the session
	ID      string // the client's name for the run

	// Start is the event that the run begins after. It does not end before the
	// event Least, such as the last of several rulings.
	Start, Least int64

	// History begins the run with the messages that came before it.
	History bool
}

// A Projector makes the frames of a [Run]. It gets the events of the session in
// order: all stored ones from the first on, and provisional ones that come in
// between. It is not safe for concurrent use.
type Projector struct {
	State openmanus.State // as of the events so far

	run     Run
	from    Position // what the client has
	at      Position // of the last frame
	reached bool     // from was reached
	open    bool     // the run has begun and not ended
	done    bool
	seq     int64 // the event that frames come from now
	n       int   // how many came from it

	parts    llm.Parts // of the reply that the model writes
	doubt    bool      // it may begin with other words than those that were sent
	shown    map[string]json.RawMessage
	children []string // the ids of those that were announced and have not ended
	used     llm.Usage
	note     string // what the last event said that is neither a message nor a call
	frames   []Frame
	history  []fields
}

// New returns a projector of a run. A client that was connected before has the
// frames up to from, whose Start and Least then hold.
func New(run Run, from Position) *Projector {
	p := &Projector{run: run, from: from, reached: from.Seq == 0, doubt: true}
	if from.Seq > 0 {
		p.run.Start, p.run.Least = from.Start, from.Least
	}
	p.at = Position{Start: p.run.Start, Least: p.run.Least}
	return p
}

// Done reports whether the run has ended: nothing follows its last frame.
func (p *Projector) Done() bool { return p.done }

// Running reports whether the run has begun and not ended.
func (p *Projector) Running() bool { return p.open }

// Apply folds an event and returns its frames.
func (p *Projector) Apply(ev openmanus.Event) []Frame {
	if p.done {
		return nil
	}
	if typed, ok := ev.Body.(openmanus.Typing); ok {
		p.typing(typed)
		return p.take()
	}
	if ev.Seq == 0 {
		return nil
	}
	if ev.Seq > p.from.Seq && !p.reached { // an id that we did not make, or of an end that was none
		p.at, p.reached = p.from, true
	}
	turn, calls := p.State.Turn, slices.Clone(p.State.Calls)
	calls = slices.DeleteFunc(calls, func(c *openmanus.CallState) bool { return c.Done != nil })
	said, _ := ev.Body.(openmanus.ModelSaid)
	if p.open && said.Message.Parts != nil && said.Turn == turn && p.wouldTake(ev) {
		p.sendReply(said.Message.Parts, true)
	}
	p.State.Apply(ev)
	if text, _ := view.Note(ev.Body); text != "" {
		p.note = view.Sentence(text)
	}
	if p.run.History {
		p.remember(ev, p.State.Turn != turn)
	}
	if p.open && p.State.Turn != turn {
		p.endReply(turn)
	}
	if p.State.Turn != turn {
		p.at.reply, p.parts = reply{}, nil
	}
	p.seq, p.n = ev.Seq, 0
	switch {
	case p.open:
		p.happened(ev, turn, calls)
	case ev.Seq == p.run.Start:
		p.begin()
	}
	if p.open && ev.Seq >= p.run.Least && p.State.Status() != openmanus.Running {
		p.end(nil)
	}
	return p.take()
}

// wouldTake reports whether a reply counts, and is not one to another turn.
func (p *Projector) wouldTake(ev openmanus.Event) bool {
	ahead := p.State.Ahead()
	turn := ahead.Turn
	ahead.Apply(ev)
	return ahead.Turn != turn
}

// take returns the frames since the last take.
func (p *Projector) take() []Frame {
	frames := p.frames
	p.frames = nil
	return frames
}

// send sends a frame that comes from the event p.seq, unless the client has it.
func (p *Projector) send(f fields) {
	p.n++
	if !p.reached && (p.seq < p.from.Seq || p.seq == p.from.Seq && p.n <= p.from.N) {
		if p.seq == p.from.Seq && p.n == p.from.N {
			p.at, p.reached = p.from, true
		}
		return
	}
	p.at.Seq, p.at.N = p.seq, p.n
	p.append(f)
}

// append adds a frame.
func (p *Projector) append(f fields) {
	data, err := json.Marshal(f)
	if err != nil {
		panic(err) // not of strings, numbers, maps and JSON that was checked
	}
	p.frames = append(p.frames, Frame{p.at.String(), data})
}

// begin begins the run.
func (p *Projector) begin() {
	p.open, p.used, p.note = true, p.State.Usage, ""
	p.send(fields{"type": "RUN_STARTED", "threadId": p.run.Thread, "runId": p.run.ID, "protocolVersion": Version})
	if p.run.History {
		messages := p.history
		if messages == nil {
			messages = []fields{}
		}
		p.send(fields{"type": "MESSAGES_SNAPSHOT", "messages": messages})
	}
	p.shown = p.view()
	p.send(fields{"type": "STATE_SNAPSHOT", "snapshot": p.shown})
	for _, c := range p.State.OpenChildren() {
		p.childOpened(c.ChildOpened)
	}
}

// view returns what the client's state is: it does not depend on anything but the
// events of the session.
func (p *Projector) view() map[string]json.RawMessage {
	s := &p.State
	v := map[string]any{
		"session": p.run.Session, "status": s.Status(), "title": s.Title, "model": s.Config.Model, "turn": s.Turn,
		"usage": map[string]int{"inputTokens": s.Usage.Input, "outputTokens": s.Usage.Output},
	}
	if p.note != "" {
		v["note"] = p.note
	}
	for _, t := range s.Config.Tools {
		if plan := s.Last(t.Name); json.Valid(plan) && gist.Kind(llm.Call{Name: t.Name}, t.Says...) == openmanus.ToolPlans {
			v["plan"] = plan
		}
	}
	view := make(map[string]json.RawMessage, len(v))
	for name, value := range v {
		data, err := json.Marshal(value)
		if err != nil {
			panic(err) // not of strings, numbers and valid JSON
		}
		view[name] = data
	}
	return view
}

// sendState sends how the state has changed.
func (p *Projector) sendState() {
	now := p.view()
	var patch []fields
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if string(now[name]) != string(p.shown[name]) {
			patch = append(patch, fields{"op": "add", "path": "/" + name, "value": now[name]}) // add replaces a member
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.shown)) {
		if now[name] == nil {
			patch = append(patch, fields{"op": "remove", "path": "/" + name})
		}
	}
	if p.shown = now; patch != nil {
		p.send(fields{"type": "STATE_DELTA", "delta": patch})
	}
}

// happened sends what an event has changed: turn is the turn before it, and calls
// those that had no result then.
func (p *Projector) happened(ev openmanus.Event, turn int, calls []*openmanus.CallState) {
	switch b := ev.Body.(type) {
	case openmanus.UserSaid:
		p.userSaid(b)
	case openmanus.ModelSaid:
		if p.State.Turn != turn {
			p.calls(b.Message, turn)
			calls = append(calls, p.State.Calls...)
		}
	case openmanus.Called:
		if p.State.Turn != turn {
			p.call(llm.Call{ID: b.Call, Name: b.Name, Input: b.Input}, "")
			calls = append(calls, p.State.Calls...)
		}
	case openmanus.ChildOpened:
		p.childOpened(b)
	}
	for i, c := range calls {
		if c.Done != nil && !slices.Contains(calls[:i], c) {
			p.result(c)
		}
	}
	p.childrenEnded(ev)
	p.sendState()
}

// userSaid sends a message that came during the run, from here or elsewhere.
func (p *Projector) userSaid(b openmanus.UserSaid) {
	text := b.Message.Text()
	p.send(fields{"type": "TEXT_MESSAGE_START", "messageId": b.ID, "role": "user"})
	if text != "" {
		p.send(fields{"type": "TEXT_MESSAGE_CONTENT", "messageId": b.ID, "delta": text})
	}
	p.send(fields{"type": "TEXT_MESSAGE_END", "messageId": b.ID})
}

// calls sends the calls of a reply.
func (p *Projector) calls(m llm.Message, turn int) {
	parent := ""
	for i, q := range piecesOf(m.Parts, true) {
		if q.kind == prose && q.text != "" && parent == "" {
			parent = p.messageID(turn, i, 0)
		}
	}
	for _, c := range m.Calls() {
		p.call(c, parent)
	}
}

// call sends a call. It belongs to the message parent, if there is one.
func (p *Projector) call(c llm.Call, parent string) {
	start := fields{"type": "TOOL_CALL_START", "toolCallId": c.ID, "toolCallName": c.Name}
	if parent != "" {
		start["parentMessageId"] = parent
	}
	p.send(start)
	if c.Input != "" {
		p.send(fields{"type": "TOOL_CALL_ARGS", "toolCallId": c.ID, "delta": c.Input})
	}
	p.send(fields{"type": "TOOL_CALL_END", "toolCallId": c.ID})
}

// result sends the result of a call, unless the client has brought it.
func (p *Projector) result(c *openmanus.CallState) {
	if p.State.ClientRuns(c.Name) {
		return
	}
	p.send(fields{"type": "TOOL_CALL_RESULT", "messageId": "result-" + c.ID, "toolCallId": c.ID,
		"role": "tool", "content": contentOf(c.Done.Parts), "metadata": fields{"isError": c.Done.IsError}})
}

// contentOf returns parts as content: a string, or a list if there are pictures.
func contentOf(parts llm.Parts) any {
	var list []fields
	pictures := false
	for _, part := range parts {
		switch part := part.(type) {
		case llm.Text:
			list = append(list, fields{"type": "text", "text": part.Text})
		case llm.Blob:
			pictures = true
			kind := "document"
			if len(part.MIME) > 6 && part.MIME[:6] == "image/" {
				kind = "image"
			}
			source := fields{"type": "data", "value": part.Data, "mimeType": part.MIME}
			list = append(list, fields{"type": kind, "source": source})
		}
	}
	if !pictures {
		return parts.Text()
	}
	return list
}

// childOpened announces a child session.
func (p *Projector) childOpened(b openmanus.ChildOpened) {
	c := p.State.Child(b.Child)
	if c == nil || c.Done != nil || slices.Contains(p.children, b.Child) {
		return
	}
	p.children = append(p.children, b.Child)
	name := b.Label
	if name == "" {
		name = b.Child
	}
	started := fields{"type": "SUBAGENT_STARTED", "subagentRunId": b.Child, "name": name}
	if b.Call != "" {
		started["parentToolCallId"] = b.Call
	}
	p.send(started)
}

// childrenEnded sends how children ended.
func (p *Projector) childrenEnded(ev openmanus.Event) {
	p.children = slices.DeleteFunc(p.children, func(id string) bool {
		c := p.State.Child(id)
		switch done, _ := ev.Body.(openmanus.ChildDone); {
		case done.Child == id && done.Status == openmanus.Finished:
			p.send(fields{"type": "SUBAGENT_FINISHED", "subagentRunId": id, "result": done.Text,
				"outcome": fields{"type": "success"}})
		case done.Child == id:
			p.childFailed(id, string(done.Reason), done.Text)
		case c == nil || c.Done != nil || p.State.Abandoned(c):
			p.childFailed(id, "abandoned", "the work was given up")
		default:
			return false
		}
		return true
	})
}

// childFailed sends that a child did not do its work.
func (p *Projector) childFailed(id, code, message string) {
	message = cmp.Or(message, code, "it failed")
	f := fields{"type": "SUBAGENT_ERROR", "subagentRunId": id, "message": message}
	if code != "" {
		f["code"] = code
	}
	p.send(f)
}
