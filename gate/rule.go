package gate

import (
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/openmanus-go/openmanus/egress"
)

// Rules are what is configured, as texts: see the package's documentation.
type Rules struct{ Deny, Ask, Allow []string }

// Check says what is wrong with the text of a rule.
func Check(text string) error {
	_, err := readRule(text)
	return err
}

// A rule is one that was read.
type rule struct {
	kind    string
	text    string
	pattern string
	host    *egress.Dialer // of a host rule
}

func readRule(text string) (rule, error) {
	kind, pattern, ok := strings.Cut(text, ":")
	r := rule{kind: strings.TrimSpace(kind), pattern: strings.TrimSpace(pattern), text: text}
	if !ok || !slices.Contains([]string{"tool", "command", "path", "edit", "host"}, r.kind) {
		return r, fmt.Errorf("%q is no rule: it begins with one of tool: command: path: edit: host: and no other word", text)
	}
	if r.pattern == "" {
		return r, fmt.Errorf("%q is no rule: nothing stands behind %q", text, r.kind+":")
	}
	var err error
	switch r.kind {
	case "path", "edit":
		r.pattern = strings.TrimPrefix(r.pattern, "./")
		if !doublestar.ValidatePattern(r.pattern) {
			err = errors.New("its pattern has a bracket or brace that is not closed")
		}
	case "host":
		r.host, err = hosts(r.pattern)
	}
	if err != nil {
		return r, fmt.Errorf("%q is no rule: %w", text, err)
	}
	return r, nil
}

// hosts returns a dialer that knows whether pattern has a host.
func hosts(pattern string) (*egress.Dialer, error) {
	if strings.Count(pattern, ":") > 1 && !strings.HasPrefix(pattern, "[") {
		pattern = "[" + pattern + "]"
	}
	return egress.New(egress.Policy{Mode: egress.Hosts, Hosts: []string{pattern + ":*"}})
}

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

// touches reports whether the rule is about anything that a call does: what
// denies and asks goes by this.
func (r rule) touches(f facts) bool {
	switch r.kind {
	case "tool":
		return wild(r.pattern, f.tool)
	case "command":
		return slices.ContainsFunc(f.commands, func(c command) bool {
			return slices.ContainsFunc(c.wrapped, r.fitsLoosely)
		})
	case "edit":
		return slices.ContainsFunc(f.changed(), r.fitsPath)
	case "path":
		return slices.ContainsFunc(f.touched(), r.fitsPath)
	}
	return slices.ContainsFunc(f.hosts, r.fitsHost)
}

// covers reports whether rules of this kind allow all that a call does.
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
		return last, false // no rule is as plain as a question
	}
	switch kind {
	case "tool":
		ok = all(1, func(r rule, _ int) bool { return wild(r.pattern, f.tool) })
	case "command":
		ok = f.plain && all(len(f.commands), func(r rule, i int) bool { return r.fits(f.commands[i].words) })
	case "path", "edit":
		ok = f.edits && all(len(f.paths), func(r rule, i int) bool { return r.fitsPath(f.paths[i].name) })
	case "host":
		ok = !f.destroys && len(f.paths) == 0 && all(len(f.hosts), func(r rule, i int) bool { return r.fitsHost(f.hosts[i]) })
	}
	return last, ok
}

// fits reports whether words are what the rule of a command says.
func (r rule) fits(words []string) bool {
	want := strings.Fields(r.pattern)
	if n := len(want) - 1; want[n] == "*" {
		want = want[:n]
		if len(words) < len(want) {
			return false
		}
		words = words[:len(want)]
	}
	if len(words) != len(want) {
		return false
	}
	for i := range want {
		if !wild(want[i], words[i]) {
			return false
		}
	}
	return true
}

// fitsLoosely is fits also for a command that is named with its directory.
func (r rule) fitsLoosely(words []string) bool {
	if r.fits(words) {
		return true
	}
	named := slices.Clone(words)
	named[0] = path.Base(named[0])
	return r.fits(named)
}

// fitsPath reports whether the pattern is about name, or about a directory
// above it. Systems that do not tell capitals apart are not to be outwitted.
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
		if ok, _ := doublestar.Match(pattern, at); ok { // the pattern was checked
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

// wild reports whether text is what pattern says, in which * stands for any
// letters and ? for one.
func wild(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
