package server_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
)

// kit is the agent that the compatibility kit of A2A drives. It says what an agent is
// to do by how the id of a message begins, which the model finds in the journal.
type kit struct{ x **site }

func (k kit) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return llmtest.Script(k.replies(ctx, req)...).Stream(ctx, req)
}

func (k kit) replies(ctx context.Context, req *llm.Request) []llm.Message {
	said := ""
	for info, err := range (*k.x).db.Sessions(ctx, journal.ListOptions{Roots: true}) {
		if err != nil {
			break
		}
		if !strings.Contains(req.Messages[0].Text(), filepath.Base(info.Workspace)) {
			continue
		}
		for ev := range (*k.x).db.Events(ctx, info.ID, 0) {
			switch b := ev.Body.(type) {
			case openmanus.UserSaid:
				said = b.ID
			case openmanus.Answered:
				said = b.Message
			}
		}
	}
	save := func(name, text string) []llm.Message {
		return []llm.Message{llmtest.Use("", "file_saver", map[string]any{"file_path": name, "content": text}), llmtest.Say("The file is written.")}
	}
	switch {
	case strings.HasPrefix(said, "tck-input-required"):
		return slices.Repeat([]llm.Message{llmtest.Use("", "ask_human", map[string]any{"inquire": "Which one?"})}, 10)
	case strings.HasPrefix(said, "tck-artifact-file-url"): // a task has the address of a file of this size
		return save("output.txt", strings.Repeat("0123456789abcdef", 1<<17))
	case strings.HasPrefix(said, "tck-artifact-file"), strings.HasPrefix(said, "tck-stream-artifact-file"):
		return save("output.txt", "content")
	}
	text := "Hello from TCK"
	if strings.HasPrefix(said, "tck-message-response") {
		text = "Direct message response"
	}
	if strings.HasPrefix(said, "tck-artifact-data") {
		text = `{"key": "value", "count": 42}`
	}
	if strings.HasPrefix(said, "tck-artifact-text") || strings.HasPrefix(said, "tck-stream-artifact-text") {
		text = "Generated text content"
	}
	return slices.Repeat([]llm.Message{llmtest.Say(text)}, 10)
}

// kitFiles says that a call wrote the file that the kit expects.
type kitFiles struct{ run.Follower }

func (kitFiles) Begin(
	context.Context, string, *openmanus.State, openmanus.Call, openmanus.ToolSpec, func(int),
) (openmanus.Body, func(context.Context) run.Followed) {
	return nil, func(context.Context) run.Followed {
		return run.Followed{Own: []openmanus.FileChange{{Path: "output.txt", Change: openmanus.FileCreated}}}
	}
}

// The compatibility kit of A2A (branch 1.0-dev of a2aproject/a2a-tck), which A2A_TCK
// says where to find, with its dependencies in .venv, finds what it found at 357c4a8.
func TestA2AKit(t *testing.T) {
	dir := os.Getenv("A2A_TCK")
	if dir == "" {
		t.Skip("A2A_TCK does not name a copy of the kit")
	}
	var x *site
	root := t.TempDir()
	db, err := store.Open(filepath.Join(root, "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	x = serve(t, root, kit{&x}, db, db.Close, func(o *server.Options) {
		o.Host.(*host).mode, o.Local.Worker.Changes = openmanus.ApproveAll, kitFiles{}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+annsToken) // the kit knows no tokens
		if body, err := io.ReadAll(r.Body); err == nil {   // and cannot say what an answer is to be
			for id, metadata := range map[string]string{"tck-artifact-data": `{"schema":{"type":"object"}}`, "tck-message-response": `{"reply":"message"}`} {
				of := `"messageId":"` + id
				body = bytes.Replace(body, []byte(of), []byte(`"metadata":`+metadata+","+of), 1)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		x.s.ServeHTTP(w, r)
	}))
	front.Listener = l
	front.Start()
	defer front.Close()
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, ".venv", "bin", "python"), "run_tck.py", "--sut-host", front.URL,
		"--transport", "jsonrpc,http_json")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "TMPDIR="+out)
	said, err := cmd.CombinedOutput()
	t.Logf("%v\n%s", err, said[max(0, len(said)-20000):])
	for _, want := range []string{"2 failed", "178 passed", "85 skipped"} { // docs/rough_edges.md says which
		if !strings.Contains(string(said), want) {
			t.Errorf("the kit does not say %q", want)
		}
	}
}
