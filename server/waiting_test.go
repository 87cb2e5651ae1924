package server_test

import (
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/store"
)

// A painter is a model that delegates to a child session, which asks the user.
type painter struct{ gives, asks llm.Model }

func giving() llm.Model {
	return painter{
		llmtest.Script(llmtest.Use("", "give", map[string]any{"agent": "manus", "task": "paint it"}), llmtest.Say("It was painted.")),
		llmtest.Script(llmtest.Use("", "ask_human", map[string]any{"inquire": "which colour?"}), llmtest.Say("I painted it.")),
	}
}

func (p painter) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	if strings.Contains(req.Messages[0].Text(), "paint it") {
		return p.asks.Stream(ctx, req)
	}
	return p.gives.Stream(ctx, req)
}

// A request that waits for a session returns when a child asks a question, and
// says where to answer.
func TestQuestionBelow(t *testing.T) {
	x := open(t, t.TempDir(), giving())
	id := x.session(nil)
	path := "/api/v1/sessions/" + id
	x.call("POST", path+"/messages", say("have it painted"), 202)
	s := x.call("GET", path+"?wait=300", nil, 200)
	waiting, _ := s["below"].([]any)
	if s["status"] != "waiting" || len(waiting) != 1 || s["waiting"] != nil {
		t.Fatalf("it is %v, and there waits %v", s["status"], waiting)
	}
	w := waiting[0].(map[string]any)
	if w["question"] != "which colour?" || w["session"] != id+".c0-1" {
		t.Fatalf("there waits %v", w)
	}
	list := x.call("GET", "/api/v1/sessions", nil, 200)["items"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["status"] != "waiting" {
		t.Errorf("in the list it is %v", list)
	}
	x.call("POST", "/api/v1/sessions/"+w["session"].(string)+"/answers", map[string]any{"call": w["call"], "answer": "blue"}, 202)
	for s["status"] != "finished" {
		s = x.call("GET", path+"?wait=300", nil, 200)
	}
	if s["answer"] != "It was painted." || s["below"] != nil {
		t.Errorf("it ended as %v", s)
	}
}

// Questions of child sessions are answered for OpenAI's clients too.
func TestChatCompletionWithAQuestionBelow(t *testing.T) {
	x := open(t, t.TempDir(), giving())
	status, data := x.send(annsToken, "POST", "/v1/chat/completions", map[string]any{
		"model": "manus", "messages": []any{map[string]any{"role": "user", "content": "have it painted"}}})
	var out struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(data, &out); err != nil || status != 200 || len(out.Choices) != 1 || out.Choices[0].Message.Content != "It was painted." {
		t.Errorf("%d, %v\n%s", status, err, data)
	}
}

// A marking store tells when a session was marked as idle.
type marking struct {
	*store.DB
	marked chan string // receives the session
}

func (m *marking) MarkIdle(ctx context.Context, session string, seq int64) error {
	err := m.DB.MarkIdle(ctx, session, seq)
	m.marked <- session
	return err
}

// A server that starts reads only the sessions that may have something to do.
func TestIdleSessionsAreMarked(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &marking{db, make(chan string, 100)}
	x := serve(t, dir, painter{llmtest.Script(llmtest.Say("done")), llmtest.Script(llmtest.Use("", "ask_human", map[string]any{"inquire": "which?"}))}, m, db.Close)
	under := func() (ids []string) {
		t.Helper()
		for info, err := range x.db.Sessions(t.Context(), journal.ListOptions{UnderWay: true}) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, info.ID)
		}
		return ids
	}
	rested := func(want string) {
		t.Helper()
		for ids := under(); len(ids) > 0; ids = under() { // it is written down after the last event
			select {
			case <-m.marked:
			case <-time.After(time.Minute):
				t.Fatalf("%s, %v are under way", want, ids)
			}
		}
	}
	x.session(nil)
	rested("with nothing asked")
	for status, text := range map[string]string{"finished": "hi", "waiting": "paint it"} {
		id := x.session(nil)
		x.call("POST", "/api/v1/sessions/"+id+"/messages", say(text), 202)
		x.until(id, status)
		rested(status)
	}

	// A session that changed while it was not driven is read once.
	id := x.session(nil)
	said := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "hi")}
	if _, err := x.db.Append(t.Context(), id, said, openmanus.Interrupted{ID: "2"}); err != nil {
		t.Fatal(err)
	}
	if ids := under(); len(ids) != 1 || ids[0] != id {
		t.Errorf("%v are under way, want %s", ids, id)
	}
	if err := x.s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids := under(); len(ids) != 0 {
		t.Errorf("%v are under way after they were looked at", ids)
	}
}
