package main

import (
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/agents"
)

// agentsCmd is openmanus agents.
type agentsCmd struct {
	listing
}

// agentInfo is what is known of an agent.
type agentInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
	Default     bool     `json:"default"`
}

// Run implements the command.
func (c *agentsCmd) Run(t *terminal, g *globals) error {
	cfg, err := t.load(g, map[string]string{})
	if err != nil {
		return err
	}
	infos := []agentInfo{}
	tb := &table{head: []string{"NAME", "DEFAULT", "TOOLS", "DESCRIPTION"}}
	for _, k := range agents.Kinds() {
		in := agentInfo{Name: k.Name, Description: k.Description, Tools: []string{}, Default: k.Name == cfg.Run.Agent}
		list, err := t.toolsOf(cfg, k.Name)
		if err != nil {
			return err
		}
		for _, tool := range list {
			in.Tools = append(in.Tools, tool.Name)
		}
		infos = append(infos, in)
		tb.add(in.Name, map[bool]string{true: "yes"}[in.Default], fmt.Sprint(len(in.Tools)), in.Description)
	}
	return c.print(t, g, infos, tb, "There are no agents.")
}

// noAgent is the error for an agent that there is none of.
func noAgent(name string) error {
	var names []string
	for _, k := range agents.Kinds() {
		names = append(names, k.Name)
	}
	return usage(fmt.Errorf("there is no agent %q; there is %s", name, strings.Join(names, ", ")))
}
