package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/openmanus-go/openmanus/workspace"
)

// startWith is startEditor, when the texts are there.
func startWith(t *testing.T, src Source) (*editor, workspace.Buffers) {
	e, texts := startEditor(t, src, false)
	return e, <-texts
}

// opens opens a session in dir, in a client with these abilities.
func (e *editor) opens(dir, abilities string) (id string) {
	e.t.Helper()
	e.asks("initialize", `{"protocolVersion": 1, "clientCapabilities": `+abilities+`}`)
	var s settings
	if m := e.asks("session/new", fmt.Sprintf(`{"cwd": %q, "mcpServers": []}`, dir)); json.Unmarshal(m.Result, &s) != nil || s.SessionID == "" {
		e.t.Fatalf("%+v", m)
	}
	return s.SessionID
}

// TestTextsOfTheEditor asks the client for texts: what it answers is what the agent has,
// and what it must not be asked for it is not asked for.
func TestTextsOfTheEditor(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, texts := startWith(t, newFake())
	id := e.opens(dir, `{"fs": {"readTextFile": true, "writeTextFile": true}}`)
	path := filepath.Join(dir, "a.txt")
	type got struct {
		text string
		err  error
	}
	read := func(session string) chan got {
		c := make(chan got, 1)
		go func() {
			text, err := texts.ReadText(t.Context(), session, path)
			c <- got{text, err}
		}()
		return c
	}
	for _, c := range []struct {
		session, answer, text, err string
		is                         error
	}{
		{id, `"result":{"content":"typed\n"}`, "typed\n", "", nil},
		{id + ".c1", `"result":{"content":""}`, "", "", nil}, // of an agent below
		{id, `"result":{}`, "", "without the text", nil},
		{id, `"result":7`, "", "cannot be read", nil},
		{id, `"error":{"code":-32603,"message":"it is\nprivate"}`, "", "refuses: it is private", nil},
		{id, `"error":{"code":-32002,"message":"none"}`, "", "", fs.ErrNotExist},
		{id, `"error":{"code":-32601,"message":"none"}`, "", "", errors.ErrUnsupported},
	} {
		answer := read(c.session)
		m := e.hears()
		if m.Method != "fs/read_text_file" || string(m.Params) != fmt.Sprintf(`{"path":%q,"sessionId":%q}`, path, id) {
			t.Fatalf("%s %s", m.Method, m.Params)
		}
		e.says(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + c.answer + `}`)
		g := <-answer
		if ok := (c.err == "" && c.is == nil) == (g.err == nil); g.text != c.text || !ok || c.is != nil && !errors.Is(g.err, c.is) || g.err != nil && !strings.Contains(g.err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.answer, g.text, g.err)
		}
	}
	written := make(chan error, 1)
	go func() { written <- texts.WriteText(t.Context(), id, path, "new\n") }()
	m := e.hears()
	if m.Method != "fs/write_text_file" || !strings.Contains(string(m.Params), `"content":"new\n"`) {
		t.Fatalf("%s %s", m.Method, m.Params)
	}
	e.says(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":null}`)
	if err := <-written; err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ session, path string }{{"other", path}, {id, filepath.Join(dir, "..", "out.txt")}, {id, dir + "x"}} {
		if _, err := texts.ReadText(t.Context(), c.session, c.path); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s %s: %v", c.session, c.path, err)
		}
	}
	e.leaves()
	if _, err := texts.ReadText(t.Context(), id, path); err == nil {
		t.Error("read from an editor that is gone")
	}
}

// TestEditorsWithoutTexts never asks a client that offers none.
func TestEditorsWithoutTexts(t *testing.T) {
	dir := t.TempDir()
	e, texts := startWith(t, newFake())
	id := e.opens(dir, `{"fs": {"readTextFile": true}}`)
	if err := texts.WriteText(t.Context(), id, filepath.Join(dir, "a"), ""); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	e.leaves()
}

// TestEditorsThatDoNotAnswer waits for a client that does not answer, and for one that
// does not even read, for as long as patience is and no longer.
func TestEditorsThatDoNotAnswer(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, reads := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e, texts := startWith(t, newFake())
			id := e.opens(dir, `{"fs": {"readTextFile": true, "writeTextFile": true}}`)
			for range 200 { // more than the queue holds
				done := make(chan error, 1)
				go func() {
					_, err := texts.ReadText(t.Context(), id, filepath.Join(dir, "a.txt"))
					done <- err
				}()
				if reads {
					if m := e.hears(); m.Method != "fs/read_text_file" {
						t.Fatalf("%+v", m)
					}
				}
				if err := <-done; err == nil || !strings.Contains(err.Error(), "did not answer within 10s") {
					t.Fatal(err)
				}
				if reads {
					if m := e.hears(); m.Method != "$/cancel_request" {
						t.Fatalf("%+v", m)
					}
					break
				}
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if err := texts.WriteText(gone, id, filepath.Join(dir, "a.txt"), ""); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			e.in.Close()
			e.hang.Close()
			<-e.end
		})
	}
}
