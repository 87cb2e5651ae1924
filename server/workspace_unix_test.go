//go:build unix

package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A pipe in a workspace blocks no request.
func TestAPipeIsNoFile(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	path := "/api/v1/sessions/" + x.session(map[string]any{"workspace": "w"}) + "/files"
	if err := syscall.Mkfifo(filepath.Join(x.dir, "ann", "w", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.call("GET", path+"/pipe", nil, 422)
	if items := x.call("GET", path, nil, 200)["items"].([]any); len(items) != 0 {
		t.Errorf("the list has %v", items)
	}
}

// An agent that works in a directory may replace the workspace of another
// session below it by a link. Neither the files behind the link nor a note about
// them come to that session.
func TestAWorkspaceThatBecomesALink(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("done")))
	id := x.session(map[string]any{"workspace": "w/sub"})
	secrets, sub := filepath.Join(x.dir, "bob"), filepath.Join(x.dir, "ann", "w", "sub")
	if err := errors.Join(os.MkdirAll(secrets, 0o700), os.WriteFile(filepath.Join(secrets, "key"), []byte("hunter2"), 0o600),
		os.Remove(sub), os.Symlink(secrets, sub)); err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/sessions/" + id
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"GET", "/files", nil}, {"GET", "/files/key", nil}, {"PUT", "/files/key", "other"}, {"POST", "/messages", say("hi")},
	} {
		status, data := x.send(annsToken, c.method, path+c.path, c.body)
		if status != 409 || !strings.Contains(string(data), "symbolic link") || strings.Contains(string(data), "key") {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, data)
		}
	}
	if s := x.call("GET", path, nil, 200); s["status"] != "idle" {
		t.Errorf("the session is %v", s["status"])
	}
}
