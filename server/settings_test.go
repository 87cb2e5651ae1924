package server_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/server"
)

var errFileChanged = &act.Error{Kind: act.Conflict, Err: errors.New("the file has changed since it was read: read it again")}

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

func (s *screen) ApproveServer(_ context.Context, name, hash, _ string) error {
	if hash != "h1" {
		return errors.New("the server is not the one that was shown")
	}
	return nil
}

func (s *screen) TestServer(context.Context, string) (server.ServerTested, error) {
	return server.ServerTested{Tools: []server.ServerTool{{Name: "query"}}}, nil
}

func (s *screen) AddServer(_ context.Context, n server.NewServer) error {
	if n.URL == "" && len(n.Command) == 0 {
		return &server.FieldError{Field: "url", Err: errors.New("either a command or a URL")}
	}
	return nil
}

func (s *screen) ChangeServer(_ context.Context, name string, c server.ServerChange) error {
	if name != "db" || c.Disabled == nil || !*c.Disabled {
		return errors.New(name + " is in another file")
	}
	return nil
}

func (s *screen) SignIn(context.Context, string) (server.SigningIn, error) {
	return server.SigningIn{Link: "https://login.example.org/"}, nil
}

func (s *screen) SignedIn(context.Context, string) (server.SigningIn, error) {
	return server.SigningIn{Ended: true}, nil
}

func (s *screen) OwnAgents(context.Context) ([]server.AgentSetting, error) {
	return []server.AgentSetting{{Name: "reviewer", File: "reviewer.md"}}, nil
}

func (s *screen) ReadAgent(_ context.Context, file string) (server.AgentText, error) {
	if file != "reviewer.md" {
		return server.AgentText{}, fs.ErrNotExist
	}
	return server.AgentText{Text: "You review.", Hash: "h1"}, nil
}

func (s *screen) WriteAgent(_ context.Context, file string, t server.AgentText) error {
	switch {
	case file != "reviewer.md":
		return fs.ErrNotExist
	case t.Hash != "h1":
		return errFileChanged
	case t.Text == "":
		return &server.FieldError{Field: "text", Err: errors.New("it has no instructions")}
	}
	return nil
}

func (s *screen) Prune(_ context.Context, dry bool) (server.Pruned, error) {
	return server.Pruned{Sessions: []server.PrunedSession{{ID: "gone", Free: 7}}, Free: 7}, nil
}

func (s *screen) RemoveAgent(_ context.Context, file, hash string) error {
	if file != "reviewer.md" || hash != "h1" {
		return errFileChanged
	}
	return nil
}
func (s *screen) Servers(context.Context) ([]server.ServerSetting, error) { return nil, nil }

func (s *screen) RemoveServer(context.Context, string) error { return nil }
func (s *screen) UseModel(context.Context, string) error     { return nil }

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
		{"POST", "/servers/approve", body{"name": "db", "hash": "h1", "tools": "h3"}, 204, ""},
		{"POST", "/servers", body{"name": "db", "command": []string{"db", "-v"}}, 204, ""},
		{"POST", "/servers", body{"name": "db"}, 422, "either a command or a URL"},
		{"PATCH", "/servers/db", body{"disabled": true}, 204, ""},
		{"PATCH", "/servers/db", body{"disabled": false}, 422, "is in another file"},
		{"DELETE", "/servers/db", nil, 204, ""},
		{"POST", "/servers/sign-in", body{"name": "db"}, 200, "https://login.example.org/"},
		{"GET", "/servers/db/sign-in", nil, 200, `"ended":true`},
		{"GET", "/agents", nil, 200, "reviewer.md"},
		{"GET", "/agents/reviewer.md", nil, 200, "You review."},
		{"GET", "/agents/other.md", nil, 404, "no such agent"},
		{"PUT", "/agents/reviewer.md", body{"text": "You review well.", "hash": "h1"}, 204, ""},
		{"PUT", "/agents/reviewer.md", body{"text": "", "hash": "h1"}, 422, "no instructions"},
		{"PUT", "/agents/reviewer.md", body{"text": "x", "hash": "old"}, 409, "has changed"},
		{"DELETE", "/agents/reviewer.md?hash=h1", nil, 204, ""},
		{"POST", "/models/default", body{"name": "fast"}, 204, ""},
		{"POST", "/prune", body{"dry_run": true}, 200, `"free":7`},
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
