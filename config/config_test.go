package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/near"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// load loads src with the providers that are built in.
func load(src Sources) (*Config, []Warning, error) {
	src.Providers = providers.All()
	return Load(src)
}

// empty is an environment of nothing but a home directory.
func empty(t *testing.T) Lookup {
	home := t.TempDir()
	return func(name string) (string, bool) { return home, name == "HOME" }
}

// file writes text into a file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, text)
	return path
}

func TestFilesOfWindowsAreFine(t *testing.T) {
	text := "\xef\xbb\xbf[run]\r\nmax_steps = 7\r\n\r\n[llm]\r\nmodel = \"gpt-5\" # here\r\n"
	path := file(t, text)
	cfg, _, err := load(Sources{File: path, Env: empty(t)})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Run.MaxSteps != 7 || cfg.LLM.Model != "gpt-5" {
		t.Errorf("run %+v, llm %+v", cfg.Run, cfg.LLM)
	}
	if got := cfg.Origin("llm.model"); got != (Source{From: File, Name: path, Line: 5}) {
		t.Errorf("llm.model is from %v", got)
	}
}

// Whatever --config names, the error says what is wrong with it.
func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.toml")
	if f, err := os.Create(huge); err != nil || f.Truncate(100<<20) != nil || f.Close() != nil {
		t.Fatal("cannot make a huge file")
	}
	cases := []struct{ path, want string }{
		{dir, "is a directory (name a TOML file)"},
		{filepath.Join(dir, "nowhere.toml"), "is not there (it is named by --config)"},
		{filepath.Join(huge, "below"), "is not there"},
		{huge, "has 104857600 bytes, and a configuration has at most 65536"},
		{file(t, "\xff\xfea\x00"), "is written in UTF-16 (save it as UTF-8)"},
		{file(t, "a = \"\xff\"\n"), ":1: is no TOML: "},
		{file(t, "a = 1\na = 2\n"), ":2: is no TOML: key a is already defined"},
		{file(t, "\x00\x00\x00"), ":1: is no TOML: "},
	}
	if runtime.GOOS != "windows" {
		cases = append(cases, struct{ path, want string }{os.DevNull, "is not a regular file"})
	}
	for _, c := range cases {
		_, _, err := load(Sources{File: c.path, Env: empty(t)})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), c.path) {
			t.Errorf("%s: %v; want %q", c.path, err, c.want)
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml") // a link to itself: root could read anything else
	if err := os.Symlink(path, path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	_, _, err := load(Sources{File: path, Env: empty(t)})
	if err == nil || !strings.HasPrefix(err.Error(), path+": cannot be read: ") {
		t.Error(err)
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ goos, env, config, data string }{
		{"linux", "HOME=/h", "/h/.config/openmanus", "/h/.local/share/openmanus"},
		{"linux", "HOME=/h XDG_CONFIG_HOME=/c XDG_DATA_HOME=/d", "/c/openmanus", "/d/openmanus"},
		{"linux", "HOME=/h XDG_CONFIG_HOME=relative", "/h/.config/openmanus", "/h/.local/share/openmanus"},
		{"darwin", "HOME=/h", "/h/Library/Application Support/openmanus", "/h/Library/Application Support/openmanus"},
		{"windows", "USERPROFILE=/u AppData=/r LocalAppData=/l", "/r/openmanus", "/l/openmanus"},
		{"windows", "USERPROFILE=/u", `/u/AppData\Roaming/openmanus`, `/u/AppData\Local/openmanus`},
		{"linux", "", "", ""},
		{"windows", "HOME=/h", "", ""},
	} {
		vars := pairs(strings.ReplaceAll(c.env, " ", "\n"))
		env := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
		config, err := UserDir(c.goos, env)
		data, _ := DataDir(c.goos, env)
		if filepath.ToSlash(config) != c.config || filepath.ToSlash(data) != c.data || (err == nil) != (c.config != "") {
			if runtime.GOOS != "windows" { // which has other absolute paths
				t.Errorf("%s, %s: %q, %q, %v", c.goos, c.env, config, data, err)
			}
		}
	}
}

// Without a home directory there is no place for sessions, and the error says
// what to set. With it set, all is well.
func TestNoHome(t *testing.T) {
	_, _, err := load(Sources{Dir: t.TempDir(), GOOS: "linux"})
	if want := "default: data_dir: the environment names no home directory: HOME is not set (set OPENMANUS_DATA_DIR)"; err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	dir := t.TempDir()
	cfg, _, err := load(Sources{Dir: t.TempDir(), GOOS: "linux",
		Env: func(name string) (string, bool) { return dir, name == "OPENMANUS_DATA_DIR" }})
	if err != nil || cfg.DataDir != dir {
		t.Errorf("%v, %v", cfg, err)
	}
}

// Whatever prints a configuration or a model does not print a key.
func TestNothingPrintsAKey(t *testing.T) {
	const secret = "sk-0123456789"
	cfg, warnings, err := load(Sources{File: file(t, "[llm]\napi_key = \""+secret+"\"\nmodel=\"x\"\n[llm.b]\nbase_url='http://u:"+secret+"@h/v1'\n"), Env: empty(t)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := cfg.Model("")
	if err != nil || string(m.Key) != secret {
		t.Fatal(m, err)
	}
	js, err := json.Marshal(map[string]any{"model": m, "llm": cfg.LLM})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := cfg.Model("b")
	for name, text := range map[string]string{
		"%v": fmt.Sprintf("%v %+v %#v %s", m, m, m.Key, m), "config": fmt.Sprintf("%+v %v", *cfg.LLM, cfg.LLM), "JSON": string(js),
		"warnings": fmt.Sprint(warnings), "show": show(cfg), "address": b.Address(), "source": fmt.Sprint(m.KeyAt),
	} {
		for n := 6; n <= len(secret); n++ {
			if strings.Contains(text, secret[:n]) {
				t.Errorf("%s: %s", name, text)
				break
			}
		}
	}
	if !slices.Contains(slices.Collect(mapValues(cfg.Secrets())), secret) {
		t.Error("and yet it is not among the secrets")
	}
}

func mapValues(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// keyAndHome is an environment with a key for OpenAI and a home directory.
func keyAndHome(t *testing.T) Lookup {
	vars := map[string]string{"OPENAI_API_KEY": "sk-something", "HOME": t.TempDir()}
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

// Settings override the catalogue value by value.
func TestCatalogue(t *testing.T) {
	yes, no := true, false
	cfg, _, err := load(Sources{File: file(t, "[models.'openai/gpt-5']\nwindow=5\nvision=false\nprice_in=1.25\n"),
		Env: keyAndHome(t)})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Catalogue = func(p *provider.Provider, name string) (Info, bool) {
		return Info{Window: 9, Output: 8, PriceIn: 1, PriceOut: 2, Vision: &yes, Tools: &yes}, p.Name == "openai"
	}
	m, err := cfg.Model("openai/gpt-5")
	if err != nil {
		t.Fatal(err)
	}
	i := m.Info
	if i.Window != 5 || i.Output != 8 || *i.Vision != no || *i.Tools != yes || i.Reasoning != nil {
		t.Errorf("%+v", i)
	}
	if want := (openmanus.Prices{Input: 1250, Output: 2}); !reflect.DeepEqual(m.Prices(), want) {
		t.Errorf("prices %v, want %v", m.Prices(), want)
	}
	all := Info{Window: 1, Output: 2, PriceIn: 3, PriceOut: 4, PriceCached: 5, PriceCacheWrite: 6, Vision: &yes, Tools: &no, Reasoning: &yes}
	cfg.Catalogue = func(*provider.Provider, string) (Info, bool) { return all, true }
	if m, err := cfg.Model("openai/other"); err != nil || !reflect.DeepEqual(m.Info, all) {
		t.Errorf("%+v, %v; want what the catalogue knows: %+v", m.Info, err, all)
	}
}

// A value says where it is from; what a model refuses is not sent to it, and a
// note says so.
func TestWhatIsKnownAndRefused(t *testing.T) {
	path := file(t, "[llm]\nmodel='openai/gpt-5'\ntemperature=0.5\neffort='low'\n[models.'openai/gpt-5']\nwindow=5\n[models.scripted]\nwindow=7\n")
	cfg, _, err := load(Sources{File: path,
		Env: keyAndHome(t)})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Catalogue = func(p *provider.Provider, name string) (Info, bool) {
		return Info{Window: 9, PriceIn: 1, Refuses: "temperature", Pattern: "openai/gpt-5*"}, p.Name == "openai"
	}
	m, err := cfg.Model("")
	if err != nil {
		t.Fatal(err)
	}
	if m.Settings.Temperature != nil || m.Settings.Effort != "low" || !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, "takes no temperature") }) {
		t.Errorf("%+v, %q", m.Settings, m.Notes)
	}
	for key, want := range map[string]Source{
		"window": {From: File, Name: path, Line: 6}, "price_in": {From: Catalogued, Name: "openai/gpt-5*"}, "refuses": {From: Catalogued, Name: "openai/gpt-5*"}, "vision": {},
	} {
		if got := cfg.InfoAt(m, key); got != want {
			t.Errorf("%s is from %v, want %v", key, got, want)
		}
	}
	if m, err := cfg.Model("scripted:x.txtar"); err != nil || m.Info.Window != 7 || cfg.InfoAt(m, "window").Line != 8 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestFlagNobodyKnows(t *testing.T) {
	_, _, err := load(Sources{Env: empty(t), Flags: map[string]string{"modle": "x"}})
	if err == nil || err.Error() != "--modle: is no flag that sets a key" {
		t.Error(err)
	}
}

func TestErrorsAreTyped(t *testing.T) {
	path := file(t, "[run]\n\nmax_stepz = 1\n")
	_, _, err := Check(path, empty(t), providers.All())
	var e *Error
	if !errors.As(err, &e) || e.Source != (Source{From: File, Name: path, Line: 3}) || e.Key != "run.max_stepz" || e.Hint != "did you mean run.max_steps?" {
		t.Errorf("%+v", err)
	}
	cfg, _, err := load(Sources{Env: empty(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cfg.Model(""); !errors.Is(err, ErrNoModel) {
		t.Errorf("%v", err)
	}
}

// Check looks at the file alone.
func TestCheck(t *testing.T) {
	env := func(name string) (string, bool) {
		if name == "HOME" {
			return "/", true
		}
		return "nonsense", true
	}
	path := file(t, "[run]\nmax_steps = 5\n[mcp]\nserver_reference = 'x'\n")
	_, warnings, err := Check(path, env, providers.All())
	if err != nil || len(warnings) != 1 || warnings[0].Key != "mcp.server_reference" {
		t.Errorf("%v, %v", warnings, err)
	}
}

// The file to begin with says nothing as it is, and is right when a person
// uncomments it, all of it.
func TestStarter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config.toml")
	if err := Create(path); err != nil {
		t.Fatal(err)
	}
	if err := Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second Create: %v", err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	cfg, warnings, err := load(Sources{File: path, Env: empty(t)})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", warnings, err)
	}
	for v := range cfg.Values() {
		if v.From != "default" {
			t.Errorf("it sets %+v", v)
		}
	}
	var all []byte
	for line := range bytes.Lines(Starter()) {
		if !bytes.HasPrefix(line, []byte("# ")) {
			line = bytes.TrimPrefix(line, []byte("#"))
		}
		all = append(all, line...)
	}
	all = bytes.ReplaceAll(all, []byte("api_key_env = \"\"\n"), nil) // either this or api_key
	all = bytes.ReplaceAll(all, []byte("base_url = \"\"\n"), nil)    // which is no address
	if cfg, warnings, err = load(Sources{File: file(t, string(all)), Env: empty(t)}); err != nil {
		t.Fatalf("uncommented: %v\n%s", err, all)
	}
	if len(warnings) != 0 || !cfg.Set("run.max_steps") || !cfg.Set("llm.fast.model") || !cfg.Set(`models."openai/gpt-5-mini".window`) {
		t.Errorf("uncommented, it sets too little, or in vain: %v\n%s", warnings, all)
	}
}

// The smaller of two settings limits what a session may read and write; -1 is
// no limit.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ budget, input, want int }{{-1, 0, -1}, {-1, 5, 5}, {3, 5, 3}, {5, 3, 3}, {5, 0, 5}} {
		cfg := &Config{Run: Run{Tokens: c.budget}}
		if got := cfg.Limits(Model{MaxInputTokens: c.input}).Tokens; got != c.want {
			t.Errorf("budget_tokens %d, max_input_tokens %d: %d, want %d", c.budget, c.input, got, c.want)
		}
	}
}

// A configuration is read by many at once.
func TestConcurrentUse(t *testing.T) {
	cfg, _, err := load(Sources{File: file(t, "[llm]\nmodel='a'\nbase_url='http://localhost/v1'\n[llm.b]\nmodel='b'\n"), Env: empty(t)})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, name := range []string{"", "b", "ollama/x", "nonsense/x"} {
				cfg.Model(name)
			}
			for range cfg.Values() {
				cfg.Secrets()
			}
		})
	}
	wg.Wait()
}

func TestNearest(t *testing.T) {
	words := []string{"max_steps", "model", "approve", "timeout", "agent"}
	for name, want := range map[string]string{
		"modle": "model", "MODEL": "model", "maxsteps": "max_steps", "max-steps": "max_steps", "aprove": "approve",
		"timout": "timeout", "": "", "zebra": "", "x": "", strings.Repeat("m", 1000): "",
	} {
		if got := near.Nearest(name, words); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
