package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/doctor"
)

// modelsProbeCmd is openmanus models probe.
type modelsProbeCmd struct {
	Name   string `arg:"" optional:"" help:"This model; without it the one of new sessions." placeholder:"NAME"`
	Forget bool   `help:"Drop what was learnt of the model."`
	listing
}

// Help is shown below the flags.
func (modelsProbeCmd) Help() string {
	return "It asks for the list of models, and pages such as llama.cpp's /props, which costs nothing. The smaller window of a refusal of this week and of the configuration counts first, then the rest of the configuration, then what the endpoint says, then the catalogue (openmanus models known). openmanus models check asks the model itself.\n\nAn endpoint that has no list of models may have told something by refusing a request: the command shows that, and says that it knows no more. If it knows nothing, it ends with exit code 2."
}

// A probed is what the command prints.
type probed struct {
	Model    string            `json:"model"`
	Endpoint string            `json:"endpoint"`
	Window   int               `json:"window,omitempty"`
	Output   int               `json:"output,omitempty"`
	Vision   *bool             `json:"vision,omitempty"`
	Tools    *bool             `json:"tools,omitempty"`
	Roles    string            `json:"roles,omitempty"`
	Thoughts string            `json:"thoughts"`        // the field in which reasoning goes back
	Wants    string            `json:"wants,omitempty"` // the field that the model's template reads it from
	Server   string            `json:"server,omitempty"`
	Sources  map[string]string `json:"sources"`
	Learned  []config.Fact     `json:"learned"`
	Models   []string          `json:"models"`
	Silent   string            `json:"silent,omitempty"` // why the endpoint says nothing of itself
}

// configured implements the command.
func (c *modelsProbeCmd) configured(ctx context.Context, t *terminal, g *globals, cfg *config.Config) error {
	if c.Forget {
		m, err := host.ForgetModel(ctx, cfg, c.Name)
		if err == nil {
			fmt.Fprintf(t.out, "Nothing is remembered of %s at %s any more.\n", clip.Plain(m.String()), clip.Plain(m.Address()))
		}
		return err
	}
	m, told, err := host.ProbeModel(ctx, cfg, c.Name)
	if err != nil {
		return usage(err)
	}
	p := newProbed(cfg, m, told)
	if c.JSON {
		return t.printJSON(p)
	}
	return c.show(t, g, p)
}

// newProbed describes what is known of m after its endpoint was asked.
func newProbed(cfg *config.Config, m config.Model, told doctor.Told) probed {
	in := newModelInfo(cfg, "", m, nil)
	p := probed{Model: in.Model, Endpoint: in.Endpoint, Window: in.Window, Output: in.Output, Vision: in.Vision, Tools: in.Tools, Roles: told.Roles,
		Thoughts: cmp.Or(m.Thoughts, "auto"), Wants: told.Wants, Server: told.Server, Sources: in.Sources, Learned: []config.Fact{}, Models: slices.Concat([]string{}, told.Models), Silent: told.Silent}
	if cfg.Learned != nil {
		p.Learned = append(p.Learned, cfg.Learned(m)...)
	}
	return p
}

// show prints p for people.
func (c *modelsProbeCmd) show(t *terminal, g *globals, p probed) error {
	tb := &table{head: []string{"WHAT", "IS", "KNOWN FROM"}}
	add := func(key, value string) { tb.add(key, value, cmp.Or(p.Sources[key], "-")) }
	number := func(n int) string {
		if n == 0 {
			return "?"
		}
		return fmt.Sprint(n)
	}
	can := func(b *bool) string {
		if b == nil {
			return "?"
		}
		return map[bool]string{true: "yes", false: "no"}[*b]
	}
	add("window", number(p.Window))
	add("output", number(p.Output))
	add("vision", can(p.Vision))
	add("tools", can(p.Tools))
	tb.add("roles", cmp.Or(p.Roles, "?"), map[bool]string{true: "endpoint: its /props", false: "-"}[p.Roles != ""])
	tb.add("thoughts", p.Thoughts, "llm.thoughts")
	if p.Wants != "" {
		tb.add("wants back", p.Wants, "endpoint: its /props")
	}
	if p.Server != "" {
		tb.add("server", clip.Plain(p.Server), "endpoint: its header Server")
	}
	fmt.Fprintf(t.out, "%s at %s\n", clip.Plain(p.Model), clip.Plain(p.Endpoint))
	if err := tb.print(t, g); err != nil {
		return err
	}
	if p.Silent != "" {
		fmt.Fprintf(t.err, "! %s\n", clip.Plain(p.Silent))
	}
	for _, f := range p.Learned {
		if f.Why != "" {
			fmt.Fprintf(t.err, "· %s: %s\n", f.Key, clip.Plain(f.Why))
		}
	}
	if name := strings.TrimPrefix(p.Model, "compat/"); len(p.Models) > 0 && !slices.Contains(p.Models, name) && !slices.Contains(p.Models, name+":latest") {
		fmt.Fprintf(t.err, "! it does not list %s; it has %s\n", clip.Plain(name), clip.Plain(strings.Join(p.Models[:min(12, len(p.Models))], ", ")))
	}
	return nil
}
