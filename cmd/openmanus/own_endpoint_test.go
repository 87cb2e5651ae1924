package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// One variable with a key is all that a person needs, whichever service it is of.
func TestAKeyIsEnough(t *testing.T) {
	testbed.Need(t, "bwrap")
	const key = "not-a-key-at-all"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
		switch path := r.URL.Path; {
		case !strings.HasSuffix(sent, key):
			http.Error(w, `{"error":{"message":"no key"}}`, http.StatusUnauthorized)
		case strings.HasSuffix(path, "/messages"):
			for _, ev := range []string{
				`{"type":"message_start","message":{"id":"1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`,
				`{"type":"message_stop"}`,
			} {
				kind, _, _ := strings.Cut(strings.TrimPrefix(ev, `{"type":"`), `"`)
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, ev)
			}
		case strings.HasSuffix(path, ":streamGenerateContent"):
			fmt.Fprint(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"hello\"}]},\"finishReason\":\"STOP\"}]}\n\n")
		case strings.HasSuffix(path, "/chat/completions"):
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		default:
			http.Error(w, `{"error":{"message":"Not Found"}}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	n := 0
	for _, p := range providers.All() {
		if p.Name == "openai" || p.First() == "" || p.Local { // an address with OpenAI's key has no model of its own: see TestBadEndpoints
			continue
		}
		for _, name := range p.KeyVars {
			n++
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				out, errs, code := openmanusIn(t, []string{name + "=" + key, p.BaseVars[0] + "=" + s.URL + "/v1"}, "run", "hi")
				if code != 0 || out != "hello\n" || !strings.Contains(errs, p.ModelName(p.First())+" is used, with the key in "+name) {
					t.Errorf("exit %d, %q\n%s", code, out, errs)
				}
			})
		}
	}
	if n < 14 {
		t.Errorf("%d variables", n)
	}
}

// A smallServer has a window of few tokens. It refuses a request that does not fit, by its own
// count, and asks for a command so many times.
type smallServer struct {
	window, steps int
	mute          bool // it says neither what it has nor what fits

	mu                      sync.Mutex
	asked, refused, offered int // offered is the most tools that a request had
}

func (s *smallServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" && !s.mute {
		fmt.Fprintf(w, `{"data":[{"id":"m","meta":{"n_ctx":%d}}]}`, s.window)
		return
	}
	if r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var req struct{ Messages, Tools []json.RawMessage }
	_ = json.Unmarshal(body, &req)
	size := len(body) / 4
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered = max(s.offered, len(req.Tools))
	if size > s.window {
		s.refused++
		w.WriteHeader(http.StatusBadRequest)
		if s.mute {
			fmt.Fprint(w, `{"error":{"message":"The prompt is too long."}}`)
			return
		}
		fmt.Fprintf(w, `{"error":{"code":400,"message":"request (%d tokens) exceeds the available context size (%d tokens), try increasing it","type":"exceed_context_size_error"}}`, size, s.window)
		return
	}
	s.asked++
	delta, stop := `{"content":"I counted."}`, "stop"
	switch last := string(req.Messages[len(req.Messages)-1]); {
	case strings.Contains(last, "is about to be replaced by a summary"):
		s.asked--
	case s.asked > s.steps:
		delta = `{"content":"done"}`
	default:
		stop = "tool_calls"
		delta = fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":"bash","arguments":"{\"command\":\"seq 1 500 # %[1]d\"}"}}]}`, s.asked)
	}
	fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":%s,\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":9,\"total_tokens\":%d}}\n\ndata: [DONE]\n\n", delta, stop, size, size+9)
}

// In a window of 4,096 tokens the general agent has few tools, and does a task of ten steps
// without one refusal. Where even these do not fit, a sentence says so and what helps, and
// nothing is asked.
func TestTheGeneralAgentInSmallWindows(t *testing.T) {
	testbed.Need(t, "bwrap")
	run := func(window int) (s *smallServer, out, errs string, code int) {
		s = &smallServer{window: window, steps: 10}
		srv := httptest.NewServer(s)
		defer srv.Close()
		out, errs, code = openmanusIn(t, []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + srv.URL + "/v1"}, "run", "--approve", "all", "Count to 500, ten times.")
		return s, out, errs, code
	}
	s, out, errs, code := run(4096)
	if code != 0 || out != "done\n" || s.asked != 11 || s.refused != 0 || s.offered > 6 || !strings.Contains(errs, "offered on demand alone") {
		t.Errorf("exit %d, %q, %d replies, %d refusals, %d tools\n%s", code, out, s.asked, s.refused, s.offered, errs)
	}
	s, _, errs, code = run(2048)
	if code != 1 || s.asked+s.refused != 0 {
		t.Errorf("exit %d, %d replies, %d refusals\n%s", code, s.asked, s.refused, errs)
	}
	for _, want := range []string{"larger than the model's window", "the instructions and the tools alone have", "an agent with fewer tools", "llama-server -c 8192"} {
		if !strings.Contains(errs, want) {
			t.Errorf("it does not say %q: %s", want, errs)
		}
	}
}

// A server that refuses a request as too long, and neither says what fits nor what it has, is
// refused by no later one: what it refused is remembered, with the day and why, and shown by
// models probe, which nothing else tells.
func TestARefusalWithoutANumber(t *testing.T) {
	testbed.Need(t, "bwrap")
	s := &smallServer{window: 16_384, mute: true}
	srv := httptest.NewServer(s)
	defer srv.Close()
	env := []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + srv.URL + "/v1", "OPENMANUS_DATA_DIR=" + t.TempDir()}
	probe := func(code int, out string, errs ...string) {
		t.Helper()
		o, e, got := openmanusIn(t, env, "models", "probe", "compat/m")
		if got != code || !strings.Contains(o, out) {
			t.Errorf("models probe: exit %d, want %d\n%s%s", got, code, o, e)
		}
		for _, w := range append(errs, "does not say what it has", "HTTP 404", "env OPENAI_BASE_URL") {
			if !strings.Contains(e, w) {
				t.Errorf("models probe does not say %q: %s", w, e)
			}
		}
	}
	probe(2, "")
	for _, want := range []int{1, 1} { // in all
		s.steps += 45
		out, errs, code := openmanusIn(t, env, "run", "--model", "compat/m", "--approve", "all", "--max-steps", "100", "Count to 500, again and again.")
		if code != 0 || out != "done\n" || s.refused != want {
			t.Fatalf("exit %d, %q, %d refusals after %d replies\n%s", code, out, s.refused, s.asked, errs)
		}
	}
	probe(0, "endpoint: a refusal, 20", "window: m at", "The prompt is too long", "it has about 16")
	if out, errs, code := openmanusIn(t, env, "models", "probe", "compat/m", "--json"); code != 0 || !strings.Contains(out, `"silent": "`) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if _, errs, code := openmanusIn(t, env, "models", "probe", "--forget", "compat/m"); code != 0 {
		t.Error(errs)
	}
	probe(2, "")
}

// A server whose template leaves the tools out, without an error, counts only what it read. The
// tools are then described in words, the task is done, and one line says so; a later run
// describes them from its first request on.
func TestToolsThatAServerLeavesOut(t *testing.T) {
	testbed.Need(t, "bwrap")
	var withTools, inWords int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var req struct{ Messages, Tools []json.RawMessage }
		_ = json.Unmarshal(body, &req)
		read, _ := json.Marshal(req.Messages)
		said := "I would run it for you."
		if len(req.Tools) > 0 {
			withTools++
		} else if inWords++; inWords%3 != 0 {
			said = fmt.Sprintf("<tool_call>\n{\"name\":\"bash\",\"arguments\":{\"command\":\"echo %d >> made.txt\"}}\n</tool_call>", inWords)
		} else {
			said = "done"
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":9,\"total_tokens\":%d}}\n\ndata: [DONE]\n\n", said, len(read)/4, len(read)/4+9)
	}))
	defer srv.Close()
	env := []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + srv.URL + "/v1", "OPENMANUS_DATA_DIR=" + t.TempDir()}
	for _, want := range []string{"leaves the tools out of what the model reads", "takes no tools (endpoint: what it counts, 20"} {
		out, errs, code := openmanusIn(t, env, "run", "--model", "compat/m", "--approve", "all", "make made.txt")
		if code != 0 || !strings.HasSuffix(out, "done\n") || strings.Count(errs, want) != 1 || !strings.Contains(errs, "made.txt") || withTools != 2 {
			t.Errorf("exit %d, %q, %d requests with tools, want one line with %q\n%s", code, out, withTools, want, errs)
		}
	}
}
