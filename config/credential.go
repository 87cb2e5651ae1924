package config

import (
	"fmt"
	"slices"
	"strings"
)

// credential finds the key that may be sent to where m is: see [Config.Model].
func (c *Config) credential(s endpoint, m *Model) error {
	openAIKey := sourced{c.ambient["OPENAI_API_KEY"], Source{From: Environment, Name: "OPENAI_API_KEY"}}
	speaks := m.Provider == "openai" || m.Provider == "compat"
	said := m.BaseAt.From != File && (m.BaseAt.From != Record || loopback(m.BaseURL)) // by the person, where m is
	vendorKey, has := c.vendorKey(m, said)
	inherited := s.key.text == "" || s.key.at == c.Origin("llm.api_key")
	switch {
	case s.key.text != "" && s.key.at.From == Environment && s.key.at != openAIKey.at:
		m.take(s.key)
	case s.keyEnv.text != "":
		key := c.ambient[s.keyEnv.text]
		if key == "" {
			return fmt.Errorf("%s: api_key_env names %s, which is not set", s.keyEnv.at, s.keyEnv.text)
		}
		m.take(sourced{key, Source{From: Environment, Name: s.keyEnv.text}})
	case has && inherited:
		m.take(vendorKey)
	case m.Provider == "bedrock" && !strings.HasPrefix(s.key.text, "ABSK") && !strings.HasPrefix(s.key.text, "bedrock-api-key-"):
		// OpenManus wants an api_key here, and does not use it.
	case s.key.text != "" && s.key.at != openAIKey.at && c.belongs(s, m):
		m.take(s.key)
	case speaks && openAIKey.text != "" && (said || sameHost(m.BaseURL, openAIBase)):
		m.take(openAIKey)
	default:
		m.withheld(s, openAIKey)
	}
	if v, _ := vendorOf(m.Provider); v.signIn != "" && m.Key == "" {
		m.signIn(v, said)
	}
	return m.checkKey()
}

// signIn allows that the credentials of a cloud's own tools go to where m is,
// or notes that they do not: only to the cloud, or where the person said. A
// resource at Azure may be anybody's, so a session's word is not enough.
func (m *Model) signIn(v vendor, said bool) {
	safe := strings.HasPrefix(m.BaseURL, "https:") || loopback(m.BaseURL)
	owned := v.owns(m.BaseURL) && (m.BaseAt.From != Record || m.Provider != "azure")
	if m.SignIn = safe && (said || owned); !m.SignIn {
		m.Notes = append(m.Notes, fmt.Sprintf("your credentials at %s are not sent to %s, which %s names: they go to its own addresses, "+
			"and by https to one that --base-url names", v.signIn, host(m.BaseURL), m.BaseAt))
	}
}

func (m *Model) take(key sourced) { m.Key, m.KeyAt = Secret(key.text), key.at }

// belongs reports whether the key of a file was given for where m is.
func (c *Config) belongs(s endpoint, m *Model) bool {
	if m.BaseAt.Name != "OPENAI_BASE_URL" || m.BaseAt.From != Environment {
		return true
	}
	was := c.settings["llm.base_url"].hides // what the variable of other programs stands before
	return was == nil || sameHost(was.text, m.BaseURL)
}

// withheld notes the keys there are and that do not go where m is.
func (m *Model) withheld(s endpoint, openAIKey sourced) {
	to := "to " + host(m.BaseURL)
	if s.key.text != "" && s.key.at.From == File {
		m.Notes = append(m.Notes, fmt.Sprintf("the key at %s is not sent %s, which %s names: it was given for another address; "+
			"OPENMANUS_LLM_API_KEY is sent wherever [llm] is", s.key.at, to, m.BaseAt))
	}
	if m.BaseAt.From == Record && !loopback(m.BaseURL) {
		m.Notes = append(m.Notes, fmt.Sprintf("no key is sent %s: the session names it, and the configuration does not; if it is meant, "+
			"say --base-url %s", to, m.Address()))
		return
	}
	if openAIKey.text != "" && m.BaseAt.From == File && (m.Provider == "openai" || m.Provider == "compat") {
		m.Notes = append(m.Notes, fmt.Sprintf("OPENAI_API_KEY is not sent %s, which %s names: if it is meant for it, write "+
			"api_key_env = \"OPENAI_API_KEY\" there", to, m.BaseAt))
	}
}

// checkKey looks at the key and the way it goes.
func (m *Model) checkKey() error {
	if err := m.needsKey(); err != nil {
		return err
	}
	if _, err := parseKey(string(m.Key)); err != nil {
		return fmt.Errorf("%s: %w", m.KeyAt, err)
	}
	if m.Key != "" && strings.HasPrefix(m.BaseURL, "http:") && !loopback(m.BaseURL) {
		m.Notes = append(m.Notes, fmt.Sprintf("the key goes to %s unencrypted: %s names an http address", host(m.BaseURL), m.BaseAt))
	}
	return nil
}

// noModel is the error that shows the ways on.
func (c *Config) noModel(ollama string) error {
	var b strings.Builder
	b.WriteString("\nLooked for:\n")
	for _, f := range c.files {
		state := "not there"
		if f.Found {
			state = "names none"
		}
		fmt.Fprintf(&b, "  %s (%s)\n", f.Path, state)
	}
	b.WriteString("  --model, and in the environment OPENMANUS_MODEL, OPENAI_API_KEY, OPENAI_BASE_URL (not set)\n")
	if ollama != "" {
		b.WriteString("  " + ollama + "\n")
	}
	b.WriteString("Three ways on:\n" +
		"  1. A key for OpenAI:  export OPENAI_API_KEY=…   (the model is then " + DefaultModel + ")\n" +
		"  2. Any OpenAI-compatible endpoint, in " + c.userFile() + ":\n" +
		"       [llm]\n       base_url = \"https://HOST/v1\"\n       model = \"NAME\"\n       api_key_env = \"NAME_OF_A_VARIABLE\"\n" +
		"  3. A model on this machine:  install Ollama (https://ollama.com), then  ollama pull qwen3\n" +
		"To see it work without a model:  openmanus demo")
	return fmt.Errorf("%w%s", ErrNoModel, b.String())
}

// userFile is the file that a person should write to.
func (c *Config) userFile() string {
	i := slices.IndexFunc(c.files, func(f FileState) bool { return f.Role != "workspace" })
	if i < 0 {
		return "a file for --config"
	}
	return c.files[i].Path
}

// A secret is a value that must not be written down.
type secret struct{ name, value string }

// keyVariables are the usual variables that have keys in them.
func keyVariables() []string {
	return []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_CLIENT_SECRET",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "OLLAMA_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY",
		"GROQ_API_KEY", "OPENROUTER_API_KEY", "TOGETHER_API_KEY", "XAI_API_KEY", "HF_TOKEN", "BRAVE_API_KEY", "TAVILY_API_KEY", "SERPER_API_KEY",
		"DAYTONA_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN"}
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
	for _, name := range slices.Concat(keyVariables(), l.cfg.Redact, l.cfg.keyEnvs()) {
		add(name, l.src.Env.get(name))
	}
	for _, name := range slices.Sorted(slices.Values(l.src.EnvNames)) {
		if strings.HasSuffix(name, "_API_KEY") {
			add(name, l.src.Env.get(name))
		}
	}
	for s := range l.cfg.ordered() {
		for at := &s; at != nil; at = at.hides {
			switch {
			case at.key.secret():
				add(at.key.with(at.sub), at.text)
			case at.key.kind.name == kindURL.name:
				add(at.key.with(at.sub), password(at.text))
			}
		}
	}
	return all
}

// keyEnvs are the variables that api_key_env and token_env name.
func (c *Config) keyEnvs() []string {
	var names []string
	for s := range c.ordered() {
		if last := lastName(s.key.name); last == "api_key_env" || last == "token_env" {
			names = append(names, s.text)
		}
	}
	return names
}

// Secrets returns the values that must not be written down, by the variable
// or the key they are known by: those of the usual variables, of api_key and
// of whatever redact names. Each value is there once.
func (c *Config) Secrets() map[string]string {
	m := make(map[string]string, len(c.secrets))
	for _, s := range c.secrets {
		m[s.name] = s.value
	}
	return m
}
