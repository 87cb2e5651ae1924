package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// acted is the answer to what people do: the events that came of it, in order.
type acted struct {
	Body struct {
		Seq int64 `json:"seq" doc:"The sequence number of the event that this became, or that it was before."`
	}
}

// act appends bodies to a session of the user who asks, and lets it go on.
// Saying the same again says it once.
func (s *Server) act(ctx context.Context, id string, bodies ...openmanus.Body) (*acted, error) {
	evs, err := s.Store.Append(ctx, id, bodies...)
	if err != nil && (!errors.Is(err, openmanus.ErrExists) || errors.Is(err, openmanus.ErrConflict)) {
		return nil, err
	}
	out := new(acted)
	if len(evs) > 0 {
		out.Body.Seq = evs[len(evs)-1].Seq
	}
	return out, s.wake(ctx, id)
}

// wake lets a session go on, and those that wait for it.
func (s *Server) wake(ctx context.Context, id string) error {
	for id != "" {
		info, err := s.Store.Session(ctx, id)
		if err != nil {
			return err
		}
		if info.Parent == "" {
			s.scheduler.wake(info)
		}
		id = info.Parent
	}
	return nil
}

type sayRequest struct {
	OneSession
	Body struct {
		ID          string       `json:"id,omitempty" maxLength:"100" pattern:"^[A-Za-z0-9._-]*$" doc:"Yours: what is sent twice with the same id is said once. Default: a new one."`
		Text        string       `json:"text" maxLength:"1000000"`
		Attachments []Attachment `json:"attachments,omitempty" maxItems:"20"`
	}
}

// An Attachment is a file that comes with a message.
type Attachment struct {
	Name string `json:"name" minLength:"1" maxLength:"255"`
	MIME string `json:"mime,omitempty" maxLength:"100" doc:"What it is. Images are shown to the model; text is read to it; anything else belongs into the workspace."`
	Data string `json:"data" doc:"In base64."`
}

func (s *Server) say(ctx context.Context, in *sayRequest) (*acted, error) {
	info, err := s.mine(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	m := openmanus.UserSaid{ID: in.Body.ID, Message: llm.Message{Role: llm.User}}
	if m.ID == "" {
		m.ID = ids.New()
	}
	if text := strings.TrimSpace(in.Body.Text); text != "" {
		m.Message.Parts = append(m.Message.Parts, llm.Text{Text: text})
	}
	for i, a := range in.Body.Attachments {
		p, err := a.part()
		if err != nil {
			return nil, &FieldError{fmt.Sprintf("body.attachments[%d]", i), err}
		}
		m.Message.Parts = append(m.Message.Parts, p)
	}
	if len(m.Message.Parts) == 0 {
		return nil, &FieldError{"text", errors.New("nothing is said, and nothing attached")}
	}
	err = s.states.view(ctx, in.ID, func(st *openmanus.State) error {
		if st.Foreign != "" {
			return huma.Error409Conflict("the session has events of a newer version: it can be read, and not gone on with")
		}
		if st.Turn == 0 && len(st.Inbox) == 0 {
			m.Note = s.Host.Environment(info.Workspace)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if said, err := s.saidBefore(ctx, in.ID, m); err != nil || said != nil {
		return said, err
	}
	if err := s.room(ctx, info); err != nil {
		return nil, err
	}
	return s.act(ctx, in.ID, m)
}

// room says why one more session of the user who asks cannot be at work now.
// One that is at work already, or another's below, can go on.
func (s *Server) room(ctx context.Context, info journal.SessionInfo) error {
	if it, all := s.scheduler.driven(info); !it && info.Parent == "" && all >= userOf(ctx).Sessions {
		return huma.Error429TooManyRequests(fmt.Sprintf("%d sessions of yours are at work, and no more may be at once; wait until one ends", all))
	}
	return nil
}

// saidBefore returns the answer to a message that was sent before, which had
// its note from another time.
func (s *Server) saidBefore(ctx context.Context, id string, m openmanus.UserSaid) (*acted, error) {
	for ev, err := range s.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		if said, ok := ev.Body.(openmanus.UserSaid); ok && said.ID == m.ID {
			m.Note = said.Note
			return s.act(ctx, id, m)
		}
	}
	return nil, nil
}

const maxAttachedText = 1 << 20

func (a Attachment) part() (llm.Part, error) {
	data, err := base64.StdEncoding.DecodeString(a.Data)
	if err != nil {
		return nil, fmt.Errorf("its data are not base64: %w", err)
	}
	switch {
	case strings.HasPrefix(a.MIME, "image/"):
		return llm.Blob{MIME: a.MIME, Name: a.Name, Data: data}, nil
	case utf8.Valid(data) && len(data) <= maxAttachedText:
		return llm.Text{Text: fmt.Sprintf("\n\n<file name=%q>\n%s\n</file>", a.Name, strings.TrimSuffix(string(data), "\n"))}, nil
	}
	return nil, errors.New("it is neither an image nor text of a megabyte or less: put it into the workspace (PUT …/files/NAME) and say where it is")
}

type ruleRequest struct {
	OneSession
	Body struct {
		Call   string          `json:"call" minLength:"1" maxLength:"100"`
		Allow  bool            `json:"allow"`
		Input  json.RawMessage `json:"input,omitempty" doc:"Run it with these arguments instead. The agent is told."`
		Reason string          `json:"reason,omitempty" maxLength:"10000" doc:"For the agent, if it may not run."`

		Remember bool `json:"remember,omitempty" doc:"Decide so for good: this very call, with these arguments, in this workspace."`
	}
}

func (s *Server) rule(ctx context.Context, in *ruleRequest) (*acted, error) {
	c, q, specs, err := s.pending(ctx, in.ID, in.Body.Call, openmanus.AskRuling)
	if err != nil {
		return nil, err
	}
	r := openmanus.Ruled{Call: c.ID, Allow: in.Body.Allow, By: userOf(ctx).Name, Hash: q.Hash}
	keep, err := s.lasting(ctx, in)
	if err != nil {
		return nil, err
	}
	if keep != nil {
		r.Rule = "remembered from now on"
	}
	switch {
	case !r.Allow && in.Body.Reason != "":
		r.Reason = "the person said: " + in.Body.Reason
	case !r.Allow:
		r.Reason = "the person said no"
	case len(in.Body.Input) > 0:
		if r.Input, err = fit(string(in.Body.Input), c, specs); err != nil {
			return nil, &FieldError{"input", err}
		}
	}
	done, err := s.settle(ctx, in.ID, r)
	if err == nil && keep != nil {
		err = keep(r.By, r.Allow)
	}
	return done, err
}

// lasting returns what keeps the decision that was asked for, or nil if it is
// for this once.
func (s *Server) lasting(ctx context.Context, in *ruleRequest) (keep func(by string, allow bool) error, err error) {
	if !in.Body.Remember {
		return nil, nil
	}
	h, ok := s.Host.(Rememberer)
	if !ok {
		return nil, &FieldError{"remember", errors.New("nothing is remembered here")}
	}
	if len(in.Body.Input) > 0 {
		return nil, &FieldError{"remember", errors.New("it is for the call as the agent made it, and input changes that")}
	}
	err = s.states.view(ctx, in.ID, func(st *openmanus.State) error {
		if c := st.Call(in.Body.Call); c != nil {
			keep = h.Remember(in.ID, st, c)
		}
		return nil
	})
	if err == nil && keep == nil {
		err = &FieldError{"remember", errors.New("an edit cannot be decided on for good: what it does depends on the file")}
	}
	return keep, err
}

// fit checks the arguments that a person wrote for c.
func fit(input string, c openmanus.CallState, specs []openmanus.Spec) (string, error) {
	for _, spec := range specs {
		if spec.Name != c.Name {
			continue
		}
		schema, err := args.Compile(spec.Input)
		if err != nil {
			return "", err
		}
		if input, err = schema.Check(input); err != nil {
			return "", err
		}
	}
	if input == c.Arguments() {
		return "", nil // as the model wrote them
	}
	return input, nil
}

type answerRequest struct {
	OneSession
	Body struct {
		Call   string `json:"call" minLength:"1" maxLength:"100"`
		Answer any    `json:"answer" doc:"Text; or what fits the question's schema, if it has one."`
	}
}

func (s *Server) answer(ctx context.Context, in *answerRequest) (*acted, error) {
	c, q, _, err := s.pending(ctx, in.ID, in.Body.Call, openmanus.AskText)
	if err != nil {
		return nil, err
	}
	a := openmanus.Answered{Call: c.ID, N: q.N, By: userOf(ctx).Name}
	text, isText := in.Body.Answer.(string)
	switch {
	case len(q.Schema) > 0:
		if a.Data, err = fitting(in.Body.Answer, q.Schema); err != nil {
			return nil, &FieldError{"answer", err}
		}
		a.Text = string(a.Data)
	case !isText || strings.TrimSpace(text) == "":
		return nil, &FieldError{"answer", errors.New("it must be text, and not empty")}
	default:
		a.Text = text
	}
	return s.settle(ctx, in.ID, a)
}

// fitting returns an answer in JSON, if it fits the schema.
func fitting(answer any, schema json.RawMessage) (json.RawMessage, error) {
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

// settle appends a decision. A second one that says otherwise is a conflict
// that tells of the first.
func (s *Server) settle(ctx context.Context, id string, b openmanus.Body) (*acted, error) {
	out, err := s.act(ctx, id, b)
	if errors.Is(err, openmanus.ErrConflict) {
		err = huma.Error409Conflict("somebody was faster: it is decided already")
	}
	return out, err
}

// pending returns copies of a call that waits for a person in the given way,
// of its question and of the session's tools.
func (s *Server) pending(ctx context.Context, id, call string, kind openmanus.AskKind) (c openmanus.CallState, q openmanus.Asked, specs []openmanus.Spec, err error) {
	if _, err = s.mine(ctx, id); err != nil {
		return c, q, nil, err
	}
	err = s.states.view(ctx, id, func(st *openmanus.State) error {
		found := st.Call(call)
		if found == nil {
			return &FieldError{"call", fmt.Errorf("the session has no open call %q", call)}
		}
		c, q, specs = *found, found.Question(), st.Config.Tools
		switch {
		case q.Kind != kind && !found.Asking && found.Done == nil && found.Ruled == nil:
			return huma.Error409Conflict(fmt.Sprintf("the call %s waits for nobody", call))
		case q.Kind != kind:
			return huma.Error409Conflict(fmt.Sprintf("the call %s waits for a %s", call, map[openmanus.AskKind]string{openmanus.AskRuling: "ruling", openmanus.AskText: "answer"}[q.Kind]))
		case !found.Asking && found.Done != nil:
			return huma.Error409Conflict(fmt.Sprintf("the call %s is over: %s", call, cut(found.Done.Parts.Text(), 200)))
		}
		return nil
	})
	return c, q, specs, err
}

// cut is the beginning of a text.
func cut(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:most]) + "…"
}

func (s *Server) interrupt(ctx context.Context, in *OneSession) (*acted, error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	err := s.states.view(ctx, in.ID, func(st *openmanus.State) error {
		if now := st.Status(); now != openmanus.Running && now != openmanus.Waiting {
			return huma.Error409Conflict(fmt.Sprintf("the session is %s: there is nothing to interrupt", now))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.act(ctx, in.ID, openmanus.Interrupted{ID: ids.New()})
}

type retryRequest struct {
	OneSession
	Body struct {
		Limits Limits `json:"limits,omitempty" doc:"In force from now on, if not 0."`
	}
}

func (s *Server) retry(ctx context.Context, in *retryRequest) (*acted, error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	err := s.states.view(ctx, in.ID, func(st *openmanus.State) error {
		if now := st.Status(); now != openmanus.Failed && now != openmanus.Halted {
			return huma.Error409Conflict(fmt.Sprintf("the session is %s: there is nothing to retry", now))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.act(ctx, in.ID, openmanus.Resumed{ID: ids.New(), Limits: in.Body.Limits.limits()})
}
