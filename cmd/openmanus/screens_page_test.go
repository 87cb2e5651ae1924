//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/scripted"
	"github.com/openmanus-go/openmanus/store"
)

// TestScreens is a person who sees every screen of the page, in light and dark, English and
// Chinese, on a telephone and on a wide screen: testdata/screens.mjs. It keeps the pictures.
func TestScreens(t *testing.T) {
	home := t.TempDir()
	if *pictures { // which show it
		home = filepath.Join(os.TempDir(), "dana")
		defer os.RemoveAll(home)
	}
	files, err := txtar.ParseFile(filepath.Join("testdata", "screens", "files.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var casa []byte
	for _, f := range files.Files {
		name, mode := filepath.Join(home, f.Name), os.FileMode(0o644)
		if strings.HasPrefix(f.Name, "bin/") {
			mode = 0o755
		}
		if f.Name == "casa.html" {
			casa = f.Data
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, f.Data, mode)); err != nil {
			t.Fatal(err)
		}
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(casa)
	}))
	defer site.Close()
	model := httptest.NewServer(chatModel(t, filepath.Join("testdata", "screens", "script.txt"), "SITE", site.URL))
	defer model.Close()
	config := fmt.Sprintf("[llm]\nmodel = \"openai/gpt-5\"\nbase_url = %q\napi_key = \"sk-of-the-screens\"\napi = \"chat\"\n"+
		"[llm.claude]\nmodel = \"anthropic/claude-sonnet-4-5\"\nbase_url = %[1]q\napi_key = \"sk-of-the-screens\"\n"+
		"[schedules.weekly-report]\ncron = \"0 8 * * 1\"\nzone = \"Europe/Lisbon\"\ntask = \"Write the report of last week, as a PDF\"\n"+
		"[[hooks]]\non = \"failed\"\nrun = \"jq -r .session >>~/failed.txt\"\n"+
		"[triggers.issues]\nsignature = \"github\"\nsecret_env = \"ISSUES_SECRET\"\nwhen = [\"header:X-GitHub-Event=issues\", \"action=opened\"]\n", model.URL+"/v1")
	settings := filepath.Join(home, ".config", "openmanus", "config.toml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(settings), 0o755), os.WriteFile(settings, []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	past(t, filepath.Join(home, ".local", "share", "openmanus"))
	t.Setenv("SCREENS_HOME", home)
	s := serveTo(t, home, "127.0.0.1:0", os.Stderr, "HOME="+home, "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"),
		"OPENMANUS_BROWSER_SANDBOX=false", "OPENMANUS_WEB_HOSTS=127.0.0.1:*", "OLLAMA_HOST=127.0.0.1:9", "ISSUES_SECRET=0c94be1fd4", "OPENMANUS_SANDBOX_TIMEOUT=3h", "OPENMANUS_SERVE_ROOT="+filepath.Join(home, "code"))
	visitWith(t, "screens.mjs", home, s)
	if *pictures {
		shrink(t, filepath.Join("..", "..", "docs", "pictures"))
	}
}

// past stores sessions of the last weeks.
func past(t *testing.T, dir string) {
	t.Helper()
	db, err := store.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const dollar = openmanus.Money(1e9)
	for i, s := range []struct {
		hours      int // ago
		task, said string
		cents      openmanus.Money
		failed     bool
	}{
		{3, "Supplier contracts, in short", "Eleven contracts on two pages, with the dates by which you can leave them.", 22, false},
		{26, "Match bank statement to open invoices", "", 9, true},
		{28, "Rename the photo archive", "4,812 photos have the day and the place in their names.", 41, false},
		{31, "Log rotation on the NAS", "Logs are kept for 30 days, and packed.", 12, false},
		{33, "Reading list on heat pumps", "Nine sources, the newest from last month.", 64, false},
		{75, "Translate the terms into Portuguese", "The terms are in terms.pt.md; three places need a lawyer.", 38, false},
		{100, "Which customers are late?", "Seven are; two of them each time.", 17, false},
		{150, "Slides for the kick-off", "Twelve slides with your figures.", 94, false},
		{200, "Move the wiki to Markdown", "212 pages moved; four had broken links.", 236, false},
		{290, "Price list for 2026", "The list is in prices.xlsx.", 29, false},
		{390, "Read the new packaging rules", "What changes for you fits on one page.", 71, false},
		{500, "Backup of the office machines", "All four are backed up each night.", 33, false},
	} {
		at := time.Now().Add(-time.Duration(s.hours) * time.Hour).UTC().Truncate(time.Microsecond)
		spec := openmanus.Spec{Agent: "manus", Model: "openai/gpt-5", Approve: "ask", Workspace: dir + "-work"}
		end := openmanus.Ended{Turn: 1, Re: 4, Status: openmanus.Finished}
		if s.failed {
			end = openmanus.Ended{Turn: 1, Re: 4, Status: openmanus.Failed, Error: "The statement has pages without a text."}
		}
		var events []openmanus.Event
		for n, b := range []openmanus.Body{
			openmanus.Opened{Flow: "manus", Owner: "local", Version: 2}, openmanus.Configured{Spec: spec},
			openmanus.UserSaid{ID: "u", Message: llm.Say(llm.User, s.task)},
			openmanus.ModelSaid{Re: 3, Stop: llm.End, Message: llm.Say(llm.Assistant, s.said), By: spec.Model,
				Usage: llm.Usage{Input: int(s.cents) * 5200, Output: int(s.cents) * 350, Cached: int(s.cents) * 3600}, Cost: s.cents * dollar / 100},
			end,
		} {
			events = append(events, openmanus.Event{Seq: int64(n + 1), Time: at.Add(time.Duration(n) * time.Second), Body: b})
		}
		if err := db.Restore(t.Context(), fmt.Sprintf("past%02d", i), events); err != nil {
			t.Fatal(err)
		}
	}
}

// chatModel serves a script as a model that speaks Chat Completions; swap is of strings.NewReplacer.
func chatModel(t *testing.T, file string, swap ...string) http.Handler {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	script, err := scripted.Parse([]byte(strings.NewReplacer(swap...).Replace(string(data))))
	if err != nil {
		t.Fatal(err)
	}
	model := script.Model()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		req, err := chatRequest(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply, err := llm.Collect(r.Context(), model, req, nil)
		if err != nil {
			status := http.StatusInternalServerError
			if e, ok := errors.AsType[*llm.Error](err); ok && e.Status != 0 {
				status = e.Status
			}
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": err.Error()}}) // who is gone needs none
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range chatChunks(reply) {
			line, _ := json.Marshal(chunk) // of strings and numbers
			fmt.Fprintf(w, "data: %s\n\n", line)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
}

// chatRequest reads what a script looks at.
func chatRequest(r *http.Request) (*llm.Request, error) {
	type call struct {
		ID       string
		Function struct{ Name, Arguments string }
	}
	var in struct {
		Messages []struct {
			Role      string
			Content   json.RawMessage
			ToolCalls []call `json:"tool_calls"`
			ToolID    string `json:"tool_call_id"`
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	req := new(llm.Request)
	for _, m := range in.Messages {
		var text string
		var parts []struct{ Text string }
		if json.Unmarshal(m.Content, &text) != nil && json.Unmarshal(m.Content, &parts) == nil {
			for _, p := range parts {
				text += p.Text
			}
		}
		switch m.Role {
		case "system", "developer":
			req.System = text
		case "tool":
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: llm.Parts{llm.Result{ID: m.ToolID, Parts: llm.Parts{llm.Text{Text: text}}}}})
		case "user":
			req.Messages = append(req.Messages, llm.Say(llm.User, text))
		default:
			said := llm.Say(llm.Assistant, text)
			for _, c := range m.ToolCalls {
				said.Parts = append(said.Parts, llm.Call{ID: c.ID, Name: c.Function.Name, Input: c.Function.Arguments})
			}
			req.Messages = append(req.Messages, said)
		}
	}
	return req, nil
}

// chatChunks are the events of a reply.
func chatChunks(reply *llm.Reply) []any {
	var calls []any
	for i, c := range reply.Message.Calls() {
		calls = append(calls, map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Input}})
	}
	delta, why := map[string]any{"role": "assistant", "content": reply.Message.Text()}, "stop"
	if len(calls) > 0 {
		delta["tool_calls"], why = calls, "tool_calls"
	}
	return []any{
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": why}}},
		map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": reply.Usage.Input, "completion_tokens": reply.Usage.Output,
			"prompt_tokens_details": map[string]any{"cached_tokens": reply.Usage.Cached}}},
	}
}
