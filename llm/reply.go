package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// A Reply is the sum of a stream of deltas. The zero Reply is that of no delta.
// It must not be copied between two calls of Add.
type Reply struct {
	Message Message
	Stop    Stop
	Usage   Usage
	Aside   []Aside // what other models used, and attempts in vain
	By      string  // the model that wrote it, if not the one that was asked

	grow []*strings.Builder // the text of the part with the same index, so that adding costs what is added
}

// Add adds d to r. The error says that d does not continue r, which is a mistake
// of the adapter.
func (r *Reply) Add(d Delta) error {
	r.Message.Role = Assistant
	if d.Reset {
		r.Message.Parts, r.Stop, r.grow = nil, "", nil
	}
	if d.Piece != nil {
		if err := r.extend(d.Part, d.Piece); err != nil {
			return &Error{Kind: Protocol, Err: err}
		}
	}
	if d.Stop != "" {
		r.Stop, r.grow = d.Stop, nil
	}
	if d.By != "" {
		r.By = d.By
	}
	if d.Usage != nil {
		r.Usage = *d.Usage
	}
	r.Aside = append(r.Aside, d.Aside...)
	return nil
}

// extend adds a fragment to part i, which must be of the same type.
func (r *Reply) extend(i int, piece Part) error {
	parts := r.Message.Parts
	switch {
	case i == len(parts):
		r.Message.Parts = append(parts, piece)
		return nil
	case i < 0 || i > len(parts):
		return fmt.Errorf("a fragment for part %d of a reply that has %d", i, len(parts))
	}
	switch p := piece.(type) {
	case Text:
		if was, ok := parts[i].(Text); ok {
			parts[i] = Text{Text: r.longer(i, was.Text, p.Text), Opaque: or(p.Opaque, was.Opaque), By: cmp.Or(p.By, was.By)}
			return nil
		}
	case Thinking:
		if was, ok := parts[i].(Thinking); ok {
			parts[i] = Thinking{r.longer(i, was.Text, p.Text), or(p.Opaque, was.Opaque), cmp.Or(p.By, was.By)}
			return nil
		}
	case Call:
		if was, ok := parts[i].(Call); ok {
			parts[i] = Call{ID: cmp.Or(p.ID, was.ID), Name: cmp.Or(p.Name, was.Name), Input: r.longer(i, was.Input, p.Input),
				Opaque: or(p.Opaque, was.Opaque), By: cmp.Or(p.By, was.By)}
			return nil
		}
	}
	return fmt.Errorf("a fragment of %T for part %d, which is %T", piece, i, parts[i])
}

// longer returns was + more, the text of part i, in amortised time linear in more.
func (r *Reply) longer(i int, was, more string) string {
	for len(r.grow) <= i {
		r.grow = append(r.grow, new(strings.Builder))
	}
	b := r.grow[i]
	if b.String() != was {
		b.Reset()
		b.WriteString(was)
	}
	b.WriteString(more)
	return b.String()
}

// or returns a, or b if a is empty.
func or(a, b []byte) []byte {
	if len(a) > 0 {
		return a
	}
	return b
}

// Generate returns the whole reply of m to req. A stream that ends without a Stop
// is an [*Error] of kind [Protocol]. With any error, Generate also returns the
// reply so far.
func Generate(ctx context.Context, m Model, req *Request) (*Reply, error) {
	return Collect(ctx, m, req, nil)
}

// Collect is like [Generate], and calls show, if not nil, with every delta as it
// arrives.
func Collect(ctx context.Context, m Model, req *Request, show func(Delta)) (*Reply, error) {
	var r Reply
	err := r.collect(ctx, m, req, func(d Delta) {
		if show != nil {
			show(d)
		}
	}, nil)
	return &r, err
}

// Measure is like [Collect], and counts with c what no provider reports: the
// request, unless its tokens were reported, and the reply, unless those of a
// reply that is not empty were. [Usage].Estimated says how many were counted. A
// reply that broke off counts as far as it came, and so do those of attempts that
// failed before, as [Reply].Aside. A request that nothing was heard of counts
// nothing. A nil Counter is [HalfTheBytes].
func Measure(ctx context.Context, m Model, c Counter, req *Request, show func(Delta)) (*Reply, error) {
	var r Reply
	err := r.collect(ctx, m, req, show, func() {
		r.estimate(c, req)
		if r.Usage != (Usage{}) {
			r.Aside = append(r.Aside, Aside{r.By, r.Usage})
			r.Usage = Usage{}
		}
	})
	r.estimate(c, req)
	return &r, err
}

// collect adds the reply of m to r. again, if not nil, is called before a Reset.
func (r *Reply) collect(ctx context.Context, m Model, req *Request, show func(Delta), again func()) error {
	for d, err := range m.Stream(ctx, req) {
		if err == nil {
			if d.Reset && again != nil {
				again()
			}
			err = r.Add(d)
		}
		if err != nil {
			return err
		}
		if show != nil {
			show(d)
		}
	}
	if r.Stop == "" {
		return brokeOff(ctx)
	}
	return nil
}

// estimate counts what was not reported of the usage of r, a reply to req.
func (r *Reply) estimate(c Counter, req *Request) {
	if r.Stop == "" && len(r.Message.Parts) == 0 {
		return
	}
	if r.Usage.Input <= 0 {
		r.Usage.Input = CountHead(c, req.System, req.Tools)
		for _, m := range req.Messages {
			r.Usage.Input += Count(c, m)
		}
		r.Usage.Estimated += r.Usage.Input
	}
	if r.Usage.Output <= 0 && len(r.Message.Parts) > 0 {
		r.Usage.Output = countParts(counter(c), r.Message.Parts)
		r.Usage.Estimated += r.Usage.Output
	}
}

// brokeOff is the error of a stream that ended without a Stop.
func brokeOff(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return &Error{Kind: Protocol, Err: errors.New("the reply broke off: its stream ended without a reason to stop")}
}
