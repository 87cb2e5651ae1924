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
	"github.com/openmanus-go/openmanus/llm"
)

// The bounds of what a server may offer. What is beyond them is left out, and
// said.
const (
	maxTools       = 1000
	maxPages       = 100
	maxDescription = 16 << 10 // bytes
	maxSchema      = 64 << 10
	maxListing     = 16 << 20 // bytes of definitions
)

// A listing is what a server offers. It does not change.
type listing struct {
	tools              []*remote // by the server's names
	byName             map[string]*remote
	resources, prompts bool
	notes              []string
}

// relist asks the server for its tools.
func (l *link) relist(ctx context.Context, sess *sdk.ClientSession) error {
	l.mu.Lock()
	l.stale = false // whatever changes from here on is said again
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
			l.c.say("%s: %s", clean(l.cfg.Name), n)
		}
	}
	l.mu.Lock()
	l.list = list
	l.mu.Unlock()
	return nil
}

func capabilities(sess *sdk.ClientSession) *sdk.ServerCapabilities {
	if r := sess.InitializeResult(); r != nil {
		return r.Capabilities
	}
	return nil
}

// collect reads the pages of the server's tools.
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
				list.note(fmt.Sprintf("offers too much: the first %d tools count", len(list.tools)))
				return nil
			}
			if t == nil || !l.wants(t.Name) {
				continue
			}
			r, note := l.remote(t)
			if note == "" && list.byName[t.Name] != nil {
				note = fmt.Sprintf("has two tools called %q: the second is left out", line(t.Name, 60))
			}
			if note != "" {
				list.note(note)
				continue
			}
			size += r.size
			list.tools, list.byName[t.Name] = append(list.tools, r), r
		}
		switch {
		case res.NextCursor == "":
			return nil
		case page == maxPages, seen[res.NextCursor]:
			list.note(fmt.Sprintf("its list of tools does not end: the first %d count", len(list.tools)))
			return nil
		}
		seen[res.NextCursor] = true
		params.Cursor = res.NextCursor
	}
}

// maxNotes is how much is said about one listing.
const maxNotes = 10

func (list *listing) note(text string) {
	if len(list.notes) < maxNotes && !slices.Contains(list.notes, text) {
		list.notes = append(list.notes, text)
	}
}

// wants reports whether the configuration lets the tool be offered.
func (l *link) wants(tool string) bool {
	return (len(l.cfg.Allow) == 0 || slices.Contains(l.cfg.Allow, tool)) && !slices.Contains(l.cfg.Deny, tool)
}

// remote makes a tool of ours of a server's. The note says why it cannot be
// one.
func (l *link) remote(t *sdk.Tool) (_ *remote, note string) {
	name := line(t.Name, 60)
	schema, err := json.Marshal(t.InputSchema)
	switch {
	case strings.TrimSpace(clean(t.Name)) == "" || len(t.Name) > 1000:
		return nil, "a tool without a usable name is left out"
	case err != nil:
		return nil, fmt.Sprintf("the tool %q is left out: its schema cannot be read", name)
	case len(t.Description) > maxDescription:
		return nil, fmt.Sprintf("the tool %q is left out: its description has %d bytes, and at most %d are read", name, len(t.Description), maxDescription)
	case len(schema) > maxSchema:
		return nil, fmt.Sprintf("the tool %q is left out: its schema has %d bytes, and at most %d are read", name, len(schema), maxSchema)
	}
	d := define(t)
	r := &remote{link: l, origin: origin{l.cfg.Name, t.Name}, def: d, hash: d.hash(), size: len(schema) + len(t.Description)}
	description := strings.TrimSpace(clean(cmp.Or(t.Description, t.Title)))
	input, loose := usable(schema)
	if loose != "" {
		description += "\n\nThe arguments are not checked here (" + loose + "). Their JSON Schema: " + clean(string(schema))
	}
	r.spec = openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Description: description, Input: input}, Hints: l.hints(t.Annotations), Arguments: argumentsOf(input)}
	r.check = input
	return r, ""
}

// argumentsOf declares the arguments of a server's tool. All of them are sent
// to the server. The schema can say that one is an address or a host; what any
// other is remains unknown, so that a gate takes it for whatever it looks like.
func argumentsOf(schema json.RawMessage) []openmanus.Argument {
	var s struct {
		Properties map[string]struct{ Format string }
	}
	var list []openmanus.Argument
	if json.Unmarshal(schema, &s) == nil {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			switch s.Properties[name].Format {
			case "uri", "iri", "url":
				list = append(list, openmanus.Argument{Name: name, Kind: openmanus.URLArgument, Does: openmanus.Sends})
			case "hostname", "idn-hostname", "ipv4", "ipv6":
				list = append(list, openmanus.Argument{Name: name, Kind: openmanus.HostArgument, Does: openmanus.Sends})
			}
		}
	}
	return append(list, openmanus.Argument{Name: "*", Does: openmanus.Sends})
}

// hints are what is believed of what a server says that its tool does.
func (l *link) hints(a *sdk.ToolAnnotations) openmanus.Hints {
	if !l.cfg.Trust || a == nil {
		return openmanus.Hints{}
	}
	h := openmanus.Hints{ReadOnly: a.ReadOnlyHint, Idempotent: a.IdempotentHint || a.ReadOnlyHint}
	h.Destructive = !h.ReadOnly && a.DestructiveHint != nil && *a.DestructiveHint
	return h
}
