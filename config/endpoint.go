package config

import (
	"slices"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// An endpoint is a section [llm] or [llm.NAME] with what it inherits.
type endpoint struct {
	LLM
	profile                                   string
	model, base, key, keyEnv, region, project Setting
}

// setting returns the value of a key that is text, and its source.
func (c *Config) setting(name string) Setting {
	s := c.settings[name]
	return Setting{Text: s.text, At: s.source}
}

// endpoint returns the endpoint that a name asks for: see [Config.Model].
func (c *Config) endpoint(name string) endpoint {
	main := name == "" || name == c.Run.Model
	at := Source{}
	if name == "" {
		name, at = c.Run.Model, c.Origin("run.model")
	}
	var s endpoint
	_, isProfile := c.Profiles[name]
	switch {
	case name == "" || name == "llm" || name == "default":
		s = c.llm()
	case isProfile:
		s = c.profile(name)
	default:
		s = c.ask(name, at)
	}
	if main && c.Run.BaseURL != "" {
		s.base = c.setting("run.base_url")
	}
	return s
}

// llm returns the endpoint of [llm].
func (c *Config) llm() endpoint {
	return endpoint{LLM: *c.LLM, model: c.setting("llm.model"), base: c.setting("llm.base_url"),
		key: c.setting("llm.api_key"), keyEnv: c.setting("llm.api_key_env"),
		region: c.setting("llm.region"), project: c.setting("llm.project")}
}

// ask is the endpoint for a name that is no profile's.
func (c *Config) ask(name string, at Source) endpoint {
	s := c.llm()
	if !c.sharesEndpoint(name) {
		s.base, s.key, s.keyEnv, s.APIType, s.APIVersion, s.API = Setting{}, Setting{}, Setting{}, "", "", ""
		s.Thoughts, s.StreamOptions = "", nil
		if c.LLM.Model != "" { // else they are for whatever model is asked for
			s.region, s.project = Setting{}, Setting{}
		}
	}
	s.model = Setting{Text: name, At: at}
	return s
}

// sharesEndpoint reports whether a model of that name is asked where that of
// [llm] is.
func (c *Config) sharesEndpoint(model string) bool {
	p, _ := c.providers.Split(model)
	if p == nil || c.providers.Resold(c.LLM.BaseURL) && !p.Local && !p.Script || c.foreign(p, c.LLM.BaseURL) {
		return true
	}
	named, _ := c.providers.Split(c.LLM.Model)
	serves, _ := c.serves(c.LLM.Model, c.LLM.APIType, c.LLM.BaseURL)
	if p == named || p == serves {
		return true
	}
	foreign := slices.Contains(c.providers.Default().BaseVars, c.Origin("llm.base_url").Name) // set for other programs
	return c.LLM.Model == "" && c.LLM.BaseURL != "" && (p.Shared || !foreign)
}

// profile is the endpoint of [llm.NAME].
func (c *Config) profile(name string) endpoint {
	own, top := c.Profiles[name], c.llm()
	get := func(key string) Setting { return c.setting("llm." + quotedName(name) + "." + key) }
	s := top
	if own.Model != "" {
		s = c.ask(own.Model, get("model").At)
	}
	s.profile = name
	if own.BaseURL != "" {
		s.base = get("base_url")
		if !provider.SameHost(own.BaseURL, or(top.base.Text, c.providers.Default().BaseURL)) {
			s.key, s.keyEnv = Setting{}, Setting{}
		}
	}
	if own.APIKey != "" || own.APIKeyEnv != "" {
		s.key, s.keyEnv = get("api_key"), get("api_key_env")
	}
	if own.Region != "" {
		s.region = get("region")
	}
	if own.Project != "" {
		s.project = get("project")
	}
	s.API, s.APIType, s.Effort = or(own.API, s.API), or(own.APIType, s.APIType), or(own.Effort, s.Effort)
	s.APIVersion = or(own.APIVersion, s.APIVersion)
	s.MaxTokens, s.MaxInputTokens = or(own.MaxTokens, s.MaxTokens), or(own.MaxInputTokens, s.MaxInputTokens)
	s.Temperature = or(own.Temperature, s.Temperature)
	s.Thoughts, s.StreamOptions = or(own.Thoughts, s.Thoughts), or(own.StreamOptions, s.StreamOptions)
	s.IdleTimeout, s.Timeout, s.Fallback = or(own.IdleTimeout, s.IdleTimeout), or(own.Timeout, s.Timeout), own.Fallback
	return s
}

// or returns a, or b if a is the zero value.
func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}
