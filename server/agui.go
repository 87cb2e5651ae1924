package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/server/agui"
)

// An aguiRequest is the input of a run, as AG-UI has it. Messages before the last
// ones are not read: the session knows them.
type aguiRequest struct {
	Last string `header:"Last-Event-ID" maxLength:"200" doc:"The id of the last event that arrived: the run goes on from there, and nothing is sent to the agent."`
	Body struct {
		_       struct{}      `json:"-" additionalProperties:"true"`
		Thread  string        `json:"threadId" minLength:"1" maxLength:"255" doc:"The client's name for the session, or the id of a session."`
		Run     string        `json:"runId" minLength:"1" maxLength:"255"`
		Msgs    []aguiMessage `json:"messages" doc:"The last one, if it is the user's, is sent to the agent. Without any, the run shows the session."`
		Tools   []aguiTool    `json:"tools,omitempty" maxItems:"100" doc:"Tools that the client runs: a run ends with its calls, and the next one brings the results as messages of the role tool."`
		Context []aguiContext `json:"context,omitempty"`
		Resume  []aguiResume  `json:"resume,omitempty" doc:"Answers to the interrupts of the run before."`
		State   any           `json:"state,omitempty" doc:"Not read: the state is the session's."`
		Props   aguiProps     `json:"forwardedProps,omitempty" doc:"For a new session."`
		Parent  string        `json:"parentRunId,omitempty"`
		Version string        `json:"protocolVersion,omitempty"`
	}
}

// aguiProps say what a new session is made of.
type aguiProps struct {
	_         struct{} `json:"-" additionalProperties:"true"`
	Agent     string   `json:"agent,omitempty" maxLength:"200"`
	Model     string   `json:"model,omitempty" maxLength:"200"`
	Workspace string   `json:"workspace,omitempty" maxLength:"1000"`
	Approve   string   `json:"approve,omitempty" enum:"ask,edits,all,plan,readonly"`
}

// An aguiMessage is a message of the conversation.
type aguiMessage struct {
	_       struct{} `json:"-" additionalProperties:"true"`
	ID      string   `json:"id" minLength:"1" maxLength:"255"`
	Role    string   `json:"role" enum:"developer,system,assistant,user,tool,activity,reasoning"`
	Content any      `json:"content,omitempty" doc:"Text or, from the user, a list of parts: text, image and document, of which the latter two carry their data."`
	Call    string   `json:"toolCallId,omitempty"`
}

// An aguiTool is a tool that the client runs.
type aguiTool struct {
	_           struct{}       `json:"-" additionalProperties:"true"`
	Name        string         `json:"name" minLength:"1" maxLength:"64"`
	Description string         `json:"description" maxLength:"10000"`
	Parameters  map[string]any `json:"parameters,omitempty"`
}

// An aguiContext is something that the agent is to know.
type aguiContext struct {
	_           struct{} `json:"-" additionalProperties:"true"`
	Description string   `json:"description" maxLength:"10000"`
	Value       string   `json:"value" maxLength:"1000000"`
}

// An aguiResume decides what an interrupt asked.
type aguiResume struct {
	_         struct{}        `json:"-" additionalProperties:"true"`
	Interrupt string          `json:"interruptId" minLength:"1" maxLength:"1000"`
	Status    string          `json:"status" enum:"resolved,cancelled"`
	Payload   json.RawMessage `json:"payload,omitempty"`
}

// agui serves a run of AG-UI: it sends what is new in the request to the session,
// and streams what happens until the next outcome, or until something waits for the
// person.
func (s *Server) agui(ctx context.Context, in *aguiRequest) (*huma.StreamResponse, error) {
	run, from, err := s.startRun(ctx, in)
	if err != nil {
		return nil, err
	}
	return s.eventStream(ctx, func(ctx context.Context, out *stream) {
		err := s.followRun(ctx, out, agui.New(run, from), run.Session)
		if err != nil && ctx.Err() == nil {
			out.sendError(err)
		}
	})
}

// startRun appends what is new in a request, and returns the run that follows from it, and
// the position from which the client wants its events. A request that repeats an earlier
// one continues that run.
func (s *Server) startRun(ctx context.Context, in *aguiRequest) (run agui.Run, from agui.Position, err error) {
	b := &in.Body
	info, err := s.threadSession(ctx, "agui", b.Thread)
	if in.Last != "" {
		if from, err = agui.ParsePosition(in.Last); err != nil {
			return run, from, &FieldError{"header.Last-Event-ID", err}
		}
	} else if errors.Is(err, openmanus.ErrNoSession) && (len(b.Msgs) > 0 && len(b.Resume) == 0) {
		info, err = s.openThread(ctx, in, info.ID)
	}
	if err != nil {
		return run, from, err
	}
	run = agui.Run{Session: info.ID, Thread: b.Thread, ID: b.Run, Start: info.Events, Least: info.Events}
	if in.Last != "" {
		return run, from, nil
	}
	said := len(b.Msgs) > 0 && b.Msgs[len(b.Msgs)-1].Role == "user"
	results, err := s.resultsOf(ctx, info.ID, b.Msgs, said)
	if err != nil {
		return run, from, err
	}
	if run.History = !said && len(b.Resume) == 0 && len(results) == 0; run.History {
		return run, from, nil
	}
	if err := s.offerTools(ctx, info.ID, b.Tools); err != nil {
		return run, from, err
	}
	for i, r := range results {
		out, err := acted(s.acts().Append(ctx, info.ID, r))
		if err != nil {
			return run, from, err
		}
		if i == 0 {
			run.Start = out.Body.Seq - 1
		}
		run.Least = out.Body.Seq
	}
	switch {
	case len(b.Resume) > 0:
		var least int64
		least, err = s.resumeRun(ctx, info, b.Resume)
		run.Least = max(run.Least, least)
	case said:
		var missing []openmanus.Body
		if missing, err = s.missingResults(ctx, info.ID); err == nil {
			run.Least, err = s.sayTo(ctx, info, in)
		}
		if len(results) == 0 {
			run.Start = run.Least
		}
		for _, b := range missing {
			if err == nil && run.Least > info.Events { // the message was not sent before
				_, err = acted(s.acts().Append(ctx, info.ID, b))
			}
		}
	}
	return run, from, err
}

// threadSession returns the session of the user that a client calls name: the one
// with this id, or the one that was opened for the name over this protocol. If there
// is none, it has the id that the session is to have.
func (s *Server) threadSession(ctx context.Context, protocol, name string) (journal.SessionInfo, error) {
	info, err := s.ownSession(ctx, name)
	if err == nil || !errors.Is(err, openmanus.ErrNoSession) {
		return info, err
	}
	sum := sha256.Sum256([]byte(userOf(ctx).Name + "\x00" + name))
	id := protocol + "-" + hex.EncodeToString(sum[:16])
	info, err = s.ownSession(ctx, id)
	info.ID = id
	return info, err
}

// openThread opens the session of a thread.
func (s *Server) openThread(ctx context.Context, in *aguiRequest, id string) (journal.SessionInfo, error) {
	p := in.Body.Props
	info, err := s.sessionNamed(ctx, id, NewSession{Agent: p.Agent, Model: p.Model, Workspace: p.Workspace, Approve: p.Approve})
	return info, renameFields(err, "body.forwardedProps")
}

// sayTo sends the last message to the session, and returns its number: the same one
// if the message was sent before.
func (s *Server) sayTo(ctx context.Context, info journal.SessionInfo, in *aguiRequest) (int64, error) {
	last := len(in.Body.Msgs) - 1
	m := &messageRequest{OneSession: OneSession{info.ID}}
	m.Body.ID = in.Body.Msgs[last].ID
	var err error
	if m.Body.Text, m.Body.Attachments, err = contentOf(in.Body.Msgs[last].Content); err != nil {
		return 0, &FieldError{fmt.Sprintf("body.messages[%d].content", last), err}
	}
	for _, c := range in.Body.Context {
		m.Body.Text += fmt.Sprintf("\n\n<context description=%q>\n%s\n</context>", c.Description, c.Value)
	}
	out, err := s.sendMessage(ctx, info, m)
	if err != nil {
		return 0, err
	}
	return out.Body.Seq, nil
}

// contentOf reads the content of a user's message.
func contentOf(content any) (text string, files []Attachment, err error) {
	if text, ok := content.(string); ok {
		return text, nil, nil
	}
	var parts []struct {
		Type, Text string
		Source     struct{ Type, Value, MimeType string }
	}
	data, err := json.Marshal(content)
	if err == nil {
		err = json.Unmarshal(data, &parts)
	}
	if err != nil {
		return "", nil, errors.New("it must be text or a list of parts")
	}
	for i, p := range parts {
		switch {
		case p.Type == "text":
			text += p.Text
		case (p.Type == "image" || p.Type == "document") && p.Source.Type == "data":
			name := fmt.Sprintf("%s-%d", p.Type, i+1)
			files = append(files, Attachment{Name: name, MIME: p.Source.MimeType, Data: p.Source.Value})
		default:
			return "", nil, fmt.Errorf("part %d is of type %q with a source of type %q: the agent reads text, "+
				"and images and documents whose source is data", i, p.Type, p.Source.Type)
		}
	}
	return text, files, nil
}

// followRun sends the frames of a run, from the projector, until it ends. It keeps the
// connection alive meanwhile.
func (s *Server) followRun(ctx context.Context, out *stream, p *agui.Projector, session string) error {
	var b bytes.Buffer
	return s.followUntil(ctx, out.comment, session, func(h heard) (done bool, err error) {
		var frames []agui.Frame
		if h.event.Body != nil {
			frames = p.Apply(h.event)
		} else if h.waiting != nil {
			if frames, err = s.waits(ctx, p, session, h.waiting); err != nil {
				return false, err
			}
		}
		b.Reset()
		for _, f := range frames {
			fmt.Fprintf(&b, "id: %s\ndata: %s\n\n", f.ID, f.Data)
		}
		if b.Len() > 0 {
			err = out.write(b.Bytes())
		}
		return p.Done(), err
	})
}

// waits ends a run in which nothing goes on before the user decides, or the client has run
// its tools.
func (s *Server) waits(ctx context.Context, p *agui.Projector, session string, waiting []Waiting) ([]agui.Frame, error) {
	var all []agui.Interrupt
	for _, w := range waiting {
		if w.Session == session && p.State.ClientRuns(w.Tool) {
			continue
		}
		i, err := s.interruptOf(ctx, w)
		if err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return p.Wait(all), nil
}

// interruptOf describes a call that waits for the user.
func (s *Server) interruptOf(ctx context.Context, w Waiting) (i agui.Interrupt, err error) {
	err = s.states.view(ctx, w.Session, func(st *openmanus.State) error {
		c := st.Call(w.Call)
		if c == nil {
			return fmt.Errorf("call %s does not wait any more", w.Call)
		}
		i = agui.NewInterrupt(w.Session, c)
		return nil
	})
	return i, err
}

// resumeRun decides what interrupts asked, and returns the last event of the session
// that says so, or the session's last event if the decisions are all below it. It
// decides nothing unless all interrupts are known.
func (s *Server) resumeRun(ctx context.Context, info journal.SessionInfo, all []aguiResume) (int64, error) {
	var waiting []Waiting
	err := s.states.view(ctx, info.ID, func(st *openmanus.State) (err error) {
		_, waiting, err = standing(ctx, s.states.view, info.ID, st)
		return err
	})
	if err != nil {
		return 0, err
	}
	open := make(map[string]Waiting)
	for _, w := range waiting {
		i, err := s.interruptOf(ctx, w)
		if err != nil {
			return 0, err
		}
		open[i.ID] = w
	}
	for i, r := range all {
		if _, ok := open[r.Interrupt]; !ok {
			err := fmt.Errorf("nothing waits under this id; what waits: %q", slices.Sorted(maps.Keys(open)))
			return 0, &FieldError{fmt.Sprintf("body.resume[%d].interruptId", i), err}
		}
	}
	least := info.Events
	for i, r := range all {
		w := open[r.Interrupt]
		out, err := s.decideWaiting(ctx, w, "", r.Status == "cancelled", r.Payload)
		if err != nil {
			return 0, renameFields(err, fmt.Sprintf("body.resume[%d].payload", i))
		}
		if w.Session == info.ID {
			least = max(least, out.Body.Seq)
		}
	}
	return least, nil
}

// renameFields makes the field of a [FieldError] one below where.
func renameFields(err error, where string) error {
	var field *FieldError
	if errors.As(err, &field) {
		return &FieldError{where + "." + strings.TrimPrefix(field.Field, "body."), field.Err}
	}
	return err
}

// A ruling is a decision about a call, in the words of a protocol.
type ruling struct {
	Approved *bool           `json:"approved"`
	Input    json.RawMessage `json:"input"`
	Reason   string          `json:"reason"`
	Remember bool            `json:"remember"`
	Scope    string          `json:"scope"`
}

// decideWaiting decides what waits for the user by what a client sends: for an
// approval a boolean or a [ruling], for a question the answer. To cancel is to deny,
// and to give no answer.
func (s *Server) decideWaiting(ctx context.Context, w Waiting, message string, cancelled bool, payload json.RawMessage) (*appended, error) {
	info := journal.SessionInfo{ID: w.Session}
	if w.Kind != string(openmanus.AskRuling) {
		if cancelled {
			return acted(s.acts().NoAnswer(ctx, w.Session, w.Call, userOf(ctx).Name))
		}
		in := &answerRequest{OneSession: OneSession{w.Session}, message: message}
		in.Body.Call, in.Body.Answer = w.Call, payload
		return s.answer(ctx, info, in)
	}
	in := &rulingRequest{OneSession: OneSession{w.Session}, message: message}
	in.Body.Call = w.Call
	if !cancelled {
		r, err := rulingOf(payload)
		if err != nil {
			return nil, &FieldError{"approved", err}
		}
		in.Body.Allow, in.Body.Input, in.Body.Reason = *r.Approved, r.Input, r.Reason
		in.Body.Remember, in.Body.Scope = r.Remember, r.Scope
	}
	return s.rule(ctx, info, in)
}

// rulingOf reads a decision about a call: true, false, or an object with approved and
// perhaps a reason.
func rulingOf(payload json.RawMessage) (r ruling, err error) {
	if json.Unmarshal(payload, &r.Approved) == nil && r.Approved != nil {
		return r, nil
	}
	if json.Unmarshal(payload, &r) != nil || r.Approved == nil {
		return r, errors.New(`this call waits for approval: answer true, false or {"approved": true}`)
	}
	return r, nil
}
