package config

import (
	"fmt"
	"slices"
	"strings"
)

// A vendor is what is usual of a provider that has an address and a key of
// its own.
type vendor struct {
	base     string   // its address; "" if each customer has another
	baseVars []string // variables that name another one
	keyVars  []string // variables that have its key; the first that is set counts
	hosts    []string // where the key may go: nobody but the provider is there; * stands for one name without dots
	keyless  bool     // it can do without a key: there are other credentials
	signIn   string   // whose those are, where they are sent as a token
}

// vendorOf returns the vendor behind a provider; ok is false where any address
// and any key may be meant.
func vendorOf(provider string) (v vendor, ok bool) {
	switch provider {
	case "anthropic":
		return vendor{base: "https://api.anthropic.com", baseVars: []string{"ANTHROPIC_BASE_URL"},
			keyVars: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}, hosts: []string{"api.anthropic.com"}}, true
	case "google":
		return vendor{base: "https://generativelanguage.googleapis.com", baseVars: []string{"GOOGLE_GEMINI_BASE_URL"},
			keyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, hosts: []string{"generativelanguage.googleapis.com"}}, true
	case "azure":
		return vendor{baseVars: []string{"AZURE_OPENAI_ENDPOINT"}, keyVars: []string{"AZURE_OPENAI_API_KEY"},
			hosts: []string{"*.openai.azure.com", "*.cognitiveservices.azure.com", "*.services.ai.azure.com", "*.openai.azure.us", "*.openai.azure.cn"}, signIn: "Microsoft"}, true
	case "bedrock":
		return vendor{keyVars: []string{"AWS_BEARER_TOKEN_BEDROCK"}, hosts: []string{"bedrock-runtime.*.amazonaws.com", "bedrock-runtime-fips.*.amazonaws.com", "bedrock-runtime.*.amazonaws.com.cn"}, keyless: true}, true
	case "vertex":
		return vendor{hosts: []string{"aiplatform.googleapis.com", "*-aiplatform.googleapis.com", "aiplatform.*.rep.googleapis.com"}, keyless: true, signIn: "Google"}, true
	}
	return vendor{}, false
}

// vendors are the providers that vendorOf knows.
func vendors() []string { return []string{"anthropic", "google", "azure", "bedrock", "vertex"} }

// ambientVariables are variables of other programs that matter here.
func ambientVariables() []string {
	all := []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "OPENAI_API_VERSION", "AZURE_OPENAI_API_VERSION",
		"OLLAMA_API_KEY"}
	all = append(all, cloudVariables()...)
	for _, p := range vendors() {
		v, _ := vendorOf(p)
		all = append(append(all, v.baseVars...), v.keyVars...)
	}
	return all
}

// vendorAt returns the provider that is at base, if that is one's own address.
func vendorAt(base string) string {
	for _, p := range vendors() {
		if v, _ := vendorOf(p); v.owns(base) {
			return p
		}
	}
	return ""
}

// owns reports whether base is at one of v's hosts.
func (v vendor) owns(base string) bool {
	h := host(base)
	return slices.ContainsFunc(v.hosts, func(own string) bool {
		before, after, any := strings.Cut(own, "*")
		if !any || len(h) <= len(before)+len(after) {
			return h == own
		}
		return strings.HasPrefix(h, before) && strings.HasSuffix(h, after) &&
			!strings.Contains(h[len(before):len(h)-len(after)], ".")
	})
}

// ambientFirst returns the first of the variables that is set.
func (c *Config) ambientFirst(names ...string) sourced {
	for _, n := range names {
		if v := c.ambient[n]; v != "" {
			return sourced{v, Source{From: Environment, Name: n}}
		}
	}
	return sourced{}
}

// vendorAddress finds where m of a vendor is, if nothing of ours says so.
func (c *Config) vendorAddress(s endpoint, m *Model, v vendor) error {
	if at := c.ambientFirst(v.baseVars...); at.text != "" {
		m.BaseURL, m.BaseAt = at.text, at.at
		if err := checkURL(at.text); err != nil {
			return fmt.Errorf("%s: found %s, %w", at.at, quoted(masked(at.text)), err)
		}
		return nil
	}
	switch m.Provider {
	case "azure":
		return fmt.Errorf("%s needs the address of your resource: set AZURE_OPENAI_ENDPOINT or [llm] base_url, such as https://NAME.openai.azure.com", m)
	case "bedrock":
		return c.bedrockAddress(s, m)
	case "vertex":
		return c.vertexAddress(s, m)
	}
	m.BaseURL = v.base
	return nil
}

// vendorKey returns the key of the environment that may be sent to where m is.
// A session's address is none of the person's: at Azure, say, anybody can have
// one.
func (c *Config) vendorKey(m *Model, said bool) (sourced, bool) {
	v, _ := vendorOf(m.Provider)
	key := c.ambientFirst(v.keyVars...)
	owned := v.owns(m.BaseURL) && (m.BaseAt.From != Record || v.base != "")
	return key, key.text != "" && (owned || said && m.BaseURL != v.base)
}

// needsKey is the error of a model that has no key and cannot do without.
func (m *Model) needsKey() error {
	v, ok := vendorOf(m.Provider)
	switch {
	case m.Key != "":
		return nil
	case m.Provider == "openai" && sameHost(m.BaseURL, openAIBase):
		return fmt.Errorf("%s needs a key: set OPENAI_API_KEY, or api_key in [llm] of your configuration", m)
	case ok && !v.keyless && !m.SignIn && v.owns(m.BaseURL):
		return fmt.Errorf("%s needs a key: set %s, or api_key in [llm] of your configuration", m, v.keyVars[0])
	}
	return nil
}
