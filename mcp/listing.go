package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
)

// Limits of what a server may offer. The rest is left out, with a note.
const (
	maxTools       = 1000
	maxPages       = 100
	maxDescription = 16 << 10 // bytes
	maxSchema      = 64 << 10
	maxListing     = 16 << 20 // bytes of definitions
)

// A listing is what a server offers. It does not change once it is made.
type listing struct {
	tools              []*remote          // sorted by the names of the server
	byName             map[string]*remote // the same, by these names
	resources, prompts bool               // the server has some
	notes              []string           // problems, for people
}

// relist asks the server for its tools, and says what is wrong with them if
// that is new.
func (l *link) relist(ctx context.Context, sess *sdk.ClientSession) error {
	l.mu.Lock()
	l.stale = false // a later change sets it again
	before := l.list
	l.mu.Unlock()
	list := &listing{byName: map[string]*remote{}}
	if caps := capabilities(sess); caps != nil {
		list.resources, list.prompts = caps.Resources != nil, caps.Prompts != nil
		if caps.Tools != nil {
			if err := l.collect(ctx, sess, list); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(list.tools, func(a, b *remote) int { return cmp.Compare(a.tool, b.tool) })
	if err := l.judge(list); err != nil {
		return err
	}
	for _, n := range list.notes {
		if before == nil || !slices.Contains(before.notes, n) {
			l.c.say("%s: %s", clip.Clean(l.cfg.Name), n)
		}
	}
	l.mu.Lock()
	l.list = list
	l.mu.Unlock()
	return nil
}

// capabilities returns what the server says that it supports, or nil.
func capabilities(sess *sdk.ClientSession) *sdk.ServerCapabilities {
	if r := sess.InitializeResult(); r != nil {
		return r.Capabilities
	}
	return nil
}

// collect reads the pages of the server's list of tools.
func (l *link) collect(ctx context.Context, sess *sdk.ClientSession, list *listing) error {
	var params sdk.ListToolsParams
	size := 0
	seen := map[string]bool{}
	for page := 0; ; page++ {
		res, err := sess.ListTools(ctx, &params)
		if err != nil {
			return err
		}
		for _, t := range res.Tools {
			if len(list.tools) == maxTools || size > maxListing {
				list.addNote(fmt.Sprintf("it offers too much: only the first %d tools are used",
					len(list.tools)))
				return nil
			}
			if t == nil || !l.wants(t.Name) {
				continue
			}
			r, note := l.remote(t)
			if note == "" && list.byName[t.Name] != nil {
				note = fmt.Sprintf("it has two tools called %q: the second is left out", line(t.Name, 60))
			}
			if note != "" {
				list.addNote(note)
				continue
			}
			size += r.size
			list.tools, list.byName[t.Name] = append(list.tools, r), r
		}
		switch {
		case res.NextCursor == "":
			return nil
		case page == maxPages, seen[res.NextCursor]:
			list.addNote(fmt.Sprintf("its list of tools does not end: only the first %d are used",
				len(list.tools)))
			return nil
		}
		seen[res.NextCursor] = true
		params.Cursor = res.NextCursor
	}
}

// maxNotes is how many notes a listing has.
const maxNotes = 10

// addNote adds a note, which completes a sentence about the server.
func (list *listing) addNote(text string) {
	if len(list.notes) < maxNotes && !slices.Contains(list.notes, text) {
		list.notes = append(list.notes, text)
	}
}

// wants reports whether the configuration allows the tool.
func (l *link) wants(tool string) bool {
	return (len(l.cfg.Allow) == 0 || slices.Contains(l.cfg.Allow, tool)) && !slices.Contains(l.cfg.Deny, tool)
}

// remote converts a server's tool. If it cannot be offered, the note says why.
func (l *link) remote(t *sdk.Tool) (_ *remote, note string) {
	name := line(t.Name, 60)
	schema, err := json.Marshal(t.InputSchema)
	switch {
	case strings.TrimSpace(clip.Clean(t.Name)) == "" || len(t.Name) > 1000:
		return nil, "a tool without a usable name is left out"
	case err != nil:
		return nil, fmt.Sprintf("the tool %q is left out: its schema cannot be read", name)
	case len(t.Description) > maxDescription:
		return nil, fmt.Sprintf("the tool %q is left out: its description has %d bytes, more than %d",
			name, len(t.Description), maxDescription)
	case len(schema) > maxSchema:
		return nil, fmt.Sprintf("the tool %q is left out: its schema has %d bytes, more than %d",
			name, len(schema), maxSchema)
	}
	d := define(t)
	r := &remote{link: l, origin: origin{l.cfg.Name, t.Name}, def: d, hash: d.hash()}
	r.size = len(schema) + len(t.Description)
	description := strings.TrimSpace(clip.Clean(cmp.Or(t.Description, t.Title)))
	input, loose := usable(schema)
	if loose != "" {
		description += "\n\nThe arguments are not checked here (" + loose + "). " +
			"Their JSON Schema: " + clip.Clean(string(schema))
	}
	r.spec = openmanus.ToolSpec{
		ToolSpec: llm.ToolSpec{Description: description, Input: input},
		Hints:    l.hints(t.Annotations), Arguments: argumentsOf(input), From: openmanus.FromMCP + l.cfg.Name,
	}
	r.check = input
	return r, ""
}

// argumentsOf declares the arguments of a server's tool. All of them are sent
// to the server. The schema may say that one is an address or a host. The kind
// of the others is unknown, so that a gate guesses from their names and values.
func argumentsOf(schema json.RawMessage) []openmanus.Argument {
	var s struct {
		Properties map[string]struct{ Format string }
	}
	var list []openmanus.Argument
	if json.Unmarshal(schema, &s) == nil {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			switch s.Properties[name].Format {
			case "uri", "iri", "url":
				list = append(list, sends(name, openmanus.URLArgument))
			case "hostname", "idn-hostname", "ipv4", "ipv6":
				list = append(list, sends(name, openmanus.HostArgument))
			}
		}
	}
	return append(list, sends("*", ""))
}

func sends(name string, kind openmanus.ArgumentKind) openmanus.Argument {
	return openmanus.Argument{Name: name, Kind: kind, Does: openmanus.Sends}
}

// hints returns the hints of a tool. The annotations of the server count only
// if the configuration trusts it. An annotation that is missing has the default of
// the specification (schema of ToolAnnotations): the tool is not read-only, not
// idempotent, and destructive. openWorldHint, which is true by default, has no
// hint of its own: argumentsOf declares for every tool that its arguments are sent.
func (l *link) hints(a *sdk.ToolAnnotations) openmanus.Hints {
	if !l.cfg.Trust || a == nil {
		a = &sdk.ToolAnnotations{}
	}
	return openmanus.Hints{
		ReadOnly: a.ReadOnlyHint, Idempotent: a.IdempotentHint || a.ReadOnlyHint,
		Destructive: !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint),
	}
}
