package llm

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
)

// A Named is a model with the name that its replies bear.
type Named struct {
	Name  string
	Model Model
}

// Failover returns a Model that asks first, and if that fails, each of others in
// turn. [Retry] belongs inside: first has failed when its last attempt has. The
// fragments of a failed reply are void: a [Delta] with Reset comes before the next
// reply. Replies of others have their name in [Reply].By.
//
// A wrong key, an unknown model, and a request that is too large or was refused
// are no reason to ask another model: people should see these errors. onSwitch,
// if not nil, is called before another model is asked, with its name.
func Failover(first Model, onSwitch func(err error, to string), others ...Named) Model {
	return &failover{first, onSwitch, others}
}

// A failover is the Model of [Failover]. It keeps nothing between requests: each one
// asks the first model first, although that may have failed a moment ago.
type failover struct {
	first    Model
	onSwitch func(error, string)
	others   []Named
}

// Stream implements [Model]. It asks the models in their order until one replies. Before
// another one is asked, a Reset tells the reader to drop what the last one has streamed,
// and every first delta names its model in By. The error is that of the last model asked.
func (f *failover) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		m := Named{Model: f.first}
		shown := false
		for n := 0; ; n++ {
			begin := Delta{Reset: shown, By: m.Name}
			if (shown || m.Name != "") && !yield(begin, nil) {
				return
			}
			some, done, err := attemptOnce(ctx, m.Model, req, func(d Delta, err error) bool {
				d.Aside = asidesOf(m.Name, d.Aside)
				return yield(d, err)
			})
			if done {
				return
			}
			shown = shown || some
			if n == len(f.others) || ctx.Err() != nil || !worthAnother(err) {
				yield(Delta{}, err)
				return
			}
			m = f.others[n]
			req = elsewhere(req)
			if f.onSwitch != nil {
				f.onSwitch(err, m.Name)
			}
		}
	}
}

// asidesOf returns what was used on the way to a reply of the model called name.
func asidesOf(name string, all []Aside) []Aside {
	all = slices.Clone(all)
	for i, a := range all {
		all[i].By = cmp.Or(a.By, name)
	}
	return all
}

// worthAnother reports whether another model may succeed after err.
func worthAnother(err error) bool {
	switch KindOf(err) {
	case RateLimit, Network, Timeout:
		return true
	case Protocol:
		var e *Error
		return errors.As(err, &e) && e.Status == 0 // a stream that broke, not a request that is wrong
	}
	return false
}

// elsewhere returns req for another model, without a Memo: the first model's
// encoding of the conversation stays untouched.
func elsewhere(req *Request) *Request {
	other := *req
	other.Memo = nil
	return &other
}
