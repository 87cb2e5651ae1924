package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm/providers"
)

// The order in which a key is chosen is one that people's scripts rely on.
func TestTheOrderOfKeys(t *testing.T) {
	order := []string{
		"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY",
		"MISTRAL_API_KEY", "GROQ_API_KEY", "XAI_API_KEY", "MOONSHOT_API_KEY", "DASHSCOPE_API_KEY", "ZHIPU_API_KEY",
		"TOGETHER_API_KEY", "FIREWORKS_API_KEY", "CEREBRAS_API_KEY",
	}
	home := t.TempDir()
	with := func(set []string) *Config {
		cfg, _, err := load(Sources{Dir: home, Env: func(name string) (string, bool) {
			return map[bool]string{true: "key-of-" + strings.TrimSuffix(name, "_API_KEY"), false: home}[slices.Contains(set, name)], name == "HOME" || slices.Contains(set, name)
		}})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	for i, name := range order {
		cfg := with(order[i:])
		found := cfg.FoundKeys()
		if len(found) != len(order)-i || found[0].Variable != name {
			t.Fatalf("with %v: found %v", order[i:], found)
		}
		m, err := cfg.Model("")
		if err != nil || string(m.Key) != "key-of-"+strings.TrimSuffix(name, "_API_KEY") || !m.Unnamed || m.Provider != found[0].Provider || m.String() != found[0].Model {
			t.Errorf("with %s first: %v with the key %q, %v", name, m, string(m.Key), err)
		}
		if !m.Provider.Owns(m.BaseURL) {
			t.Errorf("%s goes to %s", name, m.BaseURL)
		}
		if m, err := with([]string{name}).Model("scripted:x"); err != nil || m.Unnamed {
			t.Errorf("%s: a model that is named does not win: %v, %v", name, m, err)
		}
	}
}

// Each provider that has a key of its own has a variable that moves its address.
func TestAddressesMove(t *testing.T) {
	for _, p := range providers.All() {
		if p.First() == "" || p.Local {
			continue
		}
		for _, name := range p.BaseVars {
			env := map[string]string{"HOME": t.TempDir(), name: "http://127.0.0.1:8001/v1", p.KeyVars[0]: "a-key"}
			cfg, _, err := load(Sources{Dir: env["HOME"], Env: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
			if err != nil {
				t.Fatal(err)
			}
			if m, err := cfg.Model(p.ModelName(p.First())); err != nil || m.BaseURL != "http://127.0.0.1:8001/v1" || m.Key != "a-key" {
				t.Errorf("%s: %v at %s with %q, %v", name, m, m.BaseURL, string(m.Key), err)
			}
		}
		if len(p.BaseVars) == 0 {
			t.Errorf("%s: no variable moves its address", p)
		}
	}
}
