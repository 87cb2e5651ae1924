package server_test

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/server"
)

// A screen is a [server.Viewer] of which one person sees one frame.
type screen struct {
	screenMu sync.Mutex
	taken    bool
	inputs   []server.ScreenInput
}

func (s *screen) Watch(ctx context.Context, session string, marks bool, show func(any) error) error {
	if err := show(map[string]any{"open": true, "marks": marks}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (s *screen) TakeOver(context.Context, string) error {
	s.screenMu.Lock()
	defer s.screenMu.Unlock()
	if s.taken {
		return server.ErrScreenTaken
	}
	s.taken = true
	return nil
}

func (s *screen) Input(_ context.Context, _ string, ins []server.ScreenInput) error {
	s.screenMu.Lock()
	defer s.screenMu.Unlock()
	if !s.taken {
		return server.ErrScreenFree
	}
	s.inputs = append(s.inputs, ins...)
	return nil
}

func (s *screen) HandBack(context.Context, string) (time.Duration, error) {
	s.screenMu.Lock()
	defer s.screenMu.Unlock()
	if !s.taken {
		return 0, server.ErrScreenFree
	}
	s.taken = false
	return 42 * time.Second, nil
}

// TestScreen: a person watches, takes over, types and hands back. The journal says that it
// happened; what was typed is neither there nor in the log.
func TestScreen(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	var log bytes.Buffer
	x.s.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	id := x.session(map[string]any{})
	at := "/api/v1/sessions/" + id + "/screen"
	type body = map[string]any
	typed := body{"inputs": []body{{"kind": "text", "text": "hunter2-secret"}, {"kind": "down", "x": 3, "y": 4.5}}}

	x.call("POST", at+"/input", typed, 409)
	x.call("DELETE", at+"/takeover", nil, 409)
	x.call("POST", at+"/takeover", nil, 204)
	x.call("POST", at+"/takeover", nil, 409)
	x.call("POST", at+"/input", typed, 204)
	refused := x.call("POST", at+"/input", body{"inputs": []body{{"kind": "script", "text": "hunter2-secret"}}}, 422)
	x.call("POST", at+"/input", body{"inputs": []body{}}, 422)
	x.call("DELETE", at+"/takeover", nil, 204)

	if n := refused["detail"]; n == nil {
		t.Error("a refusal without words")
	}
	_, events := x.send(annsToken, "GET", "/api/v1/sessions/"+id+"/log", nil)
	if !strings.Contains(string(events), "ann used the agent's browser for 42s") {
		t.Errorf("the journal does not say it: %s", events)
	}
	if strings.Contains(string(events)+log.String(), "hunter2") {
		t.Error("what was typed was kept")
	}
}

// TestScreenStream: frames come as events, and the stream ends with the request.
func TestScreenStream(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	id := x.session(map[string]any{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", x.url+"/api/v1/sessions/"+id+"/screen?marks=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+annsToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got []string
	for lines := bufio.NewScanner(resp.Body); len(got) < 4 && lines.Scan(); {
		got = append(got, lines.Text())
	}
	if want := `retry: 2000||event: screen|data: {"marks":true,"open":true}`; strings.Join(got, "|") != want {
		t.Errorf("the stream is %q", got)
	}
}
