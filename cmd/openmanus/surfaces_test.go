//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An editing is an editor that has started openmanus acp.
type editing struct {
	t     *testing.T
	in    io.Writer
	lines chan string // what the program writes
}

// edit starts the program as an editor does that shows forms.
func edit(t *testing.T, dir string) *editing {
	t.Helper()
	cmd := exec.Command("openmanus", "acp", "--model", "scripted:"+filepath.Join(dir, "s"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "OPENMANUS_SANDBOX_KIND=none")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &editing{t: t, in: in, lines: make(chan string)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(e.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			select {
			case e.lines <- lines.Text():
			case <-t.Context().Done():
				return
			}
		}
	}()
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); <-read; cmd.Wait() })
	e.says(`{"id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{}}}}}`)
	e.hears(`"agentCapabilities"`)
	return e
}

// says sends a message.
func (e *editing) says(text string) {
	e.t.Helper()
	if _, err := fmt.Fprintln(e.in, `{"jsonrpc":"2.0",`+text[1:]); err != nil {
		e.t.Fatal(err)
	}
}

// hears returns the first message from now on that has a text.
func (e *editing) hears(text string) string {
	e.t.Helper()
	for deadline := time.After(patience); ; {
		select {
		case line, more := <-e.lines:
			switch {
			case !more:
				e.t.Fatalf("the program ended without %q", text)
			case strings.Contains(line, text):
				return line
			}
		case <-deadline:
			e.t.Fatalf("no %q", text)
		}
	}
}

// A terminal at the server and an editor over the same store follow one session, in which
// an agent three levels below asks. Both are asked, whoever answers, and both tell the end.
func TestSessionOnTerminalEditorAndServer(t *testing.T) {
	dir := write(t, "s", `Each level gives the work to the one below, which asks.
-- 1 --
@when last contains paint level 3
@call ask_human {"inquire": "which colour?"}
-- 1 --
@when last contains paint level 2
@call delegate {"agent": "swe", "task": "paint level 3"}
-- 1 --
@when last contains paint level 1
@call delegate {"agent": "swe", "task": "paint level 2"}
-- 1 --
@call delegate {"agent": "swe", "task": "paint level 1"}
-- any --
It was painted.
`, ".home/.config/openmanus/agents/boss.md", "---\nname: boss\ndescription: Gives work away.\nagents: [swe]\n---\nGive work away.\n")
	s := serve(t, dir, "127.0.0.1:0")
	link, err := os.ReadFile(filepath.Join(dir, "link"))
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"the API", "the terminal", "the editor"} {
		t.Run("answered on "+by, func(t *testing.T) {
			id := s.call("POST", "/api/v1/sessions", `{"agent": "boss"}`)["id"].(string)
			s.call("POST", "/api/v1/sessions/"+id+"/messages", `{"text": "paint it"}`)
			below := s.call("GET", "/api/v1/sessions/"+id+"?wait=60", "")["below"].([]any)[0].(map[string]any)
			if below["session"] != id+".c0-1.c0-1.c0-1" || below["question"] != "which colour?" {
				t.Fatal(below)
			}

			screen := takeSeat(t, dir, "chat", "--attach", strings.TrimSpace(string(link)), "--session", id)
			editor := edit(t, dir)
			editor.says(fmt.Sprintf(`{"id":2,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, id, dir))
			var asked struct {
				ID     json.RawMessage
				Params struct{ ToolCallID, Message string }
			}
			if err := json.Unmarshal([]byte(editor.hears(`"elicitation/create"`)), &asked); err != nil {
				t.Fatal(err)
			}
			if p := asked.Params; p.Message != "which colour?" || !strings.Contains(p.ToolCallID, "c0-1") {
				t.Errorf("the editor is asked %+v", p)
			}
			screen.sees("which colour?")

			switch by {
			case "the API":
				s.call("POST", fmt.Sprint("/api/v1/sessions/", below["session"], "/answers"), fmt.Sprintf(`{"call": %q, "answer": "blue"}`, below["call"]))
			case "the terminal":
				screen.types("blue")
				screen.sees("> blue")
				screen.presses("\r", "It was painted.") // Enter right after a question has opened is not for it
			case "the editor":
				editor.says(fmt.Sprintf(`{"id":%s,"result":{"action":"accept","content":{"answer":"blue"}}}`, asked.ID))
			}
			editor.hears("It was painted.")
			screen.sees("It was painted.")
			for state := ""; state != "finished"; {
				now := s.call("GET", "/api/v1/sessions/"+id+"?wait=60", "")
				if state = now["status"].(string); state == "finished" && now["answer"] != "It was painted." {
					t.Errorf("the API tells %v", now)
				}
			}
		})
	}
}
