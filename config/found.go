package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// A FoundKey is a variable of the environment with which a model could be asked.
type FoundKey struct {
	Variable string
	Provider *provider.Provider

	// Model is the one that is used where nothing is configured and no key before this
	// one is found. It is "" for the credentials of a cloud, which choose nothing, and for a
	// key that is for the endpoint At.
	Model string

	// At is the address that the environment gives to programs for this key, if it is not
	// the provider's own.
	At string
}

// FoundKeys returns the keys and the credentials in the environment, in the order in which
// a key is chosen; those of clouds come last. A variable that is empty, or holds the
// placeholder of an example, is no key.
func (c *Config) FoundKeys() (found []FoundKey) {
	var clouds, moved []FoundKey
	for _, p := range c.providers {
		if p.Compatible {
			continue // its variables are those of the default provider
		}
		model := p.First()
		if model != "" {
			model = p.ModelName(model)
		}
		at := c.variable(p.BaseVars...).Text
		for _, name := range p.KeyVars {
			switch {
			case KeyIn(c.env, name) == "":
			case p.Shared && at != "" && !p.Owns(at):
				moved = append(moved, FoundKey{Variable: name, Provider: p, At: masked(at)})
			case model != "":
				found = append(found, FoundKey{Variable: name, Provider: p, Model: model})
			default:
				clouds = append(clouds, FoundKey{Variable: name, Provider: p})
			}
		}
		for _, name := range p.SignInVars {
			if c.variable(name).Text != "" {
				clouds = append(clouds, FoundKey{Variable: name, Provider: p})
			}
		}
	}
	return slices.Concat(found, moved, clouds)
}

// FoundText says in one line which keys and credentials are in the environment; "" if there
// are none.
func (c *Config) FoundText() string {
	var keys, clouds []string
	for _, f := range c.FoundKeys() {
		switch {
		case f.Model != "":
			keys = append(keys, fmt.Sprintf("%s (%s)", f.Variable, f.Model))
		case f.At != "":
			keys = append(keys, fmt.Sprintf("%s (for %s)", f.Variable, f.At))
		default:
			clouds = append(clouds, fmt.Sprintf("%s (%s)", f.Variable, f.Provider.ModelName("NAME")))
		}
	}
	var parts []string
	if len(keys) > 0 {
		parts = append(parts, "keys found: "+strings.Join(keys, ", "))
	}
	if len(clouds) > 0 {
		parts = append(parts, "credentials of a cloud found, which are used only for a model that you name: "+strings.Join(clouds, ", "))
	}
	return strings.Join(parts, "; ")
}

// choose takes the first model for which there is a key, and says so in m's notes.
func (c *Config) choose(m *Model) (model string) {
	found := c.FoundKeys()
	if len(found) == 0 || found[0].Model == "" {
		return ""
	}
	note := fmt.Sprintf("nothing names a model: %s is used, with the key in %s", found[0].Model, found[0].Variable)
	var others []string
	for _, f := range found[1:] {
		if f.Provider != found[0].Provider {
			others = append(others, f.Variable)
		}
	}
	if len(others) > 0 {
		note += "; also found: " + strings.Join(others, ", ") + " (--model PROVIDER/NAME, or openmanus setup)"
	}
	m.Unnamed, m.Notes = true, append(m.Notes, note)
	return found[0].Model
}

// KeyIn returns the key in the first of the environment variables that holds one, without
// quotes around it. An empty value and the placeholder of an example are no keys.
func KeyIn(env Lookup, names ...string) string {
	for _, n := range names {
		if v := BareKey(env.get(n)); v != "" && !dummy.MatchString(v) {
			return v
		}
	}
	return ""
}

// keyVariable is [Config.variable] for variables that hold keys: see [KeyIn].
func (c *Config) keyVariable(names ...string) Setting {
	for _, n := range names {
		if v := KeyIn(c.env, n); v != "" {
			return Setting{Text: v, At: Source{From: Environment, Name: n}}
		}
	}
	return Setting{}
}

// quotes are the pairs that stand around a value by mistake: in a file of variables that
// is read by no shell, or copied from a text.
var quotes = []string{`""`, "''", "``", "“”", "‘’"}

// BareKey returns a key without the white space and the quotes around it.
func BareKey(text string) string {
	text = strings.TrimSpace(text)
	for _, q := range quotes {
		pair := []rune(q)
		if r := []rune(text); len(r) > 1 && r[0] == pair[0] && r[len(r)-1] == pair[1] {
			return strings.TrimSpace(string(r[1 : len(r)-1]))
		}
	}
	return text
}

// inQuotes reports whether there are quotes around a key.
func inQuotes(text string) bool { return BareKey(text) != strings.TrimSpace(text) }

// foundHint adds to an error about a missing key which others there are.
func (c *Config) foundHint() string {
	found := c.FoundKeys()
	if i := slices.IndexFunc(found, func(f FoundKey) bool { return f.Model == "" }); i >= 0 {
		found = found[:i]
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s is set: --model %s", found[0].Variable, found[0].Model)
}
