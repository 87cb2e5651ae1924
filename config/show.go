package config

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Value is one line of the listing (openmanus config show).
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // a secret is asterisks
	Source Source `json:"-"`
	From   string `json:"source"`          // Source as text
	Hides  string `json:"hides,omitempty"` // the source of the value that this one overrides
	Note   string `json:"note,omitempty"`  // why the key has no effect
}

// Values yields every key with its value and the value's source, in the order of
// the manual. Keys that have no effect appear only if they are set. The text of a
// value is what its variable would hold; secrets are masked.
func (c *Config) Values() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for k, sub := range c.keys() {
			s, set := c.settings[k.with(sub)]
			if !set && (k.unused != "" || sub != "") {
				continue
			}
			s.key = k
			if !yield(s.show(k.with(sub))) {
				return
			}
		}
	}
}

// show returns the line of the listing for s.
func (s setting) show(name string) Value {
	v := Value{Key: name, Value: masked(s.text), Source: s.source, From: s.source.String(), Note: s.key.unused}
	if s.key.secret() {
		v.Value = Secret(s.text).String()
	}
	if s.hides != nil && s.hides.source.From != "" {
		v.Hides = s.hides.source.String()
	}
	return v
}

// Starter returns a file to begin with: every key that has an effect, with its
// meaning and its default, commented out.
func Starter() []byte {
	var b strings.Builder
	b.WriteString("# The configuration of openmanus. Every line that begins with # is a comment.\n" +
		"# A key in the environment (OPENAI_API_KEY) is enough; nothing here is needed.\n")
	for _, s := range schema() {
		var lines []string
		for _, k := range s.keys {
			if k.unused == "" {
				lines = append(lines, fmt.Sprintf("# %s\n#%s = %s\n", plain(k.doc), lastName(k.name), k.example()))
			}
		}
		if len(lines) == 0 {
			continue
		}
		b.WriteString("\n")
		if s.name != "" {
			header := strings.NewReplacer("llm.*", "llm.fast", "models.*", `models."openai/gpt-5-mini"`, "users.*", "users.ann", "a2a.*", "a2a.calc", "schedules.*", "schedules.report", "triggers.*", "triggers.issues").Replace(s.name)
			fmt.Fprintf(&b, "# %s\n#[%s]\n", plain(s.doc), header)
		}
		b.WriteString(strings.Join(lines, ""))
	}
	return []byte(b.String())
}

// plain returns text of the manual without its quotes for code.
func plain(doc string) string { return strings.ReplaceAll(doc, "`", "") }

// example returns a value of k as TOML: the default, or a sample.
func (k key) example() string {
	switch {
	case k.std == "":
		return k.kind.sample
	case k.kind.id == "list":
		return `["` + strings.ReplaceAll(k.std, ",", `", "`) + `"]`
	case strings.Contains(k.kind.types, "string") && k.kind.id != "dollars":
		return strconv.Quote(k.std)
	}
	return k.std
}

// Create writes [Starter] to path, readable by its owner alone, and makes the
// directory if necessary. It never replaces a file: the error is [fs.ErrExist]
// then.
func Create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(Starter())
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
