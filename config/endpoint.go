package config

// An endpoint is a section with what it inherits.
type endpoint struct {
	LLM
	profile                                   string
	model, base, key, keyEnv, region, project sourced
}

// A sourced is a value and where it came from.
type sourced struct {
	text string
	at   Source
}

func (c *Config) sourced(name string) sourced {
	s := c.settings[name]
	return sourced{s.text, s.source}
}

func (c *Config) llm() endpoint {
	return endpoint{LLM: *c.LLM, model: c.sourced("llm.model"), base: c.sourced("llm.base_url"),
		key: c.sourced("llm.api_key"), keyEnv: c.sourced("llm.api_key_env"),
		region: c.sourced("llm.region"), project: c.sourced("llm.project")}
}

// ask is the endpoint for a name that is no profile's.
func (c *Config) ask(name string, at Source) endpoint {
	s := c.llm()
	if !c.sharesEndpoint(name) {
		s.base, s.key, s.keyEnv, s.APIType, s.APIVersion, s.API = sourced{}, sourced{}, sourced{}, "", "", ""
		if c.LLM.Model != "" { // else they are for whatever model is asked for
			s.region, s.project = sourced{}, sourced{}
		}
	}
	s.model = sourced{name, at}
	return s
}

// sharesEndpoint reports whether a model of that name is asked where that of
// [llm] is.
func (c *Config) sharesEndpoint(model string) bool {
	p, _ := split(model)
	if p == "" || servesVendors(c.LLM.BaseURL) && p != "ollama" && p != "scripted" {
		return true
	}
	named, _ := split(c.LLM.Model)
	serves, _ := provider(c.LLM.Model, c.LLM.APIType, c.LLM.BaseURL)
	if p == named || p == serves {
		return true
	}
	speaks := p == "openai" || p == "compat"
	return c.LLM.Model == "" && c.LLM.BaseURL != "" && (speaks || c.Origin("llm.base_url").Name != "OPENAI_BASE_URL")
}

// profile is the endpoint of [llm.NAME].
func (c *Config) profile(name string) endpoint {
	own, top := c.Profiles[name], c.llm()
	get := func(key string) sourced { return c.sourced("llm." + quotedName(name) + "." + key) }
	s := top
	if own.Model != "" {
		s = c.ask(own.Model, get("model").at)
	}
	s.profile = name
	if own.BaseURL != "" {
		s.base = get("base_url")
		if !sameHost(own.BaseURL, or(top.base.text, openAIBase)) {
			s.key, s.keyEnv = sourced{}, sourced{}
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
	s.IdleTimeout, s.Timeout, s.Fallback = or(own.IdleTimeout, s.IdleTimeout), or(own.Timeout, s.Timeout), own.Fallback
	return s
}

func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}
