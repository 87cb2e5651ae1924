package host

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/providers"
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

// The word of an endpoint counts before the catalogue and after the configuration; its
// refusal counts before both. Each is shown with where it is from, and its day.
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
	if other, _ := learnedConfig(t, dir, base+"/elsewhere", ""); other.Told(m) == "" {
		t.Error("the model is forgotten")
	}

	// asked again, the server says what holds now
	if _, _, err := ProbeModel(t.Context(), cfg, ""); err != nil {
		t.Fatal(err)
	}
	is(16384, "endpoint: its list of models, 20", "")
	if _, err := ForgetModel(cfg, ""); err != nil {
		t.Fatal(err)
	}
	is(0, "default", "")

	// a file that is damaged is like none
	if err := os.WriteFile(filepath.Join(dir, "endpoints.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	is(0, "default", "")
	if !book.refused(m, "tools", "false", "no tools") || book.refused(m, "tools", "false", "no tools") {
		t.Error("a refusal is new once")
	}
	if _, m := learnedConfig(t, dir, base, ""); m.Info.Tools == nil || *m.Info.Tools {
		t.Errorf("%+v", m.Info)
	}
}
