package gate

import (
	"encoding/json"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/localaddr"
	"github.com/openmanus-go/openmanus/internal/protected"
	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// facts are what is known of a call before it runs. They come from what the
// tool declares ([openmanus.ToolSpec].Arguments) and from the arguments; where
// a tool declares nothing, from a guess. No tool is known by its name.
type facts struct {
	tool   string
	script                   // the commands among the arguments
	runs   bool              // an argument is declared to be a command or code
	paths  []place           // declared or guessed, with what symbolic links lead to
	places []openmanus.Place // the same, each once
	named  []string          // words of commands that may be paths
	hosts  []string          // see canonical
	locals []string          // addresses that may be of this machine: see [openmanus.Argument].Local
	served []string          // HOST:PORT of servers on this machine that a command in a sandbox names
	badURL bool              // an argument is declared to be an address, and cannot be read as one

	edits     bool // it changes files of the workspace, and nothing else
	changes   bool // it may change something
	destroys  bool // it may destroy what cannot be brought back
	foreign   bool // the tool is in another program
	connects  bool // the tool declares which argument is the address it requests
	protected bool // it may change what programs outside a sandbox obey
}

// A place is a file or directory that a call names, as rules see it: see
// relative. does is what the tool declares; it is empty for a guess, which may
// be anything.
type place struct {
	name string
	does openmanus.Effect
}

// changed reports whether the call may change what is there, given that it may
// change something.
func (p place) changed() bool { return p.does != openmanus.Reads && p.does != openmanus.Sends }

// touched are all paths that a call may be about.
func (f facts) touched() []string {
	return slices.Concat(names(f.paths, func(place) bool { return true }), f.named, f.writes)
}

// changed are the paths that a call may change. The words of a command may be
// paths that it changes.
func (f facts) changed() []string {
	if !f.changes {
		return nil
	}
	return slices.Concat(names(f.paths, place.changed), f.named, f.writes)
}

// names returns the names of the places for which want is true.
func names(places []place, want func(place) bool) []string {
	var list []string
	for _, p := range places {
		if want(p) {
			list = append(list, p.name)
		}
	}
	return list
}

// look returns the facts of a call in the workspace at dir. Arguments that are
// no JSON object have none: the driver checks arguments against the tool's
// schema before.
func look(dir string, call openmanus.Call, spec openmanus.ToolSpec) facts {
	h := spec.Hints
	f := facts{tool: call.Name, edits: h.Edits, changes: !h.ReadOnly, destroys: h.Destructive, foreign: spec.From != ""}
	f.plain = true
	var args map[string]any
	if json.Unmarshal([]byte(call.Input), &args) != nil {
		return f
	}
	declared := spec.Arguments
	if len(declared) == 0 && !h.Internal && !h.Final {
		declared = []openmanus.Argument{{Name: "*"}}
	}
	for _, a := range declared {
		f.connects = f.connects || a.Kind == openmanus.URLArgument || a.Kind == openmanus.HostArgument
		for _, name := range argumentsOf(a, declared, args) {
			f.argument(dir, name, a, args[name])
		}
		if _, given := args[a.Name]; !given && a.Value != "" {
			f.argument(dir, a.Name, a, a.Value)
		}
	}
	f.protected = f.changes && slices.ContainsFunc(names(f.paths, place.changed), protected.Is)
	return f
}

// argumentsOf returns the names of the arguments that a is about, sorted.
func argumentsOf(a openmanus.Argument, declared []openmanus.Argument, args map[string]any) []string {
	if a.Name != "*" {
		if _, ok := args[a.Name]; !ok {
			return nil
		}
		return []string{a.Name}
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.ContainsFunc(declared, func(b openmanus.Argument) bool { return b.Name == name }) {
			others = append(others, name)
		}
	}
	return others
}

// argument looks at the value of an argument, or of a part of it.
func (f *facts) argument(dir, name string, a openmanus.Argument, value any) {
	list, isList := value.([]any)
	text, isText := value.(string)
	switch {
	case a.Kind == "":
		f.guess(dir, name, a.Does, value)
	case a.Kind == openmanus.CommandArgument && isList:
		f.runs = true
		f.command(dir, readWords(list))
	case isList:
		for _, v := range list {
			f.argument(dir, name, a, v)
		}
	case !isText:
	case a.Kind == openmanus.CommandArgument:
		f.runs = true
		f.command(dir, readScript(text, 0))
		if a.Local {
			f.served = append(f.served, localaddr.Find(text)...)
			for _, target := range f.served {
				f.host(target)
			}
		}
	case a.Kind == openmanus.CodeArgument:
		f.runs = true
	case a.Kind == openmanus.PathArgument:
		f.path(dir, text, a.Does)
	case a.Kind == openmanus.URLArgument:
		f.badURL = !f.url(text) && text != "" || f.badURL
		if a.Local && text != "" {
			f.locals = append(f.locals, text)
		}
	case a.Kind == openmanus.HostArgument:
		f.host(text)
	}
}

// command adds the commands of a script, with the paths and hosts among their
// words.
func (f *facts) command(dir string, s script) {
	f.words(dir, &s)
	f.plain, f.unread = f.plain && s.plain, f.unread || s.unread
	f.commands, f.writes = append(f.commands, s.commands...), append(f.writes, s.writes...)
}

// words adds the paths and hosts among the words of a script.
func (f *facts) words(dir string, s *script) {
	for i, w := range s.writes {
		s.writes[i] = relative(dir, w)
	}
	for _, c := range s.commands {
		for _, w := range c.words[min(1, len(c.words)):] {
			if strings.Contains(w, "://") {
				f.url(w)
			}
			_, value, ok := strings.Cut(w, "=") // --file=name
			if !ok {
				value = w
			}
			if value != "" && !strings.HasPrefix(value, "-") && !strings.Contains(value, "://") {
				f.named = append(f.named, relative(dir, value))
			}
		}
	}
}

// path adds a path, and the path to which symbolic links lead from there.
func (f *facts) path(dir, name string, does openmanus.Effect) {
	p := relative(dir, name)
	at, real := place{p, does}, resolved(dir, p)
	f.paths = append(f.paths, at)
	if real != p {
		f.paths = append(f.paths, place{real, does})
	}
	f.places = append(f.places, openmanus.Place{Name: p, Real: real, Changes: f.changes && at.changed()})
}

// url adds the host of an address, and reports whether it could be read. The
// tools that open addresses read them with the same function.
func (f *facts) url(text string) bool {
	u, err := egress.ParseURL(text)
	if err != nil {
		return false
	}
	f.host(u.Hostname())
	return true
}

// host adds a host, without a port.
func (f *facts) host(name string) {
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	if name = canonical(name); name != "" {
		f.hosts = append(f.hosts, name)
	}
}

// Names that arguments often have, in tools that declare nothing.
var (
	pathNames = []string{"path", "file_path", "filepath", "file", "filename", "directory", "dir", "folder",
		"destination", "source"}
	hostNames    = []string{"host", "hostname", "domain"}
	commandNames = []string{"command", "cmd", "script", "shell"}
)

// guess looks at an argument that no tool declares: at its name, and at whether
// it reads like an address. A command that is guessed can make a rule deny or
// ask. It never makes a rule allow.
func (f *facts) guess(dir, name string, does openmanus.Effect, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			f.guess(dir, key, does, v[key])
		}
	case []any:
		if slices.Contains(commandNames, strings.ToLower(name)) {
			f.guessCommand(dir, readWords(v))
			return
		}
		for _, e := range v {
			f.guess(dir, strings.TrimSuffix(name, "s"), does, e)
		}
	case string:
		switch name = strings.ToLower(name); {
		case strings.Contains(v, "://"):
			f.url(v)
		case slices.Contains(pathNames, name):
			f.path(dir, v, does)
		case slices.Contains(hostNames, name):
			f.host(v)
		case slices.Contains(commandNames, name):
			f.guessCommand(dir, readScript(v, 0))
		}
	}
}

// guessCommand adds commands that may be none. So rules that allow do not apply
// to them, and it does not matter whether they can be parsed.
func (f *facts) guessCommand(dir string, s script) {
	s.plain, s.unread = false, false
	f.command(dir, s)
}
