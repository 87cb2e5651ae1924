package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/server"
)

// Reconfigure implements [server.Reconfigurer].
func (h *host) Reconfigure(ctx context.Context, session string, c server.Change) error {
	s, err := openmanus.Load(ctx, h.db, session)
	if err != nil {
		return err
	}
	next := s.Config
	next.N, next.Limits = next.N+1, s.Limits
	if c.Approve != "" {
		next.Approve = c.Approve
	}
	if c.Client != nil {
		next.Client = c.Client
		s.Config = next
		f, err := h.flow(ctx, s)
		if err != nil {
			return err
		}
		next.Tools = f.Agent().Configured(0).Tools
	}
	_, err = h.db.Append(ctx, session, next)
	return err
}

// TestChange is a person who changes the approval mode of a session while its call
// waits for them: the calls after it run without a question.
func TestChange(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(
		llmtest.Use("", "file_saver", map[string]any{"file_path": "a.txt", "content": "a"}),
		llmtest.Use("", "file_saver", map[string]any{"file_path": "b.txt", "content": "b"}),
		llmtest.Say("Both are written."),
	))
	id := x.session(nil)
	path := "/api/v1/sessions/" + id
	x.call("POST", path+"/messages", say("write two files"), 202)
	w := x.until(id, "waiting")["waiting"].([]any)[0].(map[string]any)
	for _, c := range []struct {
		body map[string]any
		want int
	}{
		{map[string]any{}, 422},
		{map[string]any{"approve": "never"}, 422},
		{map[string]any{"title": strings.Repeat("x", 201)}, 422},
		{map[string]any{"approve": "all", "title": "Two files"}, 200},
	} {
		x.call("PATCH", path, c.body, c.want)
	}
	if s := x.call("GET", path, nil, 200); s["approve"] != "all" || s["title"] != "Two files" || s["status"] != "waiting" {
		t.Errorf("after the change: %v", s)
	}
	x.call("POST", path+"/rulings", map[string]any{"call": w["call"], "allow": true}, 202)
	if s := x.until(id, "finished"); s["answer"] != "Both are written." {
		t.Errorf("it said %v", s["answer"])
	}
	asked := 0
	for ev, err := range x.db.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.Body.(openmanus.Asked); ok {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("it asked %d times, want once", asked)
	}
	// A user may not allow more than the server lets them.
	bobs := x.callAs(bobsToken, "POST", "/api/v1/sessions", map[string]any{}, 201)["id"].(string)
	x.callAs(bobsToken, "PATCH", "/api/v1/sessions/"+bobs, map[string]any{"approve": "all"}, 422)
	x.callAs(bobsToken, "PATCH", path, map[string]any{"approve": "ask"}, 404)
}

// TestPreview is a person who edits the arguments of a call and looks at what it
// would do then.
func TestPreview(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(
		llmtest.Use("", "file_saver", map[string]any{"file_path": "a.txt", "content": "one\n"}),
		llmtest.Say("Done."),
	))
	id := x.session(nil)
	path := "/api/v1/sessions/" + id
	x.call("POST", path+"/messages", say("write"), 202)
	w := x.until(id, "waiting")["waiting"].([]any)[0].(map[string]any)
	edited := map[string]any{"file_path": "b.txt", "content": "two\n"}
	p := x.call("POST", path+"/preview", map[string]any{"call": w["call"], "input": edited}, 200)
	if shown, _ := p["shown"].(string); !strings.Contains(shown, "b.txt") || !strings.Contains(shown, "+two") {
		t.Errorf("it would do %q", shown)
	}
	outside := map[string]any{"file_path": "../b.txt", "content": "two\n"}
	if p := x.call("POST", path+"/preview", map[string]any{"call": w["call"], "input": outside}, 200); p["fails"] == nil {
		t.Errorf("a file outside of the workspace would do %v", p)
	}
	x.call("POST", path+"/preview", map[string]any{"call": w["call"], "input": map[string]any{"file_path": 7}}, 422)
	x.call("POST", path+"/preview", map[string]any{"call": "c9-9", "input": edited}, 404)
	if s := x.call("GET", path, nil, 200); s["status"] != "waiting" {
		t.Errorf("looking made it %v", s["status"])
	}
}
