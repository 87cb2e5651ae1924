package config

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// Whatever a file holds, Load returns; and if it takes the file, it knows
// every key in it, looked up here in another way than there.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", "a", "[llm]\nmodel='x'\n[llm.b]\n", "llm = {model='x', b={api_key='k'}}", "[[llm]]\n[llm.b]\nmodel=1\n", "[[hooks]]\non='waiting'\nrun='x'\n", "hooks=[{on=1}]\n[hooks.a]\n", "[models]\n'openai/x'={window=1}",
		"run.max_steps=1\nrun={}\n", "\"run.max_steps\"=1", "[\"llm\"]\n\"model\"=\"\"\"\nx\"\"\"", "[llm.'*']\nmodel='x'", "[tools.python]\n", "[tools]\npython.interpreter='p'",
		"redact=[1,'a',[{b=2}]]", "data_dir=1979-05-27", "run.timeout=inf", "\xef\xbb\xbfa=1\r\n", "[a.b.c.d.e.f.g]\nh=1\n[a.b.c.d.e.f.g.i]\n", string(Starter()),
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	known := map[string]bool{}
	for k := range allKeys() {
		known[k.name] = true
	}
	f.Fuzz(func(t *testing.T, data []byte, workspace bool) {
		l := newLoader(Sources{Dir: "/w", GOOS: "linux", Providers: providers.All(), Env: func(name string) (string, bool) { return "/h", name == "HOME" }})
		l.defaults()
		put := l.set
		l.stranger = workspace
		if workspace {
			put = l.putFromWorkspace
		}
		l.read("f", data, put)
		l.environment()
		l.shared()
		l.check()
		l.fill()
		_ = l.errs.Error()
		if len(l.errs) > 0 {
			return
		}
		var root map[string]any
		if err := toml.Unmarshal([]byte(strings.TrimPrefix(string(data), "\xef\xbb\xbf")), &root); err != nil {
			t.Fatalf("it takes what is no TOML: %v", err)
		}
		delete(root, "hooks") // which are no keys: TestHooks
		if workspace && len(l.cfg.Hooks) > 0 {
			t.Error("a workspace has a hook")
		}
		everyLeaf(root, nil, func(path []string) {
			if len(path) == 3 && (path[0] == "llm" || path[0] == "models") {
				path[1] = "*"
			}
			if !known[strings.Join(path, ".")] {
				t.Errorf("it takes the key %q", path)
			}
		})
		if workspace && l.cfg.Run.Approve == "all" {
			t.Error("a workspace opened the gate")
		}
		for range l.cfg.Values() {
			_, _ = l.cfg.Model("")
		}
	})
}

func everyLeaf(table map[string]any, path []string, do func(path []string)) {
	for name, v := range table {
		below := append(append([]string{}, path...), name)
		if t, ok := v.(map[string]any); ok {
			everyLeaf(t, below, do)
			continue
		}
		do(below)
	}
}

// Whatever a variable or a flag holds, it is a value or an error; and a value
// is the same again when its text goes through TOML's side.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{"", "1", "-1", "1.5", "90s", "true", "a,b", `["a"]`, "all", "1e999", "9999999999999999999", "0.000000001", "[", "NaN", "1h-1m"} {
		f.Add(seed)
	}
	var kinds []kind
	for k := range allKeys() {
		kinds = append(kinds, k.kind)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range kinds {
			v, err := k.parse(text)
			if err == nil && k.narrow != nil && !k.narrow(v, v) {
				t.Errorf("%s: %q allows more than itself", k.name, text)
			}
		}
	})
}

// Names of models come from people too.
func FuzzModel(f *testing.F) {
	for _, seed := range []string{"", "openai/x", "scripted:", "ollama/", "llm", "/", "b", "compat//", "x/y/z"} {
		f.Add(seed, "http://localhost/v1")
	}
	f.Fuzz(func(t *testing.T, name, base string) {
		c, _, err := load(Sources{Dir: "/w", GOOS: "linux", Flags: map[string]string{"model": name, "base-url": base},
			Env: func(name string) (string, bool) {
				switch name {
				case "HOME":
					return "/nowhere/at/all", true
				case "OPENAI_API_KEY":
					return "sk-something", true
				}
				return "", false
			}})
		if err != nil {
			return
		}
		m, err := c.Model("")
		if err == nil && (m.Provider == nil || m.Name == "" || !m.Provider.Script && provider.CheckURL(m.BaseURL) != nil) {
			t.Errorf("%+v", m)
		}
	})
}
