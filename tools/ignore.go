package tools

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A verdict is what ignore files say about a file.
type verdict int8

const (
	undecided verdict = iota
	ignored
	kept // a rule that begins with "!" says so
)

// The ignore files of a directory, in the order of precedence.
const (
	dotIgnore  = iota // .ignore
	gitIgnore         // .gitignore
	gitExclude        // .git/info/exclude
	ignoreKinds
)

// An ignore holds the rules that apply in a directory: its own, and those of
// the directories above. A nil ignore has none.
type ignore struct {
	up    *ignore
	dir   string // as [io/fs] names it
	repo  bool   // a repository: git's rules from above do not hold here
	rules [ignoreKinds][]rule
}

// match returns the verdict on the file or directory name, which is below ig's
// directory. Rules of .ignore files count more than git's; then those of the
// nearest directory count; then the last one. The caller does not descend into
// directories that are ignored.
func (ig *ignore) match(name string, isDir bool) verdict {
	base := name[strings.LastIndexByte(name, '/')+1:]
	for kind := range ignoreKinds {
		for g := ig; g != nil; g = g.up {
			rel := name
			if g.dir != "." {
				rel = name[len(g.dir)+1:]
			}
			for i := len(g.rules[kind]) - 1; i >= 0; i-- {
				if r := &g.rules[kind][i]; r.match(rel, base, isDir) {
					return r.verdict
				}
			}
			if g.repo && kind != dotIgnore {
				break
			}
		}
	}
	return undecided
}

// A rule is a line of an ignore file, as described in gitignore(5).
type rule struct {
	verdict  verdict
	dirOnly  bool
	anchored bool   // compared with the path below the rule's directory, not with the name
	literal  string // the pattern, if it has no wildcards
	suffix   string // what follows the "*", if that comes first and is the only wildcard
	glob     string // otherwise the pattern in the syntax of doublestar
}

// match reports whether the rule is about the file with the path rel below the
// directory of the rule, and the name base.
func (r *rule) match(rel, base string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	subject := base
	if r.anchored {
		subject = rel
	}
	switch {
	case r.literal != "":
		return subject == r.literal
	case r.suffix != "":
		return strings.HasSuffix(subject, r.suffix)
	}
	return doublestar.MatchUnvalidated(r.glob, subject)
}

// parseIgnore returns the rules of an ignore file. Lines that git does not
// understand are skipped.
func parseIgnore(text string) []rule {
	var rules []rule
	for line := range strings.Lines(strings.TrimPrefix(text, string(bom))) {
		if r, ok := parseRule(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// parseRule reads a line of an ignore file. It returns false for a comment, an
// empty line, and a pattern that cannot match.
func parseRule(line string) (rule, bool) {
	r := rule{verdict: ignored}
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimSpaces(line)
	if rest, ok := strings.CutPrefix(line, "!"); ok {
		r.verdict, line = kept, rest
	}
	if rest, ok := strings.CutSuffix(line, "/"); ok {
		r.dirOnly, line = true, rest
	}
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	switch rest, star := strings.CutPrefix(line, "*"); {
	case !strings.ContainsAny(line, `*?[\`):
		r.literal = line
	case star && !r.anchored && rest != "" && !strings.ContainsAny(rest, `*?[\`):
		r.suffix = rest
	default:
		var ok bool
		if r.glob, ok = toDoublestar(line); !ok {
			return r, false
		}
	}
	return r, true
}

// trimSpaces removes spaces at the end that no backslash protects.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
			end = i + 1
		case line[i] != ' ':
			end = i + 1
		}
	}
	return line[:end]
}

// toDoublestar translates a pattern of git. There, braces are ordinary
// characters, classes are written differently, ** has a meaning only between
// slashes, and a/** matches everything below a. It reports whether the pattern
// can match at all.
func toDoublestar(p string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(p); {
		switch c := p[i]; c {
		case '\\':
			if i+1 == len(p) {
				return "", false
			}
			b.WriteString(p[i : i+2])
			i += 2
		case '*':
			n := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
			whole := (i == 0 || p[i-1] == '/') && (i+n == len(p) || p[i+n] == '/')
			if b.WriteByte('*'); n > 1 && whole {
				b.WriteByte('*')
			}
			i += n
		case '{', '}':
			b.WriteByte('\\')
			b.WriteByte(c)
			i++
		case '[':
			class, n, ok := toClass(p[i:])
			if !ok {
				return "", false
			}
			b.WriteString(class)
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	glob := b.String()
	if strings.HasSuffix(glob, "/**") {
		glob += "/*"
	}
	return glob, doublestar.ValidatePattern(glob)
}

var posixClasses = map[string]string{
	"alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \t", "cntrl": "\x01-\x1f\x7f", "digit": "0-9",
	"graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": " \t-\r",
	"upper": "A-Z", "xdigit": "0-9a-fA-F",
}

// toClass translates the class at the beginning of p and returns its length
// there. In git, a "]" that comes first is an ordinary character.
func toClass(p string) (class string, n int, ok bool) {
	var b strings.Builder
	b.WriteByte('[')
	i := 1
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(p); first = false {
		switch c := p[i]; {
		case c == ']' && !first:
			b.WriteByte(']')
			return b.String(), i + 1, true
		case c == '[' && strings.HasPrefix(p[i:], "[:"):
			name, _, found := strings.Cut(p[i+2:], ":]")
			set, known := posixClasses[name]
			if !found || !known {
				return "", 0, false
			}
			b.WriteString(set)
			i += len(name) + 4
			continue
		case c == '\\' && i+1 < len(p):
			i++
			b.WriteByte('\\')
			b.WriteByte(p[i])
		case c == '-' && !first && i+1 < len(p) && p[i+1] != ']':
			b.WriteByte('-')
		case strings.IndexByte(`]-^!\[`, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
		i++
	}
	return "", 0, false
}
