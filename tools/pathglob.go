package tools

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/openmanus-go/openmanus/internal/meant"
)

// A pathGlob selects files by their paths, like --glob of ripgrep. A pattern
// without a slash is compared with the name of the file in any directory; one
// with a slash with the path below the searched directory, or below the
// workspace. ** stands for any directories, {a,b} for a or b. A leading "!"
// selects what does not match. The zero pathGlob selects everything.
type pathGlob struct {
	pattern string
	base    bool // compared with the name
	negated bool
}

// Limits of the time that matching takes.
const (
	maxGlob         = 500 // bytes
	maxAlternatives = 256
)

// newPathGlob reads a pattern. workspace is the directory with which absolute
// patterns begin. The error is for the model.
func newPathGlob(pattern, workspace string) (pathGlob, error) {
	var g pathGlob
	p, negated := strings.CutPrefix(pattern, "!")
	g.negated = negated
	p = strings.TrimPrefix(p, strings.TrimSuffix(filepath.ToSlash(workspace), "/")+"/")
	if filepath.IsAbs(p) { // by another name of the workspace
		at := strings.LastIndexByte(p[:len(p)-len(strings.TrimLeftFunc(p, plainInGlob))], '/')
		if m, err := meant.In(workspace, p[:max(at, 1)]); err == nil {
			p = path.Join(m.Name, p[at:])
		}
	}
	p = strings.TrimPrefix(p, "./")
	g.base = !strings.Contains(p, "/")
	g.pattern = strings.TrimPrefix(p, "/")
	switch {
	case g.pattern == "":
		return g, fmt.Errorf("the glob %q is empty; an example is **/*.go", pattern)
	case len(p) > maxGlob || alternatives(p) > maxAlternatives:
		return g, fmt.Errorf("the glob %q is too long or has too many alternatives; use several calls",
			cut(pattern, 100))
	case !doublestar.ValidatePattern(g.pattern):
		return g, fmt.Errorf("the glob %q is not valid: a [ or { is not closed", pattern)
	}
	return g, nil
}

// plainInGlob reports whether r stands for itself.
func plainInGlob(r rune) bool { return !strings.ContainsRune(`*?[{\\`, r) }

// alternatives returns how many patterns without braces p stands for, at least.
// A match may try them all.
func alternatives(p string) int {
	all := 1
	var open []int // of each group, how many alternatives it has so far
	for i := 0; i < len(p) && all <= maxAlternatives; i++ {
		switch last := len(open) - 1; {
		case p[i] == '\\':
			i++
		case p[i] == '{':
			open = append(open, 1)
		case p[i] == ',' && last >= 0:
			open[last]++
		case p[i] == '}' && last >= 0:
			all *= open[last]
			open = open[:last]
		}
	}
	return all
}

// match reports whether the file name, found below root, is selected.
func (g pathGlob) match(name, root string) bool {
	if g.pattern == "" {
		return true
	}
	var ok bool
	if g.base {
		ok = doublestar.MatchUnvalidated(g.pattern, path.Base(name))
	} else {
		ok = doublestar.MatchUnvalidated(g.pattern, name) ||
			root != "." && doublestar.MatchUnvalidated(g.pattern, strings.TrimPrefix(name, root+"/"))
	}
	return ok != g.negated
}
