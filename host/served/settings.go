package served

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/server"
)

// shortKey is how many characters of a decision's key name it.
const shortKey = 16

// Settings implements [server.Administrator].
func (h Host) Settings(ctx context.Context) (server.Settings, error) {
	s := server.Settings{File: h.File, Models: []server.ModelSetting{}, Providers: h.providers(), Servers: []server.ServerSetting{},
		Decisions: []server.DecisionSetting{}}
	models, _ := host.ListModels(ctx, h.Config) // an empty list says that there is no model
	for _, m := range models {
		s.Models = append(s.Models, modelSetting(m))
	}
	approved := host.Approvals(h.Config)
	for _, c := range h.Servers {
		shown := host.ServerConfig(c)
		ok, err := approved.Approved(shown.ID)
		if err != nil {
			return s, err
		}
		s.Servers = append(s.Servers, server.ServerSetting{Name: c.Name, Shown: shown.Shown(), Hash: shown.ID, Source: c.Source.String(),
			Found: c.Found, Approved: ok || !c.Found, Disabled: c.Disabled})
	}
	decisions, err := h.Memory().All()
	if err != nil {
		return s, err
	}
	for _, d := range slices.Backward(decisions) {
		s.Decisions = append(s.Decisions, server.DecisionSetting{ID: d.Key[:min(shortKey, len(d.Key))], Allow: d.Allow, Tool: d.Tool, What: d.What,
			Workspace: d.Workspace, By: d.By, At: d.At})
	}
	s.Storage = server.StorageSetting{Directory: h.Config.DataDir, Bytes: sizeOf(ctx, h.Config.DataDir)}
	return s, nil
}

// modelSetting describes a model without its key.
func modelSetting(m host.ListedModel) server.ModelSetting {
	v := server.ModelSetting{Name: m.Name, Default: m.Default, Source: m.Source, Key: "missing"}
	if m.Err != nil {
		v.Error = m.Err.Error()
		return v
	}
	v.Model, v.Address = m.Model.String(), m.Model.BaseURL
	switch {
	case m.Model.Key != "":
		v.Key, v.KeyFrom = "set", m.Model.KeyAt.String()
	case m.Model.Provider != nil && (m.Model.Provider.Local || m.Model.Provider.Script || len(m.Model.Provider.KeyVars) == 0):
		v.Key = "not needed"
	}
	return v
}

// providers returns the providers that need no more than a key.
func (h Host) providers() []server.ProviderSetting {
	list := []server.ProviderSetting{}
	all := providers.All()
	for _, p := range all {
		if p.Script || p.BaseURL == "" && !p.Local {
			continue
		}
		v := server.ProviderSetting{Name: p.Name, Suggested: cmp.Or(p.Suggested, p.DefaultModel), NeedsKey: !p.Local, Default: p.Name == all.Default().Name}
		for _, name := range p.KeyVars {
			if v.KeyFrom == "" && h.Getenv(name) != "" {
				v.KeyFrom = name
			}
		}
		list = append(list, v)
	}
	return list
}

// sizeOf returns the bytes of the files below a directory. What cannot be read does not count.
func sizeOf(ctx context.Context, dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// CheckModel implements [server.Administrator].
func (h Host) CheckModel(ctx context.Context, name string) (server.ModelChecked, error) {
	if name == "default" {
		name = ""
	}
	c := host.CheckModel(ctx, h.Config, name)
	return server.ModelChecked{OK: c.OK, Model: c.Model, First: c.First, Whole: c.Whole, Tools: c.Tools, Vision: c.Vision,
		Error: h.Secrets.Replace(c.Error), Kind: string(c.Kind)}, nil
}

// SetUp implements [server.Administrator].
func (h Host) SetUp(ctx context.Context, m server.NewModel) error {
	all := providers.All()
	p := all.Named(strings.ToLower(m.Provider))
	switch {
	case h.File == "":
		return errors.New("this server has no configuration file to save the model in")
	case m.BaseURL != "":
		if err := provider.CheckURL(m.BaseURL); err != nil {
			return &server.FieldError{Field: "base_url", Err: err}
		}
		if p = all.At(m.BaseURL); p == nil {
			p = all.Compatible()
		}
	case p == nil || p.Script:
		return &server.FieldError{Field: "provider", Err: fmt.Errorf("there is no provider %q", m.Provider)}
	}
	name := p.ModelName(strings.TrimPrefix(strings.TrimSpace(m.Model), p.Name+"/"))
	err := h.Host.SetUp(ctx, h.From, h.File, p, config.NewModel{Model: name, BaseURL: m.BaseURL, Key: config.Secret(strings.TrimSpace(m.Key))})
	switch {
	case err == nil:
		return nil
	case llm.KindOf(err) == llm.Auth:
		return &server.FieldError{Field: "key", Err: errors.New(h.Secrets.Replace(err.Error()))}
	}
	return &server.FieldError{Field: "model", Err: errors.New(h.Secrets.Replace(err.Error()))}
}

// server returns the MCP server with the name.
func (h Host) server(name string) (config.MCPServer, error) {
	for _, s := range h.Servers {
		if s.Name == name {
			return s, nil
		}
	}
	return config.MCPServer{}, &server.FieldError{Field: "name", Err: fmt.Errorf("there is no MCP server %q", name)}
}

// ApproveServer implements [server.Administrator].
func (h Host) ApproveServer(_ context.Context, name, hash string) error {
	s, err := h.server(name)
	if err != nil {
		return err
	}
	c := host.ServerConfig(s)
	if c.ID != hash {
		return &server.FieldError{Field: "hash", Err: errors.New("the server is not the one that was shown: look again")}
	}
	return host.Approvals(h.Config).Approve(c)
}

// TestServer implements [server.Administrator].
func (h Host) TestServer(ctx context.Context, name string) ([]server.ToolInfo, error) {
	s, err := h.server(name)
	if err != nil {
		return nil, err
	}
	if ok, err := host.Approvals(h.Config).Approved(host.ServerConfig(s).ID); err != nil || s.Found && !ok {
		return nil, errors.Join(err, &server.FieldError{Field: "name", Err: errors.New("the server was found in a workspace and is not approved")})
	}
	st, err := h.TryServer(ctx, s)
	if err != nil {
		return nil, errors.New(h.Secrets.Replace(err.Error()))
	}
	tools := []server.ToolInfo{}
	for _, t := range st.Tools {
		tools = append(tools, server.ToolInfo{Name: t.Original, Description: t.Description})
	}
	return tools, nil
}

// Forget implements [server.Administrator].
func (h Host) Forget(_ context.Context, id string) error {
	all, err := h.Memory().All()
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.Key[:min(shortKey, len(d.Key))] == id {
			return h.Memory().Forget(d)
		}
	}
	return &server.FieldError{Field: "path.id", Err: errors.New("there is no such decision any more")}
}

// Sandbox implements [server.Administrator].
func (h Host) Sandbox(ctx context.Context) (string, error) {
	o, err := h.Host.Sandbox(h.Config, h.Config.Run.Workspace, h.Config.Sandbox.Kind)
	if err != nil {
		return "", err
	}
	text, err := sandbox.Explain(ctx, o)
	if err != nil {
		return "Commands cannot run: " + err.Error(), nil
	}
	return text, nil
}
