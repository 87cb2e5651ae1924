package catalogue

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm/providers"
)

func find(provider, name string) (Model, bool) { return Find(providers.All().Named(provider), name) }

func TestFind(t *testing.T) {
	for _, c := range []struct {
		provider, name string
		pattern        string
	}{
		{"openai", "gpt-5-mini", "openai/gpt-5*-mini*"},
		{"openai", "gpt-5.2-mini-2027-01-01", "openai/gpt-5*-mini*"}, // next month's
		{"openai", "gpt-6", "openai/gpt-?*"},
		{"openai", "o5-mini", "openai/o?*"},
		{"openai", "gpt-4o-2024-08-06", "openai/gpt-4o*"},
		{"openai", "ft:whatever", ""},
		{"azure", "gpt-4.1", "openai/gpt-4.1*"},
		{"anthropic", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4*"},
		{"anthropic", "claude-opus-4-1", "anthropic/claude-opus-4*"},
		{"anthropic", "claude-opus-4-5", "anthropic/claude-opus-4-[5-9]*"},
		{"anthropic", "claude-fable-9", "anthropic/claude-*"},
		{"bedrock", "us.anthropic.claude-sonnet-4-20250514-v1:0", "anthropic/claude-sonnet-4*"},
		{"bedrock", "eu.amazon.nova-pro-v1:0", "bedrock/amazon.nova-pro*"},
		{"bedrock", "meta.llama3-1-70b-instruct-v1:0", "*/llama3*"},
		{"bedrock", "us.meta.llama4-maverick-17b-instruct-v1:0", "*/llama4*"},
		{"bedrock", "openai.gpt-oss-120b-1:0", "*/gpt-oss*"},
		{"bedrock", "global.anthropic.claude-haiku-4-5-20251001-v1:0", "anthropic/claude-haiku-4*"},
		{"vertex", "claude-3-7-sonnet@20250219", "anthropic/claude-3-7-sonnet*"},
		{"vertex", "gemini-2.5-pro", "google/gemini-2.5-pro*"},
		{"google", "models/gemini-2.5-flash", "google/gemini-2.5-flash*"},
		{"compat", "deepseek-chat", "compat/deepseek-chat*"},
		{"compat", "deepseek/DeepSeek-R1", "*/deepseek-r1*"},
		{"compat", "anthropic/claude-sonnet-4.5", "*/claude-*"},
		{"ollama", "qwen3:8b", "*/qwen3*"},
		{"ollama", "llama3.2-vision:11b", "*/llama3.2-vision*"},
		{"compat", "big-1", ""},
		{"scripted", "x.txtar", ""},
	} {
		m, ok := find(c.provider, c.name)
		if m.Pattern != c.pattern || ok != (c.pattern != "") {
			t.Errorf("%s/%s is taken for %q, want %q", c.provider, c.name, m.Pattern, c.pattern)
		}
		if strings.HasPrefix(m.Pattern, "*") && m.PriceIn != 0 {
			t.Errorf("%s/%s has a price", c.provider, c.name)
		}
	}
	if m, _ := find("ollama", "qwen3"); m.Window != 0 || !m.Tools {
		t.Errorf("Ollama's qwen3: %+v", m)
	}
	m, _ := find("openai", "gpt-5-mini")
	want := Model{Pattern: "openai/gpt-5*-mini*", Window: 400_000, Output: 128_000, PriceIn: 250, PriceOut: 2000, PriceCached: 25,
		Vision: true, Tools: true, Reasoning: true, Refuses: "temperature"}
	if m != want {
		t.Errorf("%+v\nwant %+v", m, want)
	}
}

// Every line is reached by some name: none stands behind one that takes all of
// its models.
func TestNoLineIsInVain(t *testing.T) {
	for _, m := range All() {
		provider, pattern, _ := strings.Cut(m.Pattern, "/")
		if provider == "*" {
			provider = "compat"
		}
		name := strings.NewReplacer("[5-9]", "5", "[1-3]", "1", "*", "", "?", "7").Replace(pattern)
		switch m.Pattern {
		case "openai/gpt-5.?-chat*":
			name = "gpt-5.1-chat"
		case "*/deepseek*":
			name = "deepseek-v3"
		}
		if got, _ := find(provider, name); got.Pattern != m.Pattern && !strings.HasPrefix(got.Pattern, "compat/") {
			t.Errorf("%s: %s is taken for %q", m.Pattern, name, got.Pattern)
		}
	}
}

func TestFiguresMakeSense(t *testing.T) {
	for _, m := range All() {
		switch {
		case m.Window < 4000, m.Output >= m.Window,
			m.PriceOut < m.PriceIn, m.PriceCached > m.PriceIn, m.PriceCacheWrite > 0 && m.PriceCacheWrite < m.PriceIn,
			strings.HasPrefix(m.Pattern, "*") && m.PriceIn != 0:
			t.Errorf("%+v", m)
		}
	}
}

func TestWrongLines(t *testing.T) {
	for line, want := range map[string]string{
		"openai/x 1k 1k 1 1 1":            "6 columns",
		"x 1k 1k 1 1 1 -":                 "no PROVIDER/NAME",
		"openai/[ 1k 1k 1 1 1 -":          "no PROVIDER/NAME",
		"openai/x k 1k 1 1 1 -":           "no number of tokens",
		"openai/x 1k 0 1 1 1 -":           "no number of tokens",
		"openai/x 1k 1k 1.2345 1 1 -":     "no price",
		"openai/x 1k 1k -1 1 1 -":         "no price",
		"openai/x 1k 1k 1 1 1 - telepath": "nothing that a model can",
	} {
		if _, err := parse("# a line\n" + line); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "models.txt:2") {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
