package served

import (
	"context"

	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/server"
)

// OwnAgents implements [server.AgentKeeper]. Files that cannot be used are listed too,
// with the error.
func (h Host) OwnAgents(_ context.Context) ([]server.AgentSetting, error) {
	files, err := h.AgentFiles()
	if err != nil {
		return nil, err
	}
	all := []server.AgentSetting{}
	listed := make(map[string]bool) // files of agents that can be used
	for _, k := range h.OwnTeam().Kinds {
		if k.Hidden {
			continue
		}
		in := h.agentSetting(k)
		for _, f := range files {
			if k.File != nil && f.Path == k.File.Path {
				in.File, in.Path, listed[f.File] = f.File, f.Path, true
				if f.Err != nil {
					in.Error = f.Err.Error()
				}
			}
		}
		all = append(all, in)
	}
	for _, f := range files {
		if !listed[f.File] && f.Err != nil {
			all = append(all, server.AgentSetting{Name: f.File, Tools: []string{}, File: f.File, Path: f.Path, Error: f.Err.Error()})
		}
	}
	return all, nil
}

// agentSetting describes an agent as it would be made: with the names of its tools, or the
// error that keeps it from being made.
func (h Host) agentSetting(k agents.Kind) server.AgentSetting {
	in := server.AgentSetting{Name: k.Name, Description: k.Description, Tools: []string{}, Default: k.Name == h.Config.Run.Agent}
	built, ok := agents.Find(k.Name)
	in.BuiltIn = ok
	if ok && !built.Bare {
		in.File = k.Name + ".md"
	}
	if k.File != nil {
		in.Model = k.File.Model
	}
	a, err := h.Shown(h.Config, k)
	if err != nil {
		in.Error = err.Error()
		return in
	}
	for _, tool := range a.Tools {
		in.Tools = append(in.Tools, tool.Spec().Name)
	}
	return in
}

// ReadAgent implements [server.AgentKeeper].
func (h Host) ReadAgent(_ context.Context, file string) (server.AgentText, error) {
	f, err := h.AgentFile(file)
	return server.AgentText{Text: f.Text, Hash: f.Hash}, err
}

// WriteAgent implements [server.AgentKeeper].
func (h Host) WriteAgent(_ context.Context, file string, t server.AgentText) error {
	return h.Host.WriteAgent(file, t.Text, t.Hash)
}

// RemoveAgent implements [server.AgentKeeper].
func (h Host) RemoveAgent(_ context.Context, file, hash string) error {
	return h.Host.RemoveAgent(file, hash)
}
