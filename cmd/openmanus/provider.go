package main

import (
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/anthropic"
	"github.com/openmanus-go/openmanus/llm/openai"
)

// An adapter is a model at an endpoint, without retries: it can say what it
// sends.
type adapter interface {
	llm.Model
	Body(*llm.Request) ([]byte, error)
}

// adapt makes the adapter for m, which is no script. It connects to nothing.
func adapt(m config.Model) adapter {
	switch m.Provider {
	case "anthropic":
		o := anthropic.Options{Model: m.Name, BaseURL: m.BaseURL, Output: m.Info.Output, Hint: hint(m)}
		if o.Key = string(m.Key); m.KeyAt.Name == "ANTHROPIC_AUTH_TOKEN" {
			o.Key, o.Token = "", o.Key
		}
		return anthropic.New(o)
	}
	return openai.New(openai.Options{Model: m.Name, API: m.API, BaseURL: m.BaseURL, Key: string(m.Key), Hint: hint(m)})
}

// hint returns what can be said of m's configuration when it is refused.
func hint(m config.Model) func(llm.Kind) string {
	return func(k llm.Kind) string {
		var hints []string
		switch {
		case k == llm.Auth && m.Key == "":
			hints = append(hints, "no key is set for "+m.Address())
		case k == llm.Auth:
			hints = append(hints, "the key is from "+m.KeyAt.String())
		case k == llm.NoModel:
			hints = append(hints, "openmanus models shows where the name comes from")
		case k == llm.Network, k == llm.Timeout:
			hints = append(hints, fmt.Sprintf("the address is from %s", m.BaseAt))
		default:
			return ""
		}
		return strings.Join(append(hints, m.Notes...), "; ")
	}
}
