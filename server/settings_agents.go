package server

import (
	"context"
	"errors"
	"io/fs"

	"github.com/danielgtaylor/huma/v2"
)

// An AgentKeeper keeps the files in which the user defines agents. Agents of workspaces are
// not among them. A fault of a text is an [act.Error] of
// name, text, model, tools or agents, and a [act.Conflict] if the file has another hash.
type AgentKeeper interface {
	// OwnAgents lists the agents of the program, and the user's files.
	OwnAgents(ctx context.Context) ([]AgentSetting, error)

	// ReadAgent returns a file or, for that of a built-in agent that there is none of, the text
	// to begin with. The error is [fs.ErrNotExist] otherwise.
	ReadAgent(ctx context.Context, file string) (AgentText, error)

	// WriteAgent replaces a file that has the hash, after it has been checked, and makes it
	// if the hash is empty.
	WriteAgent(ctx context.Context, file string, t AgentText) error

	// RemoveAgent removes a file that has the hash.
	RemoveAgent(ctx context.Context, file, hash string) error
}

// An AgentSetting is an agent as the settings show it.
type AgentSetting struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
	Model       string   `json:"model,omitempty" doc:"If it has one of its own."`
	Default     bool     `json:"default,omitempty"`
	BuiltIn     bool     `json:"built_in" doc:"It comes with the program."`
	File        string   `json:"file,omitempty" doc:"The name under which it can be read and written; none: it cannot."`
	Path        string   `json:"path,omitempty" doc:"Of the user's file, if there is one."`
	Error       string   `json:"error,omitempty" doc:"Why the file cannot be used."`
}

// An AgentText is the file of an agent.
type AgentText struct {
	Text string `json:"text" maxLength:"262144" doc:"Markdown with front matter or, in NAME.toml, TOML."`
	Hash string `json:"hash,omitempty" maxLength:"100" doc:"Of the file as it was read; none: there is no such file yet."`
}

type (
	agentFile struct {
		File string `path:"file" maxLength:"100" doc:"NAME.md or NAME.toml."`
	}
	agentToWrite struct {
		File string `path:"file" maxLength:"100" doc:"NAME.md or NAME.toml."`
		Body AgentText
	}
	agentToRemove struct {
		File string `path:"file" maxLength:"100" doc:"NAME.md or NAME.toml."`
		Hash string `query:"hash" maxLength:"100"`
	}
)

// agentRoutes registers the operations on agents.
func (s *Server) agentRoutes(options ...option) {
	noContent := append(options, status(204))
	const at = "/api/v1/settings/agents"
	administrators(s, "GET "+at, "list-own-agents", "List the program's agents and the user's files of agents", func(ctx context.Context, a Administrator, _ *struct{}) (*list[AgentSetting], error) {
		all, err := a.OwnAgents(ctx)
		return listOf(all), err
	}, options...)
	administrators(s, "GET "+at+"/{file}", "read-agent", "Read the file of an agent", func(ctx context.Context, a Administrator, in *agentFile) (*body[AgentText], error) {
		v, err := a.ReadAgent(ctx, in.File)
		return &body[AgentText]{v}, agentProblem(err)
	}, options...)
	administrators(s, "PUT "+at+"/{file}", "write-agent", "Write the file of an agent, if it has no mistake", func(ctx context.Context, a Administrator, in *agentToWrite) (*struct{}, error) {
		return nil, agentProblem(a.WriteAgent(ctx, in.File, in.Body))
	}, noContent...)
	administrators(s, "DELETE "+at+"/{file}", "remove-agent", "Remove the file of an agent", func(ctx context.Context, a Administrator, in *agentToRemove) (*struct{}, error) {
		return nil, agentProblem(a.RemoveAgent(ctx, in.File, in.Hash))
	}, noContent...)
}

// agentProblem converts the errors of an [AgentKeeper].
func agentProblem(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return huma.Error404NotFound("there is no such agent")
	}
	return mendable(err)
}
