// Package protected knows what programs outside a sandbox take orders from:
// configuration of version control, editors, shells, agents and package
// managers, and instructions of later sessions. A program that can write such a
// file can run anything later, with the rights of the person.
//
// The list is the file names.txt, with a class and a reason for each name. The
// gate, the file tools and the sandbox all use it, at any depth of a workspace,
// so that what one of them protects the others protect too.
//
// The list knows names alone. Directories that git takes for repositories
// because of what is in them are the sandbox's matter.
package protected

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
)

//go:embed names.txt
var text string

// A Rule is a line of the list.
type Rule struct {
	Protected bool   // false: the name is ordinary, and Reason says why
	Class     string // git, vcs, ci, editor, shell, agent, packages or source
	Pattern   string // in lower case
	Reason    string // a phrase, such as "a shell runs it"
}

// Git is the class of git directories.
const Git = "git"

// rules are those of the list, in its order. exact and globs index the patterns
// of one name; pairs index those of two by the first of them.
var (
	rules []Rule
	exact = make(map[string]*Rule)
	globs []*Rule
	pairs = make(map[string][]*Rule)
)

func init() {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 4 || f[0] != "protected" && f[0] != "ordinary" {
			panic(fmt.Sprintf("protected: the line %q of names.txt is malformed", line))
		}
		rules = append(rules, Rule{f[0] == "protected", f[1], f[2], strings.Join(f[3:], " ")})
	}
	for i := range rules {
		r := &rules[i]
		dir, name, pair := strings.Cut(r.Pattern, "/")
		switch {
		case pair && name != "":
			pairs[dir] = append(pairs[dir], r)
		case strings.ContainsAny(r.Pattern, "*?["):
			globs = append(globs, r)
		default:
			exact[r.Pattern] = r
		}
	}
}

// Rules returns the whole list. The caller must not change it.
func Rules() []Rule { return rules }

// Is reports whether name is protected, or is in a protected directory. The name
// is slash-separated and relative to a workspace.
func Is(name string) bool {
	r, ok := Find(name)
	return ok && r.Protected
}

// Find returns the first rule, from the top of the path down, that protects name
// or a directory above it; failing that, the rule that says why the name itself
// is ordinary. It returns false if the list says nothing.
//
// Packages that an installer unpacked bring files of all these names, and
// installing must go on working: below node_modules and site-packages only git
// directories are protected.
func Find(name string) (Rule, bool) {
	parts := strings.Split(strings.ToLower(path.Clean(name)), "/")
	installed := false
	var own *Rule
	for i, part := range parts {
		own = match(parts, i)
		if own != nil && own.Protected && (!installed || own.Class == Git) {
			return *own, true
		}
		installed = installed || Installed(part)
	}
	if own == nil || own.Protected {
		return Rule{}, false
	}
	return *own, true
}

// match returns the rule for the part i of a path.
func match(parts []string, i int) *Rule {
	if i > 0 {
		for _, r := range pairs[parts[i-1]] {
			_, want, _ := strings.Cut(r.Pattern, "/")
			if ok, _ := path.Match(want, parts[i]); ok { // the patterns are valid
				return r
			}
		}
	}
	if r := exact[parts[i]]; r != nil {
		return r
	}
	for _, r := range globs {
		if ok, _ := path.Match(r.Pattern, parts[i]); ok {
			return r
		}
	}
	return nil
}

// Installed reports whether a directory of this name has packages that an
// installer unpacked.
func Installed(base string) bool { return base == "node_modules" || base == "site-packages" }

// Unhides reports whether a directory that is moved from one name to another may
// bring protected names with it that were not protected where they came from:
// out of installed packages, or to a directory that makes them so. The caller
// has to look at each file in it.
func Unhides(from, to string) bool {
	for part := range strings.SplitSeq(strings.ToLower(to), "/") {
		if pairs[part] != nil {
			return true
		}
	}
	in := func(name string) bool {
		for part := range strings.SplitSeq(name, "/") {
			if Installed(part) {
				return true
			}
		}
		return false
	}
	return in(from) && !in(to)
}
