package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
)

// maxEntries is how many files and directories a walk visits.
const maxEntries = 1_000_000

// A walk visits the files of a tree as ripgrep does. It leaves out hidden files
// and those that ignore files name, does not follow symbolic links, and never
// enters .git. Files come in the order of their names.
type walk struct {
	fsys   fs.FS
	hidden bool // include hidden files
	all    bool // include files that ignore files name

	seen     int   // files and directories so far
	full     bool  // it ended at maxEntries
	problems int   // how many files and directories could not be read
	problem  error // the first one
}

// files yields the regular files at or below the directory root, until ctx
// ends. Ignore files above root count for what is below it, not for root
// itself.
func (w *walk) files(ctx context.Context, root string) iter.Seq2[string, fs.DirEntry] {
	return func(yield func(string, fs.DirEntry) bool) {
		var above *ignore
		if !w.all && root != "." {
			above = w.rules(".", nil, true)
			for i := range len(root) {
				if root[i] == '/' {
					above = w.rules(root[:i], above, true)
				}
			}
		}
		w.dir(ctx, root, above, yield)
	}
}

// dir yields the files below a directory, in the order of their names, as the rules of
// ignore files allow. It returns false if the walk is over. A directory that cannot be
// read is noted as a problem.
func (w *walk) dir(ctx context.Context, name string, rules *ignore,
	yield func(string, fs.DirEntry) bool) bool {
	entries, err := fs.ReadDir(w.fsys, name)
	if err != nil {
		w.addProblem(name, err)
	}
	if !w.all {
		rules = w.rules(name, rules, slices.ContainsFunc(entries, speaksOfIgnoring))
	}
	for _, d := range entries {
		if w.seen++; w.seen > maxEntries {
			w.full = true
			return false
		}
		if ctx.Err() != nil {
			return false
		}
		p := path.Join(name, d.Name())
		if !w.wanted(p, d, rules) {
			continue
		}
		switch {
		case d.IsDir():
			if !w.dir(ctx, p, rules, yield) {
				return false
			}
		case d.Type().IsRegular() && !yield(p, d):
			return false
		}
	}
	return true
}

// wanted reports whether the walk includes the file or directory p. A git directory is
// never included; a rule that keeps p comes before its being hidden.
func (w *walk) wanted(p string, d fs.DirEntry, rules *ignore) bool {
	if d.Name() == ".git" {
		return false
	}
	switch rules.match(p, d.IsDir()) {
	case ignored:
		return false
	case kept:
		return true
	}
	return w.hidden || !strings.HasPrefix(d.Name(), ".")
}

// speaksOfIgnoring reports whether a directory with such an entry may have
// rules. Checking the listing is faster than looking for each file.
func speaksOfIgnoring(d fs.DirEntry) bool {
	return d.Name() == ".git" || d.Name() == ".gitignore" || d.Name() == ".ignore"
}

// rules returns up with the rules of a directory added, if it may have any.
func (w *walk) rules(dir string, up *ignore, may bool) *ignore {
	if !may {
		return up
	}
	ig := &ignore{up: up, dir: dir}
	ig.rules[dotIgnore] = w.ruleFile(path.Join(dir, ".ignore"))
	ig.rules[gitIgnore] = w.ruleFile(path.Join(dir, ".gitignore"))
	if _, err := fs.Stat(w.fsys, path.Join(dir, ".git")); err == nil {
		ig.repo = true
		ig.rules[gitExclude] = w.ruleFile(path.Join(dir, ".git/info/exclude"))
	}
	return ig
}

// maxRuleFile is how many bytes an ignore file may have.
const maxRuleFile = 1 << 20

// ruleFile returns the rules of an ignore file, which need not exist.
func (w *walk) ruleFile(name string) []rule {
	info, err := fs.Stat(w.fsys, name)
	switch {
	case err != nil && !errors.Is(err, fs.ErrPermission), err == nil && !info.Mode().IsRegular():
		return nil
	case err == nil && info.Size() > maxRuleFile:
		err = fmt.Errorf("its %d bytes are too many for an ignore file", info.Size())
	}
	var data []byte
	if err == nil {
		data, err = fs.ReadFile(w.fsys, name)
	}
	if err != nil {
		w.addProblem(name, err)
	}
	return parseIgnore(string(data))
}

// addProblem counts a problem, and keeps the first one for remarks.
func (w *walk) addProblem(name string, err error) {
	if w.problems++; w.problem == nil {
		w.problem = fmt.Errorf("%s: %w", name, cause(err))
	}
}

// remarks says what a walk did not see, or "".
func (w *walk) remarks() string {
	var b strings.Builder
	if w.problems > 0 {
		fmt.Fprintf(&b, "(%d files or directories could not be read, the first: %v)\n", w.problems, w.problem)
	}
	if w.full {
		fmt.Fprintf(&b, "(it ended after %d files and directories: name a smaller directory in path)\n",
			maxEntries)
	}
	return b.String()
}
