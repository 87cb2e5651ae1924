//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/tui"
	"github.com/openmanus-go/openmanus/llm"
)

// speakers are the surfaces on which a person begins a session with a message, by name. Each
// ends when the agent has answered. The file that goes with it is in dir; "": none.
var speakers = map[string]func(t *testing.T, dir, text, file string){
	"the command line": func(t *testing.T, dir, text, file string) {
		args := []string{"run", "--model", "scripted:s"}
		if file != "" {
			args = append(args, "--attach", file)
		}
		cmd := exec.Command("openmanus", append(args, text)...)
		cmd.Dir, cmd.Env = dir, append(environ(dir), "OPENMANUS_SANDBOX_KIND=none")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	},
	"the screen": func(t *testing.T, dir, text, file string) {
		args := []string{"chat", "--model", "scripted:s"}
		if file != "" { // it goes with the task
			args = append(args, "--attach", file, text)
		}
		s := takeSeat(t, dir, args...)
		if file == "" {
			s.sees("/help lists the commands")
			s.types(strings.TrimSpace(text) + "\r")
		}
		s.sees("Done.")
		s.types("\x04")
		s.leaves()
	},
	"an editor": func(t *testing.T, dir, text, file string) {
		blocks := []any{map[string]any{"type": "text", "text": text}}
		if file != "" {
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			blocks = append(blocks, map[string]any{"type": "resource", "resource": map[string]any{"uri": "file://" + filepath.Join(dir, file), "text": string(data)}})
		}
		prompt, err := json.Marshal(blocks)
		if err != nil {
			t.Fatal(err)
		}
		e := edit(t, dir)
		e.says(`{"id":2,"method":"session/new","params":{"cwd":"` + dir + `","mcpServers":[]}}`)
		var made struct{ Result struct{ SessionID string } }
		if err := json.Unmarshal([]byte(e.hears(`"id":2`)), &made); err != nil {
			t.Fatal(err)
		}
		e.says(`{"id":3,"method":"session/prompt","params":{"sessionId":"` + made.Result.SessionID + `","prompt":` + string(prompt) + `}}`)
		e.hears(`"stopReason"`)
	},
	"the API": func(t *testing.T, dir, text, file string) {
		serve(t, dir, "127.0.0.1:0")
		link, err := os.ReadFile(filepath.Join(dir, "link"))
		if err != nil {
			t.Fatal(err)
		}
		src, err := tui.Attach(strings.TrimSpace(string(link)))
		if err != nil {
			t.Fatal(err)
		}
		m := tui.Message{ID: "m1", Text: text}
		if file != "" {
			m.Attach = []string{filepath.Join(dir, file)}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // what never comes is to fail, not to hang
		defer cancel()
		f := &far{t: t, Source: src}
		if f.id, err = src.Start(ctx, m); err != nil {
			t.Fatal(err)
		}
		f.answer("Done.")
	},
}

// The same message is the same event, whichever way the person sent it.
func TestTheSameMessageIsTheSameEvent(t *testing.T) {
	for what, c := range map[string]struct {
		text, file string
		want       llm.Parts
	}{
		"words":       {"Look at it.", "", llm.Parts{llm.Text{Text: "Look at it."}}},
		"space":       {" \nLook at it,\n  well.\n\n", "", llm.Parts{llm.Text{Text: "Look at it,\n  well."}}},
		"with a file": {"Look at it.", "a.txt", llm.Parts{llm.Text{Text: "Look at it."}, llm.Text{Text: "\n\n<file name=\"a.txt\">\none\ntwo\n</file>"}}},
	} {
		t.Run(what, func(t *testing.T) {
			for name, speak := range speakers {
				if name == "the screen" && strings.Contains(strings.TrimSpace(c.text), "\n") {
					continue // Enter sends
				}
				dir := write(t, "s", "-- any --\nDone.\n", "a.txt", "one\ntwo\n")
				speak(t, dir, c.text, c.file)
				got := recorded[openmanus.UserSaid](t, dir)
				if len(got) != 1 || got[0].ID == "" || got[0].Note == nil {
					t.Errorf("%s: the messages are %+v", name, got)
					continue
				}
				g, err1 := json.Marshal(openmanus.UserSaid{Message: got[0].Message, Sources: got[0].Sources, Whole: got[0].Whole})
				w, err2 := json.Marshal(openmanus.UserSaid{Message: llm.Message{Role: llm.User, Parts: c.want}})
				// An editor names a file in the text, where the person has put it.
				if text := strings.ReplaceAll(strings.ReplaceAll(string(g), dir+"/", ""), "@"+c.file+`"`, `"`); text != string(w) || err1 != nil || err2 != nil {
					t.Errorf("%s records %s, and not %s", name, text, w)
				}
			}
		})
	}
}
