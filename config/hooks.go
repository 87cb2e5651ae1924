package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/near"
)

// A Hook is one of [[hooks]]: a program of the user that is asked before something
// happens, or notified of it.
type Hook struct {
	Name    string
	On      string        // the event
	Run     string        // a command for a shell; or
	URL     string        // an address that the event is posted to
	Tools   string        // patterns of tools, with | between them; "": all
	Timeout time.Duration // 0: the default
	Env     []string      // names of variables that the command gets besides the usual ones
	Dir     string        // of the file: where the command runs
	Source  Source
}

// HookEvents are the events that a hook can be on. Those that begin with before decide.
var HookEvents = []string{
	"before_call", "before_request", "after_call", "session_start", "session_end", "waiting", "finished", "failed", "budget", "files", "compacted",
}

// maxHookTime is the longest that a hook may take.
const maxHookTime = 10 * time.Minute

// readHooks takes [[hooks]] out of the document of a file, and adds the hooks.
func (l *loader) readHooks(file string, doc *document, refused bool) {
	l.readSections(file, doc, "hooks", refused, "a hook runs a program", l.hook)
}

// readSections takes [[name]] out of the document of a file, and hands each section on. A
// workspace may not have any, for the reason why.
func (l *loader) readSections(file string, doc *document, name string, refused bool, why string, each func(table map[string]any, src Source)) {
	value, ok := doc.root[name]
	if !ok {
		return
	}
	delete(doc.root, name)
	var lines []int
	ours := func(s spot) bool { return len(s.path) > 0 && s.path[0] == name }
	for _, t := range doc.tables {
		if ours(t) && t.array && len(t.path) == 1 {
			lines = append(lines, t.line)
		}
	}
	first := Source{From: File, Name: file}
	for _, s := range slices.Concat(doc.tables, doc.leaves) {
		if ours(s) && (first.Line == 0 || s.line < first.Line) {
			first.Line = s.line
		}
	}
	doc.tables, doc.leaves = slices.DeleteFunc(doc.tables, ours), slices.DeleteFunc(doc.leaves, ours)
	if refused {
		l.fail(&Error{Source: first, Key: name, Text: "a workspace may not set it", Hint: "a file found in the working directory may come from anyone, " +
			"and " + why + ": set it in your own file, or trust this one with its present content: openmanus config trust"})
		l.refused = true
		return
	}
	notList := &Error{Source: first, Key: name, Text: "is a list of sections", Hint: "write [[" + name + "]]"}
	list, ok := value.([]any)
	if !ok {
		l.fail(notList)
		return
	}
	for i, v := range list {
		src := first
		if i < len(lines) {
			src.Line = lines[i]
		}
		table, ok := v.(map[string]any)
		if !ok {
			l.fail(notList)
			return
		}
		each(table, src)
	}
}

// readTable reads a section of the list called list: texts has where its texts go, and others
// what reads its other keys and returns what is allowed, or "". It reports whether there is no
// mistake in it.
func (l *loader) readTable(list string, table map[string]any, src Source, texts map[string]*string, others map[string]func(v any) string) bool {
	before := len(l.errs)
	for _, name := range slices.Sorted(maps.Keys(table)) {
		e := &Error{Source: src, Key: list + "." + name}
		if into := texts[name]; into != nil {
			s, ok := table[name].(string)
			if *into = strings.TrimSpace(s); !ok {
				e.Text = "allowed: text"
			}
		} else if read := others[name]; read != nil {
			e.Text = read(table[name])
		} else {
			known := slices.Concat(slices.Sorted(maps.Keys(texts)), slices.Sorted(maps.Keys(others)))
			e.Key, e.Text, e.Hint = list+"."+quotedName(name), "unknown key", didYouMean(near.Nearest(name, known))
		}
		if e.Text != "" {
			l.fail(e)
		}
	}
	return len(l.errs) == before
}

// listOf returns a list of texts that all fit; ok is false if v is none.
func listOf(v any, fits func(string) bool) (all []string, ok bool) {
	list, ok := v.([]any)
	for _, e := range list {
		s, isText := e.(string)
		all, ok = append(all, s), ok && isText && fits(s)
	}
	return all, ok
}

// isWeb reports whether events can be posted to an address.
func isWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// hook reads one hook.
func (l *loader) hook(table map[string]any, src Source) {
	h := Hook{Source: src, Dir: filepath.Dir(src.Name)}
	before := len(l.errs)
	ok := l.readTable("hooks", table, src, map[string]*string{"name": &h.Name, "on": &h.On, "run": &h.Run, "url": &h.URL, "tools": &h.Tools},
		map[string]func(any) string{
			"timeout": func(v any) string {
				d, err := parseDuration(kind{unit: "s"}.text(v))
				if h.Timeout, _ = d.(time.Duration); err != nil || h.Timeout <= 0 || h.Timeout > maxHookTime {
					return fmt.Sprintf(`allowed: a duration up to %v, such as "5s"`, maxHookTime)
				}
				return ""
			},
			"env": func(v any) string {
				var ok bool
				if h.Env, ok = listOf(v, variableName.MatchString); !ok {
					return "allowed: a list of the names of environment variables"
				}
				return ""
			},
		})
	if ok {
		l.wholeHook(&h, func(key, text string) { l.fail(&Error{Source: src, Key: "hooks." + key, Text: text}) })
	}
	if len(l.errs) == before {
		l.cfg.Hooks = append(l.cfg.Hooks, h)
	}
}

// wholeHook checks what keys of a hook have to do with each other.
func (l *loader) wholeHook(h *Hook, wrong func(key, text string)) {
	h.Name = cmp.Or(h.Name, fmt.Sprintf("%d", len(l.cfg.Hooks)+1))
	switch {
	case !profileName().MatchString(h.Name):
		wrong("name", "allowed: letters, digits, _, . and -")
	case slices.ContainsFunc(l.cfg.Hooks, func(o Hook) bool { return o.Name == h.Name }):
		wrong("name", "another hook is called "+h.Name)
	}
	switch {
	case h.On == "":
		wrong("on", "is missing: one of "+strings.Join(HookEvents, ", "))
	case !slices.Contains(HookEvents, h.On):
		e := &Error{Source: h.Source, Key: "hooks.on", Found: quoted(h.On), Text: "allowed: " + strings.Join(HookEvents, ", "),
			Hint: didYouMean(near.Nearest(h.On, HookEvents))}
		l.fail(e)
	case h.Tools != "" && !strings.HasSuffix(h.On, "_call"):
		wrong("tools", "is for before_call and after_call: nothing else is about a tool")
	}
	switch {
	case (h.Run == "") == (h.URL == ""):
		wrong("run", "a hook has one of run, a command, and url, an address")
	case h.URL != "" && !isWeb(h.URL):
		wrong("url", "allowed: an address that begins with https:// or http://")
	case h.URL != "" && len(h.Env) > 0:
		wrong("env", "is for a command")
	}
}
