package main

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
)

// agentsCmd is openmanus agents.
type agentsCmd struct {
	listing
}

// An agentInfo is an agent as this command lists it.
type agentInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
	Tokens      int      `json:"tokens"` // of its instructions and tools, in every request
	Default     bool     `json:"default"`
	From        string   `json:"from"`            // built in, user or workspace
	Path        string   `json:"path,omitempty"`  // of its file
	Model       string   `json:"model,omitempty"` // if it has one of its own
	Error       string   `json:"error,omitempty"` // why it cannot be used here
}

// Help is more of the command.
func (agentsCmd) Help() string {
	return `Besides the built-in agents there are your own: agents/NAME.md in the workspace, or in your configuration directory (openmanus config path). There, a file with the name of a built-in agent replaces its instructions: agents/manus.md. A file has front matter between two lines ---, with any of

  name, description   (the name of the file, if there is none)
  model               PROVIDER/NAME or a profile
  tools               names of tools; default: those of manus
  agents              the agents that it may give work to
  approve             ask, edits, all or readonly
  max_steps, budget_tokens, max_cost, timeout

and below it the instructions of the agent. In agents/NAME.toml these are keys, and instructions is one more. A file of the workspace never allows more than the run does: the stricter approve and limits apply, and its model must be of the same provider.`
}

// configured implements the command. An agent whose file is wrong is listed with the error, so
// that its author sees why it cannot be used.
func (c *agentsCmd) configured(_ context.Context, t *terminal, g *globals, cfg *config.Config) error {
	tm := t.host().ReadTeam(cfg.Run.Workspace, append(agents.Kinds(), t.host().RemoteKinds(cfg)...))
	t.host().WarnOf(tm)
	infos := []agentInfo{}
	tb := &table{head: []string{"NAME", "DEFAULT", "TOOLS", "TOKENS", "FROM", "DESCRIPTION"}}
	for _, k := range tm.Kinds {
		if k.Hidden {
			continue
		}
		in := agentInfo{Name: k.Name, Description: k.Description, Tools: []string{}, Default: k.Name == cfg.Run.Agent, From: "built in"}
		if k.File != nil {
			in.From, in.Path, in.Model = k.File.From, k.File.Path, k.File.Model
		}
		if k.Wrap != nil {
			in.From = "elsewhere"
		}
		a, err := t.host().Shown(cfg, k)
		if err != nil {
			in.Error = err.Error()
		} else {
			for _, tool := range a.Tools {
				in.Tools = append(in.Tools, tool.Spec().Name)
			}
			in.Tokens = host.HeadTokens(a)
		}
		infos = append(infos, in)
		tb.add(in.Name, map[bool]string{true: "yes"}[in.Default], fmt.Sprint(len(in.Tools)), fmt.Sprint(in.Tokens), in.From, in.Description)
	}
	return c.print(t, g, infos, tb, "There are no agents.")
}
