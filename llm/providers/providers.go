// Package providers lists the providers that are built in.
package providers

import (
	"slices"

	"github.com/openmanus-go/openmanus/llm/anthropic"
	"github.com/openmanus-go/openmanus/llm/azure"
	"github.com/openmanus-go/openmanus/llm/bedrock"
	"github.com/openmanus-go/openmanus/llm/compat"
	"github.com/openmanus-go/openmanus/llm/google"
	"github.com/openmanus-go/openmanus/llm/ollama"
	"github.com/openmanus-go/openmanus/llm/openai"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/scripted"
	"github.com/openmanus-go/openmanus/llm/vertex"
)

// All returns the providers that are built in, each made anew. Where several have a key in
// the environment and nothing is configured, the first of the list is used.
func All() provider.List {
	return slices.Concat(provider.List{
		openai.Provider(),
		compat.Provider(),
		ollama.Provider(),
		anthropic.Provider(),
		google.Provider(),
	}, compat.Services(), provider.List{
		azure.Provider(),
		bedrock.Provider(),
		vertex.Provider(),
		scripted.Provider(),
	})
}
