package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// TestModelsOfOllama: where nothing names a model, those of the Ollama on this
// machine are listed, and the first is the one that is used.
func TestModelsOfOllama(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "" {
			http.Error(w, "not expected", http.StatusTeapot)
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"qwen3:8b"},{"id":"gemma\u001b[2J"}]}`)
	}))
	defer srv.Close()
	d := newDesk(t, map[string]string{"OLLAMA_HOST": srv.URL})
	out := d.must("models")
	if !strings.Contains(out, "ollama/qwen3:8b") || !strings.Contains(out, "gemma[2J") || strings.Contains(out, "\x1b") {
		t.Errorf("models:\n%s", out)
	}
	if out := d.must("models", "--json"); strings.Count(out, `"default": true`) != 1 || strings.Index(out, `"default": true`) > strings.Index(out, "gemma") {
		t.Errorf("the first is not the one that is used:\n%s", out)
	}
	if out := d.must("completion", "words", "--", "run", "--model", "ollama/q"); out != "ollama/qwen3:8b\tollama/qwen3:8b\n" {
		t.Errorf("completion offers %q", out)
	}
}

// TestModelsCheck: what works is said of each model, and a wrong key is exit
// code 2 after one request.
func TestModelsCheck(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), `"model":"blind"`) && strings.Contains(string(body), "image_url"):
			http.Error(w, `{"error":{"message":"this model takes no image_url"}}`, http.StatusBadRequest)
		case strings.Contains(string(body), `"model":"locked"`):
			http.Error(w, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			for _, chunk := range []string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"report","arguments":""}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"colour\":\"red\"}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":50,"completion_tokens":5,"total_tokens":55,"prompt_tokens_details":{"cached_tokens":40}}}`,
				`[DONE]`,
			} {
				fmt.Fprintf(w, "data: %s\n\n", chunk)
			}
		}
	}))
	defer srv.Close()
	d := newDesk(t, map[string]string{"OPENMANUS_LLM_BASE_URL": srv.URL + "/v1", "OPENMANUS_LLM_API_KEY": "sk-x"})
	out := d.must("models", "check", "compat/able")
	if !regexp.MustCompile(`(?m)^compat/able +compat/able +yes +\d+ ms +yes +yes +yes +yes +-$`).MatchString(out) {
		t.Errorf("%s", out)
	}
	if out := d.must("models", "check", "compat/blind", "--json"); !strings.Contains(out, `"vision": "no"`) || !strings.Contains(out, `"tools": "yes"`) {
		t.Errorf("%s", out)
	}
	asked = 0
	if _, _, code := d.run("models", "check", "compat/locked"); code != exitUsage || asked != 1 {
		t.Errorf("exit code %d after %d requests", code, asked)
	}
}
