package google

import (
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// Provider describes the Gemini API.
func Provider() *provider.Provider {
	return &provider.Provider{
		Name:      "google",
		Title:     "Google Gemini",
		KeyPage:   "https://aistudio.google.com/apikey",
		Suggested: "gemini-2.5-flash",
		TraceName: "gcp.gemini",
		BaseURL:   DefaultURL,
		BaseVars:  []string{"GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"},
		Hosts:     []string{"generativelanguage.googleapis.com"},
		KeyVars:   []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		Maker:     func(model string) (string, string) { return "google", strings.TrimPrefix(model, "models/") },
		New: func(o provider.Options) (llm.Model, error) {
			return New(Options{Model: o.Model, BaseURL: o.BaseURL, Key: o.Key, Hint: o.Hint}), nil
		},
	}
}
