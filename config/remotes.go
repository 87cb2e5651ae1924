package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// remoteName is how an agent elsewhere may be called: the names of its tools contain it.
var remoteName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// CheckRemoteName says what is wrong with the name of an agent elsewhere.
func CheckRemoteName(name string) error {
	if !remoteName.MatchString(name) {
		return errors.New("allowed as the name of an agent elsewhere: up to 40 lower-case letters, digits, _ and -, the first one a letter or a digit")
	}
	return nil
}

// ErrNoRemote is in the chain of the error if a file has no section [a2a.NAME].
var ErrNoRemote = errors.New("there is no such agent")

// anyLine matches every line of a section that [AddRemote] writes.
var anyLine = regexp.MustCompile(`^\s*(?:url|token_env)\s*=`)

// AddRemote writes [a2a.NAME] into the file at path, and makes the file if there is none.
// It keeps every other line. A file that it cannot change without a mistake is left as it
// was.
func AddRemote(path, name string, a RemoteAgent, env Lookup, providers provider.List) error {
	if err := CheckRemoteName(name); err != nil {
		return err
	}
	lines := "url = " + strconv.Quote(a.URL) + "\n"
	if a.TokenEnv != "" {
		lines += "token_env = " + strconv.Quote(a.TokenEnv) + "\n"
	}
	err := editConfig(path, env, providers, func(text string) string {
		text, _ = setLines(text, "[a2a."+name+"]", anyLine, lines)
		return text
	})
	if err != nil {
		return fmt.Errorf("%s is unchanged: %w; write the section [a2a.%s] yourself: url = %q", path, err, name, a.URL)
	}
	return nil
}

// RemoveRemote removes [a2a.NAME] from the file at path, with the lines of that section.
// If it is not there, the error is [ErrNoRemote].
func RemoveRemote(path, name string, env Lookup, providers provider.List) error {
	there, err := removeSection(path, "a2a", name, env, providers)
	if err == nil && !there {
		err = fmt.Errorf("%s has no section [a2a.%s]: %w", path, name, ErrNoRemote)
	}
	return err
}

// removeSection removes the section [kind.NAME] from the file at path, and reports whether
// there was one.
func removeSection(path, kind, name string, env Lookup, providers provider.List) (there bool, err error) {
	err = editConfig(path, env, providers, func(text string) string {
		var kept []string
		inside := false
		for line := range strings.Lines(text) {
			if head := strings.TrimSpace(line); strings.HasPrefix(head, "[") {
				inside = slices.Contains([]string{"[" + kind + "." + name + "]", "[" + kind + `."` + name + `"]`}, head)
				there = there || inside
			}
			if !inside {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	})
	return there, err
}
