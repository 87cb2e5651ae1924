package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// toolsCmd is openmanus tools.
type toolsCmd struct {
	Name  string `arg:"" optional:"" help:"Show all of this tool."`
	Agent string `help:"Those of this agent. Default: the configured one." placeholder:"NAME"`
	listing
}

// A toolInfo is a tool as this command lists it.
type toolInfo struct {
	openmanus.ToolSpec
	Varies bool `json:"varies,omitempty"` // the hints are those of the worst call
}

// configured implements the command.
func (c *toolsCmd) configured(_ context.Context, t *terminal, g *globals, cfg *config.Config) error {
	tm, name := t.host().ReadTeam(cfg.Run.Workspace, agents.Kinds()), cmp.Or(c.Agent, cfg.Run.Agent)
	kind, ok := tm.Find(name)
	if !ok {
		return tm.NoAgent(name)
	}
	a, err := t.host().Shown(cfg, kind)
	if err != nil {
		return err
	}
	infos := toolInfos(a)
	if c.Name != "" {
		return c.one(t, g, infos)
	}
	tb := &table{head: []string{"NAME", "WHAT IT MAY DO", "DESCRIPTION"}}
	for _, in := range infos {
		tb.add(in.Name, in.may(), firstLine(in.Description))
	}
	return c.print(t, g, infos, tb, "This agent has no tools.")
}

// one shows everything about the tool with the name.
func (c *toolsCmd) one(t *terminal, g *globals, infos []toolInfo) error {
	i := slices.IndexFunc(infos, func(in toolInfo) bool { return in.Name == c.Name })
	if i < 0 {
		var names []string
		for _, in := range infos {
			names = append(names, in.Name)
		}
		return usage(fmt.Errorf("there is no tool %q; there are %s", c.Name, strings.Join(names, ", ")))
	}
	if c.JSON {
		return t.printJSON(infos[i])
	}
	schema, err := json.MarshalIndent(infos[i].Input, "", "  ")
	if err != nil {
		return err
	}
	s := t.style(g)
	fmt.Fprintf(t.out, "%s  %s\n\n%s\n\n%s\n", s.Bold(clip.Plain(infos[i].Name)), s.Dim(infos[i].may()), clip.Plain(infos[i].Description), clip.Plain(string(schema)))
	return nil
}

// toolInfos describes the tools of an agent.
func toolInfos(a *openmanus.Agent) []toolInfo {
	infos := []toolInfo{}
	for i, spec := range a.Configured(0).Tools {
		_, varies := a.Tools[i].(openmanus.CallHinter)
		infos = append(infos, toolInfo{spec, varies})
	}
	return infos
}

// may describes what the calls of a tool may do.
func (in toolInfo) may() string {
	h := in.Hints
	var words []string
	add := func(yes bool, word string) {
		if yes {
			words = append(words, word)
		}
	}
	add(h.ReadOnly, "reads only")
	add(h.Edits, "edits files")
	add(h.Internal, "the session only")
	add(len(words) == 0 && !h.Final, "anything")
	add(h.Destructive, "may destroy")
	add(h.Final, "ends the work")
	add(h.Idempotent && !h.ReadOnly, "repeatable")
	add(in.Varies, "depends on the call")
	add(in.Deferred, "found on demand")
	return strings.Join(words, ", ")
}

// firstLine returns the first line of text that is not blank.
func firstLine(text string) string {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			return l
		}
	}
	return ""
}
