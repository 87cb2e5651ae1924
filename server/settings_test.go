package server_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/server"
)

func (s *screen) Settings(context.Context) (server.Settings, error) {
	return server.Settings{File: "/etc/x.toml", Models: []server.ModelSetting{{Name: "default", Key: "set", KeyFrom: "KEY"}}}, nil
}

func (s *screen) CheckModel(_ context.Context, name string) (server.ModelChecked, error) {
	return server.ModelChecked{OK: name == "default", Error: "no answer"}, nil
}

func (s *screen) SetUp(_ context.Context, m server.NewModel) error {
	if m.Key == "" {
		return &server.FieldError{Field: "key", Err: errors.New("acme needs a key")}
	}
	return nil
}

func (s *screen) ApproveServer(_ context.Context, name, hash string) error {
	if hash != "h1" {
		return errors.New("the server is not the one that was shown")
	}
	return nil
}

func (s *screen) TestServer(context.Context, string) ([]server.ToolInfo, error) {
	return []server.ToolInfo{{Name: "query"}}, nil
}
func (s *screen) Forget(context.Context, string) error    { return nil }
func (s *screen) Sandbox(context.Context) (string, error) { return "Commands have no network.", nil }

// TestSettings: administrators see and change what is configured, and other users do not.
func TestSettings(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	type body = map[string]any
	const at = "/api/v1/settings"
	for _, r := range []struct {
		method, path string
		body         any
		want         int
		has          string
	}{
		{"GET", "", nil, 200, `"key_from":"KEY"`},
		{"GET", "/sandbox", nil, 200, "no network"},
		{"POST", "/models/check", body{"name": "default"}, 200, `"ok":true`},
		{"POST", "/models", body{"provider": "acme", "model": "m"}, 422, "acme needs a key"},
		{"POST", "/models", body{"provider": "acme", "model": "m", "key": "k"}, 204, ""},
		{"POST", "/servers/test", body{"name": "db"}, 200, "query"},
		{"POST", "/servers/approve", body{"name": "db", "hash": "h1"}, 204, ""},
		{"POST", "/servers/approve", body{"name": "db", "hash": "h2"}, 422, "not the one that was shown"},
		{"DELETE", "/decisions/abc", nil, 204, ""},
	} {
		status, data := x.send(annsToken, r.method, at+r.path, r.body)
		if status != r.want || !strings.Contains(string(data), r.has) {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, data)
		}
		if status, data := x.send(bobsToken, r.method, at+r.path, r.body); status != 403 || !strings.Contains(string(data), "administrators") {
			t.Errorf("%s %s of a user who is none: %d %s", r.method, r.path, status, data)
		}
	}
}
