package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// Tools is the [Error].Field of a server that takes no tools.
const Tools = "tools"

// SpareFields returns a Model that leaves out what the provider of m refuses
// ([Error].Field): a setting, or tools, which are then described in words ([PromptTools]).
// It asks once more without it. refused remembers what was refused, so that later requests
// succeed at once. onRefusal, if not nil, is called with the error before m is asked again.
func SpareFields(m Model, refused *Refusals, onRefusal func(error)) Model {
	return &fieldSparing{m, PromptTools(m), refused, onRefusal}
}

// Refusals are the fields of a request that a provider was found to refuse. All models that
// stand for one model at one endpoint may share them. The zero Refusals has found nothing
// yet. It is safe for concurrent use.
type Refusals struct {
	// OnFound, if not nil, is called with a field that the provider refused, after it took
	// the same request without it, and with the refusal. It is set before the first use.
	OnFound func(field string, refusal error)

	mu     sync.Mutex
	fields []string
}

// Fields returns what was refused until now.
func (r *Refusals) Fields() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.fields)
}

// Add notes what was refused, such as what an earlier process has found.
func (r *Refusals) Add(fields ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range fields {
		if f != "" && !slices.Contains(r.fields, f) {
			r.fields = append(r.fields, f)
		}
	}
}

// maxFields is how many fields are left out of one request, at most, before it fails.
const maxFields = 4

// A fieldSparing is the Model of [SpareFields].
type fieldSparing struct {
	model, prompted Model
	refused         *Refusals
	onRefusal       func(error)
}

// promptedKey is the key of the [Memo] for what a model is told whose tools are words: an
// adapter keeps the conversation encoded with its tools. by is what they share who know it.
type promptedKey struct{ by any }

// Stream implements [Model]. A refusal counts only if the request succeeds without the field.
func (s *fieldSparing) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		without := s.refused.Fields()
		known := len(without)
		var why []error
		for shown := false; ; {
			if shown && !yield(Delta{Reset: true}, nil) {
				return
			}
			told, model := *req, s.model
			told.Without = append(slices.Clip(req.Without), without...)
			if slices.Contains(without, Tools) && len(req.Tools) > 0 {
				model, told.Memo = s.prompted, req.Memo.under(promptedKey{s.refused})
			}
			some, done, err := attemptOnce(ctx, model, &told, yield)
			if done {
				s.found(without[known:], why)
				return
			}
			shown = shown || some
			var e *Error
			if !errors.As(err, &e) || e.Field == "" || slices.Contains(told.Without, e.Field) || len(why) == maxFields || ctx.Err() != nil {
				yield(Delta{}, err)
				return
			}
			without, why = append(without, e.Field), append(why, err)
			if s.onRefusal != nil {
				s.onRefusal(fmt.Errorf("%w; it is asked again %s", err, lacking(e.Field)))
			}
		}
	}
}

// lacking says how a request is made that has no such field.
func lacking(field string) string {
	if field == Tools {
		return "with tools described in words"
	}
	return "without " + field
}

// found notes that the provider took a request without fields that it refused before.
func (s *fieldSparing) found(fields []string, why []error) {
	s.refused.Add(fields...)
	for i, f := range fields {
		if s.refused.OnFound != nil {
			s.refused.OnFound(f, why[i])
		}
	}
}
