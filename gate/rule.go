package gate

import (
	"errors"
	"fmt"
	"net"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// Rules are configured rules as text. The documentation of the package has
// their syntax. In each list, the order does not matter.
type Rules struct{ Deny, Ask, Allow []string }

// A rule is a rule that was read.
type rule struct {
	text    string // as configured
	kind    string
	pattern string
	words   []*regexp.Regexp // of a tool or command rule: its name, or words
	more    bool             // of a command rule: any further words match
	host    *egress.Dialer   // of a host rule: knows the hosts
}

// readRule reads the text of a rule. The error says what is wrong with it.
func readRule(text string) (rule, error) {
	kind, pattern, ok := strings.Cut(text, ":")
	r := rule{kind: strings.TrimSpace(kind), pattern: strings.TrimSpace(pattern), text: text}
	if !ok || !slices.Contains([]string{"tool", "command", "path", "edit", "host"}, r.kind) {
		return r, fmt.Errorf("%q is not a rule: it must have the form tool:NAME, command:WORDS, path:PATTERN, "+
			"edit:PATTERN or host:PATTERN", text)
	}
	if r.pattern == "" {
		return r, fmt.Errorf("%q is not a rule: there is no pattern after %q", text, r.kind+":")
	}
	var err error
	switch r.kind {
	case "tool":
		err = r.addWords(r.pattern)
	case "command":
		words := strings.Fields(r.pattern)
		if n := len(words) - 1; words[n] == "*" {
			words, r.more = words[:n], true
		}
		err = r.addWords(words...)
	case "path", "edit":
		r.pattern = strings.TrimPrefix(r.pattern, "./")
		if !doublestar.ValidatePattern(r.pattern) {
			err = errors.New("a bracket or brace in its pattern is not closed")
		}
	case "host":
		r.host, err = hosts(r.pattern)
	}
	if err != nil {
		return r, fmt.Errorf("%q is not a rule: %w", text, err)
	}
	return r, nil
}

// addWords compiles the patterns of a tool or command rule.
func (r *rule) addWords(patterns ...string) error {
	for _, p := range patterns {
		re, err := wildcard(p)
		if err != nil {
			return err
		}
		r.words = append(r.words, re)
	}
	return nil
}

// hosts returns a dialer whose Check tells whether a host matches pattern. An
// IPv6 address needs no brackets.
func hosts(pattern string) (*egress.Dialer, error) {
	if strings.Count(pattern, ":") > 1 && !strings.HasPrefix(pattern, "[") {
		pattern = "[" + pattern + "]"
	}
	return egress.New(egress.Policy{Mode: egress.Hosts, Hosts: []string{pattern + ":*"}})
}

// readRules reads rules and fails at the first that cannot be read.
func readRules(texts []string) ([]rule, error) {
	var rs []rule
	for _, t := range texts {
		r, err := readRule(t)
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// touches reports whether the rule is about anything that a call does. Rules
// that deny or ask use it.
func (r rule) touches(f facts) bool {
	switch r.kind {
	case "tool":
		return r.words[0].MatchString(f.tool)
	case "command":
		return slices.ContainsFunc(f.commands, func(c command) bool {
			return slices.ContainsFunc(c.wrapped, r.fitsCommandAnywhere)
		})
	case "edit":
		return slices.ContainsFunc(f.changed(), r.fitsPath)
	case "path":
		return slices.ContainsFunc(f.touched(), r.fitsPath)
	}
	return slices.ContainsFunc(f.hosts, r.fitsHost)
}

// covers reports whether rules of this kind allow everything that a call does,
// and returns the last one that was needed. Rules that allow use it: a call
// with one command, path or host that no rule names is not covered.
func covers(rules []rule, kind string, f facts) (rule, bool) {
	var last rule
	all := func(n int, fits func(r rule, i int) bool) bool {
		for i := range n {
			j := slices.IndexFunc(rules, func(r rule) bool { return r.kind == kind && fits(r, i) })
			if j < 0 {
				return false
			}
			last = rules[j]
		}
		return n > 0
	}
	ok := false
	if f.protected {
		return last, false // only a person can allow it
	}
	switch kind {
	case "tool":
		ok = all(1, func(r rule, _ int) bool { return r.words[0].MatchString(f.tool) })
	case "command":
		ok = f.plain && all(len(f.commands), func(r rule,
			i int) bool {
			return r.fitsCommand(f.commands[i].words)
		})
	case "path", "edit":
		ok = f.edits && all(len(f.paths), func(r rule, i int) bool { return r.fitsPath(f.paths[i].name) })
	case "host":
		ok = !f.destroys && !f.foreign && f.connects && len(f.paths) == 0 &&
			all(len(f.hosts), func(r rule, i int) bool { return r.fitsHost(f.hosts[i]) })
	}
	return last, ok
}

// fitsCommand reports whether words match the pattern of a command rule, word
// by word.
func (r rule) fitsCommand(words []string) bool {
	if len(words) < len(r.words) || len(words) > len(r.words) && !r.more {
		return false
	}
	for i, want := range r.words {
		if !want.MatchString(words[i]) {
			return false
		}
	}
	return true
}

// fitsCommandAnywhere is fitsCommand also for a program that is named with its
// directory. A rule that allows does not apply then: /tmp/go is not go.
func (r rule) fitsCommandAnywhere(words []string) bool {
	if r.fitsCommand(words) {
		return true
	}
	named := slices.Clone(words)
	named[0] = path.Base(named[0])
	return r.fitsCommand(named)
}

// fitsPath reports whether the pattern is about name or a directory above it.
// It ignores case, as some file systems do: a rule must hold there too.
func (r rule) fitsPath(name string) bool {
	pattern, name := strings.ToLower(r.pattern), strings.ToLower(name)
	if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
		pattern = "**/" + pattern
	}
	pattern = strings.TrimSuffix(pattern, "/")
	if path.IsAbs(name) && !path.IsAbs(pattern) && !strings.HasPrefix(pattern, "**/") {
		return false
	}
	for at := name; ; at = path.Dir(at) {
		if doublestar.MatchUnvalidated(pattern, at) { // readRule validated it
			return true
		}
		if at == "." || at == "/" || at == path.Dir(at) {
			return false
		}
	}
}

func (r rule) fitsHost(name string) bool {
	return r.host.Check(net.JoinHostPort(name, "443")) == nil
}

// wildcard returns the expression for a pattern in which * stands for any
// characters and ? for one. Slashes are like any other character.
func wildcard(pattern string) (*regexp.Regexp, error) {
	expr := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	return regexp.Compile(`(?s)^(?:` + expr + `)$`)
}
