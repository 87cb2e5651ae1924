package providers_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// The list hangs together: names are there once, and each role is played by one
// provider at most.
func TestList(t *testing.T) {
	seen := map[string]string{}
	once := func(p *provider.Provider, what string) {
		if was, ok := seen[what]; ok {
			t.Errorf("%s: %s is that of %s", p, what, was)
		}
		seen[what] = p.Name
	}
	for _, p := range providers.All() {
		once(p, "name "+p.Name)
		for _, word := range p.Types {
			once(p, "api_type "+word)
		}
		for role, is := range map[string]bool{"default": p.DefaultModel != "", "compatible": p.Compatible, "local": p.Local} {
			if is {
				once(p, "role "+role)
			}
		}
		if p.New == nil {
			t.Errorf("%s makes no model", p)
		}
		if !p.Shared {
			for _, h := range append(p.Hosts, p.KeyVars...) {
				once(p, "host or key "+h)
			}
		}
		if p.BaseURL == "" && p.Address == nil && !p.Script {
			t.Errorf("%s has no address", p)
		}
		if p.BaseURL != "" && len(p.Hosts) > 0 && !p.Owns(p.BaseURL) {
			t.Errorf("%s does not own %s", p, p.BaseURL)
		}
	}
}

// A provider's name stands in its own folder and in tests, and nowhere else.
func TestNamesStayInTheirFolders(t *testing.T) {
	var names []string
	for _, p := range providers.All() {
		names = append(names, p.Name)
	}
	name := regexp.MustCompile(`"(` + strings.Join(names, "|") + `)"`)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && rel != "." || rel == "bench" || rel == filepath.Join("internal", "zoo") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder := strings.Split(filepath.ToSlash(rel), "/")
		if folder[0] == "llm" && len(folder) > 2 && providers.All().Named(folder[1]) != nil {
			return nil
		}
		for n, line := range bytes.Split(data, []byte("\n")) {
			if m := name.Find(line); m != nil {
				t.Errorf("%s:%d names the provider %s", rel, n+1, m)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOwns(t *testing.T) {
	for _, c := range []struct{ base, owner string }{
		{"https://api.openai.com/v1", "openai"},
		{"https://API.OpenAI.com/v1", "openai"},
		{"http://api.openai.com/v1", ""}, // a key would go unencrypted
		{"https://api.openai.com.evil.test/v1", ""},
		{"https://mine.openai.azure.com", "azure"},
		{"https://a.b.openai.azure.com", ""},
		{"https://openai.azure.com", ""},
		{"https://.openai.azure.com", ""},
		{"https://bedrock-runtime.eu-west-1.amazonaws.com", "bedrock"},
		{"https://bedrock-runtime.evil.test#.amazonaws.com", ""},
		{"https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/l", "vertex"},
		{"https://generativelanguage.googleapis.com/v1beta", "google"},
		{"https://host.example.org/v1", ""},
		{"://", ""},
	} {
		var owner string
		if p := providers.All().At(c.base); p != nil {
			owner = p.Name
		}
		if owner != c.owner {
			t.Errorf("%s belongs to %q, want %q", c.base, owner, c.owner)
		}
	}
}

// The interface is the one that was asked for, where the provider has it.
func TestAPI(t *testing.T) {
	const home, elsewhere = "https://api.openai.com/v1", "https://host.example.org/v1"
	for _, c := range []struct {
		provider, base, said string
		want                 string
		ok                   bool
	}{
		{"openai", home, "", "responses", true},
		{"openai", elsewhere, "", "chat", true},
		{"openai", home, "chat", "chat", true},
		{"openai", home, "messages", "", false},
		{"azure", elsewhere, "", "chat", true},
		{"azure", elsewhere, "converse", "", false},
		{"compat", elsewhere, "responses", "chat", true},
		{"ollama", elsewhere, "", "", true},
		{"ollama", elsewhere, "chat", "chat", true},
		{"ollama", elsewhere, "responses", "", true},
		{"bedrock", elsewhere, "messages", "messages", true},
		{"bedrock", elsewhere, "chat", "", true},
		{"anthropic", elsewhere, "chat", "", true},
	} {
		if got, ok := providers.All().Named(c.provider).API(c.base, c.said); got != c.want || ok != c.ok {
			t.Errorf("%s at %s, asked for %q: %q, %v; want %q, %v", c.provider, c.base, c.said, got, ok, c.want, c.ok)
		}
	}
}

func TestTraceName(t *testing.T) {
	for model, want := range map[string]string{
		"openai/gpt-5": "openai", "google/gemini-2.5-pro": "gcp.gemini", "bedrock/x/y": "aws.bedrock",
		"scripted:a.txtar": "scripted", "other/x": "other", "plain": "", "": "",
	} {
		if got := providers.All().TraceName(model); got != want {
			t.Errorf("%q is traced as %q, want %q", model, got, want)
		}
	}
}
