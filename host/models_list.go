package host

import (
	"context"
	"errors"
	"strconv"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm/catalogue"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// A ListedModel is a model that is set up.
type ListedModel struct {
	Name    string // by which users ask for it
	Model   config.Model
	Default bool   // whether sessions have it that name none
	Source  string // where it is set up
	Err     error  // why it cannot be used; Model is not set then
}

// ListModels returns the models that are set up: the default one, the profiles,
// and those that [models] of the configuration describes. If nothing names a
// default, the models of the Ollama on this machine take its place; if there is
// none either, the error says what to do.
func ListModels(ctx context.Context, cfg *config.Config) (list []ListedModel, none error) {
	m, err := cfg.Model("")
	if errors.Is(err, config.ErrNoModel) {
		list, none = ollamaModels(ctx, cfg)
	} else {
		list = append(list, ListedModel{Name: "default", Model: m, Default: true, Source: originOf(cfg, "run.model", "llm.model"), Err: err})
	}
	for _, name := range cfg.ProfileNames() {
		m, err := cfg.Model(name)
		list = append(list, ListedModel{Name: name, Model: m, Err: err,
			Source: originOf(cfg, "llm."+name+".model", "llm."+strconv.Quote(name)+".model", "llm.model")})
	}
	for _, name := range cfg.ModelNames() {
		if len(list) > 0 && list[0].Err == nil && list[0].Model.String() == name {
			continue
		}
		m, err := cfg.Model(name)
		list = append(list, ListedModel{Name: name, Model: m, Source: "[models]", Err: err})
	}
	return list, none
}

// ollamaModels returns the models of the Ollama on this machine. The first one
// is the default.
func ollamaModels(ctx context.Context, cfg *config.Config) (list []ListedModel, none error) {
	var names []string
	m, err := cfg.Choose(func(base string, key config.Secret) (_ []string, err error) {
		names, err = served(ctx, base, key)
		return names, err
	})
	if at, ok := cfg.Nameless(); ok { // of an endpoint that the configuration names
		if err == nil {
			list = []ListedModel{{Name: "default", Model: m, Default: true, Source: at.BaseAt.String()}}
		}
		return list, err
	}
	for i, n := range names {
		n = "ollama/" + n
		m, err := cfg.Model(n)
		list = append(list, ListedModel{Name: n, Model: m, Default: i == 0, Source: "Ollama", Err: err})
	}
	return list, err
}

// originOf returns where the first of the keys that is set was set.
func originOf(cfg *config.Config, keys ...string) string {
	for _, k := range keys {
		if cfg.Set(k) {
			return cfg.Origin(k).String()
		}
	}
	return string(config.Default)
}

// catalogued is what the catalogue knows of a model, for the configuration.
func catalogued(p *provider.Provider, name string) (config.Info, bool) {
	m, ok := catalogue.Find(p, name)
	if !ok {
		return config.Info{}, false
	}
	return InfoOf(m), true
}

// InfoOf returns an entry of the catalogue in the form of the configuration, so that both
// print alike.
func InfoOf(m catalogue.Model) config.Info {
	var tiers []openmanus.Prices
	for _, t := range m.Tiers {
		tiers = append(tiers, openmanus.Prices{Above: t.Above, Input: openmanus.Money(t.PriceIn), Output: openmanus.Money(t.PriceOut),
			Cached: openmanus.Money(t.PriceCached), CacheWrite: openmanus.Money(t.PriceCacheWrite)})
	}
	return config.Info{
		Window: m.Window, Output: m.Output,
		PriceIn: openmanus.Money(m.PriceIn), PriceOut: openmanus.Money(m.PriceOut),
		PriceCached: openmanus.Money(m.PriceCached), PriceCacheWrite: openmanus.Money(m.PriceCacheWrite),
		Vision: &m.Vision, Tools: &m.Tools, Reasoning: &m.Reasoning, Refuses: m.Refuses, Pattern: m.Pattern, Day: m.Day, Tiers: tiers,
	}
}
