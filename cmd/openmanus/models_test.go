package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
