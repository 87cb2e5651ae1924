package providers_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/openmanus-go/openmanus/internal/zoo"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// An endpoint that is as strict as its provider refuses no request because of one tool.
func TestStrictEndpoints(t *testing.T) {
	for _, c := range []struct {
		provider, api string
		rules         zoo.Provider
	}{
		{"openai", "chat", zoo.OpenAI}, {"openai", "responses", zoo.OpenAI}, {"compat", "chat", zoo.OpenAI}, {"groq", "chat", zoo.OpenAI},
		{"ollama", "", zoo.OpenAI}, {"anthropic", "", zoo.Anthropic}, {"google", "", zoo.Gemini},
	} {
		seen := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			for name, schema := range toolsIn(t, body) {
				seen++
				if why := c.rules.Refusal(name, schema); why != "" {
					t.Errorf("%s %s: %s\n%s", c.provider, c.api, why, schema)
				}
			}
			http.Error(w, "that is all", http.StatusBadRequest)
		}))
		m, err := providers.All().Named(c.provider).New(provider.Options{Model: "m", BaseURL: server.URL, Key: "k", API: c.api})
		if err != nil {
			t.Fatal(err)
		}
		req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "hi")}}
		for i, tool := range zoo.Tools() {
			req.Tools = append(req.Tools, llm.ToolSpec{Name: "tool" + string(rune('a'+i)), Description: tool.Of, Input: tool.Schema})
		}
		for range m.Stream(t.Context(), req) {
		}
		server.Close()
		if seen != len(req.Tools) {
			t.Errorf("%s %s: %d of %d tools came", c.provider, c.api, seen, len(req.Tools))
		}
	}
}

// toolsIn returns the schemas of the tools in a request, by their names.
func toolsIn(t *testing.T, body []byte) map[string]json.RawMessage {
	type tool struct {
		Name     string
		Schema   json.RawMessage `json:"input_schema"`
		Params   json.RawMessage `json:"parameters"`
		JSON     json.RawMessage `json:"parametersJsonSchema"`
		Function *tool
		Many     []tool `json:"functionDeclarations"`
	}
	var req struct{ Tools []tool }
	if err := json.Unmarshal(body, &req); err != nil {
		t.Error(err)
	}
	all := map[string]json.RawMessage{}
	for len(req.Tools) > 0 {
		one := req.Tools[0]
		req.Tools = append(req.Tools[1:], one.Many...)
		if one.Function != nil {
			one = *one.Function
		}
		for _, schema := range []json.RawMessage{one.Schema, one.Params, one.JSON} {
			if schema != nil {
				all[one.Name] = schema
			}
		}
	}
	return all
}
