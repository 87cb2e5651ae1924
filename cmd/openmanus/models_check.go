package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/config"
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

// checked is what came of asking a model.
type checked struct {
	Name   string   `json:"name"`
	Model  string   `json:"model"`
	OK     bool     `json:"ok"`
	First  float64  `json:"first_token_ms"` // 0 if nothing came
	Whole  float64  `json:"whole_ms"`
	Stream string   `json:"stream"` // yes, no, or ? where it does not show
	Tools  string   `json:"tools"`
	Vision string   `json:"vision"`
	Cache  string   `json:"cache"`
	Error  string   `json:"error,omitempty"`
	Kind   llm.Kind `json:"kind,omitempty"`
	wrong  bool     // nothing that is a model is at the address
}

// Run implements the command.
func (c *modelsCheckCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	cfg, err := t.load(g, map[string]string{})
	if err != nil {
		return err
	}
	names := append([]string{""}, cfg.ProfileNames()...)
	if c.Name != "" {
		names = []string{c.Name}
	}
	all := []checked{}
	tb := &table{head: []string{"NAME", "MODEL", "WORKS", "FIRST TOKEN", "STREAM", "TOOLS", "VISION", "CACHE", "ERROR"}}
	for _, name := range names {
		r := checkModel(ctx, cfg, name)
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

// verdict is nil if all models work; what has to be configured otherwise
// counts for more than what is down.
func verdict(all []checked) error {
	isBad := func(r checked) bool { return !r.OK }
	if !slices.ContainsFunc(all, isBad) {
		return nil
	}
	code := exitFailed
	var bad []string
	for _, r := range all {
		if isBad(r) {
			bad = append(bad, r.Name+": "+r.Error)
		}
		if r.Kind == llm.Auth || r.Kind == llm.NoModel || r.wrong || isBad(r) && r.Kind == "" {
			code = exitUsage
		}
	}
	return exit{code: code, err: errors.New(strings.Join(bad, "\n"))}
}

// checkModel asks the model with the name, or that of the run.
func checkModel(ctx context.Context, cfg *config.Config, name string) checked {
	r := checked{Name: name, Stream: "?", Tools: "?", Vision: "?", Cache: "?"}
	if name == "" {
		r.Name = "default"
	}
	m, err := cfg.Model(name)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Model = m.String()
	model, err := m.Open()
	if err != nil {
		r.Error = err.Error()
		return r
	}
	model = llm.Watchdog(model, time.Minute)
	withImage := m.Info.Vision == nil || *m.Info.Vision
	err = r.ask(ctx, model, withImage)
	var e *llm.Error
	if withImage && errors.As(err, &e) && e.Kind == llm.Protocol {
		withImage = false
		err = r.ask(ctx, model, false)
	}
	if !withImage {
		r.Vision = "no"
	}
	if r.OK = err == nil; err != nil {
		errors.As(err, &e)
		r.wrong = e != nil && e.Kind == llm.Network && e.Permanent
		r.Error, r.Kind = err.Error(), llm.KindOf(err)
	}
	return r
}

// ask asks once, and notes what can be seen of the reply.
func (r *checked) ask(ctx context.Context, model llm.Model, withImage bool) error {
	req := checkRequest(withImage)
	start, pieces := time.Now(), 0
	ms := func() float64 { return float64(time.Since(start).Microseconds()) / 1000 }
	r.First = 0
	reply, err := llm.Collect(ctx, model, req, func(d llm.Delta) {
		if d.Piece == nil {
			return
		}
		if pieces++; pieces == 1 {
			r.First = ms()
		}
	})
	r.Whole = ms()
	if err != nil {
		return err
	}
	yes := func(ok bool) string { return map[bool]string{true: "yes", false: "no"}[ok] }
	r.Stream = yes(pieces > 1)
	if pieces == 1 { // a short reply may come at once
		r.Stream = "?"
	}
	words := reply.Message.Text()
	r.Tools = "no"
	for _, call := range reply.Message.Calls() {
		r.Tools = yes(call.Name == "report" && json.Valid([]byte(call.Input)))
		words += call.Input
	}
	if withImage {
		r.Vision = yes(strings.Contains(strings.ToLower(words), "red"))
	}
	if reply.Usage.Cached > 0 || reply.Usage.CacheWrite > 0 {
		r.Cache = "yes"
	}
	return nil
}

func checkRequest(withImage bool) *llm.Request {
	question := "Call the tool report with the colour of the sky on a clear day."
	parts := llm.Parts{llm.Text{Text: question}}
	if withImage {
		parts = llm.Parts{llm.Text{Text: "Call the tool report with the colour of this image."}, llm.Blob{MIME: "image/png", Name: "colour.png", Data: redSquare()}}
	}
	return &llm.Request{
		System:   "You are being tried out. Be brief.",
		Messages: []llm.Message{{Role: llm.User, Parts: parts}},
		Fixed:    1,
		Tools: []llm.ToolSpec{{Name: "report", Description: "Say what you see.",
			Input: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"],"additionalProperties":false}`)}},
	}
}

func redSquare() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		img.Set(i%64, i/64, color.RGBA{R: 255, A: 255})
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // to memory, of an image that is one
	return b.Bytes()
}
