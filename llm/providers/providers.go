// Package providers lists the providers that are built in.
package providers

import (
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

// All returns the providers that are built in, each made anew.
func All() provider.List {
	return provider.List{
		openai.Provider(),
		compat.Provider(),
		ollama.Provider(),
		anthropic.Provider(),
		google.Provider(),
		azure.Provider(),
		bedrock.Provider(),
		vertex.Provider(),
		scripted.Provider(),
	}
}
