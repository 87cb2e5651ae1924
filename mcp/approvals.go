package mcp

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus/internal/filelock"
	"github.com/openmanus-go/openmanus/internal/wholefile"
)

// A definition is everything that a model or a person is shown of a server's
// tool.
type definition struct {
	Name        string               `json:"name"`
	Title       string               `json:"title,omitempty"`
	Description string               `json:"description,omitempty"`
	Input       any                  `json:"input,omitempty"`
	Output      any                  `json:"output,omitempty"`
	Annotations *sdk.ToolAnnotations `json:"annotations,omitempty"`
}

func define(t *sdk.Tool) definition {
	return definition{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations}
}

// hash returns a different value for every different definition.
func (d definition) hash() string {
	data, err := json.Marshal(d)
	if err != nil {
		return "" // it came as JSON, so this does not happen; an empty hash equals none that was approved
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// differs names the parts in which d differs from old.
func (d definition) differs(old definition) string {
	var parts []string
	for _, p := range []struct {
		name string
		a, b any
	}{
		{"title", old.Title, d.Title}, {"description", old.Description, d.Description}, {"schema", old.Input,
			d.Input},
		{"output schema", old.Output, d.Output}, {"hints", old.Annotations, d.Annotations},
	} {
		a, _ := json.Marshal(p.a)
		b, _ := json.Marshal(p.b)
		if string(a) != string(b) {
			parts = append(parts, p.name)
		}
	}
	return strings.Join(parts, ", ")
}

// Identity returns the identity under which a server is approved: a hash of
// everything that decides which program is started or which address is
// contacted. Values are as configured, before variables in them are replaced; with them
// counts what the command line was found to stand for.
func Identity(s ServerConfig) string {
	all := []any{s.Name, s.Command, s.Args, s.Env, s.Dir, s.URL, s.Headers, s.Type}
	if len(s.Resolved) > 0 {
		all = append(all, s.Resolved)
	}
	data, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings always encode
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// Shown returns what a person approves, in one line: the exact command or the
// URL, with the names of the variables or headers that are added, and what the command
// stands for.
func (s ServerConfig) Shown() string {
	what, extra, kind := s.URL, s.Headers, "header"
	if s.URL == "" {
		words := []string{}
		for _, w := range append([]string{s.Command}, s.Args...) {
			words = append(words, word(w))
		}
		what, extra, kind = strings.Join(words, " ")+"  (in "+s.place()+")", s.Env, "variable"
	} else {
		what = word(what)
	}
	var names []string
	for name := range extra {
		names = append(names, word(name))
	}
	if slices.Sort(names); len(names) > 0 {
		what += fmt.Sprintf("  (%s %s)", kind, strings.Join(names, ", "))
	}
	for _, r := range s.Resolved {
		what += "  (" + line(r, 1000) + ")"
	}
	return what
}

// place says where the server's program runs.
func (s ServerConfig) place() string {
	if s.Dir == "" {
		return "a directory of its own"
	}
	return word(s.Dir)
}

// word returns a word of a command as a shell would take it, with invisible
// characters escaped.
func word(w string) string {
	if w != "" && !strings.ContainsFunc(w, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-./:=@,+%~?&{}$", r))
	}) {
		return w
	}
	return fmt.Sprintf("%+q", w)
}

// Approvals are the servers and tools that a person approved, kept in a file.
// They are safe for concurrent use. Processes that share the file see the
// changes of the others.
//
// A server is approved by its [Identity]; each of its tools by the hash of its
// definition. A server that changes its program, its address or a tool must be
// approved again, as far as it changed.
type Approvals struct {
	path string
	mu   sync.Mutex
}

// NewApprovals returns the approvals in the file at path, which need not exist
// yet.
func NewApprovals(path string) *Approvals { return &Approvals{path: path} }

// An approval is what was approved of one server.
type approval struct {
	Name  string                `json:"name"`
	Shown string                `json:"shown"` // [ServerConfig.Shown] when it was approved
	At    time.Time             `json:"at"`
	Seen  bool                  `json:"seen"`            // Tools is set: the server has been connected since
	Tools map[string]definition `json:"tools,omitempty"` // the approved ones, by the names of the server
}

// load reads the file: approvals by [Identity].
func (a *Approvals) load() (map[string]*approval, error) {
	all := map[string]*approval{}
	data, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w (if you delete this file, every server must be approved again)",
			a.path, err)
	}
	return all, nil
}

// change rewrites the file, unless f returns false. It holds the lock of the
// file meanwhile.
func (a *Approvals) change(f func(map[string]*approval) bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Lock(a.path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := a.load()
	if err != nil || !f(all) {
		return err
	}
	return wholefile.WriteJSON(a.path, all)
}

// Approved reports whether the server with this identity was approved. The identity covers
// the exact command or URL, so a changed one is not. A missing file has no approvals; a
// damaged one is an error.
func (a *Approvals) Approved(id string) (bool, error) {
	all, err := a.load()
	return all[id] != nil, err
}

// Approve approves a server. Its tools are approved as they are when the server
// is next connected.
func (a *Approvals) Approve(s ServerConfig) error {
	return a.change(func(all map[string]*approval) bool {
		all[s.ID] = &approval{Name: s.Name, Shown: s.Shown(), At: time.Now().UTC()}
		return true
	})
}

// Revoke forgets the approvals of every server with the name. It is no error if there are
// none.
func (a *Approvals) Revoke(name string) error {
	return a.change(func(all map[string]*approval) bool {
		before := len(all)
		for id, s := range all {
			if s.Name == name {
				delete(all, id)
			}
		}
		return len(all) < before
	})
}

// judge sets for each tool whether it is held, and why. The first tools that a
// server shows after its approval are approved with it.
func (l *link) judge(list *listing) error {
	if l.c.opts.Approvals == nil || l.cfg.ID == "" {
		return nil
	}
	all, err := l.c.opts.Approvals.load()
	if err != nil {
		return err
	}
	known := all[l.cfg.ID]
	if known == nil || !known.Seen {
		return l.approve(list.tools, true)
	}
	var added []*remote
	for _, t := range list.tools {
		old, ok := known.Tools[t.tool]
		switch {
		case ok && old.hash() == t.hash:
		case ok:
			t.held = "its " + t.def.differs(old) + " changed since it was approved"
		case l.cfg.Trust:
			added = append(added, t)
		default:
			t.held = "it was not there when the server was approved"
		}
		if t.held != "" {
			list.addNote(fmt.Sprintf("the tool %q is held: %s (openmanus mcp approve %s)", line(t.tool, 60),
				t.held, word(l.cfg.Name)))
		}
	}
	if len(added) == 0 {
		return nil
	}
	return l.approve(added, false)
}

// approve records tools as approved. If first is true and another process has
// recorded the first tools meanwhile, these are judged instead.
func (l *link) approve(tools []*remote, first bool) error {
	faster := false
	err := l.c.opts.Approvals.change(func(all map[string]*approval) bool {
		known := all[l.cfg.ID]
		if known == nil {
			known = &approval{Name: l.cfg.Name, Shown: l.cfg.Shown(), At: time.Now().UTC()}
			all[l.cfg.ID] = known
		}
		if faster = first && known.Seen; faster {
			return false
		}
		if known.Seen = true; known.Tools == nil {
			known.Tools = map[string]definition{}
		}
		for _, t := range tools {
			known.Tools[t.tool] = t.def
		}
		return true
	})
	if err == nil && faster {
		return l.judge(&listing{tools: tools})
	}
	return err
}

// Approve approves everything that the server with this name offers now.
func (c *Client) Approve(name string) error {
	l := c.link(name)
	if l == nil || l.known() == nil {
		return fmt.Errorf("the server %q is not connected", name)
	}
	if c.opts.Approvals == nil {
		return nil
	}
	if err := c.opts.Approvals.Approve(l.cfg); err != nil {
		return err
	}
	l.changed()
	return l.approve(l.known().tools, false)
}
