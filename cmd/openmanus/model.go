package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/tokens"
)

// model makes the model with the given name, at an endpoint if that is not "",
// and those that are asked when it fails.
func (a *app) model(name, endpoint string) (llm.Model, config.Model, error) {
	m, chosen := a.chosen[[2]string{name, endpoint}]
	if !chosen {
		var err error
		if m, err = a.cfg.ModelAt(name, endpoint); err != nil {
			return nil, m, usage(err)
		}
	}
	model, err := a.patient(m)
	if err != nil {
		return nil, m, err
	}
	others, err := a.fallbacks(m)
	if err != nil || len(others) == 0 {
		return model, m, err
	}
	var named []llm.Named
	for _, o := range others {
		other, err := a.patient(o)
		if err != nil {
			return nil, m, err
		}
		named = append(named, llm.Named{Name: o.String(), Model: other})
	}
	return llm.Failover(model, func(err error, to string) {
		if a.switching != nil {
			a.switching(err, to)
		}
	}, named...), m, nil
}

// patient makes m, with retries.
func (a *app) patient(m config.Model) (llm.Model, error) {
	opts := a.retry(0)
	opts.Limiter = a.limiter(m)
	opts.IdleLimit, opts.Limit = m.IdleTimeout, m.Timeout
	if m.Provider.Script {
		opts.Backoff = 50 * time.Millisecond
	}
	model, err := m.Open()
	if err != nil {
		return nil, usage(err)
	}
	return a.capable(llm.Retry(a.noting(model), opts), m), nil
}

// limiter is what all models at one endpoint with one key share.
func (a *app) limiter(m config.Model) *llm.Limiter {
	l, _ := a.limiters.LoadOrStore([2]string{m.BaseURL, string(m.Key)}, new(llm.Limiter))
	return l.(*llm.Limiter)
}

// retry says how models are asked again, and has each time shown.
func (a *app) retry(first time.Duration) llm.RetryOptions {
	return llm.RetryOptions{Backoff: first, OnRetry: func(err error, wait time.Duration, _ int) {
		if a.retrying != nil {
			a.retrying(err, wait)
		}
	}}
}

// fallbacks are the models that are asked one after the other when m fails.
func (a *app) fallbacks(m config.Model) (others []config.Model, err error) {
	names := []string{m.String()}
	for m.Fallback != "" {
		if m, err = a.cfg.Model(m.Fallback); err != nil {
			return nil, usage(fmt.Errorf("fallback: %w", err))
		}
		if slices.Contains(names, m.String()) {
			return nil, usage(fmt.Errorf("the fallback of models goes in a circle: %s, %s", strings.Join(names, ", "), m))
		}
		names, others = append(names, m.String()), append(others, m)
	}
	return others, nil
}

// helpers gives an agent, whose model is m, the models beside its own.
func (a *app) helpers(agent *openmanus.Agent, m config.Model) error {
	agent.Counter = tokens.For(m.Provider.Name, m.Name)
	others, err := a.fallbacks(m)
	if err != nil {
		return err
	}
	for _, o := range others {
		agent.Fallbacks = append(agent.Fallbacks, openmanus.Helper{Name: o.String(), Prices: o.Prices()})
	}
	name := a.cfg.Context.Summarizer
	if name == "" {
		return nil
	}
	model, s, err := a.model(name, "")
	if err != nil {
		return fmt.Errorf("context.summarizer: %w", err)
	}
	agent.Summarizer = openmanus.Helper{Model: model, Name: s.String(), Prices: s.Prices(), Window: a.cfg.Window(s)}
	return nil
}

// capable returns model with what it is known to lack made up for: tools are
// used by way of text, and images are read by the model of [llm.vision].
func (a *app) capable(model llm.Model, m config.Model) llm.Model {
	not := func(can *bool) bool { return can != nil && !*can }
	if not(m.Info.Tools) {
		model = llm.PromptTools(model)
	}
	if !not(m.Info.Vision) {
		return model
	}
	if m.Profile == "vision" || !slices.Contains(a.cfg.ProfileNames(), "vision") {
		return llm.ReadImages(model, nil, "")
	}
	eye, err := a.cfg.Model("vision")
	switch {
	case err != nil: // said when it is needed
		return llm.ReadImages(model, broken{err}, "vision")
	case not(eye.Info.Vision) && !eye.Provider.Script: // [models.scripted] is for all scripts
		return llm.ReadImages(model, broken{fmt.Errorf("%s is known to see no images", eye)}, eye.String())
	}
	reader, err := eye.Open()
	if err != nil {
		return llm.ReadImages(model, broken{err}, eye.String())
	}
	return llm.ReadImages(model, llm.Retry(a.noting(reader), a.retry(0)), eye.String())
}

// noting is a model that notes when its endpoint turns out to be set up
// wrongly: nobody is there, or nobody who is trusted.
func (a *app) noting(m llm.Model) llm.Model { return noted{m, &a.wrongEndpoint} }

type noted struct {
	llm.Model
	wrong *atomic.Bool
}

// Stream implements [llm.Model].
func (n noted) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range n.Model.Stream(ctx, req) {
			var e *llm.Error
			if errors.As(err, &e) && e.Kind == llm.Network && e.Permanent {
				n.wrong.Store(true)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// broken is a model that cannot be asked.
type broken struct{ why error }

// Stream implements [llm.Model].
func (b broken) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{}, &llm.Error{Kind: llm.Auth, Permanent: true, Err: fmt.Errorf("[llm.vision]: %w", b.why)})
	}
}
