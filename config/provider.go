package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// DefaultModel is used where there is a key for OpenAI and nothing names a
// model.
const DefaultModel = "openai/gpt-5-mini"

const (
	openAIBase = "https://api.openai.com/v1"
	ollamaAddr = "127.0.0.1:11434"
)

// providers are the words that can stand before the slash of a model's name.
func providers() []string { return append([]string{"openai", "compat", "ollama"}, vendors()...) }

// split returns the provider that model names and the rest; "" and model if
// it names none.
func split(model string) (provider, name string) {
	if file, ok := strings.CutPrefix(model, "scripted:"); ok {
		return "scripted", file
	}
	if p, name, ok := strings.Cut(model, "/"); ok && slices.Contains(providers(), p) {
		return p, name
	}
	return "", model
}

// provider says who serves model, and under which name, in a section with
// the given api_type and base_url.
func provider(model, apiType, base string) (string, string) {
	p, name := split(model)
	if servesVendors(base) && p != "" && p != "compat" && p != "scripted" {
		return "compat", model
	}
	if p != "" {
		return p, name
	}
	switch strings.ToLower(apiType) {
	case "azure":
		return "azure", name
	case "aws", "bedrock":
		return "bedrock", name
	case "ollama":
		return "ollama", name
	}
	if at := vendorAt(base); at != "" {
		return at, name
	}
	if base != "" && !sameHost(base, openAIBase) {
		return "compat", name
	}
	return "openai", name
}

// servesVendors reports whether base is a service that has the models of many
// vendors and itself calls them VENDOR/NAME, so that openai/gpt-5 is a name
// there and not a provider.
func servesVendors(base string) bool {
	h := host(base)
	for _, s := range []string{"openrouter.ai", "groq.com", "together.xyz", "deepinfra.com", "novita.ai",
		"huggingface.co", "ppinfra.com", "siliconflow.cn", "siliconflow.com", "nvidia.com", "requesty.ai"} {
		if h == s || strings.HasSuffix(h, "."+s) {
			return true
		}
	}
	return false
}

func host(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// sameHost reports whether what is sent to a arrives where what is sent to b
// does: the scheme, the host and the port are the same.
func sameHost(a, b string) bool {
	u, err := url.Parse(a)
	v, e := url.Parse(b)
	return err == nil && e == nil && u.Scheme == v.Scheme && strings.EqualFold(u.Hostname(), v.Hostname()) && port(u) == port(v)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// loopback reports whether base is on this machine.
func loopback(base string) bool {
	h := host(base)
	ip := net.ParseIP(h)
	return h == "localhost" || strings.HasSuffix(h, ".localhost") || ip != nil && ip.IsLoopback()
}

// ollamaBase returns the address of Ollama's OpenAI-compatible API for a value
// of OLLAMA_HOST, in the notations that Ollama itself takes.
func ollamaBase(ollamaHost string) (string, error) {
	s := strings.TrimRight(strings.TrimSpace(ollamaHost), "/")
	if s == "" {
		s = ollamaAddr
	}
	bare := !strings.Contains(s, "://")
	if bare {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("OLLAMA_HOST: found %s, allowed: HOST, HOST:PORT or http://HOST:PORT", quoted(masked(s)))
	}
	h, p := u.Hostname(), port(u)
	if bare && u.Port() == "" {
		p = "11434"
	}
	switch h {
	case "", "0.0.0.0", "::": // where a server listens, not where a client goes
		h = "127.0.0.1"
	}
	u.Host = net.JoinHostPort(h, p)
	return strings.TrimSuffix(u.String(), "/v1") + "/v1", nil
}
