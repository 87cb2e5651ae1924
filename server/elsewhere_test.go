package server_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
)

// An elsewhere is a host whose workspaces another machine releases after so many attempts.
type elsewhere struct {
	server.Host
	left int
}

func (e *elsewhere) Look(context.Context, string) error { return nil }

func (e *elsewhere) Change(_ context.Context, _ string, do func() error) error {
	if e.left--; e.left >= 0 {
		return &act.ElsewhereError{Workspace: "w", Host: "worker1"}
	}
	return do()
}

// An upload waits for a worker whose session has just ended, and is refused where one goes on.
func TestAnUploadAfterTheEnd(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &elsewhere{}
	x := serve(t, dir, llmtest.Script(), db, db.Close, func(o *server.Options) {
		e.Host = o.Host
		o.Host = e
	})
	file := "/api/v1/sessions/" + x.session(map[string]any{"workspace": "w"}) + "/files/a"
	for attempts, want := range map[int]int{0: 204, 3: 204, 100: 409} {
		e.left = attempts
		x.call("PUT", file, "x", want)
	}
}
