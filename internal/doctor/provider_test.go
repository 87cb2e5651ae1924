package doctor

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// acme is a provider that is known nowhere else.
func acme() *provider.Provider {
	return &provider.Provider{
		Name:      "acme",
		TraceName: "acme.ai",
		BaseURL:   "https://api.acme.example.org/v1",
		Hosts:     []string{"api.acme.example.org", "*.acme.example.net"},
		KeyVars:   []string{"ACME_API_KEY"},
		APIs:      []string{"talk", "chat"},
		Lists:     true,
		PullHint:  "acme fetch",
		New:       func(o provider.Options) (llm.Model, error) { return answers(o), nil },
	}
}

// answers is a model that says which options it was made with.
type answers provider.Options

// Stream implements [llm.Model].
func (a answers) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		text := llm.Text{Text: strings.Join([]string{a.Model, a.BaseURL, a.Key, a.KeyFrom, a.API}, " ")}
		if yield(llm.Delta{Piece: text}, nil) {
			yield(llm.Delta{Stop: llm.End, Usage: &llm.Usage{}}, nil)
		}
	}
}

// One more entry in the list is all that it takes: the provider is configured,
// its key stays with it and out of journals, doctor asks it for its models, and
// a model of it is used.
func TestAddedProvider(t *testing.T) {
	list := append(providers.All(), acme())
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	text := "[llm]\nmodel = \"acme/anvil-1\"\n[llm.elsewhere]\nbase_url = \"https://other.example.org\"\n" +
		"[llm.tenant]\nbase_url = \"https://mine.acme.example.net/v1\"\napi = \"chat\"\n[models.\"acme/anvil-1\"]\nwindow = 7\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		v := map[string]string{"HOME": dir, "ACME_API_KEY": "acme-secret"}[name]
		return v, v != ""
	}
	cfg, _, err := config.Load(config.Sources{File: file, Dir: dir, Env: env, Providers: list})
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Secrets()["ACME_API_KEY"]; got != "acme-secret" {
		t.Errorf("its key is not among the secrets: %q", got)
	}
	for name, want := range map[string]string{
		"":          "anvil-1 https://api.acme.example.org/v1 acme-secret ACME_API_KEY talk",
		"elsewhere": "anvil-1 https://other.example.org   talk",
		"tenant":    "anvil-1 https://mine.acme.example.net/v1 acme-secret ACME_API_KEY chat",
	} {
		m, err := cfg.Model(name)
		if err != nil {
			t.Fatal(name, err)
		}
		model, err := m.Open()
		if err != nil {
			t.Fatal(name, err)
		}
		reply, err := llm.Generate(t.Context(), model, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "who?")}})
		if err != nil || reply.Message.Text() != want || m.Info.Window != 7 {
			t.Errorf("%s: %q, %v, window %d; want %q", name, reply.Message.Text(), err, m.Info.Window, want)
		}
	}
	if got := list.TraceName("acme/anvil-1"); got != "acme.ai" {
		t.Errorf("it is traced as %q", got)
	}
	machine := This(env)
	machine.Models = func(_ context.Context, base, key string) ([]string, error) {
		if base != "https://api.acme.example.org/v1" || key != "acme-secret" {
			return nil, StatusError(401)
		}
		return []string{"anvil-2"}, nil
	}
	found := (&checker{Machine: machine, Setup: Setup{Config: cfg}}).model(t.Context())
	if !slices.ContainsFunc(found, func(f Finding) bool {
		return f.Detail == "it does not list anvil-1" && f.Remedy == "acme fetch anvil-1; it has anvil-2"
	}) {
		t.Errorf("doctor found\n%+v", found)
	}
}
