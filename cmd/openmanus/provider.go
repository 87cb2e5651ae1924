package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/anthropic"
	"github.com/openmanus-go/openmanus/llm/google"
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
	case "google":
		return google.New(google.Options{Model: m.Name, BaseURL: m.BaseURL, Key: string(m.Key), Hint: hint(m)})
	}
	o := openai.Options{Model: m.Name, API: m.API, BaseURL: m.BaseURL, Key: string(m.Key), Reasoning: m.Info.Reasoning, Hint: hint(m)}
	if m.Provider == "azure" {
		o.BaseURL, o.Key, o.Header = azure(m), "", http.Header{"Api-Key": {string(m.Key)}}
	}
	return openai.New(o)
}

// azure is where m is at Azure: at the address of a deployment, as it was
// given; at that of a resource, by the interface that has no versions, or, if
// a version is named, at the deployment called like the model.
func azure(m config.Model) string {
	base := strings.TrimRight(m.BaseURL, "/")
	switch {
	case strings.Contains(base, "/openai/"):
	case m.APIVersion == "":
		return base + "/openai/v1"
	default:
		base = strings.TrimSuffix(base, "/openai") + "/openai/deployments/" + url.PathEscape(m.Name)
	}
	version := m.APIVersion
	if version == "" && strings.Contains(base, "/deployments/") {
		version = "2024-10-21" // the last that was not called a preview
	}
	if version == "" {
		return base
	}
	return base + "?api-version=" + url.QueryEscape(version)
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
