package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// A Secret is text that every way of printing shows as asterisks. Convert it to
// a string to use it.
type Secret string

// String implements [fmt.Stringer] with a mask, so that no log and no error shows the
// value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return provider.Mask
}

// GoString implements [fmt.GoStringer].
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// MarshalText implements [encoding.TextMarshaler].
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// credential finds the key that may be sent to where m is: see [Config.Model].
// The first that fits counts: a variable of ours, the variable that api_key_env
// names, the provider's own variable, api_key of a file, and at last a variable
// that other programs share.
func (c *Config) credential(s endpoint, m *Model) error {
	p := m.Provider
	if p.Script {
		return nil
	}
	shared := c.keyVariable(c.providers.Default().KeyVars...)
	named := m.BaseAt.From != File && m.BaseAt.From != Record // by the user: this machine has other users, too
	key := c.keyVariable(p.KeyVars...)
	mayGo := key.Text != "" && c.mayGo(m, named)
	var service Setting
	if s := c.providers.ServiceAt(m.BaseURL); s != nil && p.Compatible {
		service = c.keyVariable(s.KeyVars...)
	}
	isShared := s.key.At == Source{From: Environment, Name: first(c.providers.Default().KeyVars)}
	isKey := func(prefix string) bool { return strings.HasPrefix(s.key.Text, prefix) }
	switch {
	case s.key.Text != "" && s.key.At.From == Environment && !isShared:
		m.take(s.key)
	case s.keyEnv.Text != "":
		key := c.keyVariable(s.keyEnv.Text)
		if key.Text == "" {
			return fmt.Errorf("%s: api_key_env names %s, which is not set", s.keyEnv.At, s.keyEnv.Text)
		}
		m.take(key)
	case mayGo && !p.Shared && (s.key.Text == "" || s.key.At == c.Origin("llm.api_key")):
		m.take(key)
	case p.KeyPrefixes != nil && !slices.ContainsFunc(p.KeyPrefixes, isKey):
	case s.key.Text != "" && !isShared && c.belongs(s, m):
		m.take(s.key)
	case mayGo && p.Shared:
		m.take(key)
	case service.Text != "":
		m.take(service)
	default:
		m.withheld(s, shared, key.Text != "")
	}
	if p.SignIn != "" && m.Key == "" {
		m.signIn(named)
	}
	if m.KeyAt.From == Environment && inQuotes(c.env.get(m.KeyAt.Name)) {
		m.Notes = append(m.Notes, "the key in "+m.KeyAt.Name+" stands in quotes, which are not sent")
	}
	if err := m.checkKey(); err != nil {
		return fmt.Errorf("%w%s", err, c.foundHint())
	}
	return nil
}

// mayGo reports whether a key from a variable of m's provider may be sent to
// where m is: to the provider's own hosts, and to an address that the user
// named. Where each customer has an address, that of a journal is not enough.
func (c *Config) mayGo(m *Model, named bool) bool {
	p := m.Provider
	if p.Shared {
		return named || p.Owns(m.BaseURL)
	}
	return named && m.BaseURL != p.BaseURL || p.Owns(m.BaseURL) && (m.BaseAt.From != Record || p.BaseURL != "")
}

// signIn allows that the credentials of a cloud's own tools are sent to where m
// is, or notes that they are not: they go to the cloud's hosts, and to an
// address that the user named. Below the hosts of a cloud with tenants, an
// address from a journal may be another customer's.
func (m *Model) signIn(named bool) {
	p := m.Provider
	safe := strings.HasPrefix(m.BaseURL, "https:") || provider.Loopback(m.BaseURL)
	owned := p.Owns(m.BaseURL) && (m.BaseAt.From != Record || !p.Tenants)
	if m.SignIn = safe && (named || owned); !m.SignIn {
		m.Notes = append(m.Notes, fmt.Sprintf("your credentials at %s are not sent to %s, which %s names: they go to its own addresses, "+
			"and by https to one that --base-url names", p.SignIn, provider.Host(m.BaseURL), m.BaseAt))
	}
}

// take makes key the key of m.
func (m *Model) take(key Setting) { m.Key, m.KeyAt = Secret(key.Text), key.At }

// belongs reports whether the key of a file was given for where m is. A
// variable of other programs may have put another address in place of the
// file's.
func (c *Config) belongs(s endpoint, m *Model) bool {
	if m.BaseAt.From != Environment || !slices.Contains(c.providers.Default().BaseVars, m.BaseAt.Name) {
		return true
	}
	was := c.settings["llm.base_url"].hides
	return was == nil || provider.SameHost(was.text, m.BaseURL)
}

// withheld notes the keys there are and that are not sent to where m is. ownKey
// says that a variable has one for the provider.
func (m *Model) withheld(s endpoint, shared Setting, ownKey bool) {
	to := "to " + provider.Host(m.BaseURL)
	if s.key.Text != "" && s.key.At.From == File {
		m.Notes = append(m.Notes, fmt.Sprintf("the key at %s is not sent %s, which %s names: it was given for another address; "+
			"OPENMANUS_LLM_API_KEY is sent wherever [llm] is", s.key.At, to, m.BaseAt))
	}
	if m.BaseAt.From == Record && (!provider.Loopback(m.BaseURL) || ownKey || s.key.Text+shared.Text != "") {
		m.Notes = append(m.Notes, fmt.Sprintf("no key is sent %s: the session names it, and the configuration does not; if it is meant, "+
			"say --base-url %s", to, m.Address()))
		return
	}
	if name := shared.At.Name; shared.Text != "" && m.BaseAt.From == File && m.Provider.Shared {
		m.Notes = append(m.Notes, fmt.Sprintf("%s is not sent %s, which %s names: if it is meant for it, write "+
			"api_key_env = %q there", name, to, m.BaseAt, name))
	}
}

// checkKey looks at the key and the way it goes.
func (m *Model) checkKey() error {
	p := m.Provider
	if m.Key == "" && len(p.KeyVars) > 0 && !p.Keyless && !m.SignIn && p.Owns(m.BaseURL) {
		return fmt.Errorf("%s needs a key: set %s, or run openmanus setup", m, p.KeyVars[0])
	}
	if _, err := parseKey(string(m.Key)); err != nil {
		return fmt.Errorf("%s: %w", m.KeyAt, err)
	}
	if m.Key != "" && strings.HasPrefix(m.BaseURL, "http:") && !provider.Loopback(m.BaseURL) {
		m.Notes = append(m.Notes, fmt.Sprintf("the key goes to %s unencrypted: %s names an http address", provider.Host(m.BaseURL), m.BaseAt))
	}
	return nil
}

// noModel is the error that shows what to do.
func (c *Config) noModel(local string) error {
	std := c.providers.Default()
	var b strings.Builder
	b.WriteString("\nLooked for:\n")
	for _, f := range c.files {
		state := "not there"
		if f.Found {
			state = "names none"
		}
		fmt.Fprintf(&b, "  %s (%s)\n", f.Path, state)
	}
	vars := slices.Concat([]string{"OPENMANUS_MODEL"}, std.KeyVars, std.BaseVars)
	fmt.Fprintf(&b, "  --model, and in the environment %s (not set)\n", strings.Join(vars, ", "))
	if local != "" {
		b.WriteString("  " + local + "\n")
	}
	if found := c.FoundText(); found != "" {
		b.WriteString("  " + found + "\n")
	}
	b.WriteString("Three ways on:\n" +
		"  1. A key:  export " + first(std.KeyVars) + "=…   (the model is then " + std.ModelName(std.DefaultModel) + "), or one of\n" +
		c.otherKeys() +
		"  2. Any OpenAI-compatible endpoint, in " + c.userFile() + ":\n" +
		"       [llm]\n       base_url = \"https://HOST/v1\"\n       model = \"NAME\"\n       api_key_env = \"NAME_OF_A_VARIABLE\"\n" +
		"  3. A model on this machine:  install Ollama (https://ollama.com), then  ollama pull qwen3\n" +
		"openmanus setup asks for these and tries them. To see it work without a model:  openmanus demo")
	return fmt.Errorf("%w%s", ErrNoModel, b.String())
}

// otherKeys returns lines with the variables in which keys are looked for, but for those of
// the default provider.
func (c *Config) otherKeys() string {
	var names []string
	for _, p := range c.providers {
		if p.First() != "" && p.DefaultModel == "" {
			names = append(names, p.KeyVars...)
		}
	}
	var b strings.Builder
	for line := range slices.Chunk(names, 4) {
		b.WriteString("     " + strings.Join(line, ", ") + "\n")
	}
	return b.String()
}

// first returns the first of list; "" if it is empty.
func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// userFile returns the file that people should write to.
func (c *Config) userFile() string {
	i := slices.IndexFunc(c.files, func(f FileState) bool { return f.Role != "workspace" })
	if i < 0 {
		return "a file for --config"
	}
	return c.files[i].Path
}

// A secret is a value that must not be written down.
type secret struct{ name, value string }

// secretVariables returns the variables that usually hold secrets.
func secretVariables(providers provider.List) (names []string) {
	for _, p := range providers {
		names = slices.Concat(names, p.KeyVars, p.SecretVars)
	}
	return append(names, "BRAVE_API_KEY", "TAVILY_API_KEY", "SERPER_API_KEY", "DAYTONA_API_KEY",
		"GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN")
}

// secrets collects what is known to be secret, each value under one name.
func (l *loader) secrets() []secret {
	var all []secret
	seen := map[string]bool{"": true}
	add := func(name, value string) {
		if value = strings.TrimSpace(value); !seen[value] {
			seen[value] = true
			all = append(all, secret{name, value})
		}
	}
	for _, name := range slices.Concat(secretVariables(l.src.Providers), l.cfg.Redact, l.cfg.keyEnvs()) {
		add(name, BareKey(l.src.Env.get(name))) // as it is sent, and within the quotes that are not
	}
	for _, name := range slices.Sorted(slices.Values(l.src.EnvNames)) {
		if strings.HasSuffix(name, "_API_KEY") {
			add(name, BareKey(l.src.Env.get(name)))
		}
	}
	for s := range l.cfg.ordered() {
		for at := &s; at != nil; at = at.hides {
			switch {
			case at.key.secret():
				add(at.key.with(at.sub), at.text)
			case at.key.kind.id == "url":
				add(at.key.with(at.sub), password(at.text))
			}
		}
	}
	return all
}

// keyEnvs returns the variables that api_key_env, token_env, secret_env and password_env name.
func (c *Config) keyEnvs() []string {
	var names []string
	for s := range c.ordered() {
		if last := lastName(s.key.name); last == "api_key_env" || last == "token_env" || last == "secret_env" || last == "password_env" {
			names = append(names, s.text)
		}
	}
	return names
}

// Secrets returns the values that must not be written down, by the variable or
// the key that holds them: those of the providers' variables, of api_key, and
// of the variables that redact names. Each value is there once.
func (c *Config) Secrets() map[string]string {
	m := make(map[string]string, len(c.secrets))
	for _, s := range c.secrets {
		m[s.name] = s.value
	}
	return m
}
