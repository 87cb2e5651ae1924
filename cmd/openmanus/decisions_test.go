//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store"
)

// deciders are the surfaces of the program on which a person decides whether a command
// runs, by name. Each begins a session, decides, and ends the program. It reports false
// for a decision that cannot be made there.
var deciders = map[string]func(t *testing.T, dir string, d act.Decision) bool{
	"the command line": func(t *testing.T, dir string, d act.Decision) bool {
		openmanus := func(args ...string) {
			t.Helper()
			cmd := exec.Command("openmanus", args...)
			cmd.Dir, cmd.Env = dir, append(environ(dir), "OPENMANUS_SANDBOX_KIND=none")
			if out, err := cmd.CombinedOutput(); err != nil && args[0] != "run" {
				t.Fatalf("%q: %v\n%s", args, err, out)
			}
		}
		openmanus("run", "--model", "scripted:s", "go")
		args := []string{"sessions", "deny", "last"}
		switch {
		case d.Allow:
			args[1] = "approve"
			if d.Input != "" {
				args = append(args, "--input", d.Input)
			}
			if d.Remember {
				args = append(args, "--always")
			}
		default:
			if d.Reason != "" {
				args = append(args, "--reason", d.Reason)
			}
			if d.Remember {
				args = append(args, "--never")
			}
		}
		openmanus(args...)
		return true
	},
	"the prompt": func(t *testing.T, dir string, d act.Decision) bool {
		word := d.Reason
		switch {
		case d.Input != "":
			return false
		case d.Remember:
			word = map[bool]string{true: "always", false: "never"}[d.Allow]
		case d.Allow:
			word = "yes"
		case d.Reason == "":
			word = "no"
		}
		s := takeSeat(t, dir, "run", "--model", "scripted:s", "go")
		s.sees("[y]es, [n]o", "instead:")
		s.types(word + "\r")
		s.leaves()
		return true
	},
	"the screen": func(t *testing.T, dir string, d act.Decision) bool {
		if d.Input != "" || d.Remember && !d.Allow {
			return false
		}
		s := takeSeat(t, dir, "chat", "--model", "scripted:s")
		s.sees("/help lists the commands")
		s.types("go\r")
		s.sees("y allow once", "n deny")
		switch { // keys are not heard at once, so they are pressed again; ^U takes back what was too much
		case d.Remember:
			s.presses("a", "Done.")
		case d.Allow:
			s.presses("y", "Done.")
		default:
			s.presses("n", "Why not?")
			s.types("\x15" + d.Reason + "\r")
		}
		s.sees("Done.")
		s.types("\x15\x04")
		s.leaves()
		return true
	},
	"an editor": func(t *testing.T, dir string, d act.Decision) bool {
		if d.Input != "" || d.Reason != "" {
			return false
		}
		option := map[[2]bool]string{{true, false}: "allow", {true, true}: "always", {false, false}: "reject", {false, true}: "never"}[[2]bool{d.Allow, d.Remember}]
		e := edit(t, dir)
		e.says(`{"id":2,"method":"session/new","params":{"cwd":"` + dir + `","mcpServers":[]}}`)
		var made struct{ Result struct{ SessionID string } }
		if err := json.Unmarshal([]byte(e.hears(`"id":2`)), &made); err != nil {
			t.Fatal(err)
		}
		e.says(`{"id":3,"method":"session/prompt","params":{"sessionId":"` + made.Result.SessionID + `","prompt":[{"type":"text","text":"go"}]}}`)
		var asked struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(e.hears(`session/request_permission`)), &asked); err != nil {
			t.Fatal(err)
		}
		e.says(`{"id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"` + option + `"}}}`)
		e.hears(`"stopReason"`)
		return true
	},
	"a client of MCP": func(t *testing.T, dir string, d act.Decision) bool {
		if d.Input != "" || d.Remember {
			return false
		}
		content := map[string]any{"decision": map[bool]string{true: "allow", false: "deny"}[d.Allow], "reason": d.Reason}
		client := sdk.NewClient(&sdk.Implementation{Name: "a client", Version: "1"}, &sdk.ClientOptions{
			ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				return &sdk.ElicitResult{Action: "accept", Content: content}, nil
			},
		})
		cmd := exec.Command("openmanus", "mcp", "serve", "--approve", "ask", "--model", "scripted:s")
		cmd.Dir, cmd.Env = dir, append(environ(dir), "OPENMANUS_SANDBOX_KIND=none")
		c, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_task", Arguments: map[string]any{"prompt": "go"}}); err != nil {
			t.Fatal(err)
		}
		return true
	},
}

// The same decision is the same event, whichever way the person made it.
func TestTheSameDecisionIsTheSameEvent(t *testing.T) {
	const hash = "the question's"
	for what, c := range map[string]struct {
		d    act.Decision
		want openmanus.Ruled
	}{
		"yes":             {act.Decision{Allow: true}, openmanus.Ruled{Allow: true}},
		"no":              {act.Decision{}, openmanus.Ruled{Reason: act.Denied("")}},
		"no, why":         {act.Decision{Reason: "be quiet"}, openmanus.Ruled{Reason: act.Denied("be quiet")}},
		"other arguments": {act.Decision{Allow: true, Input: `{"command":"echo two"}`}, openmanus.Ruled{Allow: true, Input: `{"command":"echo two"}`}},
		"always":          {act.Decision{Allow: true, Remember: true}, openmanus.Ruled{Allow: true, Rule: act.ForGood}},
		"never":           {act.Decision{Remember: true}, openmanus.Ruled{Reason: act.Denied(""), Rule: act.ForGood}},
	} {
		t.Run(what, func(t *testing.T) {
			for name, decide := range deciders {
				dir := write(t, "s", "-- 1 --\n@call bash {\"command\": \"echo one\"}\n-- any --\nDone.\n")
				if !decide(t, dir, c.d) {
					continue
				}
				got := recorded[openmanus.Ruled](t, dir)
				if len(got) != 1 || !strings.Contains(got[0].By, "person") && got[0].By != "mcp client" || got[0].Hash == "" {
					t.Errorf("%s: the rulings are %+v", name, got)
					continue
				}
				got[0].By, got[0].Hash, c.want.Call, c.want.Hash = "", hash, "c0-1", hash
				g, err1 := json.Marshal(got[0])
				w, err2 := json.Marshal(c.want)
				if string(g) != string(w) || err1 != nil || err2 != nil {
					t.Errorf("%s records %s, and not %s", name, g, w)
				}
			}
		})
	}
}

// recorded returns the events of a kind in the only session of a person at home in dir.
func recorded[B openmanus.Body](t *testing.T, dir string) (all []B) {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, ".home", ".local", "share", "openmanus"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for info, err := range db.Sessions(t.Context(), journal.ListOptions{Roots: true}) {
		if err != nil {
			t.Fatal(err)
		}
		for ev, err := range db.Events(t.Context(), info.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := ev.Body.(B); ok {
				all = append(all, r)
			}
		}
	}
	return all
}
