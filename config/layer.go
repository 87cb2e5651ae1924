package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/internal/near"
)

// readFiles reads the named file, or the user's file and the workspace's over
// it.
func (l *loader) readFiles() {
	file, role := l.src.File, "--config"
	if file == "" {
		file, role = l.src.Env.get("OPENMANUS_CONFIG"), "OPENMANUS_CONFIG"
	}
	if file != "" {
		p, err := l.absolute(file, l.src.Dir)
		if err != nil {
			l.fail(&Error{Source: Source{From: File, Name: file}, Text: err.Error()})
		} else if !l.readFile(p, role, l.set) {
			l.fail(&Error{Source: Source{From: File, Name: p}, Text: "is not there", Hint: "it is named by " + role})
		}
		return
	}
	if dir, err := UserDir(l.goos, l.src.Env); err == nil {
		l.readFile(filepath.Join(dir, "config.toml"), "user", l.set)
	}
	l.readFile(filepath.Join(l.src.Dir, workspaceFile), "workspace", l.putFromWorkspace)
}

// readFile passes every key of the file to put. It reports whether the file
// exists.
func (l *loader) readFile(path, role string, put putFunc) bool {
	data, mode, err := readFile(path, role != "workspace")
	if err == nil && role == "user" {
		err = ownFile(path)
	}
	found := !errors.Is(err, fs.ErrNotExist)
	l.cfg.files = append(l.cfg.files, FileState{Path: path, Role: role, Found: found})
	switch {
	case !found:
		return false
	case err != nil:
		l.errs = append(l.errs, err)
		return true
	}
	if role == "workspace" && l.src.Trusted != nil && l.src.Trusted(path, data) {
		l.cfg.files[len(l.cfg.files)-1].Trusted = true
		put = l.set
	}
	l.stranger = role == "workspace" && !l.cfg.files[len(l.cfg.files)-1].Trusted
	l.read(path, data, put)
	l.readable(path, mode)
	return true
}

// read passes every key in data, the content of a file, to put. The errors are
// in the order of their lines.
func (l *loader) read(path string, data []byte, put putFunc) {
	doc, err := parse(path, data)
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	before := len(l.errs)
	l.readHooks(path, doc, l.stranger)
	l.readWebhooks(path, doc, l.stranger)
	l.leaves(path, doc, l.tables(path, doc), put)
	slices.SortStableFunc(l.errs[before:], func(a, b error) int { return line(a) - line(b) })
}

// line returns the line of err in its file; 0 if it has none.
func line(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Source.Line
	}
	return 0
}

// A putFunc takes a value that a file sets: a TOML value that fits the kind of k.
type putFunc func(k key, sub string, v any, src Source)

// tables checks the headers of a file. It returns the paths of the wrong ones;
// errors below those would only repeat the mistake.
func (l *loader) tables(file string, doc *document) (wrong map[string]bool) {
	wrong = map[string]bool{}
	for _, t := range doc.tables {
		src := Source{From: File, Name: file, Line: t.line}
		k, ok := l.below(t.path)
		switch {
		case under(wrong, t.path) || len(l.errs) > 10*maxErrors:
			continue
		case !ok:
			l.unknown(t.path, "section", src)
		case t.array:
			l.fail(&Error{Source: src, Text: "[[" + shown(t.path) + "]] is a list of sections", Hint: "write [" + shown(t.path) + "]"})
		case k.sub == "" || l.named(k, src):
			continue
		}
		wrong[joinPath(t.path)] = true
	}
	return wrong
}

// leaves passes the keys of a file to put, except those below wrong tables.
func (l *loader) leaves(file string, doc *document, wrong map[string]bool, put putFunc) {
	for _, leaf := range doc.leaves {
		src := Source{From: File, Name: file, Line: leaf.line}
		at, ok := l.find(leaf.path)
		switch {
		case under(wrong, leaf.path) || len(l.errs) > 10*maxErrors:
			continue
		case !ok:
			l.unknown(leaf.path, "key", src)
			continue
		case at.sub != "" && !l.named(at, src):
			wrong[joinPath(leaf.path[:2])] = true
			continue
		}
		v := doc.value(leaf.path)
		if !at.key.kind.fits(v) {
			l.fail(&Error{Source: src, Key: at.key.with(at.sub), Found: describe(v), Text: "allowed: " + at.key.kind.want})
			continue
		}
		put(at.key, at.sub, v, src)
	}
}

// under reports whether path is one of paths or below one.
func under(paths map[string]bool, path []string) bool {
	for i := range path {
		if paths[joinPath(path[:i+1])] {
			return true
		}
	}
	return false
}

// joinPath returns path as the key of a map.
func joinPath(path []string) string { return strings.Join(path, "\x00") }

// A located key is one that a path names; sub stands for the star in its name.
type located struct {
	key key
	sub string
}

// find returns the key at path.
func (l *loader) find(path []string) (located, bool) {
	var sub string
	names := slices.Clone(path)
	if len(path) == 3 && slices.Contains([]string{"llm", "models", "users", "a2a", "schedules", "triggers"}, path[0]) {
		sub, names[1] = path[1], "*"
	}
	for _, n := range names {
		if strings.Contains(n, ".") || n == "*" && sub == "" {
			return located{}, false
		}
	}
	k, ok := l.schema[strings.Join(names, ".")]
	return located{k, sub}, ok
}

// below returns some key that can stand in the section at path. ok is false if
// there is no such section.
func (l *loader) below(path []string) (located, bool) {
	if _, ok := l.find(path); ok {
		return located{}, false // a key, not a section
	}
	for _, k := range l.keys {
		names := strings.Split(k.name, ".")
		if len(names) <= len(path) {
			continue
		}
		at, ok := l.find(slices.Concat(path, names[len(path):]))
		if !ok || at.key.name != k.name {
			continue
		}
		if len(path) == 1 {
			at.sub = "" // the name comes further down
		}
		return at, true
	}
	return located{}, false
}

// The patterns of names. Counted repetitions are slow to compile, so that only a
// start that needs the patterns does.
var (
	profileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) })
	modelName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]+/[!-~]{1,200}$`) })
)

// named checks the name that the user chose, and remembers it.
func (l *loader) named(at located, src Source) bool {
	section, _, _ := strings.Cut(at.key.name, ".")
	if wrong := l.wrongName(section, at.sub); wrong != nil {
		wrong.Source, wrong.Found = src, quoted(at.sub)
		l.fail(wrong)
		return false
	}
	switch c := l.cfg; section {
	case "llm":
		remember(c.Profiles, &c.profiles, at.sub)
	case "users":
		remember(c.Users, &c.users, at.sub)
	case "a2a":
		remember(c.A2A, &c.remotes, at.sub)
	case "schedules":
		remember(c.Schedules, &c.schedules, at.sub)
	case "triggers":
		remember(c.Triggers, &c.triggers, at.sub)
	case "models":
		remember(c.Models, &c.models, at.sub)
	}
	return true
}

// remember adds what is called name to all, unless it is there.
func remember[T any](all map[string]*T, names *[]string, name string) {
	if all[name] == nil {
		all[name] = new(T)
		*names = append(*names, name)
	}
}

// wrongName says what is wrong with a name in a section of names, or returns nil.
func (l *loader) wrongName(section, name string) *Error {
	switch section {
	case "llm":
		if !profileName().MatchString(name) || name == "llm" || name == "default" {
			return &Error{Text: "allowed as the name of a profile: letters, digits, _, . and -, but neither llm nor default, which name [llm]"}
		}
	case "users":
		if !profileName().MatchString(name) {
			return &Error{Text: "allowed as the name of a user: letters, digits, _, . and -"}
		}
	case "models":
		whole := l.src.Providers.Named(name) // of scripts
		p, _ := l.src.Providers.Split(name)
		if !(whole != nil && whole.Script) && (p == nil || !modelName().MatchString(name)) {
			return &Error{Text: "allowed as the name of a model: PROVIDER/NAME, where PROVIDER is one of " + strings.Join(l.src.Providers.Names(), ", "),
				Hint: "a model at base_url is compat/NAME"}
		}
	default:
		what := map[string]string{"a2a": "an agent elsewhere", "schedules": "a schedule", "triggers": "a trigger"}[section]
		if err := checkShortName(what, name); err != nil {
			return &Error{Text: err.Error()}
		}
	}
	return nil
}

// unknown adds the error of a key or section that does not exist, with the name
// that was probably meant.
func (l *loader) unknown(path []string, what string, src Source) {
	if at, ok := l.find(path); ok && what == "section" {
		l.fail(&Error{Source: src, Key: shown(path), Text: "is a key and not a section: its value is " + at.key.kind.want})
		return
	}
	l.fail(&Error{Source: src, Key: shown(path), Text: "unknown " + what, Hint: didYouMean(l.suggest(path, what))})
}

// suggest returns the name that was probably meant by path: a similar one in the
// same section, the same one in another section, or a similar one anywhere; ""
// if there is none.
func (l *loader) suggest(path []string, what string) string {
	var sections, all []string
	for _, s := range schema() {
		if s.name != "" && !strings.Contains(s.name, "*") {
			sections = append(sections, s.name)
		}
		for _, k := range s.keys {
			all = append(all, k.name)
		}
	}
	if what == "section" {
		return near.Nearest(strings.Join(path, "."), sections)
	}
	up, last := path[:len(path)-1], path[len(path)-1]
	var same []string
	for _, name := range all {
		if at, ok := l.find(append(slices.Clone(up), lastName(name))); ok && at.key.name == name {
			same = append(same, lastName(name))
		}
	}
	if near := near.Nearest(last, same); near != "" {
		return shown(append(slices.Clone(up), near))
	}
	for _, name := range all {
		if lastName(name) == last && !strings.Contains(name, "*") {
			return name
		}
	}
	return near.Nearest(strings.Join(path, "."), all)
}

// lastName returns the part of a key's name after the last dot.
func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// shown returns path for an error.
func shown(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		if parts[i] = p; !bare.MatchString(p) || len(p) > 60 {
			parts[i] = quoted(p)
		}
	}
	return strings.Join(parts, ".")
}

// describe names the type of v, for the error of a value that does not fit.
func describe(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case bool:
		return fmt.Sprint(v)
	case int64, float64:
		return "the number " + fmt.Sprint(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a section"
	}
	return "a date or time"
}
