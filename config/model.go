package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/near"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// A Model is everything that is needed to ask one model, and where each part
// of it came from.
type Model struct {
	Provider *provider.Provider
	Name     string // the provider's name for it; of a script the file's path
	Profile  string // the NAME of [llm.NAME], if that was asked for

	BaseURL string // the endpoint; "" for a script
	BaseAt  Source
	Key     Secret // "" if there is none: many endpoints need none
	KeyAt   Source
	API     string // one of the provider's interfaces; "": its own
	Version string // of the interface, as [provider.Address] has it
	Region  string // of the cloud, likewise
	SignIn  bool   // the cloud's own credentials may be sent to the endpoint

	Thoughts      string // see [LLM]
	StreamOptions *bool

	Settings       llm.Settings
	MaxInputTokens int           // see [Config.Limits]
	IdleTimeout    time.Duration // see [LLM]
	Timeout        time.Duration
	Fallback       string
	Info           Info

	// Unnamed reports whether nothing names a model, so that m is a default.
	Unnamed bool

	// Notes are sentences for people, above all if the endpoint refuses: which
	// key was not sent and why, or which default was used.
	Notes []string
}

// String returns the name by which m is asked for: PROVIDER/NAME, or
// scripted:FILE.
func (m Model) String() string {
	if m.Provider == nil {
		return m.Name
	}
	return m.Provider.ModelName(m.Name)
}

// Address returns BaseURL without a password.
func (m Model) Address() string { return provider.WithoutPassword(m.BaseURL) }

// Open makes the model. It connects to nothing. The error is that of a script
// that cannot be read.
func (m Model) Open() (llm.Model, error) {
	o := provider.Options{Model: m.Name, BaseURL: m.BaseURL, Key: string(m.Key), API: m.API, Region: m.Region,
		Version: m.Version, SignIn: m.SignIn, Window: m.Info.Window, Output: m.Info.Output, Reasoning: m.Info.Reasoning,
		Thoughts: m.Thoughts, NoStreamOptions: m.StreamOptions != nil && !*m.StreamOptions, Hint: m.hint}
	if m.KeyAt.From == Environment {
		o.KeyFrom = m.KeyAt.Name
	}
	return m.Provider.New(o)
}

// hint returns what the configuration has to do with an error of the kind; ""
// if nothing.
func (m Model) hint(k llm.Kind) string {
	var hint string
	switch {
	case k == llm.Auth && m.Key != "":
		hint = "the key is from " + m.KeyAt.String()
	case k == llm.Auth && m.Provider.SignInHint != "" && (m.SignIn || m.Provider.SignIn == ""):
		hint = strings.NewReplacer("ADDRESS", m.Address(), "SOURCE", m.BaseAt.String()).Replace(m.Provider.SignInHint)
	case k == llm.Auth:
		hint = "no key is set for " + m.Address()
	case k == llm.NoModel:
		hint = "openmanus models shows where the name comes from"
		if m.BaseAt.From != "" {
			hint += ", and the address is from " + m.BaseAt.String()
		}
	case k == llm.Network, k == llm.Timeout:
		hint = "the address is from " + m.BaseAt.String()
	default:
		return ""
	}
	return strings.Join(append([]string{hint}, m.Notes...), "; ")
}

// Window returns how much m reads and writes at once, and when older messages
// are left out.
func (c *Config) Window(m Model) openmanus.Window {
	return openmanus.Window{Tokens: m.Info.Window, Reply: or(m.Settings.MaxTokens, m.Info.Output), Share: c.Context.CompactAt}
}

// Prices returns what m costs; zero where it is not known.
func (m Model) Prices() openmanus.Prices {
	return openmanus.Prices{Input: m.Info.PriceIn, Output: m.Info.PriceOut, Cached: m.Info.PriceCached, Tiers: m.Info.Tiers,
		CacheWrite: m.Info.PriceCacheWrite, Free: m.Info.PriceIn == 0 && m.Info.PriceOut == 0 && (m.Info.Free || m.Provider.Script || m.Provider.Free != nil && m.Provider.Free(m.BaseURL, m.Name))}
}

// ErrNoModel is in the chain of the error if nothing configures a model.
var ErrNoModel = errors.New("no model is configured")

// Model returns the model that name asks for:
//
//   - "" is the one of the run: run.model, else that of [llm];
//   - "llm" or "default" is that of [llm];
//   - the NAME of a section [llm.NAME] is that profile;
//   - PROVIDER/NAME is a model of a provider in [Sources].Providers; it takes
//     the endpoint of [llm] if that is of the same provider, and else the
//     provider's own;
//   - scripted:FILE is a script;
//   - any other name is a model at the endpoint of [llm].
//
// run.base_url is the endpoint of the run's model alone.
//
// A key is sent only where it was given for. An api_key of a file belongs to
// the base_url beside it, and to an address that a flag or an OPENMANUS_
// variable puts in its place; a profile inherits it if it talks to the same
// host. The variables of a provider's keys go to the provider's own hosts, and
// to an address that a flag or the environment names, but not to one from a
// file: there, api_key_env says so.
func (c *Config) Model(name string) (Model, error) {
	c = c.withModels()
	return c.model(c.endpoint(name))
}

// ModelAt returns Model(name) for a session that continues, at the address in
// its journal, which may differ from the configured one.
//
// A journal may come from another person. So the key is sent only if the
// address has the scheme, host and port of the configured one, or is on this
// machine; --base-url confirms another address.
func (c *Config) ModelAt(name, baseURL string) (Model, error) {
	c = c.withModels()
	m, err := c.Model(name)
	if baseURL == "" || m.Provider != nil && m.Provider.Script {
		return m, err
	}
	if err := provider.CheckURL(baseURL); err != nil {
		return Model{}, fmt.Errorf("the session's address: found %s, %w", quoted(masked(baseURL)), err)
	}
	if err == nil && provider.SameHost(m.BaseURL, baseURL) {
		if m.BaseURL != baseURL {
			m.BaseURL, m.BaseAt = baseURL, Source{From: Record}
		}
		return m, nil
	}
	s := c.endpoint(name)
	s.base = Setting{Text: baseURL, At: Source{From: Record}}
	if !provider.Loopback(baseURL) {
		s.key, s.keyEnv = Setting{}, Setting{}
	}
	return c.model(s)
}

// Unkeyed returns the model that name asks for at an address, with no
// credentials. It is for what sends nothing, such as [llm.Model]s that only
// encode requests. The error says that no provider has such models.
func (c *Config) Unkeyed(name, baseURL string) (Model, error) {
	p, model := c.providers.Split(name)
	if p == nil {
		return Model{}, fmt.Errorf("%s names no provider; there are %s", name, strings.Join(c.providers.Names(), ", "))
	}
	return Model{Provider: p, Name: model, BaseURL: baseURL}, nil
}

// Choose returns Model(""), or, where an endpoint is named and no model, the only one that
// it has, or, where nothing is configured, the first model of the provider on this machine.
// The function list returns the names of the models at a base URL; it should not take long.
func (c *Config) Choose(list func(baseURL string, key Secret) ([]string, error)) (Model, error) {
	c = c.withModels()
	m, err := c.Model("")
	if at, ok := c.Nameless(); ok && errors.Is(err, ErrNoModel) {
		return c.only(at, err, list)
	}
	p := c.providers.Local()
	if !errors.Is(err, ErrNoModel) || p == nil {
		return m, err
	}
	at, err := p.Address(c.query(endpoint{}, p.Name))
	if err != nil {
		return Model{}, err
	}
	names, err := list(at.Base.Text, "")
	title := strings.ToUpper(p.Name[:1]) + p.Name[1:]
	switch {
	case err != nil:
		return Model{}, c.noModel(fmt.Sprintf("%s at %s: %v", title, at.Base.Text, err))
	case len(names) == 0:
		return Model{}, c.noModel(fmt.Sprintf("%s at %s: it runs, but has no model yet", title, at.Base.Text))
	}
	m, err = c.Model(p.ModelName(names[0]))
	m.Unnamed = true
	m.Notes = append(m.Notes, "nothing names a model: the first one of "+title+" at "+at.Base.Text+" is used")
	return m, err
}

// Nameless returns the endpoint that the configuration names without a model, as a Model
// without a name; ok is false if there is none.
func (c *Config) Nameless() (m Model, ok bool) {
	c = c.withModels()
	s := c.endpoint("")
	if s.model.Text != "" || s.base.Text == "" {
		return Model{}, false
	}
	s.model.Text = "NAME"
	m, err := c.model(s)
	m.Name = ""
	return m, err == nil && m.Provider.Lists
}

// only returns the only model of an endpoint. If it has none, or several, the error says
// so, and what to do.
func (c *Config) only(at Model, none error, list func(baseURL string, key Secret) ([]string, error)) (Model, error) {
	const most = 12
	names, err := list(at.BaseURL, at.Key)
	switch {
	case err != nil:
		return Model{}, fmt.Errorf("%w; it does not say which it has: %w", none, err)
	case len(names) == 0:
		return Model{}, fmt.Errorf("%w; it has none", none)
	case len(names) > 1:
		more := ""
		if n := len(names) - most; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		return Model{}, fmt.Errorf("%w; it has %s%s (openmanus setup asks which)", none, strings.Join(names[:min(most, len(names))], ", "), more)
	}
	s := c.endpoint("")
	s.model.Text = at.Provider.ModelName(names[0])
	m, err := c.model(s)
	m.Unnamed = true
	m.Notes = append(m.Notes, "nothing names a model: "+names[0]+" is used, the only one at "+at.Address())
	return m, err
}

// model makes a Model of an endpoint. Each step fills in its part of m.
func (c *Config) model(s endpoint) (Model, error) {
	m := Model{Profile: s.profile, Thoughts: s.Thoughts, StreamOptions: s.StreamOptions, MaxInputTokens: s.MaxInputTokens, IdleTimeout: s.IdleTimeout, Timeout: s.Timeout, Fallback: s.Fallback,
		Settings: llm.Settings{MaxTokens: s.MaxTokens, Temperature: s.Temperature, Effort: s.Effort}}
	if s.model.Text == "" {
		if err := c.unnamed(&s, &m); err != nil {
			return Model{}, err
		}
	}
	named, _ := c.providers.Split(s.model.Text)
	at := s.base.Text
	if named != nil && named.Service && s.base.At.From == Record {
		at = "" // a model with another address is recorded as the compatible provider's
	}
	m.Provider, m.Name = c.serves(s.model.Text, s.APIType, at)
	if std := c.providers.Default(); m.Provider.Compatible && named == nil &&
		!slices.Contains(m.Provider.APIs, s.API) && slices.Contains(std.APIs, s.API) {
		m.Provider = std
	}
	for _, step := range []func(endpoint, *Model) error{c.checkName, c.address, c.credential, c.api} {
		if err := step(s, &m); err != nil {
			return Model{}, err
		}
	}
	m.Info = c.info(m)
	m.withoutRefused()
	return m, nil
}

// A noName is the error of an endpoint that is named without a model.
type noName struct{ text string }

func (e *noName) Error() string { return e.text }

// Unwrap returns [ErrNoModel].
func (e *noName) Unwrap() error { return ErrNoModel }

// unnamed deals with a section that names no model.
func (c *Config) unnamed(s *endpoint, m *Model) error {
	p, _ := c.serves("", s.APIType, s.base.Text)
	isDefault := p == c.providers.Default()
	switch {
	case isDefault && s.base.Text == "" && (s.key.Text == "" || s.key.At.From == Environment && slices.Contains(p.KeyVars, s.key.At.Name)) && s.keyEnv.Text == "":
		if s.model.Text = c.choose(m); s.model.Text == "" {
			return c.noModel("")
		}
		return nil
	case isDefault && (s.key.Text != "" || s.keyEnv.Text != "" || c.keyVariable(p.KeyVars...).Text != ""):
		s.model.Text, m.Unnamed = p.ModelName(p.DefaultModel), true
		m.Notes = append(m.Notes, "nothing names a model: "+s.model.Text+" is used")
		return nil
	case isDefault:
		return c.noModel("")
	case s.base.Text != "":
		found := c.FoundText()
		if found != "" {
			found = " (" + found + ")"
		}
		return &noName{fmt.Sprintf("%s: an endpoint is named, %s, but no model: set [llm] model, OPENMANUS_MODEL or --model%s", s.base.At, masked(s.base.Text), found)}
	}
	return fmt.Errorf("a provider is named, %s, but no model: set [llm] model, OPENMANUS_MODEL or --model", p.Name)
}

// serves returns the provider of model, and its name there, in a section with
// the given api_type and base_url.
func (c *Config) serves(model, apiType, base string) (*provider.Provider, string) {
	p, name := c.providers.Split(model)
	if p != nil && c.providers.Resold(base) && !p.Compatible && !p.Script && !p.Owns(base) || c.foreign(p, base) {
		return c.providers.Compatible(), model
	}
	if p != nil {
		return p, name
	}
	if p := c.providers.Typed(apiType); p != nil {
		return p, name
	}
	if p := c.providers.At(base); p != nil {
		return p, name
	}
	if base != "" {
		return c.providers.Compatible(), name
	}
	return c.providers.Default(), name
}

// foreign reports whether p is a service and base an address that is not its own: the
// service's name is a part of a model's name there.
func (c *Config) foreign(p *provider.Provider, base string) bool {
	return p != nil && p.Service && base != "" && !p.Owns(base)
}

// checkName reports names that m's provider cannot serve, and notes those that
// look mistyped.
func (c *Config) checkName(s endpoint, m *Model) error {
	at := "the model " + quoted(s.model.Text)
	if s.model.At.From != "" {
		at = s.model.At.String() + ": " + at
	}
	if m.Provider.New == nil {
		return fmt.Errorf("%s: no provider is there that serves it", at)
	}
	if m.Provider.Serves != nil {
		if err := m.Provider.Serves(m.Name); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if strings.TrimSpace(m.Name) == "" {
		return fmt.Errorf("%s has no name after the provider", at)
	}
	plain := s.model.Text == m.Name
	if first, _, ok := strings.Cut(m.Name, "/"); ok && plain && m.Provider == c.providers.Default() && s.base.Text == "" {
		return fmt.Errorf("%s: there is no provider %s; there are %s. For an OpenAI-compatible endpoint set [llm] base_url",
			at, quoted(first), strings.Join(c.providers.Names(), ", "))
	}
	if near := near.Nearest(m.Name, c.profiles); near != "" && s.profile == "" && plain && len(m.Name) > 2 {
		m.Notes = append(m.Notes, "there is no profile "+quoted(m.Name)+", so it was taken for a model's name (did you mean "+near+"?)")
	}
	return nil
}

// address finds where m is.
func (c *Config) address(s endpoint, m *Model) error {
	p := m.Provider
	if p.Script {
		m.Name = c.script(m.Name, s.model.At)
		return nil
	}
	at := provider.Address{Base: s.base}
	switch q := c.query(s, m.String()); {
	case p.Address != nil:
		var err error
		if at, err = p.Address(q); err != nil {
			return err
		}
	case at.Base.Text == "":
		if at.Base = c.variable(p.BaseVars...); at.Base.Text == "" {
			at.Base.Text = p.BaseURL
		}
	}
	base, cut := provider.WithoutCall(at.Base.Text)
	if cut != "" {
		m.Notes = append(m.Notes, fmt.Sprintf("%s: the address of an endpoint ends before %s, which is left out", at.Base.At, cut))
	}
	m.BaseURL, m.BaseAt, m.Region, m.Version = base, at.Base.At, at.Region, at.Version
	if err := provider.CheckURL(m.BaseURL); err != nil {
		return fmt.Errorf("%s: found %s, %w", m.BaseAt, quoted(masked(m.BaseURL)), err)
	}
	return nil
}

// query returns what a provider makes the address of a model from.
func (c *Config) query(s endpoint, model string) provider.Query {
	return provider.Query{Model: model, Base: s.base, Region: s.region, Project: s.project,
		Version: Setting{Text: s.APIVersion}, Env: c.variable, ReadFile: os.ReadFile}
}

// variable returns the first of the environment variables that is set.
func (c *Config) variable(names ...string) Setting {
	for _, n := range names {
		if v := strings.TrimSpace(c.env.get(n)); v != "" {
			return Setting{Text: v, At: Source{From: Environment, Name: n}}
		}
	}
	return Setting{}
}

// script returns the path of a script. A relative one in a file begins at the
// directory of the file.
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

// api chooses the interface that is spoken to m.
func (c *Config) api(s endpoint, m *Model) error {
	api, ok := m.Provider.API(m.BaseURL, s.API)
	if !ok {
		return fmt.Errorf("%s: api = %q is not for %s: allowed: %s", m, s.API, m.Provider, strings.Join(m.Provider.APIs, ", "))
	}
	m.API = api
	return nil
}

// info returns what is known of m: by [models], value by value before the
// catalogue.
func (c *Config) info(m Model) Info {
	var i, known Info
	if own := c.Models[m.modelKey()]; own != nil {
		i = *own
	}
	if c.Catalogue != nil {
		at := m.Provider
		if s := c.providers.ServiceAt(m.BaseURL); s != nil && at.Compatible {
			at = s
		}
		known, _ = c.Catalogue(at, m.Name)
	}
	if i.PriceIn != 0 || i.PriceOut != 0 || i.Free {
		known.Tiers = nil // what a person says holds for all requests
	}
	if w := m.Provider.Window; w > 0 && m.API == "" && (known.Window == 0 || known.Window > w) {
		known.Window = w
	}
	refusals, said := c.learned(m)
	last := info(said)
	if last.Window != 0 {
		known.Window, known.Output = last.Window, 0 // of a model of that name elsewhere
	}
	window := i.Window
	if refused := info(refusals).Window; window == 0 || refused > 0 && refused < window {
		window = refused
	}
	return Info{
		Window: or(window, known.Window), Output: or(i.Output, or(last.Output, known.Output)),
		PriceIn: or(i.PriceIn, known.PriceIn), PriceOut: or(i.PriceOut, known.PriceOut), PriceCached: or(i.PriceCached, known.PriceCached),
		PriceCacheWrite: or(i.PriceCacheWrite, known.PriceCacheWrite),
		Free:            i.Free || known.Free,
		Vision:          or(i.Vision, or(last.Vision, known.Vision)), Tools: or(i.Tools, or(last.Tools, known.Tools)),
		Reasoning: or(i.Reasoning, or(last.Reasoning, known.Reasoning)),
		Refuses:   or(i.Refuses, known.Refuses), Pattern: known.Pattern, Day: known.Day, Tiers: known.Tiers,
	}
}

// modelKey is the NAME of [models."NAME"] for m; all scripts share one.
func (m Model) modelKey() string {
	if m.Provider.Script {
		return m.Provider.Name
	}
	return m.String()
}

// InfoAt returns where a value of m.Info comes from: the key is as in [models],
// such as "window". It is the zero Source if the value is not known.
func (c *Config) InfoAt(m Model, key string) Source {
	refusals, said := c.learned(m)
	name := "models." + quotedName(m.modelKey()) + "." + key
	if at, ok := factAt(refusals, key); ok && (!c.Set(name) || info(refusals).Window < c.Models[m.modelKey()].Window) {
		return at
	}
	if c.Set(name) {
		return c.Origin(name)
	}
	if at, ok := factAt(said, key); ok {
		return at
	}
	if i := m.Info; i.Pattern != "" && map[string]bool{
		"window": i.Window != 0, "output": i.Output != 0, "price_in": i.PriceIn != 0, "price_out": i.PriceOut != 0,
		"price_cached": i.PriceCached != 0, "price_cache_write": i.PriceCacheWrite != 0,
		"vision": i.Vision != nil, "tools": i.Tools != nil, "reasoning": i.Reasoning != nil, "refuses": i.Refuses != "",
	}[key] {
		name := i.Pattern
		if i.Day != "" {
			name += " of " + i.Day
		}
		return Source{From: Catalogued, Name: name}
	}
	return Source{}
}

// withoutRefused takes the settings that m is known to refuse out of its
// settings, and notes that.
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
