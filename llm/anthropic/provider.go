package anthropic

import (
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// tokenVar is the variable whose value is sent as a bearer token, not as a key.
const tokenVar = "ANTHROPIC_AUTH_TOKEN"

// Provider describes Anthropic.
func Provider() *provider.Provider {
	return &provider.Provider{
		Name:    "anthropic",
		Title:   "Anthropic",
		KeyPage: "https://console.anthropic.com/settings/keys",

		Suggested: "claude-sonnet-4-5",
		BaseURL:   DefaultURL,
		BaseVars:  []string{"ANTHROPIC_BASE_URL"},
		Hosts:     []string{"api.anthropic.com"},
		KeyVars:   []string{"ANTHROPIC_API_KEY", tokenVar},
		New: func(o provider.Options) (llm.Model, error) {
			opts := Options{Model: o.Model, BaseURL: o.BaseURL, Key: o.Key, Output: o.Output, Hint: o.Hint}
			if o.KeyFrom == tokenVar {
				opts.Key, opts.Token = "", o.Key
			}
			return New(opts), nil
		},
	}
}
