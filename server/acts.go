package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// appended is the response to requests that append an event.
type appended struct {
	Body struct {
		Seq int64 `json:"seq" doc:"The sequence number of the event, also if an earlier request appended it."`
	}
}

// appendAndWake appends bodies to a session and wakes it. Bodies that are
// there already, with the same keys and contents, count as appended, so that a
// client can repeat a request. Other contents are [openmanus.ErrConflict].
func (s *Server) appendAndWake(ctx context.Context, id string, bodies ...openmanus.Body) (*appended, error) {
	evs, err := s.Store.Append(ctx, id, bodies...)
	if err != nil && (!errors.Is(err, openmanus.ErrExists) || errors.Is(err, openmanus.ErrConflict)) {
		return nil, err
	}
	out := new(appended)
	if len(evs) > 0 {
		out.Body.Seq = evs[len(evs)-1].Seq
	}
	return out, s.wake(ctx, id)
}

// wake wakes the root of the tree of sessions that a session belongs to. The
// runtime drives children as part of their parents.
func (s *Server) wake(ctx context.Context, id string) error {
	for id != "" {
		info, err := s.Store.Session(ctx, id)
		if err != nil {
			return err
		}
		if info.Parent == "" {
			if err := checkWorkspace(info.Workspace); err != nil {
				return err
			}
			s.scheduler.wake(info)
		}
		id = info.Parent
	}
	return nil
}

// A messageRequest is a message of the user. Text and attachments together must
// not be empty. The attachments stand after the text, in their order.
type messageRequest struct {
	OneSession
	sources []openmanus.Source // who wrote it, if it is not the user alone
	Body    struct {
		ID          string       `json:"id,omitempty" maxLength:"100" pattern:"^[A-Za-z0-9._-]*$" doc:"An idempotency key: a message that is sent again with the same id is stored once. Default: a new one."`
		Text        string       `json:"text" maxLength:"1000000"`
		Attachments []Attachment `json:"attachments,omitempty" maxItems:"20"`
	}
}

// An Attachment is a file that comes with a message.
type Attachment struct {
	Name string `json:"name" minLength:"1" maxLength:"255"`
	MIME string `json:"mime,omitempty" maxLength:"100" doc:"Its media type. The model sees images and text; put other files into the workspace."`
	Data string `json:"data" doc:"Base64."`
}

// sendMessage appends a message of the user and wakes the session. The first
// message of a session gets the host's note about the workspace. While the
// session runs, the agent reads the message before its next reply.
func (s *Server) sendMessage(ctx context.Context, info journal.SessionInfo, in *messageRequest) (*appended, error) {
	m, err := in.message()
	if err != nil {
		return nil, err
	}
	m.Trace = traceOf(ctx)
	if err := checkWorkspace(info.Workspace); err != nil {
		return nil, err
	}
	err = s.states.view(ctx, info.ID, func(st *openmanus.State) error {
		if st.Foreign != "" {
			return huma.Error409Conflict("the session has events of a newer version: it can be read but not continued")
		}
		if st.Turn == 0 && len(st.Inbox) == 0 {
			m.Note = s.Host.Environment(info.Workspace)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if out, err := s.repeatMessage(ctx, info.ID, m); err != nil || out != nil {
		return out, err
	}
	if err := s.checkQuota(ctx, info); err != nil {
		return nil, err
	}
	if err := s.addUpload(userOf(ctx), in.attached(), false, time.Now()); err != nil {
		return nil, err
	}
	return s.appendAndWake(ctx, info.ID, m)
}

// attached returns about how many bytes are attached to the message.
func (in *messageRequest) attached() (n int64) {
	for _, a := range in.Body.Attachments {
		n += int64(base64.StdEncoding.DecodedLen(len(a.Data)))
	}
	return n
}

// message converts a request to the body to append, still without a note. A message
// without an id gets a new one; the id is the idempotency key. A message without any
// content is an error.
func (in *messageRequest) message() (openmanus.UserSaid, error) {
	m := openmanus.UserSaid{ID: in.Body.ID, Message: llm.Message{Role: llm.User}, Sources: in.sources}
	if m.ID == "" {
		m.ID = ids.New()
	}
	if text := strings.TrimSpace(in.Body.Text); text != "" {
		m.Message.Parts = append(m.Message.Parts, llm.Text{Text: text})
	}
	for i, a := range in.Body.Attachments {
		p, err := a.part()
		if err != nil {
			return m, &FieldError{fmt.Sprintf("body.attachments[%d]", i), err}
		}
		m.Message.Parts = append(m.Message.Parts, p)
	}
	if len(m.Message.Parts) == 0 {
		return m, &FieldError{"text", errors.New("the message has neither text nor attachments")}
	}
	return m, nil
}

// repeatMessage appends m again if the session has a message of the same id.
// It takes the note and the trace of the earlier message, which are not part of what the
// client says, so that the contents are the same if that is. It returns nil if there
// is no such message.
func (s *Server) repeatMessage(ctx context.Context, id string, m openmanus.UserSaid) (*appended, error) {
	for ev, err := range s.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		if said, ok := ev.Body.(openmanus.UserSaid); ok && said.ID == m.ID {
			m.Note, m.Trace = said.Note, said.Trace
			return s.appendAndWake(ctx, id, m)
		}
	}
	return nil, nil
}

// maxAttachedText is the most bytes of a text attachment, which becomes part
// of the prompt.
const maxAttachedText = 1 << 20

// part returns the attachment as the model receives it: images as images, and short text
// as text. Anything else is an error that says where such a file belongs.
func (a Attachment) part() (llm.Part, error) {
	data, err := base64.StdEncoding.DecodeString(a.Data)
	if err != nil {
		return nil, fmt.Errorf("data is not base64: %w", err)
	}
	switch {
	case strings.HasPrefix(a.MIME, "image/"):
		return llm.Blob{MIME: a.MIME, Name: a.Name, Data: data}, nil
	case utf8.Valid(data) && len(data) <= maxAttachedText:
		text := strings.TrimSuffix(string(data), "\n")
		return llm.Text{Text: fmt.Sprintf("\n\n<file name=%q>\n%s\n</file>", a.Name, text)}, nil
	}
	return nil, errors.New("an attachment is an image, or text of at most 1 MiB: " +
		"put other files into the workspace (PUT …/files/NAME) and name them in the message")
}

// A rulingRequest decides whether a call that waits for a ruling may run. Input is
// checked against the tool's schema as the model's arguments are.
type rulingRequest struct {
	OneSession
	message string // the id of the message that it came with, of a protocol that has them
	Body    struct {
		Call     string          `json:"call" minLength:"1" maxLength:"100"`
		Allow    bool            `json:"allow"`
		Input    json.RawMessage `json:"input,omitempty" doc:"Run the call with these arguments instead. The agent learns about it."`
		Reason   string          `json:"reason,omitempty" maxLength:"10000" doc:"If the call is denied: what to tell the agent."`
		Scope    string          `json:"scope,omitempty" maxLength:"1000" doc:"The scope of the question: allow all that the tool does there, for the rest of the session."`
		Remember bool            `json:"remember,omitempty" doc:"Remember the decision for this exact call: the same arguments in the same workspace."`
	}
}

// rule appends a ruling on a call that waits for approval. The ruling carries
// the hash of what the user was shown: if that has changed when the call is about
// to run, the call fails instead. A decision to remember is stored only after the
// ruling.
func (s *Server) rule(ctx context.Context, info journal.SessionInfo, in *rulingRequest) (*appended, error) {
	p, err := s.pendingCall(ctx, info.ID, in.Body.Call, openmanus.AskRuling)
	if err != nil {
		return nil, err
	}
	r := openmanus.Ruled{Call: p.call.ID, Allow: in.Body.Allow, By: userOf(ctx).Name, Hash: p.question.Hash, Message: in.message}
	if r.Scope = in.Body.Scope; r.Scope != "" && (r.Scope != p.question.Scope || !r.Allow || len(in.Body.Input) > 0) {
		return nil, &FieldError{"scope", errors.New("it must be the scope of the question, and the call allowed as it is")}
	}
	remember, err := s.remember(ctx, in)
	if err != nil {
		return nil, err
	}
	if remember != nil {
		r.Rule = "remembered from now on"
	}
	switch {
	case !r.Allow && in.Body.Reason != "":
		r.Reason = "the person said: " + in.Body.Reason
	case !r.Allow:
		r.Reason = "the person said no"
	case len(in.Body.Input) > 0:
		if r.Input, err = p.checkInput(string(in.Body.Input)); err != nil {
			return nil, &FieldError{"input", err}
		}
	}
	out, err := s.decide(ctx, info.ID, r)
	if err == nil && remember != nil {
		err = remember(r.By, r.Allow)
	}
	return out, err
}

// remember returns the function that remembers the decision, or nil if the
// request does not ask for that.
func (s *Server) remember(ctx context.Context, in *rulingRequest) (f func(by string, allow bool) error, err error) {
	if !in.Body.Remember {
		return nil, nil
	}
	h, ok := s.Host.(Rememberer)
	if !ok {
		return nil, &FieldError{"remember", errors.New("this server does not remember decisions")}
	}
	if len(in.Body.Input) > 0 {
		err := errors.New("only the agent's own call can be remembered: leave out input or remember")
		return nil, &FieldError{"remember", err}
	}
	err = s.states.view(ctx, in.ID, func(st *openmanus.State) error {
		if c := st.Call(in.Body.Call); c != nil {
			f = h.Remember(in.ID, st, c)
		}
		return nil
	})
	if err == nil && f == nil {
		why := errors.New("this decision cannot be remembered: the effect of the call depends on the file or page as it is then")
		err = &FieldError{"remember", why}
	}
	return f, err
}

// An answerRequest answers the question of a call that waits for text.
type answerRequest struct {
	OneSession
	message string // the id of the message that it came with, of a protocol that has them
	Body    struct {
		Call   string `json:"call" minLength:"1" maxLength:"100"`
		Answer any    `json:"answer" doc:"Text, or a value that matches the question's schema if it has one."`
	}
}

// answer appends an answer to a question of a call. With a schema, the answer
// must match it; its Text is then the JSON.
func (s *Server) answer(ctx context.Context, info journal.SessionInfo, in *answerRequest) (*appended, error) {
	p, err := s.pendingCall(ctx, info.ID, in.Body.Call, openmanus.AskText)
	if err != nil {
		return nil, err
	}
	a := openmanus.Answered{Call: p.call.ID, N: p.question.N, By: userOf(ctx).Name, Message: in.message}
	text, isText := in.Body.Answer.(string)
	switch {
	case len(p.question.Schema) > 0:
		if a.Data, err = checkAnswer(in.Body.Answer, p.question.Schema); err != nil {
			return nil, &FieldError{"answer", err}
		}
		a.Text = string(a.Data)
	case !isText || strings.TrimSpace(text) == "":
		return nil, &FieldError{"answer", errors.New("it must be text, and not empty")}
	default:
		a.Text = text
	}
	return s.decide(ctx, info.ID, a)
}

// checkAnswer returns an answer in JSON if it matches the schema. Values that fit after an
// obvious conversion, such as a number in a string, are converted.
func checkAnswer(answer any, schema json.RawMessage) (json.RawMessage, error) {
	data, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	compiled, err := args.Compile(schema)
	if err != nil {
		return nil, err
	}
	checked, err := compiled.Check(string(data))
	return json.RawMessage(checked), err
}

// decide appends a ruling or an answer. The first decision holds: if there is
// another one already, the error is a conflict.
func (s *Server) decide(ctx context.Context, id string, b openmanus.Body) (*appended, error) {
	out, err := s.appendAndWake(ctx, id, b)
	if errors.Is(err, openmanus.ErrConflict) {
		err = huma.Error409Conflict("this has been decided differently already; the first decision holds")
	}
	return out, err
}

// A pendingCall is a copy of a call that waits for the user.
type pendingCall struct {
	call     openmanus.CallState
	question openmanus.Asked
	tools    []openmanus.ToolSpec // of the session
}

// pendingCall returns the call with this id, which must wait for the given
// kind of decision.
func (s *Server) pendingCall(ctx context.Context, id, call string, kind openmanus.AskKind) (p pendingCall, err error) {
	err = s.states.view(ctx, id, func(st *openmanus.State) error {
		c := st.Call(call)
		if c == nil {
			return &FieldError{"call", Absent(fmt.Sprintf("the session has no open call %q", call))}
		}
		p = pendingCall{*c, c.Question(), st.Config.Tools}
		switch asked := p.question.Kind; {
		case asked == "":
			return huma.Error409Conflict(fmt.Sprintf("call %s does not wait for the user", call))
		case asked != kind:
			return huma.Error409Conflict(fmt.Sprintf("call %s waits for %s", call, decisions[asked]))
		case !c.Asking && c.Done != nil:
			return huma.Error409Conflict(fmt.Sprintf("call %s has ended: %s", call, clip.Text(c.Done.Parts.Text(), 200)))
		}
		return nil
	})
	return p, err
}

// decisions name what calls wait for.
var decisions = map[openmanus.AskKind]string{openmanus.AskRuling: "a ruling", openmanus.AskText: "an answer"}

// checkInput checks arguments that the user wrote for the call against the
// tool's schema. It returns "" if they are those of the model.
func (p *pendingCall) checkInput(input string) (string, error) {
	for _, tool := range p.tools {
		if tool.Name != p.call.Name {
			continue
		}
		schema, err := args.Compile(tool.Input)
		if err != nil {
			return "", err
		}
		if input, err = schema.Check(input); err != nil {
			return "", err
		}
	}
	if input == p.call.Arguments() {
		return "", nil
	}
	return input, nil
}

// checkStatus returns a conflict unless the session has one of two statuses,
// in which the request makes sense.
func (s *Server) checkStatus(ctx context.Context, id, request string, one, other openmanus.Status) error {
	return s.states.view(ctx, id, func(st *openmanus.State) error {
		if now := st.Status(); now != one && now != other {
			return huma.Error409Conflict(fmt.Sprintf("the session is %s: there is nothing to %s", now, request))
		}
		return nil
	})
}

// interrupt stops a session that runs or waits: its calls are cancelled, and their
// results recorded. The next message, or retry, continues it.
func (s *Server) interrupt(ctx context.Context, info journal.SessionInfo, in *OneSession) (*appended, error) {
	if err := s.checkStatus(ctx, info.ID, "interrupt", openmanus.Running, openmanus.Waiting); err != nil {
		return nil, err
	}
	return s.appendAndWake(ctx, info.ID, openmanus.Interrupted{ID: ids.New()})
}

// A retryRequest continues a session, possibly with higher limits. Without them a
// session that a limit has stopped stops again at once.
type retryRequest struct {
	OneSession
	Body struct {
		Limits Limits `json:"limits,omitempty" doc:"New limits. Those that are 0 stay as they are."`
	}
}

// retry continues a session that failed or was stopped, with new limits if the
// request has any.
func (s *Server) retry(ctx context.Context, info journal.SessionInfo, in *retryRequest) (*appended, error) {
	if err := s.checkStatus(ctx, info.ID, "retry", openmanus.Failed, openmanus.Halted); err != nil {
		return nil, err
	}
	limits := in.Body.Limits.limits()
	if l, ok := s.Host.(Limiter); ok {
		if err := l.MayLimit(ctx, info.ID, limits); err != nil {
			return nil, err
		}
	}
	return s.appendAndWake(ctx, info.ID, openmanus.Resumed{ID: ids.New(), Limits: limits})
}
