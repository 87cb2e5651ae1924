package config

import (
	"io/fs"
	"iter"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// check checks the settings that depend on each other or on their source. It is
// called when all sources are read.
func (l *loader) check() {
	l.withoutEffect()
	if s, ok := l.settings["run.base_url"]; ok {
		l.checkURL(s)
	}
	if s, ok := l.settings["redact"]; ok && slices.ContainsFunc(s.value.([]string), func(name string) bool { return !variableName.MatchString(name) }) {
		l.fail(&Error{Source: s.source, Key: "redact", Text: "allowed: names of environment variables, not their values"})
	}
	l.checkLLM("")
	for _, name := range l.cfg.profiles {
		l.checkLLM(name)
	}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkLLM checks [llm], or the profile with the name.
func (l *loader) checkLLM(profile string) {
	get := func(name string) (setting, bool) {
		prefix := "llm."
		if profile != "" {
			prefix = "llm." + quotedName(profile) + "."
		}
		s, ok := l.settings[prefix+name]
		return s, ok
	}

	apiType, typed := get("api_type")
	p := l.src.Providers.Typed(apiType.text)
	if typed && p != nil && p.BaseURL == "" { // OpenManus' examples have no address: it is checked when it is used
	} else if base, ok := get("base_url"); ok {
		l.checkURL(base)
	}
	apiKey, hasKey := get("api_key")
	env, hasEnv := get("api_key_env")
	if hasKey && hasEnv && apiKey.source.Name == env.source.Name {
		l.fail(&Error{Source: env.source, Key: env.key.with(profile), Text: "api_key is set as well: one of the two"})
	}
	if hasEnv && !variableName.MatchString(env.text) {
		l.fail(&Error{Source: env.source, Key: env.key.with(profile), Text: "allowed: the name of an environment variable, such as OPENAI_API_KEY"})
	}
}

// checkURL checks an address of an endpoint.
func (l *loader) checkURL(s setting) {
	if err := provider.CheckURL(s.text); err != nil {
		l.fail(&Error{Source: s.source, Key: s.key.with(s.sub), Found: quoted(masked(s.text)), Text: err.Error()})
	}
}

// withoutEffect warns about keys that are set and have no effect, once for every
// section and reason.
func (l *loader) withoutEffect() {
	type group struct{ file, section, why string }
	at := map[group]int{} // where in l.warnings
	for s := range l.cfg.ordered() {
		if s.key.unused == "" || s.source.From == "" {
			continue
		}
		name := s.key.with(s.sub)
		g := group{section: strings.TrimSuffix(name, lastName(name)), why: s.key.unused}
		if g.file = s.source.Name; s.source.From != File {
			g.section = name
		}
		if i, ok := at[g]; ok {
			l.warnings[i].Key += ", " + lastName(name)
			l.warnings[i].Source.Line = min(l.warnings[i].Source.Line, s.source.Line)
			continue
		}
		at[g] = len(l.warnings)
		l.warn(Warning{s.source, name, s.key.unused})
	}
}

// readable warns about a file that holds a secret and that others can read.
func (l *loader) readable(file string, mode fs.FileMode) {
	if runtime.GOOS == "windows" || mode&0o044 == 0 {
		return
	}
	for s := range l.cfg.ordered() {
		if s.key.secret() && s.source.Name == file {
			l.warn(Warning{s.source, s.key.with(s.sub), "is in a file that other users of this machine can read: chmod 600 " + file})
			return
		}
	}
}

// ordered yields the settings, with the defaults, in the order of the manual.
func (c *Config) ordered() iter.Seq[setting] {
	return func(yield func(setting) bool) {
		for k, sub := range c.keys() {
			if s, ok := c.settings[k.with(sub)]; ok && !yield(s) {
				return
			}
		}
	}
}

// keys yields every key with the names that stand for the star in its name:
// those of profiles, models or users, and "" for a key without a star. Keys of
// one section and name stand together.
func (c *Config) keys() iter.Seq2[key, string] {
	return func(yield func(key, string) bool) {
		for _, s := range schema() {
			subs := []string{""}
			switch s.name {
			case "llm.*":
				subs = c.profiles
			case "models.*":
				subs = c.models
			case "users.*":
				subs = c.users
			case "a2a.*":
				subs = c.remotes
			case "schedules.*":
				subs = c.schedules
			case "triggers.*":
				subs = c.triggers
			}
			for _, sub := range subs {
				for _, k := range s.keys {
					if !yield(k, sub) {
						return
					}
				}
			}
		}
	}
}
