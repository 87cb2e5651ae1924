package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/tokens"
)

// model makes the model with the given name, at an endpoint if that is not "",
// together with those that are asked when it fails.
func (h *Host) model(name, endpoint string) (llm.Model, config.Model, error) {
	m, chosen := h.chosen[[2]string{name, endpoint}]
	if !chosen {
		var err error
		if m, err = h.Config.ModelAt(name, endpoint); err != nil {
			return nil, m, mistake(err)
		}
	}
	model, err := h.patient(m)
	if err != nil {
		return nil, m, err
	}
	others, err := h.fallbacks(m)
	if err != nil || len(others) == 0 {
		return model, m, err
	}
	var named []llm.Named
	for _, o := range others {
		other, err := h.patient(o)
		if err != nil {
			return nil, m, err
		}
		named = append(named, llm.Named{Name: o.String(), Model: other})
	}
	return llm.Failover(model, func(err error, to string) {
		if h.OnFailover != nil {
			h.OnFailover(err, to)
		}
	}, named...), m, nil
}

// patient makes m with retries, time limits and the limiter of its endpoint, and
// with what it lacks made up for. Scripts are retried quickly.
func (h *Host) patient(m config.Model) (llm.Model, error) {
	opts := h.retry(0)
	opts.Limiter = h.limiter(m)
	opts.IdleLimit, opts.Limit = m.IdleTimeout, m.Timeout
	if m.Provider.Script {
		opts.Backoff = 50 * time.Millisecond
	}
	model, err := m.Open()
	if err != nil {
		return nil, mistake(err)
	}
	return h.capable(llm.Retry(h.watched(model, m), opts), m), nil
}

// limiter returns the limiter that all models at one endpoint with one key share:
// a rate limit that one of them meets holds for the others, on all hosts of a cluster.
func (h *Host) limiter(m config.Model) *llm.Limiter {
	name := limiterName(m)
	l, _ := h.limiters.LoadOrStore(name, &llm.Limiter{Told: func(until time.Time) {
		if h.relay != nil {
			h.relay.pause(name, until)
		}
	}})
	return l.(*llm.Limiter)
}

// limiterName returns what names the endpoint and the key of a model, without telling the key.
func limiterName(m config.Model) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(m.BaseURL+"\x00"+string(m.Key))))
}

// retry returns how models are asked again. first is the first pause; 0 means
// the default.
func (h *Host) retry(first time.Duration) llm.RetryOptions {
	return llm.RetryOptions{Backoff: first, OnRetry: func(err error, wait time.Duration, _ int) {
		if h.OnRetry != nil {
			h.OnRetry(err, wait)
		}
	}}
}

// fallbacks returns the models that are asked, one after the other, when m
// fails. A circle of fallbacks is an error that names its models.
func (h *Host) fallbacks(m config.Model) (others []config.Model, err error) {
	names := []string{m.String()}
	for m.Fallback != "" {
		if m, err = h.Config.Model(m.Fallback); err != nil {
			return nil, mistake(fmt.Errorf("fallback: %w", err))
		}
		if slices.Contains(names, m.String()) {
			return nil, mistake(fmt.Errorf("the fallback of models goes in a circle: %s, %s", strings.Join(names, ", "), m))
		}
		names, others = append(names, m.String()), append(others, m)
	}
	return others, nil
}

// capable returns model with what it is known to lack made up for: tool calls
// are written as text, and images are described by the model of [llm.vision]. So are
// those that its provider refuses, or else they are left out.
func (h *Host) capable(model llm.Model, m config.Model) llm.Model {
	say := func(err error) {
		if h.OnRetry != nil {
			h.OnRetry(err, 0)
		}
	}
	model = llm.SpareFields(model, refusalsOf(h, m), say)
	not := func(can *bool) bool { return can != nil && !*can }
	own := h.Config.Models[m.String()]
	switch {
	case not(m.Info.Tools):
		model = llm.PromptTools(model)
		sayToolless(h, m)
	case m.Provider.Compatible && (own == nil || own.Tools == nil): // a person knows better
		dropped, _ := h.toolless.LoadOrStore(learner(m), new(atomic.Int32))
		model = llm.KeepTools(model, tokens.For(m.Provider.OwnServer(), m.Name), dropped.(*atomic.Int32), func() {
			h.book.found(m, config.Fact{Key: "tools", Value: "false", From: "what it counts",
				Why: "it counted far fewer tokens than a request with its tools has, and called none"})
			h.warnf("%s leaves the tools out of what the model reads: they are described to it in words from now on (openmanus models probe --forget %s, or [models.%q] tools = true, takes that back)", m, m, m)
		})
	}
	reader, counter, name := h.eye(m)
	if not(m.Info.Vision) {
		model = llm.ReadImages(model, reader, counter, name)
	} else {
		seen, _ := h.seen.LoadOrStore(learner(m), &llm.Seen{OnBlind: func(err error) {
			h.book.found(m, config.Fact{Key: "vision", Value: "false", From: "a refusal", Why: err.Error()})
		}})
		model = llm.SpareImages(model, reader, counter, name, seen.(*llm.Seen), func(err error) {
			say(fmt.Errorf("%w; it is asked again without images", err))
		})
	}
	if m.Provider.Script { // it says what it says
		return model
	}
	return llm.Sound(model, m.Settings.MaxTokens, say)
}

// refusalsOf returns what the endpoint of m was found to refuse, in this process and in
// others: what a setting is called there, and tools.
func refusalsOf(h *Host, m config.Model) *llm.Refusals {
	fresh := &llm.Refusals{OnFound: func(field string, err error) {
		if field == llm.Tools {
			h.book.found(m, config.Fact{Key: "tools", Value: "false", From: "a refusal", Why: err.Error()})
			return
		}
		h.book.refused(m, field, err)
	}}
	kept, known := h.refused.LoadOrStore(learner(m), fresh)
	if refused := kept.(*llm.Refusals); !known && !m.Provider.Script {
		refused.Add(h.book.refusals(m)...)
		return refused
	}
	return kept.(*llm.Refusals)
}

// sayToolless says once that tools are described to m in words because its endpoint says
// that they are lost otherwise: a person who did not configure that would not expect it.
func sayToolless(h *Host, m config.Model) {
	at := h.Config.InfoAt(m, "tools")
	if _, said := h.inWords.LoadOrStore(learner(m), true); !said && at.From == provider.Endpoint {
		h.warnf("%s takes no tools (%s): they are described to it in words ([models.%q] tools = true sends them as they are)", m, at, m)
	}
}

// eye returns the model of [llm.vision], which reads images to m, with the counter of
// its tokens and its name; none if there is none.
func (h *Host) eye(m config.Model) (llm.Model, llm.Counter, string) {
	if m.Profile == "vision" || !slices.Contains(h.Config.ProfileNames(), "vision") {
		return nil, nil, ""
	}
	eye, err := h.Config.Model("vision")
	switch {
	case err != nil: // reported when an image is to be read
		return broken{err}, nil, "vision"
	case eye.Info.Vision != nil && !*eye.Info.Vision && !eye.Provider.Script: // [models.scripted] describes all scripts at once
		return broken{fmt.Errorf("%s is known to see no images", eye)}, nil, eye.String()
	}
	reader, err := eye.Open()
	if err != nil {
		return broken{err}, nil, eye.String()
	}
	return llm.Retry(h.watched(reader, eye), h.retry(0)), tokens.For(eye.Provider.OwnServer(), eye.Name), eye.String()
}

// watched returns a model that reports a wrong endpoint with
// [Host.WrongEndpoint]: a network error that retrying cannot mend. It remembers what
// refusals tell of the window of the model, which is configured as m.
func (h *Host) watched(model llm.Model, m config.Model) llm.Model {
	return watchedModel{model, &h.wrongEndpoint, func(req *llm.Request, err error) error {
		err = sized(req, err, h.Config.Window(m), tokens.For(m.Provider.OwnServer(), m.Name))
		h.book.learnFrom(m, err)
		return err
	}}
}

// A watchedModel is what watched returns.
type watchedModel struct {
	llm.Model
	wrong *atomic.Bool
	learn func(*llm.Request, error) error // and says what was learnt
}

// Stream implements [llm.Model].
func (w watchedModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range w.Model.Stream(ctx, req) {
			var e *llm.Error
			if errors.As(err, &e) && e.Kind == llm.Network && e.Permanent {
				w.wrong.Store(true)
			}
			if err != nil {
				err = w.learn(req, err)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// broken is a model that always fails, for a mistake that matters only when the
// model is needed.
type broken struct{ why error }

// Stream implements [llm.Model].
func (b broken) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{}, &llm.Error{Kind: llm.Auth, Permanent: true, Err: fmt.Errorf("[llm.vision]: %w", b.why)})
	}
}
