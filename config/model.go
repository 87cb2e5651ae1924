package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/near"
	"github.com/openmanus-go/openmanus/llm"
)

// A Secret is text that prints as asterisks, whatever prints it. Convert it
// to a string to use it.
type Secret string

const mask = "********"

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString implements [fmt.GoStringer].
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// MarshalText implements [encoding.TextMarshaler].
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Model is one that can be asked: everything that an adapter needs, and
// where it came from.
type Model struct {
	Provider string // "openai", "compat", "ollama", "anthropic", "google", "azure", "bedrock", "vertex" or "scripted"
	Name     string // as the provider knows it; of "scripted" the file's path
	Profile  string // the NAME of [llm.NAME], if that was asked for

	BaseURL string // the endpoint; "" for scripted
	BaseAt  Source
	Key     Secret // "" if there is none: many endpoints need none
	KeyAt   Source
	API     string // what is spoken: "chat" or "responses", "messages" or "converse", where the provider has both; "" where nothing was chosen

	APIVersion string // Azure's; "" for its newest interface
	Region     string // Bedrock's, where the endpoint does not name it
	SignIn     bool   // of Vertex and Azure: a token of the cloud's own credentials may be sent to the endpoint

	Settings       llm.Settings
	MaxInputTokens int           // see [Config.Limits]
	IdleTimeout    time.Duration // see [LLM]
	Timeout        time.Duration
	Fallback       string
	Info           Info

	// Unnamed is whether m was chosen for want of a word; Notes say how.
	Unnamed bool

	// Notes are sentences for the person, above all if the endpoint refuses:
	// which key was not sent and why, what was chosen for want of a word.
	Notes []string
}

// String returns the name by which m is asked for: PROVIDER/NAME, or
// scripted:FILE.
func (m Model) String() string {
	if m.Provider == "scripted" {
		return "scripted:" + m.Name
	}
	return m.Provider + "/" + m.Name
}

// Address is BaseURL for people to read: without a password.
func (m Model) Address() string { return masked(m.BaseURL) }

// Window is how much m reads and writes at once, and when something is left
// out.
func (c *Config) Window(m Model) openmanus.Window {
	return openmanus.Window{Tokens: m.Info.Window, Reply: or(m.Settings.MaxTokens, m.Info.Output), Share: c.Context.CompactAt}
}

// Prices are what m costs; zero where it is not known.
func (m Model) Prices() openmanus.Prices {
	return openmanus.Prices{Input: m.Info.PriceIn, Output: m.Info.PriceOut, Cached: m.Info.PriceCached, CacheWrite: m.Info.PriceCacheWrite}
}

// ErrNoModel is in the chain of the error if nothing configures a model.
var ErrNoModel = errors.New("no model is configured")

// Model returns the model that name asks for:
//
//   - "" is the one of the run: run.model, else that of [llm];
//   - "llm" or "default" is that of [llm];
//   - the NAME of a section [llm.NAME] is that profile;
//   - PROVIDER/NAME is a model of openai, anthropic, google, azure, bedrock,
//     vertex, ollama or compat (an OpenAI-compatible endpoint); it takes the
//     endpoint of [llm] if that is of the same provider, and else the
//     provider's own;
//   - scripted:FILE is a script;
//   - any other name is a model at the endpoint of [llm].
//
// run.base_url is the endpoint of the run's model alone.
//
// A key is sent only where it was given for. An api_key of a file belongs to
// the base_url beside it, and to an address that a flag or an OPENMANUS_
// variable puts in its place; a profile inherits it if it talks to the same
// host. OPENAI_API_KEY goes to OpenAI, and to an address that a flag or the
// environment names, but not to one from a file: there, api_key_env says so.
// The usual variables of other providers go to their own hosts likewise.
func (c *Config) Model(name string) (Model, error) {
	return c.model(c.endpoint(name))
}

// ModelAt is Model(name) for a session that goes on: at the address that its
// journal says, which may be another one than is configured now.
//
// A journal may have come from somebody else. So the key goes along only if
// the address is the configured one, up to its path, or is on this machine;
// --base-url says that another one is meant.
func (c *Config) ModelAt(name, baseURL string) (Model, error) {
	m, err := c.Model(name)
	if baseURL == "" || m.Provider == "scripted" {
		return m, err
	}
	if err := checkURL(baseURL); err != nil {
		return Model{}, fmt.Errorf("the session's address: found %s, %w", quoted(masked(baseURL)), err)
	}
	if err == nil && sameHost(m.BaseURL, baseURL) {
		if m.BaseURL != baseURL {
			m.BaseURL, m.BaseAt = baseURL, Source{From: Record}
		}
		return m, nil
	}
	s := c.endpoint(name)
	s.base = sourced{baseURL, Source{From: Record}}
	if !loopback(baseURL) {
		s.key, s.keyEnv = sourced{}, sourced{}
	}
	return c.model(s)
}

// endpoint is the endpoint that name asks for.
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
		s.base = c.sourced("run.base_url")
	}
	return s
}

// Choose is Model("") that, where nothing is configured, takes the first
// model of the Ollama on this machine. The function ollama returns the names
// of the models at the base URL; it should not take long.
func (c *Config) Choose(ollama func(baseURL string) ([]string, error)) (Model, error) {
	m, err := c.Model("")
	if !errors.Is(err, ErrNoModel) {
		return m, err
	}
	base, err := ollamaBase(c.ambient["OLLAMA_HOST"])
	if err != nil {
		return Model{}, err
	}
	names, err := ollama(base)
	switch {
	case err != nil:
		return Model{}, c.noModel(fmt.Sprintf("Ollama at %s: %v", base, err))
	case len(names) == 0:
		return Model{}, c.noModel(fmt.Sprintf("Ollama at %s: it runs, but has no model yet", base))
	}
	m, err = c.Model("ollama/" + names[0])
	m.Unnamed = true
	m.Notes = append(m.Notes, "nothing names a model: the first one of Ollama at "+base+" is used")
	return m, err
}

// model makes a Model of an endpoint.
func (c *Config) model(s endpoint) (Model, error) {
	m := Model{Profile: s.profile, MaxInputTokens: s.MaxInputTokens, IdleTimeout: s.IdleTimeout, Timeout: s.Timeout, Fallback: s.Fallback,
		Settings: llm.Settings{MaxTokens: s.MaxTokens, Temperature: s.Temperature, Effort: s.Effort}}
	if s.model.text == "" {
		if err := c.unnamed(&s, &m); err != nil {
			return Model{}, err
		}
	}
	m.Provider, m.Name = provider(s.model.text, s.APIType, s.base.text)
	if named, _ := split(s.model.text); m.Provider == "compat" && named == "" && s.API == "responses" {
		m.Provider = "openai"
	}
	if err := c.served(s, &m); err != nil {
		return Model{}, err
	}
	if m.Provider == "scripted" {
		m.Info = c.info(m)
		m.Name = c.script(m.Name, s.model.at)
		return m, nil
	}
	if err := c.address(s, &m); err != nil {
		return Model{}, err
	}
	if err := c.credential(s, &m); err != nil {
		return Model{}, err
	}
	if claude := s.API == "messages" || s.API == "converse"; claude && (m.Provider == "openai" || m.Provider == "azure") {
		return Model{}, fmt.Errorf("%s: api = %q is for models of bedrock; it is \"chat\" or \"responses\" for %s", m, s.API, m.Provider)
	}
	m.API = spoken(m, s.API)
	if m.Provider == "bedrock" {
		m.Region = c.awsRegion(s).text
	}
	if m.Provider == "azure" {
		m.APIVersion = or(s.APIVersion, c.ambientFirst("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION").text)
	}
	m.Info = c.info(m)
	m.withoutRefused()
	return m, nil
}

// unnamed deals with a section that names no model.
func (c *Config) unnamed(s *endpoint, m *Model) error {
	p, _ := provider("", s.APIType, s.base.text)
	switch {
	case p == "openai" && (s.key.text != "" || s.keyEnv.text != "" || c.ambient["OPENAI_API_KEY"] != ""):
		s.model.text, m.Unnamed = DefaultModel, true
		m.Notes = append(m.Notes, "nothing names a model: "+DefaultModel+" is used")
		return nil
	case p == "openai":
		return c.noModel("")
	case s.base.text != "":
		return fmt.Errorf("%s: an endpoint is named, %s, but no model: set [llm] model, OPENMANUS_MODEL or --model", s.base.at, masked(s.base.text))
	}
	return fmt.Errorf("a provider is named, %s, but no model: set [llm] model, OPENMANUS_MODEL or --model", p)
}

// served checks that this version speaks to the provider of m.
func (c *Config) served(s endpoint, m *Model) error {
	at := "the model " + quoted(s.model.text)
	if s.model.at.From != "" {
		at = s.model.at.String() + ": " + at
	}
	switch m.Provider {
	case "openai", "compat", "ollama", "scripted", "anthropic", "google", "azure", "bedrock":
	case "vertex":
		if !strings.HasPrefix(m.Name, "claude") && !strings.HasPrefix(m.Name, "gemini") {
			return fmt.Errorf("%s: of Vertex, Claude and Gemini are served; for another one set [llm] base_url to the project's "+
				"…/endpoints/openapi and call the model compat/%s", at, or(m.Name, "NAME"))
		}
	default:
		return fmt.Errorf("%s: %s is not in this version yet; if an endpoint of it speaks OpenAI's Chat Completions, "+
			"set [llm] base_url to it and call the model compat/%s", at, m.Provider, or(m.Name, "NAME"))
	}
	if strings.TrimSpace(m.Name) == "" {
		return fmt.Errorf("%s has no name after the provider", at)
	}
	if first, _, ok := strings.Cut(m.Name, "/"); ok && m.Provider == "openai" && s.base.text == "" && s.model.text == m.Name {
		return fmt.Errorf("%s: there is no provider %s; there are %s. For an OpenAI-compatible endpoint set [llm] base_url",
			at, quoted(first), strings.Join(providers(), ", "))
	}
	if near := near.Nearest(m.Name, c.profiles); near != "" && s.profile == "" && s.model.text == m.Name && len(s.model.text) > 2 {
		m.Notes = append(m.Notes, "there is no profile "+quoted(m.Name)+", so it was taken for a model's name (did you mean "+near+"?)")
	}
	return nil
}

// spoken is what is spoken to m, where its provider knows more than one thing.
func spoken(m Model, said string) string {
	switch m.Provider {
	case "compat":
		return "chat"
	case "openai":
		if said == "" && sameHost(m.BaseURL, openAIBase) {
			return "responses"
		}
		return or(said, "chat")
	case "azure":
		return or(said, "chat")
	case "ollama":
		if said == "chat" {
			return said
		}
	case "bedrock":
		if said == "messages" || said == "converse" {
			return said
		}
	}
	return ""
}

// script returns the path of a script.
func (c *Config) script(file string, at Source) string {
	dir := c.dir
	if at.From == File {
		dir = filepath.Dir(at.Name)
	}
	if filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	return filepath.Join(dir, file)
}

// address finds where m is.
func (c *Config) address(s endpoint, m *Model) (err error) {
	m.BaseURL, m.BaseAt = s.base.text, s.base.at
	if m.BaseURL != "" && m.Provider == "bedrock" && !strings.Contains(m.BaseURL, "://") { // as in OpenManus' example
		m.BaseURL = "https://" + m.BaseURL
	}
	if m.BaseURL != "" && (m.Provider == "azure" || m.Provider == "bedrock") {
		if err := checkURL(m.BaseURL); err != nil {
			return fmt.Errorf("%s: found %s, %w", m.BaseAt, quoted(masked(m.BaseURL)), err)
		}
	}
	if m.BaseURL != "" && m.Provider == "vertex" && !strings.Contains(m.BaseURL, "/projects/") {
		return c.vertexAddress(s, m)
	}
	if m.BaseURL != "" {
		return nil
	}
	if v, ok := vendorOf(m.Provider); ok {
		return c.vendorAddress(s, m, v)
	}
	ambient := c.ambient["OPENAI_BASE_URL"]
	switch m.Provider {
	case "ollama":
		if c.ambient["OLLAMA_HOST"] != "" {
			m.BaseAt = Source{From: Environment, Name: "OLLAMA_HOST"}
		}
		m.BaseURL, err = ollamaBase(c.ambient["OLLAMA_HOST"])
		return err
	case "compat":
		if ambient == "" {
			return fmt.Errorf("%s needs the address of its endpoint: set [llm] base_url, OPENAI_BASE_URL or --base-url", m)
		}
	}
	if ambient == "" {
		m.BaseURL = openAIBase
		return nil
	}
	m.BaseURL, m.BaseAt = ambient, Source{From: Environment, Name: "OPENAI_BASE_URL"}
	if err := checkURL(ambient); err != nil {
		return fmt.Errorf("%s: found %s, %w", m.BaseAt, quoted(masked(ambient)), err)
	}
	return nil
}

// ollamaWindow is the window that a model of Ollama is loaded with unless
// [models] says otherwise: few machines have room for all that a model could
// have, and Ollama's own default is too small for an agent.
const ollamaWindow = 32768

// info is what is known of m.
func (c *Config) info(m Model) Info {
	var i, known Info
	if own := c.Models[m.modelKey()]; own != nil {
		i = *own
	}
	if c.Catalogue != nil {
		known, _ = c.Catalogue(m.Provider, m.Name)
	}
	if m.Provider == "ollama" && m.API == "" && (known.Window == 0 || known.Window > ollamaWindow) {
		known.Window = ollamaWindow
	}
	return Info{
		Window: or(i.Window, known.Window), Output: or(i.Output, known.Output),
		PriceIn: or(i.PriceIn, known.PriceIn), PriceOut: or(i.PriceOut, known.PriceOut), PriceCached: or(i.PriceCached, known.PriceCached),
		PriceCacheWrite: or(i.PriceCacheWrite, known.PriceCacheWrite),
		Vision:          or(i.Vision, known.Vision), Tools: or(i.Tools, known.Tools), Reasoning: or(i.Reasoning, known.Reasoning),
		Refuses: or(i.Refuses, known.Refuses), Pattern: known.Pattern,
	}
}

// modelKey is the NAME of [models."NAME"] for m; all scripts share one.
func (m Model) modelKey() string {
	if m.Provider == "scripted" {
		return "scripted"
	}
	return m.String()
}

// InfoAt says where a value of m.Info comes from: the key is as in [models],
// such as "window". It is the zero Source if the value is not known.
func (c *Config) InfoAt(m Model, key string) Source {
	if name := "models." + quotedName(m.modelKey()) + "." + key; c.Set(name) {
		return c.Origin(name)
	}
	if i := m.Info; i.Pattern != "" && map[string]bool{
		"window": i.Window != 0, "output": i.Output != 0, "price_in": i.PriceIn != 0, "price_out": i.PriceOut != 0, "price_cached": i.PriceCached != 0, "price_cache_write": i.PriceCacheWrite != 0,
		"vision": i.Vision != nil, "tools": i.Tools != nil, "reasoning": i.Reasoning != nil, "refuses": i.Refuses != "",
	}[key] {
		return Source{From: Catalogued, Name: i.Pattern}
	}
	return Source{}
}

// withoutRefused takes out of the settings what m is known to refuse, and says
// so.
func (m *Model) withoutRefused() {
	drop := func(setting string) {
		m.Notes = append(m.Notes, m.String()+" takes no "+setting+": it is not sent")
	}
	for setting := range strings.FieldsSeq(m.Info.Refuses) {
		switch {
		case setting == "temperature" && m.Settings.Temperature != nil:
			m.Settings.Temperature = nil
			drop(setting)
		case setting == "effort" && m.Settings.Effort != "":
			m.Settings.Effort = ""
			drop(setting)
		}
	}
}
