package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm/providers"
)

func TestSetDefault(t *testing.T) {
	d := NewModel{Model: "openai/gpt-5", Key: "sk-new"}
	const own = "model = \"openai/gpt-5\"\napi_key = \"sk-new\"\n"
	for name, c := range map[string]struct{ was, want, gone string }{
		"no file":     {"", "[llm]\n" + own, ""},
		"no section":  {"# mine\n[run]\nmax_steps = 3", "# mine\n[run]\nmax_steps = 3\n[llm]\n" + own, ""},
		"comments":    {"#[llm]\n#model = \"x\"\n", "#[llm]\n#model = \"x\"\n[llm]\n" + own, ""},
		"another one": {"[llm]\nmodel = \"a\"\n api_key = \"sk-old\"\ntemperature = 0.5\n[llm.fast]\nmodel = \"b\"\n", "[llm]\n" + own + "temperature = 0.5\n[llm.fast]\nmodel = \"b\"\n", `model = "a"|api_key = ***`},
		"an address":  {"[llm] # x\nbase_url = \"http://localhost/v1\"\n", "", ""},
	} {
		path := filepath.Join(t.TempDir(), "new", "config.toml")
		if c.was != "" {
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(c.was), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		gone, err := SetDefault(path, d, func(name string) (string, bool) { return "/", name == "HOME" }, providers.All())
		data, _ := os.ReadFile(path)
		if c.want == "" { // what cannot be edited line by line is left alone
			if err == nil || string(data) != c.was || strings.Contains(err.Error(), "sk-new") {
				t.Errorf("%s: %v: %s", name, err, data)
			}
			continue
		}
		if got := strings.ReplaceAll(strings.Join(gone, "|"), "*****", "***"); err != nil || string(data) != c.want || !strings.HasPrefix(got, strings.TrimRight(c.gone, "*")) {
			t.Errorf("%s: %v, gone %s, now:\n%s", name, err, got, data)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the file has the mode %v", name, info.Mode())
		}
	}
}

// A key that stands in the keyring is read from there, and only for a file.
func TestAKeyInTheKeyring(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.toml")
	if err := os.WriteFile(file, []byte("[llm]\nmodel = \"openai/gpt-5\"\napi_key = \"keyring:openai\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	src := Sources{File: file, Dir: dir, Providers: providers.All(), Env: func(name string) (string, bool) { return dir, name == "HOME" }}
	if _, _, err := Load(src); err == nil || !strings.Contains(err.Error(), "there is no keyring here") {
		t.Error(err)
	}
	src.Keyring = func(string) (string, error) { return "", errors.New("it is locked") }
	if _, _, err := Load(src); err == nil || !strings.Contains(err.Error(), "it is locked (openmanus setup") {
		t.Error(err)
	}
	src.Keyring = func(name string) (string, error) { return "sk-of-" + name, nil }
	cfg, _, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := cfg.Model(""); err != nil || string(m.Key) != "sk-of-openai" {
		t.Errorf("%q %v", string(m.Key), err)
	}
	src.Env = func(name string) (string, bool) {
		return map[string]string{"HOME": dir, "OPENMANUS_LLM_API_KEY": "keyring:other"}[name], name == "HOME" || name == "OPENMANUS_LLM_API_KEY"
	}
	if cfg, _, err := Load(src); err == nil {
		if m, _ := cfg.Model(""); string(m.Key) == "sk-of-other" {
			t.Error("a variable reads the keyring")
		}
	}
}

// A key that is in the environment stays there: the file has its name alone.
func TestSetDefaultWithAKeyInTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	d := NewModel{Model: "compat/m", BaseURL: "http://localhost:1/v1", Key: "sk-secret", KeyEnv: "OPENAI_API_KEY"}
	env := func(name string) (string, bool) {
		v := map[string]string{"HOME": "/", "OPENAI_API_KEY": "sk-secret"}[name]
		return v, v != ""
	}
	if _, err := SetDefault(path, d, env, providers.All()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), "sk-secret") || !strings.Contains(string(data), `api_key_env = "OPENAI_API_KEY"`) {
		t.Errorf("%s, %v", data, err)
	}
	c, _, err := Load(Sources{File: path, Dir: filepath.Dir(path), Providers: providers.All(), Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := c.Model(""); err != nil || m.Key != "sk-secret" {
		t.Errorf("the key is %q, %v", string(m.Key), err)
	}
}
