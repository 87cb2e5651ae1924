package served

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/server"
)

// localUser is the user of a server that has no others.
const localUser = host.LocalUser

// shortKey is how many characters of a decision's key name it.
const shortKey = 16

// Settings implements [server.Administrator]. It has no secret: of a key it says whether
// it is set, and where.
func (h Host) Settings(ctx context.Context) (server.Settings, error) {
	s := server.Settings{File: h.File, Models: []server.ModelSetting{}, Providers: h.providers(), Servers: []server.ServerSetting{},
		Decisions: []server.DecisionSetting{}}
	models, _ := host.ListModels(ctx, h.Config) // an empty list says that there is no model
	for _, m := range models {
		s.Models = append(s.Models, h.modelSetting(m))
	}
	s.Found = h.foundEndpoint(ctx)
	var err error
	if s.Servers, err = h.Servers(ctx); err != nil {
		return s, err
	}
	decisions, err := h.Memory().All()
	if err != nil {
		return s, err
	}
	for _, d := range slices.Backward(decisions) {
		s.Decisions = append(s.Decisions, server.DecisionSetting{ID: d.Key[:min(shortKey, len(d.Key))], Allow: d.Allow, Tool: d.Tool, What: d.What,
			Workspace: d.Workspace, By: d.By, At: d.At})
	}
	s.Users, s.Hooks, s.Triggers = h.userSettings(), h.hookSettings(), h.triggerSettings()
	s.Storage = server.StorageSetting{Directory: h.Config.DataDir, Bytes: sizeOf(ctx, h.Config.DataDir)}
	if of, err := h.Host.Storage(ctx); err == nil { // a store without snapshots cannot say
		s.Storage.Events, s.Storage.Outputs, s.Storage.Snapshots, s.Storage.MaxSize = of.Database, of.Blobs, of.Snapshots, of.MaxSize
	}
	return s, nil
}

// userSettings returns the users, without their tokens. Without configured users it is the
// one local user.
func (h Host) userSettings() []server.UserSetting {
	all := []server.UserSetting{}
	for _, name := range h.Config.UserNames() {
		u := h.Config.Users[name]
		v := server.UserSetting{Name: name, Admin: u.Admin, Approve: u.Approve, Token: h.Config.Origin("users." + name + ".token").String()}
		if u.TokenEnv != "" {
			v.Token = u.TokenEnv
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		all = append(all, server.UserSetting{Name: localUser, Admin: true, Approve: openmanus.ApproveAll, Token: filepath.Join(h.Config.DataDir, "serve.token")})
	}
	return all
}

// hookSettings returns the hooks of the configuration. Only the host of an address is
// shown, because paths often hold secrets.
func (h Host) hookSettings() []server.HookSetting {
	all := []server.HookSetting{}
	for _, c := range h.Config.Hooks {
		v := server.HookSetting{Name: c.Name, On: c.On, Decides: strings.HasPrefix(c.On, "before_"), Command: c.Run, Tools: c.Tools, Source: c.Source.String()}
		if u, err := url.Parse(c.URL); err == nil {
			v.Host = u.Host
		}
		all = append(all, v)
	}
	return all
}

// triggerSettings returns the triggers, without their secrets.
func (h Host) triggerSettings() []server.TriggerSetting {
	all := []server.TriggerSetting{}
	for _, name := range h.Config.TriggerNames() {
		c := h.Config.Triggers[name]
		all = append(all, server.TriggerSetting{Name: name, Signature: c.Signature, Path: server.TriggerPath + name, When: c.When,
			User: cmp.Or(c.User, localUser), Source: h.Config.Origin("triggers." + name + ".signature").String()})
	}
	return all
}

// UseModel implements [server.Administrator]. It writes the choice into the configuration
// file, and new sessions use the model from then on. Sessions that exist keep theirs.
func (h Host) UseModel(ctx context.Context, name string) error {
	if h.File == "" {
		return errors.New("this server has no configuration file to save it in")
	}
	all, _ := host.ListModels(ctx, h.Config) // an empty list says that there is no model
	if !slices.ContainsFunc(all, func(m host.ListedModel) bool { return m.Name == name && !m.Default && m.Err == nil }) {
		return &server.FieldError{Field: "name", Err: server.Absent(fmt.Sprintf("there is no other model %q that can be used", name))}
	}
	if err := config.UseModel(h.File, name, h.Lookup, providers.All()); err != nil {
		return err
	}
	next, err := h.Load(h.From)
	if err != nil {
		return err
	}
	h.Config.Adopt(next)
	if got, err := next.Model(""); err == nil && got.Profile != name && got.String() != name {
		return errors.New("it was saved, and is not used: " + next.Origin("run.model").String() + " names another model")
	}
	return nil
}

// foundEndpoint returns the endpoint that is named without a model, with the models that it
// lists; nil if there is none.
func (h Host) foundEndpoint(ctx context.Context) *server.FoundEndpoint {
	at, ok := h.Config.Nameless()
	if !ok {
		return nil
	}
	f := &server.FoundEndpoint{Address: at.Address(), Source: at.BaseAt.String(), Models: []string{}}
	if at.Key != "" {
		f.KeyFrom = at.KeyAt.String()
	}
	names, err := host.ModelsAt(ctx, at)
	if err != nil {
		f.Error = h.Secrets.Replace(err.Error())
	}
	f.Models = append(f.Models, names...)
	return f
}

// modelSetting describes a model without its key. A model that cannot be used has the
// error.
func (h Host) modelSetting(m host.ListedModel) server.ModelSetting {
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
	for _, f := range h.Config.Facts(m.Model) {
		v.Learned = append(v.Learned, server.LearnedSetting{What: f.Key, Value: f.Value, From: f.From, At: f.At, Why: h.Secrets.Replace(f.Why)})
	}
	return v
}

// providers returns the providers that need no more than a key, which the page can set up.
// Those with credentials of a cloud are left out.
func (h Host) providers() []server.ProviderSetting {
	list := []server.ProviderSetting{}
	all := providers.All()
	for _, p := range all {
		if p.Script || p.BaseURL == "" && !p.Local {
			continue
		}
		v := server.ProviderSetting{Name: p.Name, Title: cmp.Or(p.Title, p.Name), KeyPage: p.KeyPage, Suggested: cmp.Or(p.Suggested, p.DefaultModel), NeedsKey: !p.Local, Default: p.Name == all.Default().Name}
		for _, name := range p.KeyVars {
			if v.KeyFrom == "" && config.KeyIn(h.Lookup, name) != "" {
				v.KeyFrom = name
			}
		}
		list = append(list, v)
	}
	return list
}

// sizeOf returns the bytes of the files below a directory. Files that cannot be read do not
// count.
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

// CheckModel implements [server.Administrator]. It sends real requests, which may cost
// something. The error is free of secrets.
func (h Host) CheckModel(ctx context.Context, name string) (server.ModelChecked, error) {
	if name == "default" {
		name = ""
	}
	c := host.CheckModel(ctx, h.Config, name)
	return server.ModelChecked{OK: c.OK, Model: c.Model, First: c.First, Whole: c.Whole, Tools: c.Tools, Vision: c.Vision,
		Error: h.Secrets.Replace(c.Error), Kind: string(c.Kind)}, nil
}

// SetUp implements [server.Administrator]. It writes the model and its key into the
// configuration file. A fault of the input names the field, and nothing is written.
func (h Host) SetUp(ctx context.Context, m server.NewModel) error {
	all := providers.All()
	p := all.Named(strings.ToLower(m.Provider))
	switch {
	case h.File == "":
		return errors.New("this server has no configuration file to save the model in")
	case m.BaseURL != "":
		m.BaseURL, _ = provider.WithoutCall(m.BaseURL)
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
	set := config.NewModel{Model: name, BaseURL: m.BaseURL, Key: config.Secret(config.BareKey(m.Key))}
	if at, ok := h.Config.Nameless(); ok && set.Key == "" && at.Address() == m.BaseURL && at.KeyAt.From == config.Environment {
		set.KeyEnv = at.KeyAt.Name // a file's address gets no key from the environment unless the file says so
	}
	err := h.Host.SetUp(ctx, h.From, h.File, p, set)
	switch {
	case err == nil:
		return nil
	case llm.KindOf(err) == llm.Auth:
		return &server.FieldError{Field: "key", Err: errors.New(h.Secrets.Replace(err.Error()))}
	}
	return &server.FieldError{Field: "model", Err: errors.New(h.Secrets.Replace(err.Error()))}
}

// Forget implements [server.Administrator]. id is the beginning of the decision's key, as
// Settings shows it.
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
	return &server.FieldError{Field: "path.id", Err: server.Absent("there is no such decision any more")}
}

// Sandbox implements [server.Administrator]. Where commands cannot run, the text says why.
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
