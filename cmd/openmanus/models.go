package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// modelsCmd is openmanus models.
type modelsCmd struct {
	List  modelsListCmd  `cmd:"" default:"withargs" help:"List the configured models."`
	Check modelsCheckCmd `cmd:"" help:"Ask each configured model one short question, and report what works."`
	Probe modelsProbeCmd `cmd:"" help:"Ask the endpoint of a model what it says of itself, and remember it."`
	Known modelsKnownCmd `cmd:"" help:"List what the catalogue knows about models: context windows, prices and abilities."`
}

// modelsListCmd is openmanus models list.
type modelsListCmd struct {
	listing
}

// A modelInfo is a configured model as this command lists it.
type modelInfo struct {
	Name            string   `json:"name"`  // by which --model asks for it
	Model           string   `json:"model"` // PROVIDER/NAME
	Default         bool     `json:"default"`
	Source          string   `json:"source"` // where it is set up
	Provider        string   `json:"provider"`
	Endpoint        string   `json:"endpoint"`
	Key             string   `json:"key"` // where it comes from; "" if there is none
	Window          int      `json:"window,omitempty"`
	Output          int      `json:"output,omitempty"`
	PriceIn         float64  `json:"price_in,omitempty"` // USD per million tokens
	PriceOut        float64  `json:"price_out,omitempty"`
	PriceCached     float64  `json:"price_cached,omitempty"`
	PriceCacheWrite float64  `json:"price_cache_write,omitempty"`
	Vision          *bool    `json:"vision,omitempty"`
	Tools           *bool    `json:"tools,omitempty"`
	Reasoning       *bool    `json:"reasoning,omitempty"`
	Refuses         string   `json:"refuses,omitempty"`
	Notes           []string `json:"notes,omitempty"`
	Error           string   `json:"error,omitempty"` // why it cannot be used

	Sources map[string]string `json:"sources,omitempty"` // where the values from window on come from
}

// configured implements the command.
func (c *modelsListCmd) configured(ctx context.Context, t *terminal, g *globals, cfg *config.Config) error {
	list, none := host.ListModels(ctx, cfg)
	infos := modelInfos(cfg, list)
	tb := &table{head: []string{"NAME", "MODEL", "KEY", "WINDOW", "PRICE IN/OUT", "CAN", "KNOWN FROM", "SOURCE", "ENDPOINT"}}
	for _, in := range infos {
		tb.add(in.Name, in.Model, in.key(), in.window(), in.price(), in.can(), in.knownFrom(), filepath.Base(in.Source), in.Endpoint)
	}
	empty := "No model is configured."
	if none != nil {
		empty = clip.Plain(none.Error())
	}
	if err := c.print(t, g, infos, tb, empty); err != nil || c.JSON {
		return err
	}
	if found := cfg.FoundText(); found != "" && none == nil && len(list) > 0 && !list[0].Model.Unnamed {
		fmt.Fprintf(t.err, "· %s\n", clip.Plain(found))
	}
	for _, in := range infos {
		for _, n := range in.Notes {
			fmt.Fprintf(t.err, "· %s: %s\n", in.Name, clip.Plain(n))
		}
		if in.Error != "" {
			fmt.Fprintf(t.err, "! %s: %s\n", in.Name, clip.Plain(in.Error))
		}
	}
	return nil
}

// modelInfos describes configured models.
func modelInfos(cfg *config.Config, list []host.ListedModel) []modelInfo {
	infos := []modelInfo{}
	for _, m := range list {
		in := newModelInfo(cfg, m.Name, m.Model, m.Err)
		in.Default, in.Source = m.Default, m.Source
		infos = append(infos, in)
	}
	return infos
}

func newModelInfo(cfg *config.Config, name string, m config.Model, err error) modelInfo {
	if err != nil {
		return modelInfo{Name: name, Error: err.Error()}
	}
	in := modelInfo{Name: name, Model: m.String(), Provider: m.Provider.Name, Endpoint: m.Address(),
		Window: m.Info.Window, Output: m.Info.Output, Notes: m.Notes,
		PriceIn: perMillion(m.Info.PriceIn), PriceOut: perMillion(m.Info.PriceOut), PriceCached: perMillion(m.Info.PriceCached), PriceCacheWrite: perMillion(m.Info.PriceCacheWrite),
		Vision: m.Info.Vision, Tools: m.Info.Tools, Reasoning: m.Info.Reasoning, Refuses: m.Info.Refuses, Sources: map[string]string{}}
	if told := cfg.Told(m); told != "" {
		in.Notes = append(slices.Clip(in.Notes), "its endpoint says: "+told)
	}
	for _, key := range infoKeys {
		if at := cfg.InfoAt(m, key); at != (config.Source{}) {
			in.Sources[key] = at.String()
		}
	}
	if m.Key != "" {
		in.Key = m.KeyAt.String()
	}
	return in
}

// infoKeys are the keys of a [models] section, in the order of the manual.
var infoKeys = []string{"window", "output", "price_in", "price_out", "price_cached", "price_cache_write", "vision", "tools", "reasoning", "refuses"}

// can lists the abilities of a model, a word for each that is known.
func (in modelInfo) can() string {
	var words []string
	for _, c := range []struct {
		word  string
		known *bool
	}{{"vision", in.Vision}, {"tools", in.Tools}, {"reasoning", in.Reasoning}} {
		switch {
		case c.known == nil:
		case *c.known:
			words = append(words, c.word)
		default:
			words = append(words, "no "+c.word)
		}
	}
	return cmp.Or(strings.Join(words, ", "), "?")
}

// knownFrom lists the sources of what is known about a model.
func (in modelInfo) knownFrom() string {
	var from []string
	for _, key := range infoKeys {
		if s := filepath.Base(in.Sources[key]); in.Sources[key] != "" {
			if strings.HasPrefix(in.Sources[key], string(config.Catalogued)) {
				s = string(config.Catalogued)
			} else if strings.HasPrefix(in.Sources[key], string(provider.Endpoint)) {
				s = string(provider.Endpoint)
			}
			if !slices.Contains(from, s) {
				from = append(from, s)
			}
		}
	}
	return strings.Join(from, ", ")
}

// perMillion converts the price of a token to US dollars per million tokens.
func perMillion(m openmanus.Money) float64 { return float64(m) / 1000 }

func (in modelInfo) key() string {
	switch {
	case in.Key != "":
		return filepath.Base(in.Key) // of a file, with its line
	case in.Error != "":
		return "?"
	}
	return "none"
}

func (in modelInfo) window() string {
	if in.Window == 0 {
		return "?"
	}
	return short(in.Window)
}

func (in modelInfo) price() string {
	if in.PriceIn == 0 && in.PriceOut == 0 {
		return "?"
	}
	return fmt.Sprintf("$%g/$%g per M", in.PriceIn, in.PriceOut)
}
