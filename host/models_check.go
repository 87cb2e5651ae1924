package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
)

// A ModelCheck is what a short question to a model showed of it.
type ModelCheck struct {
	Name   string   `json:"name"`
	Model  string   `json:"model"`
	OK     bool     `json:"ok"`
	First  float64  `json:"first_token_ms"` // 0 if there was none
	Whole  float64  `json:"whole_ms"`
	Stream string   `json:"stream"` // "yes", "no", or "?" if the reply does not show it
	Tools  string   `json:"tools"`
	Vision string   `json:"vision"`
	Cache  string   `json:"cache"`
	Error  string   `json:"error,omitempty"`
	Kind   llm.Kind `json:"kind,omitempty"`
	Wrong  bool     `json:"-"` // nothing that serves models is at the address
}

// CheckModel asks the model with the name, or the default model if it is "", one
// short question with an image and a tool. A model that refuses the image is
// asked again without it. A model that sends nothing for a minute has failed.
func CheckModel(ctx context.Context, cfg *config.Config, name string) ModelCheck {
	r := ModelCheck{Name: name, Stream: "?", Tools: "?", Vision: "?", Cache: "?"}
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
	if r.OK = err == nil; r.OK {
		_, _, _ = ProbeModel(ctx, cfg, name) // what it says of itself is remembered, if it says something
	} else {
		errors.As(err, &e)
		r.Wrong = e != nil && e.Kind == llm.Network && e.Permanent
		r.Error, r.Kind = err.Error(), llm.KindOf(err)
	}
	return r
}

// TryModel asks the model of the run a short question, to see whether it answers. The
// error is that of the model, or of the configuration.
func TryModel(ctx context.Context, cfg *config.Config) (config.Model, error) {
	m, err := cfg.Model("")
	if err != nil {
		return m, mistake(err)
	}
	model, err := m.Open()
	if err != nil {
		return m, mistake(err)
	}
	_, err = llm.Collect(ctx, llm.Watchdog(model, time.Minute), &llm.Request{
		System: "You are being tried out. Be brief.", Messages: []llm.Message{llm.Say(llm.User, "Say hello.")},
		Fixed: 1, Settings: m.Settings,
	}, func(llm.Delta) {})
	return m, err
}

// ask asks once and records what the reply shows.
func (r *ModelCheck) ask(ctx context.Context, model llm.Model, withImage bool) error {
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

// checkRequest returns the question. Its answer shows whether tools are called
// and, with an image, whether it is seen: the colour is in no other part of it.
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

// redSquare returns a PNG image of 64 by 64 red pixels.
func redSquare() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		img.Set(i%64, i/64, color.RGBA{R: 255, A: 255})
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // to memory, of an image that is one
	return b.Bytes()
}
