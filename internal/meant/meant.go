// Package meant decides which file a path in a call means. People and models write paths in
// more ways than a file system takes: with ~ and variables, as file: addresses, with drive
// letters and backslashes, with letters and blanks that look like those of a name, and by
// another name of the workspace.
//
// A path that is the name of a file is that file. Otherwise the path leads out of the
// workspace, which is an error, or means exactly one file that is there, and [Meaning].Said
// says which. If neither is so, it is the name of a file that is not there.
package meant

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Meaning is what a path means.
type Meaning struct {
	Name string // relative to the workspace and slash-separated; "." is the workspace
	Said string // a sentence for whoever wrote the path, if the file has another name; ""
}

// In returns what the path p of a call means in the workspace dir, an absolute path. The
// error is for whoever wrote the path: it leads out of the workspace, or it could mean
// several files.
func In(dir, p string) (Meaning, error) {
	switch {
	case p == "":
		return Meaning{}, errors.New("the path is empty")
	case strings.ContainsRune(p, 0):
		return Meaning{}, fmt.Errorf("the path %q contains a NUL byte", p)
	}
	name, literal := below(dir, p)
	if literal && there(dir, name) {
		return Meaning{Name: name}, nil
	}
	plain, err := written(dir, p)
	if err != nil {
		return Meaning{}, err
	}
	if plain != p {
		if name, literal = below(dir, plain); !literal {
			return Meaning{}, outside(p, dir)
		}
		if !there(dir, name) {
			return Meaning{Name: name}, nil
		}
		return Meaning{Name: name, Said: says(p, name)}, nil
	}
	if !literal {
		return Meaning{}, outside(p, dir)
	}
	found, err := alike(dir, name)
	if err != nil || found == name {
		return Meaning{Name: name}, err
	}
	return Meaning{Name: found, Said: says(p, found)}, nil
}

func says(p, name string) string { return fmt.Sprintf("%q means the file %q here.", p, name) }

func outside(p, dir string) error {
	return fmt.Errorf("the path %s is outside the workspace %s", p, dir)
}

// Valid reports whether a name is one as [fs.ValidPath] has them, or would be if its bytes
// were UTF-8, which names of files need not be.
func Valid(name string) bool {
	return fs.ValidPath(strings.ToValidUTF8(name, "x")) && !strings.ContainsRune(name, 0) && (runtime.GOOS != "windows" || filepath.IsLocal(name))
}

// there reports whether there is something with this name.
func there(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil
}

// below returns the name of a path as it is written, if that is in dir: by the path of dir,
// by another path of the same directory, or because links lead there.
func below(dir, p string) (name string, is bool) {
	if !filepath.IsAbs(p) {
		name = path.Clean(filepath.ToSlash(p))
		return name, Valid(name)
	}
	p = filepath.Clean(p)
	if name, is = relative(dir, p); is {
		return name, true
	}
	root, err := os.Stat(dir)
	if err != nil {
		return "", false
	}
	for up := p; ; up = filepath.Dir(up) {
		if info, err := os.Stat(up); err == nil && os.SameFile(root, info) {
			return relative(up, p)
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(p))
	if err != nil {
		return "", false
	}
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		return relative(at, filepath.Join(real, filepath.Base(p)))
	}
	return "", false
}

// relative returns the name that p has in dir, if it is in there by its letters.
func relative(dir, p string) (string, bool) {
	rel, err := filepath.Rel(dir, p)
	name := filepath.ToSlash(rel)
	return name, err == nil && Valid(name)
}

var (
	variable = regexp.MustCompile(`^(\$[A-Z_][A-Z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*\}|%[A-Za-z_][A-Za-z0-9_]*%)([/\\]|$)`)
	drive    = regexp.MustCompile(`^[A-Za-z]:([/\\]|$)`)
)

// written returns the path without what only shells, browsers and other systems resolve. The
// error says that it leads out, or that nobody can tell where.
func written(dir, p string) (string, error) {
	switch first := variable.FindStringSubmatch(p); {
	case strings.HasPrefix(strings.ToLower(p), "file:"):
		return fromURL(dir, p)
	case first != nil:
		value := map[string]string{"PWD": dir, "HOME": home()}[strings.Trim(first[1], "${}%")]
		if value == "" {
			return "", fmt.Errorf("the path %s begins with a variable, which only a shell knows: write the path in full, below %s", p, dir)
		}
		return filepath.Join(value, filepath.FromSlash(p[len(first[1]):])), nil
	case p == "~" || strings.HasPrefix(p, "~/"):
		if home() == "" {
			return "", outside(p, dir)
		}
		return filepath.Join(home(), p[1:]), nil
	case strings.HasPrefix(p, "~") && strings.Contains(p, "/"):
		if first, _, _ := strings.Cut(p, "/"); !there(dir, first) {
			return "", outside(p, dir)
		}
	case runtime.GOOS != "windows" && (drive.MatchString(p) || strings.HasPrefix(p, `\\`)):
		return "", outside(p, dir)
	case runtime.GOOS != "windows" && strings.Contains(p, `\`):
		if name, in := below(dir, strings.ReplaceAll(p, `\`, "/")); in && there(dir, name) {
			return name, nil
		}
	}
	return p, nil
}

func home() string {
	dir, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// fromURL returns the path of a file: address.
func fromURL(dir, p string) (string, error) {
	u, err := url.Parse(p)
	if err != nil || u.Host != "" && u.Host != "localhost" {
		return "", outside(p, dir)
	}
	at := u.Path
	if u.Opaque != "" { // file:notes.md
		if at, err = url.PathUnescape(u.Opaque); err != nil {
			return "", outside(p, dir)
		}
	}
	if at == "" || strings.ContainsRune(at, 0) {
		return "", outside(p, dir)
	}
	return at, nil
}

// alike returns the name of the one file whose name looks like the given one, or the given
// name if there is none. That there are several is an error.
func alike(dir, name string) (string, error) {
	if name == "." {
		return name, nil
	}
	at, rest := ".", strings.Split(name, "/")
	for i, want := range rest {
		if next := path.Join(at, want); there(dir, next) {
			at = next
			continue
		}
		found, err := lookalikes(filepath.Join(dir, filepath.FromSlash(at)), want)
		if err != nil || len(found) == 0 {
			return path.Join(at, path.Join(rest[i:]...)), nil
		}
		if len(found) > 1 {
			return "", fmt.Errorf("%q could mean each of %q in %s: write one of these names exactly, or rename one with a command", want, found, at)
		}
		at = path.Join(at, found[0])
	}
	return at, nil
}

// lookalikes returns the names in a directory that look like want.
func lookalikes(dir, want string) (found []string, err error) {
	look := Look(want)
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, n := range names {
		if Look(n) == look {
			found = append(found, n)
		}
	}
	return found, err
}

// Look returns what a name looks like: with composed letters, blanks of one kind, none at its
// ends, and one sign for bytes that are not UTF-8.
func Look(name string) string {
	name = norm.NFC.String(strings.ToValidUTF8(name, "\uFFFD"))
	var b strings.Builder
	last := rune(0)
	for _, r := range name {
		switch {
		case unicode.Is(unicode.Zs, r):
			r = ' '
		case r == utf8.RuneError && last == r, r == '\u200b', r == '\ufeff': // seen once, or not at all
			continue
		}
		b.WriteRune(r)
		last = r
	}
	return strings.TrimSpace(b.String())
}
