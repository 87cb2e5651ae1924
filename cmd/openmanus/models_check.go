package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/llm"
)

// modelsCheckCmd is openmanus models check.
type modelsCheckCmd struct {
	Name string `arg:"" optional:"" help:"Only this model." placeholder:"NAME"`
	listing
}

// Help is shown below the flags.
func (modelsCheckCmd) Help() string {
	return "Each model is asked one short question, with a small image and a tool, which costs a little. Models that refuse an image are asked again without one."
}

// configured implements the command.
func (c *modelsCheckCmd) configured(ctx context.Context, t *terminal, g *globals, cfg *config.Config) error {
	names := append([]string{""}, cfg.ProfileNames()...)
	if c.Name != "" {
		names = []string{c.Name}
	}
	all := []host.ModelCheck{}
	tb := &table{head: []string{"NAME", "MODEL", "WORKS", "FIRST TOKEN", "STREAM", "TOOLS", "VISION", "CACHE", "ERROR"}}
	for _, name := range names {
		r := host.CheckModel(ctx, cfg, name)
		all = append(all, r)
		first := ""
		if r.First > 0 {
			first = fmt.Sprintf("%.0f ms", r.First)
		}
		tb.add(r.Name, r.Model, map[bool]string{true: "yes", false: "no"}[r.OK], first, r.Stream, r.Tools, r.Vision, r.Cache, r.Error)
	}
	if err := c.print(t, g, all, tb, ""); err != nil {
		return err
	}
	return verdict(all)
}

// verdict returns nil if all models work. A mistake in the configuration decides
// the exit code if there is one; otherwise a model failed.
func verdict(all []host.ModelCheck) error {
	isBad := func(r host.ModelCheck) bool { return !r.OK }
	if !slices.ContainsFunc(all, isBad) {
		return nil
	}
	code := exitFailed
	var bad []string
	for _, r := range all {
		if isBad(r) {
			bad = append(bad, r.Name+": "+r.Error)
		}
		if r.Kind == llm.Auth || r.Kind == llm.NoModel || r.Wrong || isBad(r) && r.Kind == "" {
			code = exitUsage
		}
	}
	return exit{code: code, err: errors.New(strings.Join(bad, "\n"))}
}
