package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/server/a2a"
)

// Send implements [a2a.Service].
func (a *a2aService) Send(ctx context.Context, r *a2a.SendRequest) (e a2a.Event, err error) {
	info, least, err := a.begin(ctx, r)
	if err == nil {
		err = a.pushOf(ctx, info, r.Config.Push)
	}
	if err != nil {
		return e, err
	}
	if r.Config.Now {
		p, err := a.project(ctx, info)
		if err != nil {
			return e, err
		}
		return a2a.Event{Task: p.Last().With(r.Config.History, true)}, nil
	}
	err = a.follow(ctx, nil, a.projector(ctx, info), least, func(p *a2a.Projector, _ []a2a.Event) (bool, error) {
		e = restOf(r, p.Last())
		return p.Last().Status.State.Rests(), nil
	})
	return e, err
}

// The values of reply in the metadata of a message.
const (
	replyTask    = "task"
	replyMessage = "message" // the answer comes as a message if nothing is asked and nothing fails
)

// wantsMessage reports whether a client wants the answer as a message.
func wantsMessage(r *a2a.SendRequest) bool { return r.Message.Metadata["reply"] == replyMessage }

// restOf returns what a client gets that waits until the task rests.
func restOf(r *a2a.SendRequest, t *a2a.Task) a2a.Event {
	if wantsMessage(r) && t.Status.State == a2a.Completed {
		return a2a.Event{Message: a2a.Reply(t)}
	}
	return a2a.Event{Task: t.With(r.Config.History, true)}
}

// Stream implements [a2a.Service].
func (a *a2aService) Stream(ctx context.Context, r *a2a.SendRequest, out a2a.Stream) error {
	done, err := userOf(ctx).openStream()
	if err != nil {
		return err
	}
	defer done()
	info, least, err := a.begin(ctx, r)
	if err == nil {
		err = a.pushOf(ctx, info, r.Config.Push)
	}
	if err != nil {
		return err
	}
	send := out.Begin()
	first := true
	return a.follow(ctx, send, a.projector(ctx, info), least, func(p *a2a.Projector, events []a2a.Event) (bool, error) {
		t := p.Last()
		rests := t.Status.State.Rests()
		switch {
		case wantsMessage(r) && !rests:
			return false, nil
		case wantsMessage(r):
			events = []a2a.Event{restOf(r, t)} // a stream has one message or one task, and nothing beside it
		case first:
			first = false
			events = []a2a.Event{{Task: t.With(r.Config.History, true), ID: p.Whole(events)}}
		}
		return rests, sendAll(send, events)
	})
}

// sendAll sends events in their order, and stops at the first error.
func sendAll(send func(string, []byte) error, events []a2a.Event) error {
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if err := send(e.ID, data); err != nil {
			return err
		}
	}
	return nil
}

// Subscribe implements [a2a.Service]. A client that names the last event that it has
// gets those after it, and otherwise the task as it is and what follows.
func (a *a2aService) Subscribe(ctx context.Context, r *a2a.TaskRequest, out a2a.Stream) error {
	done, err := userOf(ctx).openStream()
	if err != nil {
		return err
	}
	defer done()
	info, t, err := a.task(ctx, r.ID)
	if err != nil {
		return err
	}
	var last a2a.EventID
	if r.Last != "" {
		if last, err = a2a.ParseEventID(r.Last); err != nil {
			return a2a.BadField("Last-Event-ID", err.Error())
		}
	} else if t.Status.State.Ended() {
		return a2a.Unsupported(fmt.Sprintf("the task is %s: nothing follows", t.Status.State))
	}
	send, first, least := out.Begin(), r.Last == "", info.Events
	if !first {
		least = 0
	}
	p := a.projector(ctx, info)
	p.From = last
	return a.follow(ctx, send, p, least, func(p *a2a.Projector, events []a2a.Event) (bool, error) {
		t := p.Task(r.ID)
		if t == nil {
			return false, nil
		}
		if first {
			first = false
			events = []a2a.Event{{Task: t.With(r.History, true), ID: p.Whole(events)}}
		}
		return t.Status.State.Ended(), sendAll(send, p.After(events))
	})
}

// follow calls do with what happens in a session after the event least, until do
// returns true.
func (a *a2aService) follow(
	ctx context.Context, send func(string, []byte) error, p *a2a.Projector, least int64,
	do func(*a2a.Projector, []a2a.Event) (bool, error),
) error {
	var alive func() error
	if send != nil {
		alive = func() error { return send("", nil) } // a comment
	}
	return a.followUntil(ctx, alive, p.Session, func(h heard) (bool, error) {
		var events []a2a.Event
		if h.event.Body != nil {
			events = p.Apply(h.event)
		} else {
			events = p.Wait(asked(h.waiting))
		}
		if p.State.Seq < least || p.Last() == nil {
			return false, nil
		}
		return do(p, events)
	})
}

// begin sends a message: it begins a task, or is for one that goes on. It returns the
// session, and the event after which what follows is new.
func (a *a2aService) begin(ctx context.Context, r *a2a.SendRequest) (info journal.SessionInfo, least int64, err error) {
	m := r.Message
	switch {
	case m == nil:
		return info, 0, a2a.BadField("message", "it is required")
	case m.ID == "" || len(m.ID) > 255:
		return info, 0, a2a.BadField("message.messageId", "it is required, with at most 255 bytes")
	case m.Role != a2a.RoleUser:
		return info, 0, a2a.BadField("message.role", "it must be "+a2a.RoleUser)
	case len(m.Parts) == 0:
		return info, 0, a2a.BadField("message.parts", "it must not be empty")
	case r.Config.History != nil && *r.Config.History < 0:
		return info, 0, a2a.BadField("configuration.historyLength", "it must not be negative")
	}
	switch reply := m.Metadata["reply"]; {
	case reply != nil && reply != replyTask && reply != replyMessage:
		return info, 0, a2a.BadField("message.metadata.reply", "it must be "+replyTask+" or "+replyMessage)
	case reply == replyMessage && r.Config.Now:
		return info, 0, a2a.BadField("message.metadata.reply", "what is returned immediately is a task")
	}
	if r.Config.Push != nil {
		if err := a.checkPush(r.Config.Push); err != nil {
			return info, 0, err
		}
	}
	in := new(messageRequest)
	in.Body.ID = m.ID
	if in.Body.Text, in.Body.Attachments, err = partsOf(m.Parts); err != nil {
		return info, 0, err
	}
	if m.Task != "" {
		return a.goOn(ctx, m, in)
	}
	if info, err = a.contextOf(ctx, m); err != nil {
		return info, 0, a2aProblem(err)
	}
	return a.say(ctx, info, in)
}

// say sends a message to a session.
func (a *a2aService) say(ctx context.Context, info journal.SessionInfo, in *messageRequest) (journal.SessionInfo, int64, error) {
	in.OneSession.ID = info.ID
	out, err := a.sendMessage(ctx, info, in)
	if err != nil {
		return info, 0, a2aProblem(err)
	}
	return info, max(out.Body.Seq, info.Events), nil // who repeats a message gets the task as it is now
}

// a2aProblem returns an error of an operation as one of the protocol. A field of our API
// becomes the one of the message.
func a2aProblem(err error) error {
	var field *FieldError
	switch {
	case errors.As(err, &field):
		return a2a.BadField("message."+strings.TrimPrefix(field.Field, "body."), field.Err.Error())
	case errors.Is(err, openmanus.ErrConflict):
		return a2a.BadField("message.messageId", "a message with this id and another content was sent before")
	}
	return err
}

// contextOf returns the session for a message that names no task: a new one, unless
// it names a context that exists.
func (a *a2aService) contextOf(ctx context.Context, m *a2a.Message) (journal.SessionInfo, error) {
	name := m.Context
	if name == "" {
		name = ids.New()
	}
	info, err := a.context(ctx, name)
	if !errors.Is(err, openmanus.ErrNoSession) {
		return info, err
	}
	if !contextName.MatchString(name) {
		return info, &FieldError{"contextId", errors.New("a new one has at most 128 letters, digits, dots, dashes and underscores")}
	}
	n := NewSession{}
	n.Agent, _ = m.Metadata["agent"].(string)
	n.Model, _ = m.Metadata["model"].(string)
	if schema, ok := m.Metadata["schema"]; ok {
		if n.Answer, err = json.Marshal(schema); err == nil {
			_, err = args.Compile(n.Answer)
		}
		if err != nil {
			return info, &FieldError{"metadata.schema", err}
		}
	}
	info, err = a.sessionNamed(ctx, contextPrefix(ctx)+name, n)
	return info, renameFields(err, "metadata")
}

// goOn sends a message to a task: it decides what waits, if it can, and the agent
// reads it otherwise.
func (a *a2aService) goOn(ctx context.Context, m *a2a.Message, in *messageRequest) (journal.SessionInfo, int64, error) {
	info, t, err := a.task(ctx, m.Task)
	switch {
	case err != nil:
		return info, 0, err
	case m.Context != "" && m.Context != t.Context:
		return info, 0, a2a.BadField("message.contextId", "the task belongs to another context")
	}
	again, err := a.decided(ctx, info.ID, m)
	if err != nil {
		return info, 0, err
	}
	if was := t.Heard(m.ID); again || was != nil && was.Text() == m.Text() { // sent again, because the answer was lost
		return info, info.Events, nil
	}
	if t.Status.State.Ended() {
		return info, 0, a2a.Unsupported(fmt.Sprintf("the task is %s: send the message without taskId to begin another one", t.Status.State))
	}
	_, _, waiting, err := a.standingOf(ctx, info.ID)
	if err != nil {
		return info, 0, err
	}
	w, payload, ok, err := decisionOf(m, in.Body.Text, waiting)
	if err != nil || !ok {
		if err == nil {
			return a.say(ctx, info, in)
		}
		return info, 0, err
	}
	out, err := a.decideWaiting(ctx, w, m.ID, false, payload)
	if err != nil {
		return info, 0, a2aProblem(err)
	}
	if w.Session != info.ID {
		return info, info.Events, nil
	}
	return info, out.Body.Seq, nil
}

// decided reports whether a message has decided something in a session or below it. An
// answer with its id and another text is another message, as the kit of A2A has it.
func (a *a2aService) decided(ctx context.Context, id string, m *a2a.Message) (bool, error) {
	for ev, err := range a.Store.Events(ctx, id, 0) {
		if err != nil {
			return false, err
		}
		found := false
		switch b := ev.Body.(type) {
		case openmanus.Ruled:
			found = b.Message == m.ID
		case openmanus.Answered:
			found = b.Message == m.ID && (b.Data != nil || b.Text == m.Text())
		case openmanus.ChildOpened:
			if found, err = a.decided(ctx, b.Child, m); errors.Is(err, openmanus.ErrNoSession) {
				err = nil // it is about to be opened
			}
		}
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// decisionOf reads what a message decides of what waits: a text that is the answer to
// a question, or yes or no, or data {"call", "approved" | "answer"}. Another text to an
// approval decides nothing.
func decisionOf(m *a2a.Message, text string, waiting []Waiting) (w Waiting, payload json.RawMessage, ok bool, err error) {
	if len(waiting) == 0 {
		return w, nil, false, nil
	}
	var data struct {
		Call   string
		Answer json.RawMessage
	}
	for _, p := range m.Parts {
		if len(p.Data) > 0 && json.Unmarshal(p.Data, &data) == nil {
			payload = p.Data
		}
	}
	if call, is := m.Metadata["call"].(string); is {
		data.Call = call
	}
	var fit []Waiting
	for _, w := range waiting {
		if data.Call == "" || w.Call == data.Call {
			fit = append(fit, w)
		}
	}
	if len(fit) != 1 {
		return w, nil, false, a2a.BadField("message.parts", "several calls wait: say which one in data {\"call\": ID, \"approved\": …}\n"+asked(waiting))
	}
	w = fit[0]
	approval := w.Kind == string(openmanus.AskRuling)
	switch {
	case payload != nil && !approval && len(data.Answer) > 0 && string(data.Answer) != "null":
		return w, data.Answer, true, nil
	case payload != nil && approval:
		return w, payload, true, nil
	case !approval:
		payload, err = json.Marshal(strings.TrimSpace(text))
		return w, payload, true, err
	}
	switch strings.ToLower(strings.Trim(strings.TrimSpace(text), ".!")) {
	case "yes", "y", "ok", "okay", "approve", "approved", "allow", "true":
		return w, json.RawMessage("true"), true, nil
	case "no", "n", "deny", "denied", "reject", "rejected", "false":
		return w, json.RawMessage("false"), true, nil
	}
	return w, nil, false, nil
}

// partsOf reads the parts of a message.
func partsOf(parts []a2a.Part) (text string, files []Attachment, err error) {
	for i, p := range parts {
		kind, _, _ := strings.Cut(p.MediaType, ";")
		readable := kind == "" || kind == "application/json" || strings.HasPrefix(kind, "text/") || strings.HasPrefix(kind, "image/")
		field := fmt.Sprintf("message.parts[%d]", i)
		switch {
		case !readable:
			return "", nil, a2a.BadMedia(fmt.Sprintf("%s: the agent reads text, JSON and images, not %s", field, kind))
		case p.Text != nil:
			text += *p.Text
		case p.Raw != nil:
			name := p.Filename
			if name == "" {
				name = fmt.Sprintf("file-%d", i+1)
			}
			files = append(files, Attachment{Name: name, MIME: kind, Data: base64.StdEncoding.EncodeToString(p.Raw)})
		case len(p.Data) > 0:
			text += "\n" + string(p.Data)
		case p.URL != "":
			return "", nil, a2a.BadMedia(field + ": send the content of the file, not its URL")
		default:
			return "", nil, a2a.BadField(field, "it must have text, raw, url or data")
		}
	}
	return text, files, nil
}
