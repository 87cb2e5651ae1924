package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/near"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// environment sets the keys of the variables that are set. An empty variable
// counts as not set.
func (l *loader) environment() {
	for k, sub := range l.cfg.keys() {
		for _, name := range k.variables(sub) {
			if text := l.src.Env.get(name); text != "" {
				l.set(k, sub, text, Source{From: Environment, Name: name})
				break
			}
		}
	}
}

// variables returns the environment variables of k, strongest first.
func (k key) variables(sub string) []string {
	names := []string{variable(strings.Replace(k.name, "*", sub, 1))}
	if k.env != "" && !strings.HasPrefix(k.env, "OPENAI_") { // these are for [loader.shared]
		names = append(names, k.env)
	}
	return names
}

// shared applies the variables that other programs share (OPENAI_BASE_URL,
// OPENAI_API_KEY) to [llm], where they are meant for it. The address counts
// unless [llm] names another provider. The key counts only if the address is the
// default provider's, or from the environment as well.
func (l *loader) shared() {
	p, _ := l.cfg.serves(l.text("llm.model"), l.text("llm.api_type"), l.text("llm.base_url"))
	std := l.src.Providers.Default()
	base := l.cfg.variable(std.BaseVars...)
	if p.Service && l.text("llm.base_url") == "" && base.Text != "" && !p.Owns(base.Text) {
		p = l.src.Providers.Compatible()
	}
	if !p.Shared {
		return
	}
	if base.Text != "" && l.settings["llm.base_url"].source.From != Environment {
		l.set(l.schema["llm.base_url"], "", base.Text, base.At)
	}
	at := l.settings["llm.base_url"]
	about := at.source.From != File || provider.SameHost(at.text, std.BaseURL)
	own := l.settings["llm.api_key"].source.From == Environment || l.text("llm.api_key_env") != ""
	if key := l.cfg.keyVariable(p.KeyVars...); key.Text != "" && about && !own {
		l.set(l.schema["llm.api_key"], "", key.Text, key.At)
	}
}

// flags sets the keys of the flags that were given.
func (l *loader) flags() {
	byFlag := map[string]key{}
	for _, k := range l.keys {
		if k.flag != "" {
			byFlag[k.flag] = k
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.src.Flags)) {
		src := Source{From: Flag, Name: "--" + name}
		k, ok := byFlag[name]
		if !ok {
			l.fail(&Error{Source: src, Text: "is no flag that sets a key"})
			continue
		}
		l.set(k, "", l.src.Flags[name], src)
	}
}

// unknownVariables warns about OPENMANUS_ variables that set no key.
func (l *loader) unknownVariables() {
	known := []string{"OPENMANUS_CONFIG"}
	for k, sub := range l.cfg.keys() {
		known = append(known, k.variables(sub)...)
	}
	for _, name := range l.src.EnvNames {
		if strings.HasPrefix(name, "OPENMANUS_") && !slices.Contains(known, name) {
			text := "is set and sets no key"
			if near := didYouMean(near.Nearest(name, known)); near != "" {
				text += " (" + near + ")"
			}
			l.warn(Warning{Source: Source{From: Environment, Name: name}, Text: text})
		}
	}
}
