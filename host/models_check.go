package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"slices"
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

	refused []config.Fact // that it takes no images, or no tools
}

// CheckModel asks the model with the name, or the default model if it is "", one
// short question with an image and a tool. A model that refuses the image is
// asked again without it. A model that sends nothing for a minute has failed.
func CheckModel(ctx context.Context, cfg *config.Config, name string) ModelCheck {
	r := ModelCheck{Name: name, Stream: "?", Tools: "?", Vision: "?", Cache: "?"}
	if name == "" {
		r.Name = "default"
	}
	m, err := modelNamed(ctx, cfg, name)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	book := &endpointBook{dir: cfg.DataDir}
	if err := r.probe(ctx, m, book); err != nil {
		var e *llm.Error
		errors.As(err, &e)
		r.Wrong = e != nil && e.Kind == llm.Network && e.Permanent
		if r.Error = err.Error(); e != nil {
			r.Kind = llm.KindOf(err)
		}
		return r
	}
	_, _, _ = ProbeModel(ctx, cfg, name) // what it says of itself is remembered, if it says something
	for _, f := range r.refused {
		book.found(m, f)
	}
	return r
}

// probe asks m the question, and leaves out what it refuses: the image, the tool or a setting.
// The error is that of the model.
func (r *ModelCheck) probe(ctx context.Context, m config.Model, book *endpointBook) error {
	r.Model = m.String()
	model, err := m.Open()
	if err != nil {
		return err
	}
	fields := &llm.Refusals{OnFound: func(field string, err error) {
		if field == llm.Tools {
			r.refused = append(r.refused, config.Fact{Key: "tools", Value: "false", From: "a refusal", Why: err.Error()})
		} else {
			book.refused(m, field, err)
		}
	}}
	fields.Add(book.refusals(m)...)
	model = llm.SpareFields(llm.Watchdog(model, time.Minute), fields, nil)
	withImage := m.Info.Vision == nil || *m.Info.Vision
	err = r.ask(ctx, model, withImage)
	var e *llm.Error
	if withImage && errors.As(err, &e) && e.Kind == llm.Protocol {
		withImage = false
		if err = r.ask(ctx, model, false); err == nil && e.Images == llm.NoImages {
			r.refused = append(r.refused, config.Fact{Key: "vision", Value: "false", From: "a refusal", Why: e.Error()})
		}
	}
	if !withImage {
		r.Vision = "no"
	}
	if slices.Contains(fields.Fields(), llm.Tools) { // it has them in words
		r.Tools = "no"
	}
	r.OK = err == nil
	return err
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
