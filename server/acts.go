package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/journal"
)

// appended is the response to requests that append an event.
type appended struct {
	Body struct {
		Seq int64 `json:"seq" doc:"The sequence number of the event, also if an earlier request appended it."`
	}
}

// acts returns the sessions, for a person to act in.
func (s *Server) acts() act.Sessions {
	memory, _ := s.Host.(act.Memory)
	return act.Sessions{Journal: s.Store, View: s.states.view, Wake: s.wake, Memory: memory, Note: s.Host.Environment}
}

// acted returns the response to what a person did, and how it went.
func acted(seq int64, err error) (*appended, error) {
	if err != nil {
		return nil, refused(err)
	}
	out := new(appended)
	out.Body.Seq = seq
	return out, nil
}

// named is [refused] of an error that says which field of a request is at fault, or that the
// session has moved on. Another one, such as of the configuration, stays as it is.
func named(err error) error {
	e := (*act.Error)(nil)
	if errors.As(err, new(*FieldError)) || !errors.As(err, &e) || e.Field == "" && e.Kind == act.Invalid {
		return err
	}
	return refused(err)
}

// inField returns err with the field of the request that is at fault, if it is an [act.Error].
func inField(field string, err error) error {
	if e := (*act.Error)(nil); errors.As(err, &e) {
		return refused(&act.Error{Kind: e.Kind, Field: field, Err: err})
	}
	return err
}

// refused returns an [act.Error] as the response to a request, and other errors as they are.
func refused(err error) error {
	var e *act.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Kind == act.Absent:
		return &FieldError{e.Field, Absent(e.Error())}
	case e.Kind == act.Conflict:
		return huma.Error409Conflict(e.Error())
	}
	return &FieldError{e.Field, e.Err}
}

// wake wakes the root of the tree of sessions that a session belongs to. The
// runtime drives children as part of their parents. It does so although ctx has ended:
// a client that has left does not ask again.
func (s *Server) wake(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx)
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
	m, err := s.message(ctx, in)
	if err != nil {
		return nil, err
	}
	m.Trace = traceOf(ctx)
	if err := checkWorkspace(info.Workspace); err != nil {
		return nil, err
	}
	again, err := s.acts().Prepare(ctx, info.ID, &m)
	if err != nil {
		return nil, refused(err)
	}
	if !again {
		if err := s.checkQuota(ctx, info); err != nil {
			return nil, err
		}
		if err := s.addUpload(userOf(ctx), in.attached(), false, time.Now()); err != nil {
			return nil, err
		}
	}
	return acted(s.acts().Append(ctx, info.ID, m))
}

// attached returns about how many bytes are attached to the message.
func (in *messageRequest) attached() (n int64) {
	for _, a := range in.Body.Attachments {
		n += int64(base64.StdEncoding.DecodedLen(len(a.Data)))
	}
	return n
}

// maxAttachedText is the most bytes of a text attachment.
const maxAttachedText = 1 << 20

// message converts a request to the body to append, still without a note. An attachment of
// which the model could see nothing is an error that says where such a file belongs, and so
// is a message without any content.
func (s *Server) message(ctx context.Context, in *messageRequest) (openmanus.UserSaid, error) {
	m := act.Message(in.Body.ID, in.Body.Text, in.sources...)
	for i, a := range in.Body.Attachments {
		data, err := base64.StdEncoding.DecodeString(a.Data)
		if err != nil {
			err = fmt.Errorf("data is not base64: %w", err)
		}
		seen := false
		if err == nil && (strings.HasPrefix(a.MIME, "image/") || len(data) <= maxAttachedText) {
			seen, err = act.Attach(ctx, s.Local.Secrets.Blobs(s.Store), &m, act.File{Name: a.Name, MIME: a.MIME, Data: data})
		}
		if err == nil && !seen {
			err = errors.New("an attachment is an image, or text of at most 1 MiB: " +
				"put other files into the workspace (PUT …/files/NAME) and name them in the message")
		}
		if err != nil {
			return m, &FieldError{fmt.Sprintf("body.attachments[%d]", i), err}
		}
	}
	if len(m.Message.Parts) == 0 {
		return m, &FieldError{"text", errors.New("the message has neither text nor attachments")}
	}
	return m, nil
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

// rule records the user's decision about a call that waits for approval.
func (s *Server) rule(ctx context.Context, info journal.SessionInfo, in *rulingRequest) (*appended, error) {
	b := in.Body
	return acted(s.acts().Rule(ctx, info.ID, act.Decision{
		Call: b.Call, Allow: b.Allow, By: userOf(ctx).Name, Input: string(b.Input), Reason: b.Reason, Scope: b.Scope, Remember: b.Remember, Message: in.message,
	}))
}

// An answerRequest answers the question of a call that waits for text.
type answerRequest struct {
	OneSession
	message string // the id of the message that it came with, of a protocol that has them
	Body    struct {
		Call   string          `json:"call" minLength:"1" maxLength:"100"`
		Answer json.RawMessage `json:"answer" doc:"Text, or a value that matches the question's schema if it has one."`
	}
}

// answer records the user's answer to a question of a call.
func (s *Server) answer(ctx context.Context, info journal.SessionInfo, in *answerRequest) (*appended, error) {
	a := act.Answer{Call: in.Body.Call, By: userOf(ctx).Name, Message: in.message}
	if json.Unmarshal(in.Body.Answer, &a.Text) != nil {
		a.Data = in.Body.Answer
	}
	return acted(s.acts().Answer(ctx, info.ID, a))
}

// pendingCall returns a copy of the call with an id, which must wait for the given kind of
// decision, and its question.
func (s *Server) pendingCall(ctx context.Context, id, call string, kind openmanus.AskKind) (c openmanus.CallState, q openmanus.Asked, err error) {
	err = s.states.view(ctx, id, func(st *openmanus.State) error {
		waits, asked, err := act.Waiting(st, call, kind)
		if err == nil {
			c, q = *waits, asked
		}
		return refused(err)
	})
	return c, q, err
}

// interrupt stops a session that runs or waits: its calls are cancelled, and their
// results recorded. The next message, or retry, continues it.
func (s *Server) interrupt(ctx context.Context, info journal.SessionInfo, in *OneSession) (*appended, error) {
	return acted(s.acts().Interrupt(ctx, info.ID, ""))
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
	limits := in.Body.Limits.limits()
	if l, ok := s.Host.(Limiter); ok {
		if err := l.MayLimit(ctx, info.ID, limits); err != nil {
			return nil, err
		}
	}
	return acted(s.acts().Continue(ctx, info.ID, limits))
}
