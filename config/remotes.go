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

// shortName is what is a part of other names: an agent elsewhere is one in those of its tools,
// and a schedule in the ids of its sessions.
var shortName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// checkShortName says what is wrong with the name of what.
func checkShortName(what, name string) error {
	if !shortName.MatchString(name) {
		return errors.New("allowed as the name of " + what + ": up to 40 lower-case letters, digits, _ and -, the first one a letter or a digit")
	}
	return nil
}

// CheckRemoteName says what is wrong with the name of an agent elsewhere.
func CheckRemoteName(name string) error { return checkShortName("an agent elsewhere", name) }

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
	return putSection(path, "a2a."+name, anyLine, lines, fmt.Sprintf(": url = %q", a.URL), env, providers)
}

// putSection writes lines into [section] of the file at path, in place of those that match old.
// The error says what to write by hand, and ends with how.
func putSection(path, section string, old *regexp.Regexp, lines, how string, env Lookup, providers provider.List) error {
	err := editConfig(path, env, providers, func(text string) string {
		text, _ = setLines(text, "["+section+"]", old, lines)
		return text
	})
	if err != nil {
		return fmt.Errorf("%s is unchanged: %w; write the section [%s] yourself%s", path, err, section, how)
	}
	return nil
}

// RemoveRemote removes [a2a.NAME] from the file at path, with the lines of that section.
// If it is not there, the error is [ErrNoRemote].
func RemoveRemote(path, name string, env Lookup, providers provider.List) error {
	return removeSection(path, "a2a", name, ErrNoRemote, env, providers)
}

// removeSection removes the section [kind.NAME] from the file at path. If there is none, the
// error is none.
func removeSection(path, kind, name string, none error, env Lookup, providers provider.List) error {
	there := false
	err := editConfig(path, env, providers, func(text string) string {
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
	if err == nil && !there {
		err = fmt.Errorf("%s has no section [%s.%s]: %w", path, kind, name, none)
	}
	return err
}
