package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/anthropic"
	"github.com/openmanus-go/openmanus/llm/bedrock"
	"github.com/openmanus-go/openmanus/llm/entra"
	"github.com/openmanus-go/openmanus/llm/google"
	"github.com/openmanus-go/openmanus/llm/ollama"
	"github.com/openmanus-go/openmanus/llm/openai"
	"github.com/openmanus-go/openmanus/llm/scripted"
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
	case "ollama":
		if m.API != openai.Chat {
			return ollama.New(ollama.Options{Model: m.Name, BaseURL: m.BaseURL, Key: string(m.Key), Window: m.Info.Window, Hint: hint(m)})
		}
	case "vertex":
		return vertex(m)
	case "bedrock":
		return bedrock.New(bedrock.Options{Model: m.Name, Region: m.Region, BaseURL: m.BaseURL, Key: string(m.Key), API: m.API, Output: m.Info.Output, Hint: hint(m)})
	case "google":
		return google.New(google.Options{Model: m.Name, BaseURL: m.BaseURL, Key: string(m.Key), Hint: hint(m)})
	}
	o := openai.Options{Model: m.Name, API: m.API, BaseURL: m.BaseURL, Key: string(m.Key), Reasoning: m.Info.Reasoning, Hint: hint(m)}
	if m.Provider == "azure" {
		o.BaseURL, o.Key, o.Header = azure(m), "", http.Header{"Api-Key": {string(m.Key)}}
		if m.Key == "" {
			o.Header = nil
		}
		if m.SignIn {
			o.Bearer = entra.DefaultToken(nil, m.BaseURL)
		}
	}
	return openai.New(o)
}

// vertex is m, of one of the two who make models that are asked at Vertex as
// they are at home.
func vertex(m config.Model) adapter {
	base, _, _ := strings.Cut(strings.TrimRight(m.BaseURL, "/"), "/publishers/")
	token := func(context.Context) (string, error) { return string(m.Key), nil }
	switch {
	case m.Key != "":
	case m.SignIn:
		token = google.DefaultToken(nil)
	default:
		token = nil // m.Notes say why
	}
	if strings.HasPrefix(m.Name, "claude") {
		return anthropic.New(anthropic.Options{Model: m.Name, BaseURL: base + "/publishers/anthropic", Vertex: true, Bearer: token,
			Output: m.Info.Output, Hint: hint(m)})
	}
	return google.New(google.Options{Model: m.Name, BaseURL: base + "/publishers/google", Token: token, Hint: hint(m)})
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

// capable returns model with what it is known to lack made up for: tools are
// used by way of text, and images are read by the model of [llm.vision].
func (a *app) capable(model llm.Model, m config.Model) llm.Model {
	not := func(can *bool) bool { return can != nil && !*can }
	if not(m.Info.Tools) {
		model = llm.PromptTools(model)
	}
	if !not(m.Info.Vision) {
		return model
	}
	if m.Profile == "vision" || !slices.Contains(a.cfg.ProfileNames(), "vision") {
		return llm.ReadImages(model, nil, "")
	}
	eye, err := a.cfg.Model("vision")
	switch {
	case err != nil: // said when it is needed
		return llm.ReadImages(model, broken{err}, "vision")
	case not(eye.Info.Vision) && eye.Provider != "scripted": // [models.scripted] is for all scripts
		return llm.ReadImages(model, broken{fmt.Errorf("%s is known to see no images", eye)}, eye.String())
	case eye.Provider == "scripted":
		script, err := scripted.Open(eye.Name)
		if err != nil {
			return llm.ReadImages(model, broken{err}, eye.String())
		}
		return llm.ReadImages(model, script.Model(), eye.String())
	}
	return llm.ReadImages(model, llm.Retry(a.noting(adapt(eye)), a.retry(0)), eye.String())
}

// noting is a model that notes when its endpoint turns out to be set up
// wrongly: nobody is there, or nobody who is trusted.
func (a *app) noting(m adapter) llm.Model { return noted{m, &a.wrongEndpoint} }

type noted struct {
	adapter
	wrong *atomic.Bool
}

// Stream implements [llm.Model].
func (n noted) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range n.adapter.Stream(ctx, req) {
			var e *llm.Error
			if errors.As(err, &e) && e.Kind == llm.Network && e.Permanent {
				n.wrong.Store(true)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// broken is a model that cannot be asked.
type broken struct{ why error }

// Stream implements [llm.Model].
func (b broken) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{}, &llm.Error{Kind: llm.Auth, Permanent: true, Err: fmt.Errorf("[llm.vision]: %w", b.why)})
	}
}

// hint returns what can be said of m's configuration when it is refused.
func hint(m config.Model) func(llm.Kind) string {
	return func(k llm.Kind) string {
		var hints []string
		switch {
		case k == llm.Auth && m.Key == "" && m.Provider == "bedrock":
			hints = append(hints, "the region is from "+m.BaseAt.String())
		case k == llm.Auth && m.Key == "" && m.Provider == "azure" && m.SignIn:
			hints = append(hints, "the sign-in is for "+m.Address()+", which is from "+m.BaseAt.String())
		case k == llm.Auth && m.Key == "" && m.SignIn:
			hints = append(hints, "the project is that of "+m.Address()+", which is from "+m.BaseAt.String())
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
