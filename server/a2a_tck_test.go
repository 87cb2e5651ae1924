package server_test

import (
	"context"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
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
		for ev, err := range (*k.x).db.Events(ctx, info.ID, 0) {
			if m, ok := ev.Body.(openmanus.UserSaid); err == nil && ok {
				said = m.ID
			}
		}
	}
	save := func(name, text string) []llm.Message {
		return []llm.Message{llmtest.Use("", "file_saver", map[string]any{"file_path": name, "content": text}), llmtest.Say("The file is written.")}
	}
	switch {
	case strings.HasPrefix(said, "tck-input-required"):
		return []llm.Message{llmtest.Use("", "ask_human", map[string]any{"inquire": "Which one?"}), llmtest.Say("Thank you.")}
	case strings.HasPrefix(said, "tck-artifact-file"), strings.HasPrefix(said, "tck-stream-artifact-file"):
		return save("output.txt", "content")
	}
	text := "Hello from TCK"
	if strings.HasPrefix(said, "tck-artifact-text") || strings.HasPrefix(said, "tck-stream-artifact-text") {
		text = "Generated text content"
	}
	return []llm.Message{llmtest.Say(text), llmtest.Say("Hello again"), llmtest.Say("And again")}
}

// The compatibility kit of A2A (branch 1.0-dev of a2aproject/a2a-tck), which A2A_TCK
// says where to find, with its dependencies in .venv, finds what it found at 357c4a8.
func TestA2AKit(t *testing.T) {
	dir := os.Getenv("A2A_TCK")
	if dir == "" {
		t.Skip("A2A_TCK does not name a copy of the kit")
	}
	var x *site
	x = open(t, t.TempDir(), kit{&x})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+annsToken) // the kit knows no tokens
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
	for _, want := range []string{"10 failed", "150 passed", "105 skipped"} { // docs/rough_edges.md says which
		if !strings.Contains(string(said), want) {
			t.Errorf("the kit does not say %q", want)
		}
	}
}
