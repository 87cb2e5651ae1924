package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Servers describe themselves in the fields that their documentation and their source have.
func TestProbe(t *testing.T) {
	for _, c := range []struct {
		name, model string
		pages       map[string]string
		want        string
	}{
		{"llama.cpp", "any", map[string]string{
			"/v1/models": `{"models":[{"name":"q.gguf","capabilities":["completion"]}],"object":"list","data":[{"id":"q.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":131072,"n_params":1}}]}`,
			"/props": `{"default_generation_settings":{"n_ctx":8192,"params":{}},"total_slots":1,"modalities":{"vision":false,"audio":false},` +
				`"chat_template_caps":{"supports_tools":true,"supports_tool_calls":true,"supports_system_role":false},"chat_template":"{% if m.reasoning_content is string %}"}`,
			"header": "Server: llama.cpp",
		}, "window 8192 by its /props, vision false by its /props, tools true by its /props; roles user, assistant (no system); has q.gguf; llama.cpp wants reasoning_content"},
		{"llama.cpp, newer", "q.gguf", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"q.gguf","meta":{"n_ctx":4096,"n_ctx_train":131072},"architecture":{"input_modalities":["text","image"]}}]}`,
			"/props":     `{"default_generation_settings":{"n_ctx":4096},"chat_template_caps":{"supports_tools":false,"supports_tool_calls":false}}`,
		}, "window 4096 by its list of models, vision true by its list of models, tools false by its /props; roles ; has q.gguf"},
		{"vLLM", "Qwen/Qwen3-8B", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model","owned_by":"vllm","max_model_len":32768}]}`,
		}, "window 32768 by its list of models; roles ; has Qwen/Qwen3-8B"},
		{"LM Studio", "gemma", map[string]string{
			"/v1/models":     `{"data":[{"id":"gemma","object":"model","owned_by":"organization_owner"},{"id":"other"}]}`,
			"/api/v0/models": `{"data":[{"id":"gemma","type":"vlm","state":"loaded","max_context_length":131072,"loaded_context_length":4096,"capabilities":["tool_use"]},{"id":"other","type":"llm"}]}`,
		}, "window 4096 by LM Studio's list, vision true by LM Studio's list, tools true by LM Studio's list; roles ; has gemma,other"},
		{"one that has its list at LM Studio's address, too", "x", map[string]string{
			"/v1/models":     `{"data":[{"id":"x"}]}`,
			"/api/v0/models": `{"data":[{"id":"x"}]}`,
		}, "; roles ; has x"},
		{"one that says yes to everything", "x", map[string]string{
			"/v1/models": `{"data":[{"id":"x"}]}`, "/props": `{}`, "/api/v0/models": `{"error":"unexpected endpoint"}`,
		}, "; roles ; has x"},
		{"Ollama, older", "qwen3", map[string]string{
			"/v1/models": `{"data":[{"id":"qwen3:latest"}]}`, "/api/show": `{"model_info":{"qwen3.context_length":40960}}`, "/api/ps": `{}`,
		}, "; roles ; has qwen3:latest"},
		{"OpenRouter", "a/b", map[string]string{
			"/v1/models": `{"data":[{"id":"a/b","context_length":1000000,"architecture":{"input_modalities":["text"]},"top_provider":{"context_length":200000,"max_completion_tokens":64000},"supported_parameters":["max_tokens","tools"]}]}`,
		}, "window 200000 by its list of models, output 64000 by its list of models, vision false by its list of models, tools true by its list of models; roles ; has a/b"},
		{"Mistral", "m", map[string]string{
			"/v1/models": `{"data":[{"id":"m","max_context_length":131072,"capabilities":{"completion_chat":true,"function_calling":true,"vision":false}}]}`,
		}, "window 131072 by its list of models, vision false by its list of models, tools true by its list of models; roles ; has m"},
		{"Groq", "g", map[string]string{"/v1/models": `{"data":[{"id":"g","context_window":131072,"max_completion_tokens":65536}]}`},
			"window 131072 by its list of models, output 65536 by its list of models; roles ; has g"},
		{"Ollama", "qwen3", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"qwen3:latest","owned_by":"library"},{"id":"other"}]}`,
			"/api/show":  `{"capabilities":["completion","tools","thinking"],"model_info":{"qwen3.context_length":40960}}`,
			"/api/ps":    `{"models":[{"name":"qwen3:latest","context_length":4096}]}`,
		}, "vision false by Ollama's /api/show, tools true by Ollama's /api/show, reasoning true by Ollama's /api/show, window 4096 by Ollama's /api/ps; roles ; has qwen3:latest,other"},
		{"a minute's allowance", "g", map[string]string{"/v1/models": `{"data":[{"id":"g","context_window":131072}]}`, "header": "X-Ratelimit-Limit-Tokens: 6000"},
			"window 6000 by its header X-Ratelimit-Limit-Tokens; roles ; has g"},
		{"an allowance for more than the window", "g", map[string]string{"/v1/models": `{"data":[{"id":"g","context_window":131072}]}`, "header": "X-Ratelimit-Limit-Tokens: 2000000"},
			"window 131072 by its list of models; roles ; has g"},
		{"one that says nothing", "x", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"x"},{"id":"y"}]}`}, "; roles ; has x,y"},
		{"one that does not have it", "z", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"x","max_model_len":9},{"id":"y","max_model_len":9}]}`}, "; roles ; has x,y"},
		{"a page for people", "x", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"x"}]}`, "/props": `<html>hello</html>`}, "; roles ; has x"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			page, ok := c.pages[r.URL.Path]
			if !ok || r.Header.Get("Authorization") != "Bearer sk-right" {
				http.NotFound(w, r)
				return
			}
			if r.Method == http.MethodPost != (r.URL.Path == "/api/show") {
				http.Error(w, "not so", http.StatusMethodNotAllowed)
				return
			}
			if name, value, ok := strings.Cut(c.pages["header"], ": "); ok {
				w.Header().Set(name, value)
			}
			fmt.Fprint(w, page)
		}))
		told, err := Probe(t.Context(), s.URL+"/v1", "sk-right", c.model)
		s.Close()
		var facts []string
		for _, f := range told.Facts {
			facts = append(facts, f.Key+" "+f.Value+" by "+f.From)
		}
		got := fmt.Sprintf("%s; roles %s; has %s", strings.Join(facts, ", "), told.Roles, strings.Join(told.Models, ","))
		if told.Server+told.Wants != "" {
			got += "; " + told.Server + " wants " + told.Wants
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}

// A server that lists its models and then says nothing is not waited for.
func TestProbeThatHangs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"x"}]}`)
			return
		}
		cancel()
		<-r.Context().Done()
	}))
	defer s.Close()
	if told, err := Probe(ctx, s.URL+"/v1", "", "x"); err != nil || len(told.Models) != 1 {
		t.Errorf("%+v, %v", told, err)
	}
}

// Where an address has no list of models and another path of its host has one, the error says
// so. A key that is refused, or a host without any, is another matter.
func TestPathsThatAreWrong(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models", "/team/v1/models":
			fmt.Fprint(w, `{"data":[{"id":"x"}]}`)
		case "/":
			fmt.Fprint(w, "<html>hello</html>")
		case "/locked/models":
			w.WriteHeader(http.StatusUnauthorized)
		case "/page/models":
			fmt.Fprint(w, "<html>hello</html>")
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	for path, want := range map[string]string{
		"":          "HTTP 404 Not Found, but " + s.URL + "/v1 lists models",
		"/":         "HTTP 404 Not Found, but " + s.URL + "/v1 lists models",
		"/api":      "HTTP 404 Not Found, but " + s.URL + "/v1 lists models",
		"/v1/v1":    "HTTP 404 Not Found, but " + s.URL + "/v1 lists models",
		"/team":     "HTTP 404 Not Found, but " + s.URL + "/team/v1 lists models",
		"/page":     "it answers, but not with a list of models, but " + s.URL + "/v1 lists models",
		"/locked":   "HTTP 401 Unauthorized",
		"/v1":       "",
		"/team/v1/": "",
	} {
		_, err := Probe(t.Context(), s.URL+path, "", "x")
		_, again := Models(t.Context(), s.URL+path, "")
		for _, err := range []error{err, again} {
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%q: %q, want %q", path, got, want)
			}
		}
	}
}
