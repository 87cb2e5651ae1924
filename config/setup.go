package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// InKeyring begins the value of a secret that stands in the system's keyring, under
// the name that follows: api_key = "keyring:openai". Only files may say so.
const InKeyring = "keyring:"

// fromKeyring returns the secret for which a file has text in its place. Anything
// else it returns as it is.
func (l *loader) fromKeyring(text string, src Source) (string, error) {
	name, ok := strings.CutPrefix(text, InKeyring)
	if !ok || src.From != File {
		return text, nil
	}
	if l.src.Keyring == nil {
		return "", errors.New("there is no keyring here")
	}
	key, err := l.src.Keyring(name)
	if err != nil {
		return "", fmt.Errorf("the keyring has no key %q: %w (openmanus setup puts one there)", name, err)
	}
	return key, nil
}

// A NewModel is the model that [SetDefault] makes the configured one. Empty fields
// are not written.
type NewModel struct {
	Model   string // PROVIDER/NAME
	BaseURL string
	Key     Secret // or [InKeyring] and a name
	KeyEnv  string // the variable that has the key, which is written in its place
}

// llmLine matches the lines of [llm] that SetDefault writes anew.
var llmLine = regexp.MustCompile(`^\s*(?:model|base_url|api_key|api_key_env|api_type|api)\s*=`)

// runLine matches the lines of [run] that name another model than that of [llm].
var runLine = regexp.MustCompile(`^\s*(?:model|base_url)\s*=`)

// SetDefault writes the model into [llm] of the file at path, and makes the file,
// readable by its owner alone, if there is none. It keeps every other line, but for
// those by which [run] names another model, and returns those that it took away, with
// keys masked. A file that it cannot change without a mistake is left as it was, and
// the error says what to write.
func SetDefault(path string, d NewModel, env Lookup, providers provider.List) (gone []string, err error) {
	if d.KeyEnv != "" {
		d.Key = ""
	}
	var own strings.Builder
	for _, kv := range [][2]string{{"model", d.Model}, {"base_url", d.BaseURL}, {"api_key", string(d.Key)}, {"api_key_env", d.KeyEnv}} {
		if kv[1] != "" {
			fmt.Fprintf(&own, "%s = %s\n", kv[0], strconv.Quote(kv[1]))
		}
	}
	err = editConfig(path, env, providers, func(text string) string {
		text, gone = setLines(text, "[llm]", llmLine, own.String())
		text, more := setLines(text, "[run]", runLine, "")
		gone = append(gone, more...)
		return text
	})
	if err != nil {
		return nil, fmt.Errorf("%s is unchanged: %w; write these lines into its [llm] yourself: model = %q", path, err, d.Model)
	}
	return gone, nil
}

// UseModel makes a model, a profile or PROVIDER/NAME, the one of new sessions: it
// writes [run] model into the file at path. It keeps every other line. A file that it
// cannot change without a mistake is left as it was.
func UseModel(path, name string, env Lookup, providers provider.List) error {
	err := editConfig(path, env, providers, func(text string) string {
		text, _ = setLines(text, "[run]", runLine, "model = "+strconv.Quote(name)+"\n")
		return text
	})
	if err != nil {
		return fmt.Errorf("%s is unchanged: %w; write this line into its [run] yourself: model = %q", path, err, name)
	}
	return nil
}

// editConfig replaces the configuration in the file at path with what edit makes of it, unless
// that has a mistake.
func editConfig(path string, env Lookup, providers provider.List, edit func(text string) string) error {
	was, mode, err := readFile(path, true)
	if errors.Is(err, fs.ErrNotExist) {
		was, mode, err = nil, 0o600, os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	return replaceConfig(path, []byte(edit(string(was))), mode&0o600, env, providers)
}

// setLines puts lines at the beginning of a table of a TOML text, in place of its lines that
// match old, which it returns with keys masked. A table that is not there is added at the end,
// unless there are no lines for it.
func setLines(text, table string, old *regexp.Regexp, lines string) (out string, gone []string) {
	var b strings.Builder
	inside, done := false, lines == ""
	for line := range strings.Lines(text) {
		if head := strings.TrimSpace(line); strings.HasPrefix(head, "[") {
			if inside = head == table; inside && !done {
				done = true
				b.WriteString(strings.TrimRight(line, "\n") + "\n" + lines)
				continue
			}
		}
		if inside && old.MatchString(line) {
			name, _, _ := strings.Cut(line, "=")
			if line = strings.TrimSpace(line); strings.TrimSpace(name) == "api_key" {
				line = "api_key = " + provider.Mask
			}
			gone = append(gone, line)
			continue
		}
		b.WriteString(line)
	}
	if !done {
		if out := b.String(); out != "" && !strings.HasSuffix(out, "\n") {
			b.WriteString("\n")
		}
		b.WriteString(table + "\n" + lines)
	}
	return b.String(), gone
}

// replaceConfig replaces the file at path, if the configuration in data has no mistake.
func replaceConfig(path string, data []byte, mode fs.FileMode, env Lookup, providers provider.List) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".config-*.toml")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // once it is renamed, there is none
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if _, _, err := Check(f.Name(), env, providers); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
