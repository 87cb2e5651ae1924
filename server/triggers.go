package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/server/triggers"
)

// A Trigger begins a session when another service posts that something has happened. The
// same delivery begins one session, however often it comes.
type Trigger struct {
	*triggers.Trigger

	Owner     string // the user whose session it is
	Agent     string
	Model     string
	Workspace string // as in POST /sessions; "": each session has one of its own
	Approve   string // "": [openmanus.ApproveAsk]
}

// TriggerPath is where services post. The name of the trigger follows.
const TriggerPath = "/api/v1/triggers/"

// serveTrigger takes a delivery of a service, whose signature shows that it may. It
// answers as soon as the session has the task; the work goes on afterwards. A delivery
// that comes again gets the same answer.
func (s *Server) serveTrigger(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, TriggerPath)
	t, ok := s.Triggers[name]
	if !ok {
		writeProblem(w, http.StatusNotFound, "there is no such trigger")
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		writeProblem(w, http.StatusMethodNotAllowed, "a trigger takes POST")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, triggers.MaxBody))
	if err != nil {
		writeProblem(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a delivery has at most %d bytes", triggers.MaxBody))
		return
	}
	task, err := t.Read(r.Header, body, time.Now())
	switch refused := (*triggers.Refused)(nil); {
	case errors.As(err, &refused):
		s.Log.Warn("a delivery was refused", "trigger", name, "error", err)
		writeProblem(w, refused.Status, refused.Why)
	case err != nil:
		writeProblem(w, http.StatusInternalServerError, err.Error())
	case task.Reply != "":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, task.Reply) // an error means that the client is gone
	case task.Text == "":
		w.WriteHeader(http.StatusNoContent)
	default:
		s.beginTriggered(w, r, name, t, task)
	}
}

// beginTriggered begins the session of a delivery, if it did not begin before, and answers
// with its id.
func (s *Server) beginTriggered(w http.ResponseWriter, r *http.Request, name string, t Trigger, task triggers.Task) {
	ctx := context.WithValue(inTrace(r), userKey{}, s.users.byName(t.Owner))
	id := "trigger-" + name + "-" + task.ID
	err := s.triggered(ctx, id, name, t, task)
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(map[string]string{"session": id}) // an error means that the client is gone
		return
	}
	err = s.problem(ctx, err)
	status, text := http.StatusInternalServerError, err.Error()
	if p := huma.StatusError(nil); errors.As(err, &p) {
		status = p.GetStatus()
	}
	if h := huma.HeadersError(nil); errors.As(err, &h) {
		for field, values := range h.GetHeaders() {
			w.Header()[field] = values
		}
	}
	writeProblem(w, status, text)
}

// triggered opens a session, unless it is there, and appends the task, unless the session
// has it. So a delivery that broke off halfway can be repeated.
func (s *Server) triggered(ctx context.Context, id, name string, t Trigger, task triggers.Task) error {
	info, err := s.sessionNamed(ctx, id, NewSession{Agent: t.Agent, Model: t.Model, Workspace: t.Workspace, Approve: t.Approve})
	if err != nil {
		return err
	}
	in := &messageRequest{sources: []openmanus.Source{openmanus.Person()}}
	if len(task.Words) > 0 {
		in.sources = append(in.sources, openmanus.Source{From: openmanus.FromTrigger + name, Private: true, Words: task.Words})
	}
	in.Body.ID, in.Body.Text = "trigger", task.Text
	_, err = s.sendMessage(ctx, info, in)
	return err
}

// checkTriggers returns an error unless each trigger's user is one of the server.
func checkTriggers(all map[string]Trigger, users users) error {
	for name, t := range all {
		if users.byName(t.Owner) == nil {
			return fmt.Errorf("triggers.%s.user: there is no user %q", name, t.Owner)
		}
	}
	return nil
}
