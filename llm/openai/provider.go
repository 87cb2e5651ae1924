package openai

import (
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// Provider describes OpenAI.
func Provider() *provider.Provider {
	return &provider.Provider{
		Name:         "openai",
		Title:        "OpenAI",
		KeyPage:      "https://platform.openai.com/api-keys",
		DefaultModel: "gpt-5-mini",
		BaseURL:      DefaultURL,
		BaseVars:     []string{"OPENAI_BASE_URL"},
		Hosts:        []string{"api.openai.com"},
		KeyVars:      []string{"OPENAI_API_KEY"},
		Shared:       true,
		APIs:         []string{Chat, Responses},
		HomeAPI:      Responses,
		Lists:        true,
		New: func(o provider.Options) (llm.Model, error) {
			return New(From(o)), nil
		},
	}
}

// From returns the options that o stands for, at its base URL and with its key.
func From(o provider.Options) Options {
	return Options{Model: o.Model, API: o.API, BaseURL: o.BaseURL, Key: o.Key, Reasoning: o.Reasoning,
		Thoughts: o.Thoughts, NoUsage: o.NoStreamOptions, Hint: o.Hint}
}
