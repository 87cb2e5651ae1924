package host

import (
	"context"
	"errors"
	"os"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// TryNewModel asks a model that is not configured yet the question of [CheckModel], as it would be
// configured: with the environment of src and without any file. The error is that of the model,
// or of the configuration.
func TryNewModel(ctx context.Context, src config.Sources, m config.NewModel) error {
	set := map[string]string{"OPENMANUS_LLM_MODEL": m.Model, "OPENMANUS_LLM_BASE_URL": m.BaseURL, "OPENMANUS_LLM_API_KEY": string(m.Key),
		"OPENMANUS_MODEL": "", "OPENMANUS_RUN_MODEL": "", "OPENMANUS_BASE_URL": "", "OPENMANUS_RUN_BASE_URL": ""}
	empty, err := os.CreateTemp("", "openmanus-setup-*.toml")
	if err != nil {
		return err
	}
	defer os.Remove(empty.Name())
	if err := empty.Close(); err != nil {
		return err
	}
	env := src.Env
	src.File, src.Flags = empty.Name(), nil
	src.Env = func(name string) (string, bool) {
		if v, ours := set[name]; ours {
			return v, v != ""
		}
		if env == nil {
			return "", false
		}
		return env(name)
	}
	cfg, _, err := config.Load(src)
	if err != nil {
		return err
	}
	next, err := cfg.Model("")
	if err != nil {
		return mistake(err)
	}
	return new(ModelCheck).probe(ctx, next, new(endpointBook))
}

// SaveModel writes a model into the configuration file as the one of new sessions, with its key
// in the system's keyring if there is one. gone are the lines that were replaced, with keys
// masked; ringErr says why the keyring did not take the key, which is then in the file.
func (e Env) SaveModel(file string, p *provider.Provider, m config.NewModel) (inRing bool, gone []string, ringErr, err error) {
	if ring, ok := e.Keyring(); ok && m.Key != "" && m.KeyEnv == "" {
		if ringErr = ring.Set(p.Name, string(m.Key)); ringErr == nil {
			m.Key, inRing = config.Secret(config.InKeyring+p.Name), true
		}
	}
	gone, err = config.SetDefault(file, m, e.lookup, providers.All())
	return inRing, gone, ringErr, err
}

// SetUp tries a model, saves it in file, and makes it the one of this host's new sessions. src is
// where the host's configuration comes from. A model that does not answer is not saved.
func (h *Host) SetUp(ctx context.Context, src config.Sources, file string, p *provider.Provider, m config.NewModel) error {
	if m.Key != "" {
		h.Secrets.Add(p.Name+" key", string(m.Key)) // before anything can repeat it
	}
	if err := TryNewModel(ctx, h.Sources(src), m); err != nil {
		return err
	}
	if _, _, _, err := h.SaveModel(file, p, m); err != nil {
		return err
	}
	next, err := h.Load(src)
	if err != nil {
		return err
	}
	if got, err := next.Model(""); err == nil && got.String() != m.Model {
		return errors.New("it was saved, and is not used: " + next.Origin("run.model").String() + " names another model")
	}
	_, _, _ = ProbeModel(ctx, next, "") // what it says of itself is remembered, if it says something
	h.Config.Adopt(next)
	h.renewModels()
	return nil
}

// renewModels gives the agents that there are their models as they are configured now,
// such as with another key. Sessions that are driven take them when they go on. An
// agent whose model is no longer configured keeps the one that it has.
func (h *Host) renewModels() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.flows)
	for place := range h.chosen {
		if next, err := h.Config.ModelAt(place[0], place[1]); err == nil && next.Key != "" {
			h.chosen[place] = next
		}
	}
	for key, m := range h.agents {
		next := *m.agent
		next.Fallbacks = nil
		if err := h.configure(&next, next.Spec); err != nil {
			continue
		}
		next.Gate = m.agent.Gate // the same workspace and sandbox
		m.agent = &next
		h.agents[key] = m
	}
}
