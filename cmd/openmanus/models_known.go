package main

import (
	"context"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/llm/catalogue"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// modelsKnownCmd is openmanus models known.
type modelsKnownCmd struct {
	Name string `arg:"" optional:"" help:"Only what is known of this model." placeholder:"PROVIDER/NAME"`
	listing
}

// A knownModel is an entry of the catalogue.
type knownModel struct {
	Pattern         string  `json:"pattern"`
	Window          int     `json:"window,omitempty"`
	Output          int     `json:"output,omitempty"`
	PriceIn         float64 `json:"price_in,omitempty"` // USD per million tokens
	PriceOut        float64 `json:"price_out,omitempty"`
	PriceCached     float64 `json:"price_cached,omitempty"`
	PriceCacheWrite float64 `json:"price_cache_write,omitempty"`
	Vision          bool    `json:"vision"`
	Tools           bool    `json:"tools"`
	Reasoning       bool    `json:"reasoning"`
	Refuses         string  `json:"refuses,omitempty"`

	Tiers []knownTier `json:"tiers,omitempty"` // what long requests cost
	Day   string      `json:"day,omitempty"`   // when the figures were compared
	By    string      `json:"by,omitempty"`    // the tables that agree on them
}

// A knownTier is what all tokens of a request cost that has more than Above tokens.
type knownTier struct {
	Above           int     `json:"above"`
	PriceIn         float64 `json:"price_in"`
	PriceOut        float64 `json:"price_out"`
	PriceCached     float64 `json:"price_cached,omitempty"`
	PriceCacheWrite float64 `json:"price_cache_write,omitempty"`
}

// Run implements the command.
func (c *modelsKnownCmd) Run(_ context.Context, t *terminal, g *globals) error {
	lines := catalogue.All()
	if c.Name != "" {
		p, name := providers.All().Split(c.Name)
		m, found := catalogue.Model{}, false
		if p != nil {
			m, found = catalogue.Find(p, name)
		}
		if !found {
			return usage(fmt.Errorf("the catalogue does not know %s: describe it in the configuration, under [models.%q]", c.Name, c.Name))
		}
		lines = []catalogue.Model{m}
	}
	infos := []knownModel{}
	tb := &table{head: []string{"NAME", "WINDOW", "OUTPUT", "IN", "OUT", "CACHED", "WRITE", "CAN", "OF", "FROM"}}
	usd := func(m int64) string {
		if m == 0 {
			return "?"
		}
		return fmt.Sprintf("$%g", perMillion(openmanus.Money(m)))
	}
	for _, m := range lines {
		var tiers []knownTier
		in, out := usd(m.PriceIn), usd(m.PriceOut)
		for _, tier := range m.Tiers {
			per := func(m int64) float64 { return perMillion(openmanus.Money(m)) }
			tiers = append(tiers, knownTier{tier.Above, per(tier.PriceIn), per(tier.PriceOut), per(tier.PriceCached), per(tier.PriceCacheWrite)})
			in += fmt.Sprintf(", above %s %s", short(tier.Above), usd(tier.PriceIn))
			out += fmt.Sprintf(", above %s %s", short(tier.Above), usd(tier.PriceOut))
		}
		infos = append(infos, knownModel{m.Pattern, m.Window, m.Output, perMillion(openmanus.Money(m.PriceIn)), perMillion(openmanus.Money(m.PriceOut)),
			perMillion(openmanus.Money(m.PriceCached)), perMillion(openmanus.Money(m.PriceCacheWrite)), m.Vision, m.Tools, m.Reasoning, m.Refuses, tiers, m.Day, m.By})
		i := host.InfoOf(m)
		can := modelInfo{Window: m.Window, Vision: i.Vision, Tools: i.Tools, Reasoning: i.Reasoning}
		output := modelInfo{Window: m.Output}
		tb.add(m.Pattern, can.window(), output.window(), in, out, usd(m.PriceCached), usd(m.PriceCacheWrite), can.can(), m.Day, m.By)
	}
	if err := c.print(t, g, infos, tb, ""); err != nil || c.JSON {
		return err
	}
	fmt.Fprintln(t.err, "Prices are for a million tokens, as public tables had them on the day that is named; [models] in the configuration overrides them.")
	if old := catalogue.Old(time.Now()); len(old) > 0 {
		fmt.Fprintf(t.err, "! the figures of %d models are older than 90 days: openmanus update\n", len(old))
	}
	return nil
}
