package ollama

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// window is the number of tokens that a model is loaded with unless the
// configuration names another. Few machines have room for all that a model
// could take, and Ollama's own default is too small for an agent.
const window = 32768

// Provider describes Ollama. With the interface "chat" it is asked as an
// OpenAI-compatible endpoint.
func Provider() *provider.Provider {
	return &provider.Provider{
		Name:       "ollama",
		Title:      "Ollama",
		Types:      []string{"ollama"},
		Local:      true,
		BaseURL:    DefaultURL + "/v1",
		SecretVars: []string{"OLLAMA_API_KEY"},
		Keyless:    true,
		Address:    address,
		APIs:       []string{"", openai.Chat},
		Lists:      true,
		Window:     window,
		Free:       free,
		Maker:      func(model string) (string, string) { return "ollama", path.Base(model) }, // of MAKER/MODEL
		StartHint:  "ollama serve",
		PullHint:   "ollama pull",
		New: func(o provider.Options) (llm.Model, error) {
			if o.API == openai.Chat {
				return openai.New(openai.From(o)), nil
			}
			return New(Options{Model: o.Model, BaseURL: o.BaseURL, Key: o.Key, Window: o.Window, Hint: o.Hint}), nil
		},
	}
}

// free is [provider.Provider].Free: a model on this machine costs nothing, if the Ollama here does not pass the
// requests on to Ollama's cloud, as for qwen3-coder:480b-cloud and glm-5:cloud.
func free(base, model string) bool {
	return provider.Loopback(base) && !strings.HasSuffix(model, "-cloud") && !strings.HasSuffix(model, ":cloud")
}

// address is [provider.Provider].Address: OLLAMA_HOST names the server, as for
// Ollama's own client.
func address(q provider.Query) (provider.Address, error) {
	if q.Base.Text != "" {
		return provider.Address{Base: q.Base}, nil
	}
	host := q.Env("OLLAMA_HOST")
	base, err := baseURL(host.Text)
	return provider.Address{Base: provider.Setting{Text: base, At: host.At}}, err
}

// baseURL returns the address of Ollama's OpenAI-compatible interface for a
// value of OLLAMA_HOST, in the notations that Ollama takes: HOST, HOST:PORT,
// :PORT or a URL.
func baseURL(ollamaHost string) (string, error) {
	s := strings.TrimRight(strings.TrimSpace(ollamaHost), "/")
	s = cmp.Or(s, DefaultURL)
	bare := !strings.Contains(s, "://")
	if bare {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("OLLAMA_HOST: found %s, allowed: HOST, HOST:PORT or http://HOST:PORT",
			provider.Quote(provider.WithoutPassword(s)))
	}
	h, p := u.Hostname(), provider.Port(u)
	if bare && u.Port() == "" {
		p = "11434"
	}
	switch h {
	case "", "0.0.0.0", "::": // where a server listens, not where a client connects
		h = "127.0.0.1"
	}
	u.Host = net.JoinHostPort(h, p)
	return strings.TrimSuffix(u.String(), "/v1") + "/v1", nil
}
