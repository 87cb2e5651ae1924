package host

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/providers"
	"github.com/openmanus-go/openmanus/llm/tokens"
)

// learnedConfig loads a configuration for a model at base, with what was learnt in dir.
func learnedConfig(t *testing.T, dir, base, more string) (*config.Config, config.Model) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	text := fmt.Sprintf("[llm]\nmodel = \"compat/m\"\nbase_url = %q\n%s", base, more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e := Env{Dir: t.TempDir(), Lookup: func(name string) (string, bool) {
		return dir, name == "OPENMANUS_DATA_DIR"
	}}
	cfg, err := e.Load(config.Sources{File: file, Providers: providers.All(), Flags: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := cfg.Model("")
	if err != nil {
		t.Fatal(err)
	}
	return cfg, m
}

// The word of an endpoint counts before the catalogue and after the configuration. The
// smaller window of its refusal and of the configuration counts, for a week. Each is shown with
// where it is from, and its day.
func TestWhatEndpointsSay(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		asked++
		fmt.Fprint(w, `{"data":[{"id":"m","max_model_len":16384,"supports_image_in":true}]}`)
	}))
	defer s.Close()
	dir, base := t.TempDir(), s.URL+"/v1"
	is := func(want int, from, more string) {
		t.Helper()
		cfg, m := learnedConfig(t, dir, base, more)
		if at := cfg.InfoAt(m, "window").String(); m.Info.Window != want || !strings.Contains(at, from) {
			t.Errorf("the window is %d, known from %s; want %d from %s", m.Info.Window, at, want, from)
		}
	}
	is(0, "default", "")
	cfg, m := learnedConfig(t, dir, base, "")
	book := &endpointBook{dir: dir}
	first, _ := book.lookAt(t.Context(), cfg, m)
	if again, _ := book.lookAt(t.Context(), cfg, m); !first || again || asked != 1 {
		t.Errorf("it was asked %d times", asked)
	}
	is(16384, "endpoint: its list of models, 20", "")
	is(9000, "config.toml", "[models.\"compat/m\"]\nwindow = 9000\n")
	if cfg, m := learnedConfig(t, dir, base, ""); m.Info.Vision == nil || !*m.Info.Vision || !strings.Contains(cfg.Told(m), "vision true") {
		t.Errorf("%+v; %s", m.Info, cfg.Told(m))
	}

	_, m = learnedConfig(t, dir, base, "")
	book.learnFrom(m, &llm.Error{Kind: llm.Context, Err: errors.New("m: request (9012 tokens) exceeds the available context size (8192 tokens)")})
	is(8192, "endpoint: a refusal, 20", "")
	is(8192, "endpoint: a refusal, 20", "[models.\"compat/m\"]\nwindow = 9000\n")
	is(4096, "config.toml", "[models.\"compat/m\"]\nwindow = 4096\n")
	for _, text := range []string{"string too long: expected a string with maximum length 1024", "this model's context length is 9000 tokens"} {
		_, m = learnedConfig(t, dir, base, "")
		book.learnFrom(m, &llm.Error{Kind: llm.Context, Err: errors.New(text)})
		is(8192, "endpoint: a refusal, 20", "")
	}
	if err := book.change(m, func(p *page) {
		for i := range p.Facts {
			p.Facts[i].At = p.Facts[i].At.Add(-8 * 24 * time.Hour)
		}
	}); err != nil {
		t.Fatal(err)
	}
	is(9000, "config.toml", "[models.\"compat/m\"]\nwindow = 9000\n")
	is(8192, "endpoint: a refusal, 20", "")
	if other, _ := learnedConfig(t, dir, base+"/elsewhere", ""); other.Told(m) == "" {
		t.Error("the model is forgotten")
	}

	// asked again, the server says what holds now
	if _, _, err := ProbeModel(t.Context(), cfg, ""); err != nil {
		t.Fatal(err)
	}
	is(16384, "endpoint: its list of models, 20", "")
	if _, err := ForgetModel(t.Context(), cfg, ""); err != nil {
		t.Fatal(err)
	}
	is(0, "default", "")

	// a file that is damaged is like none
	if err := os.WriteFile(filepath.Join(dir, "endpoints.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	is(0, "default", "")
	none := config.Fact{Key: "tools", Value: "false", From: "what it counts", Why: "no tools"}
	if !book.found(m, none) || book.found(m, none) {
		t.Error("what is found is new once")
	}
	if _, m := learnedConfig(t, dir, base, ""); m.Info.Tools == nil || *m.Info.Tools {
		t.Errorf("%+v", m.Info)
	}
	// a person can take that back
	if _, m := learnedConfig(t, dir, base, "[models.\"compat/m\"]\ntools = true\n"); m.Info.Tools == nil || !*m.Info.Tools {
		t.Errorf("%+v", m.Info)
	}
	// the book does not write a page that stays the same, and reads null as an empty file
	if err := os.WriteFile(filepath.Join(dir, "endpoints.json"), []byte("null"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := book.change(m, func(*page) {}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(book.path()); err != nil || string(data) != "null" {
		t.Errorf("it was written without a reason: %s, %v", data, err)
	}
	if !book.found(m, none) {
		t.Error("nothing is learnt")
	}
}

// An endpoint that cannot say now what it has is not forgotten, and asked again in ten
// minutes; one that never says it, tomorrow. None is asked whose window is known.
func TestEndpointsThatDoNotSay(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		asked  bool
	}{
		{"no such page", 404, "", true},
		{"a key that does not fit", 401, "", false},
		{"too many requests", 429, "", false},
		{"it is loading", 503, "", false},
		{"a web page", 200, "<html>Hello</html>", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n++
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}))
			defer s.Close()
			dir := t.TempDir()
			_, m := learnedConfig(t, dir, s.URL+"/v1", "")
			book := &endpointBook{dir: dir}
			if err := book.told(m, []config.Fact{{Key: "window", Value: "16384", From: "its list of models", At: time.Now()}}); err != nil {
				t.Fatal(err)
			}
			if err := book.change(m, func(p *page) { p.Asked = time.Now().Add(-25 * time.Hour) }); err != nil {
				t.Fatal(err)
			}
			cfg, again := learnedConfig(t, dir, s.URL+"/v1", "")
			m = again
			for range 2 {
				if told, _ := book.lookAt(t.Context(), cfg, m); told {
					t.Error("it told something")
				}
			}
			p := book.read()[bookKey(m)]
			if n != 1 || len(p.Facts) != 1 || time.Since(p.Asked) < time.Hour != c.asked || p.Failed.IsZero() != c.asked {
				t.Errorf("asked %d times: %+v", n, p)
			}
			if _, err := ForgetModel(t.Context(), cfg, ""); err != nil {
				t.Fatal(err)
			}
			cfg, m = learnedConfig(t, dir, s.URL+"/v1", "[models.\"compat/m\"]\nwindow = 9000\n")
			if book.lookAt(t.Context(), cfg, m); n != 1 {
				t.Error("it was asked though its window is configured")
			}
		})
	}
}

// Processes that learn at once lose nothing of what the others have learnt.
func TestLearningAtOnce(t *testing.T) {
	const each, processes = 20, 4
	dir := t.TempDir()
	_, m := learnedConfig(t, dir, "http://127.0.0.1:1/v1", "")
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			book := &endpointBook{dir: dir} // each process has its own
			for k := range each {
				own := m
				own.Name = fmt.Sprintf("m%d-%d", i, k)
				if !book.found(own, config.Fact{Key: "tools", Value: "false", From: "a refusal", Why: "no tools"}) {
					t.Error("it is not new")
				}
			}
		})
	}
	all.Wait()
	if pages := (&endpointBook{dir: dir}).read(); len(pages) != each*processes {
		t.Errorf("%d of %d are kept", len(pages), each*processes)
	}
}

// A process that runs forgets what it has found out itself when a person has it dropped, here
// or with models probe --forget, and finds it out anew.
func TestForgettingWhileARunGoesOn(t *testing.T) {
	dir := t.TempDir()
	cfg, m := learnedConfig(t, dir, "http://127.0.0.1:1/v1", "[models.\"compat/m\"]\nwindow = 9000\n")
	h, err := New(Options{Env: Env{Dir: dir, Warn: func(string) {}}, Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	choose := func() (counts bool) {
		t.Helper()
		if _, _, err := h.Choose(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, counts = h.toolless.Load(learner(m))
		if _, refuses := h.refused.Load(learner(m)); refuses != counts {
			t.Error("a setting that was refused, and tools that were left out, differ")
		}
		return counts
	}
	find := func() {
		h.toolless.Store(learner(m), new(atomic.Int32))
		refusalsOf(h, m).Add("temperature")
		h.book.found(m, config.Fact{Key: "tools", Value: "false", From: "a refusal", Why: "m does not support tools"})
	}
	find()
	for range 2 {
		if !choose() {
			t.Error("it forgets by itself")
		}
	}
	if _, m := learnedConfig(t, dir, "http://127.0.0.1:1/v1", ""); m.Info.Tools == nil || *m.Info.Tools {
		t.Errorf("a refusal of tools is not remembered: %+v", m.Info)
	}
	for range 2 {
		if _, err := ForgetModel(t.Context(), cfg, ""); err != nil { // as another process does
			t.Fatal(err)
		}
		if choose() {
			t.Error("it does not forget")
		}
		if find(); !choose() {
			t.Error("it forgets what it found out afterwards")
		}
	}
}

// One question shows what a model refuses: the image, the tool, both or neither. It works in
// any case, and what it refused is remembered, though its server says that it takes it.
func TestOneProbe(t *testing.T) {
	for name, c := range map[string]struct {
		image, tool string // the words of a refusal
		told        string
	}{
		"takes all":  {"", "", ""},
		"no image":   {"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", "", "vision false"},
		"no tool":    {"", "registry.ollama.ai/library/m does not support tools", "tools false"},
		"only words": {"image input is not supported - hint: mmproj", "m does not support tools", "tools false vision false"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				refuse := func(words string) {
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, `{"error":{"message":%q}}`, words)
				}
				switch {
				case r.URL.Path == "/v1/models":
					fmt.Fprint(w, `{"data":[{"id":"m","max_model_len":16384,"capabilities":{"vision":true,"function_calling":true}}]}`)
				case c.image != "" && strings.Contains(string(body), "image_url"):
					refuse(c.image)
				case c.tool != "" && strings.Contains(string(body), `"tools"`):
					refuse(c.tool)
				default:
					fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Red.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
				}
			}))
			defer s.Close()
			dir := t.TempDir()
			cfg, _ := learnedConfig(t, dir, s.URL+"/v1", "")
			if r := CheckModel(t.Context(), cfg, ""); !r.OK {
				t.Fatalf("%+v", r)
			}
			var told []string
			for _, f := range cfg.Learned(mustModel(t, cfg)) {
				if f.Why != "" {
					told = append(told, f.Key+" "+f.Value)
				}
			}
			slices.Sort(told)
			if got := strings.Join(told, " "); got != c.told {
				t.Errorf("it remembers %q, not %q", got, c.told)
			}
			src := config.Sources{Dir: dir, Providers: providers.All(), Env: func(n string) (string, bool) { return dir, n == "HOME" }}
			if err := TryNewModel(t.Context(), src, config.NewModel{Model: "compat/m", BaseURL: s.URL + "/v1"}); err != nil {
				t.Errorf("setup says that it does not work: %v", err)
			}
		})
	}
}

func mustModel(t *testing.T, cfg *config.Config) config.Model {
	t.Helper()
	m, err := cfg.Model("")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Where an endpoint says that tools are lost, they are described in words, and one line says
// so. It says nothing where a person has configured that.
func TestToolsInWordsAreSaid(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		case "/props":
			fmt.Fprint(w, `{"default_generation_settings":{"n_ctx":8192},"chat_template_caps":{"supports_tools":false,"supports_tool_calls":false}}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	dir, base := t.TempDir(), s.URL+"/v1"
	cfg, m := learnedConfig(t, dir, base, "")
	(&endpointBook{dir: dir}).lookAt(t.Context(), cfg, m)
	for more, want := range map[string]int{"": 1, "[models.\"compat/m\"]\ntools = false\n": 0} {
		var said []string
		cfg, m := learnedConfig(t, dir, base, more)
		h := &Host{Options: Options{Config: cfg, Env: Env{Warn: func(text string) { said = append(said, text) }}}}
		for range 2 {
			if _, err := h.patient(m); err != nil {
				t.Fatal(err)
			}
		}
		if len(said) != want || want > 0 && !strings.Contains(said[0], "compat/m takes no tools (endpoint: its /props") {
			t.Errorf("%q: it says %q", more, said)
		}
	}
}

// A refusal without a number is one of a request whose size is known: a window that is at most
// that large is learnt. A refusal that is not about tokens, or may not be, teaches nothing.
func TestRefusalsWithoutANumber(t *testing.T) {
	long := strings.Repeat("hello ", 3000)
	text := func(size int) *llm.Request {
		return &llm.Request{System: "Be brief.", Messages: []llm.Message{llm.Say(llm.User, long)}, Size: size}
	}
	picture := llm.Message{Role: llm.Tool, Parts: llm.Parts{llm.Result{ID: "c1", Parts: llm.Parts{llm.Blob{MIME: "image/png"}}}}}
	for _, c := range []struct {
		name, words string
		req         *llm.Request
		kind        llm.Kind
		status      int
		output, fit int // of a reply, and what is learnt: 0 for nothing
	}{
		{"by what the provider reported before", "The prompt is too long.", text(20_000), llm.Context, 400, 0, 20_000},
		{"by our count", "Please reduce the length of the messages or completion.", text(0), llm.Context, 400, 0, 3012},
		{"with a long reply", "Input is too long for requested model.", text(20_000), llm.Context, 400, 8000, 25_500},
		{"with a reply that is as long as the window", "Input is too long for requested model.", text(8000), llm.Context, 400, 100_000, 14_000},
		{"in words that a number may follow", "Your input exceeds the context window of this model", text(20_000), llm.Context, 400, 8000, 25_500},
		{"by the provider's count", "Your request has 18000 tokens: that is too long", text(20_000), llm.Context, 400, 0, 18_000},
		{"with a number", "This model's maximum context length is 8192 tokens.", text(20_000), llm.Context, 400, 0, 8192},
		{"a gateway's", "Request Entity Too Large", text(20_000), llm.Context, 413, 0, 0},
		{"in bytes", "The request is too large: at most 4 MB", text(20_000), llm.Context, 400, 0, 0},
		{"in characters", "the prompt is too long: count its characters", text(20_000), llm.Context, 400, 0, 0},
		{"a small one", "The prompt is too long.", text(900), llm.Context, 400, 0, 0},
		{"with a picture", "The prompt is too long.", &llm.Request{Messages: []llm.Message{picture}, Size: 20_000}, llm.Context, 400, 0, 0},
		{"of something else", "the prompt is odd", text(20_000), llm.Protocol, 400, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, more := t.TempDir(), ""
			if c.output > 0 {
				more = fmt.Sprintf("max_tokens = %d\n", c.output)
			}
			cfg, m := learnedConfig(t, dir, "http://127.0.0.1:1/v1", more)
			err := sized(c.req, &llm.Error{Kind: c.kind, Status: c.status, Err: errors.New(c.words)}, cfg.Window(m), tokens.For(true, "m"))
			book := &endpointBook{dir: dir}
			book.learnFrom(m, err)
			_, m = learnedConfig(t, dir, "http://127.0.0.1:1/v1", more)
			if m.Info.Window < c.fit-5 || m.Info.Window > c.fit+5 {
				t.Errorf("the window is %d, not %d, after %v", m.Info.Window, c.fit, err)
			}
			if room := cfg.Window(m).RequestBudget(); c.fit > 8192 && room > c.req.Size {
				t.Errorf("a request may have %d tokens", room)
			}
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != c.kind || e.Status != c.status {
				t.Errorf("%+v", err)
			}
			if c.fit == 0 {
				return
			}
			if why := book.facts(m)[0].Why; !strings.Contains(why, c.words) {
				t.Errorf("it does not say why: %s", why)
			}
		})
	}
}
