package zoo_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/zoo"
)

// served are the servers that TestServe opens, and what a session at each meets: calls of
// bash with thinking before them, a window that fills, and an end after so many replies.
var served = []string{"DeepSeek", "OpenAI Chat Completions", "OpenAI Responses", "Anthropic"}

const (
	repliesOfServed = 12
	windowOfServed  = 60_000
)

// TestServe is how programs that are no tests reach servers: with ZOO_SERVED, which is a
// file, it writes there where they are, as JSON, and ends with its standard input.
// Without, it is its own client.
func TestServe(t *testing.T) {
	at := map[string]string{}
	opened := map[string]*zoo.Opened{}
	for _, s := range zoo.Servers() {
		for _, name := range served {
			if s.Name == name {
				o := open(t, s)
				opened[name], at[name] = o, o.URL
			}
		}
	}
	if len(at) != len(served) {
		t.Fatal(at)
	}
	report := newReport(t, opened)
	at["report"] = report
	if path := os.Getenv("ZOO_SERVED"); path != "" {
		data, err := json.Marshal(at)
		if err == nil {
			err = os.WriteFile(path+".new", data, 0o600)
		}
		if err == nil {
			err = os.Rename(path+".new", path)
		}
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, os.Stdin)
		return
	}
	res, err := http.Post(at["DeepSeek"]+"/chat/completions", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"go"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(res.Body)
	res.Body.Close()
	res, err = http.Get(report)
	if err != nil {
		t.Fatal(err)
	}
	counted, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if !strings.Contains(string(said), "reasoning_content") || !strings.Contains(string(counted), `"DeepSeek":{"refusals":null,"taken":1}`) {
		t.Errorf("%s\n%s", said, counted)
	}
}

// open opens a server. A session of it has repliesOfServed replies, summaries aside.
func open(t *testing.T, s zoo.Server) *zoo.Opened {
	n := 0
	o := s.Open(t.Cleanup, func(_ int, body string) zoo.Turn {
		if strings.Contains(body, "is about to be replaced by a summary") {
			return zoo.Turn{Text: "I counted."}
		}
		n++
		count := fmt.Sprintf(`{"command":"seq %d %d"}`, n, n+900)
		switch {
		case n%repliesOfServed == 0:
			return zoo.Turn{Thought: "That is all.", Text: "Done."}
		case n%3 == 0:
			return zoo.Turn{Thought: fmt.Sprint("Both, ", n, "."), Calls: []zoo.Call{{Name: "bash", Arguments: count}, {Name: "bash", Arguments: `{"command":"ls"}`}}}
		case n%3 == 1:
			return zoo.Turn{Thought: fmt.Sprint("I see, ", n, "."), Text: "I count.", Calls: []zoo.Call{{Name: "bash", Arguments: count}}}
		}
		return zoo.Turn{Thought: fmt.Sprint("Again, ", n, "."), Calls: []zoo.Call{{Name: "bash", Arguments: count}}}
	})
	o.Window = windowOfServed
	return o
}

// newReport serves what each server took and refused.
func newReport(t *testing.T, opened map[string]*zoo.Opened) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		all := map[string]any{}
		for name, o := range opened {
			all[name] = map[string]any{"taken": len(o.Bodies()), "refusals": o.Refusals()}
		}
		if err := json.NewEncoder(w).Encode(all); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
