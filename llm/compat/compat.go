// Package compat describes OpenAI-compatible endpoints: servers and services
// that speak Chat Completions at an address that the configuration names.
package compat

import (
	"fmt"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// Provider describes OpenAI-compatible endpoints. OPENAI_BASE_URL and
// OPENAI_API_KEY are set for them as well as for OpenAI.
func Provider() *provider.Provider {
	return &provider.Provider{
		Name:       "compat",
		Compatible: true,
		BaseVars:   []string{"OPENAI_BASE_URL"},
		Hosts:      []string{"api.openai.com"},
		KeyVars:    []string{"OPENAI_API_KEY"},
		SecretVars: []string{"HF_TOKEN"},
		Shared:     true,
		Keyless:    true,
		Resellers: []string{"openrouter.ai", "groq.com", "together.xyz", "deepinfra.com", "novita.ai", "huggingface.co",
			"ppinfra.com", "siliconflow.cn", "siliconflow.com", "nvidia.com", "requesty.ai"},
		Address: address,
		APIs:    []string{openai.Chat},
		Lists:   true,
		Maker:   maker,
		New: func(o provider.Options) (llm.Model, error) {
			opts := openai.From(o)
			opts.Progress = provider.Loopback(o.BaseURL) // a server of one's own
			return openai.New(opts), nil
		},
	}
}

// address is [provider.Provider].Address. There is no default.
func address(q provider.Query) (provider.Address, error) {
	base := q.Or(q.Base, "OPENAI_BASE_URL")
	if base.Text == "" {
		return provider.Address{}, fmt.Errorf("%s needs the address of its endpoint: "+
			"set [llm] base_url, OPENAI_BASE_URL or --base-url", q.Model)
	}
	return provider.Address{Base: base}, nil
}
