package llm

import (
	"context"
	"errors"
	"fmt"
)

// A Reply is the sum of a stream of deltas. The zero Reply is the beginning.
type Reply struct {
	Message Message
	Stop    Stop
	Usage   Usage
}

// Add folds d into r. It fails if d does not continue r, which is a fault of
// the adapter.
func (r *Reply) Add(d Delta) error {
	r.Message.Role = Assistant
	if d.Reset {
		r.Message.Parts, r.Stop = nil, ""
	}
	if d.Piece != nil {
		parts, err := extend(r.Message.Parts, d.Part, d.Piece)
		if err != nil {
			return &Error{Kind: Protocol, Err: err}
		}
		r.Message.Parts = parts
	}
	if d.Stop != "" {
		r.Stop = d.Stop
	}
	if d.Usage != nil {
		r.Usage = *d.Usage
	}
	return nil
}

func extend(parts Parts, i int, piece Part) (Parts, error) {
	switch {
	case i == len(parts):
		return append(parts, piece), nil
	case i < 0 || i > len(parts):
		return nil, fmt.Errorf("a fragment for part %d of a reply that has %d", i, len(parts))
	}
	switch p := piece.(type) {
	case Text:
		if was, ok := parts[i].(Text); ok {
			parts[i] = Text{was.Text + p.Text, or(p.Opaque, was.Opaque), orString(p.By, was.By)}
			return parts, nil
		}
	case Thinking:
		if was, ok := parts[i].(Thinking); ok {
			parts[i] = Thinking{was.Text + p.Text, or(p.Opaque, was.Opaque), orString(p.By, was.By)}
			return parts, nil
		}
	case Call:
		if was, ok := parts[i].(Call); ok {
			parts[i] = Call{orString(p.ID, was.ID), orString(p.Name, was.Name), was.Input + p.Input,
				or(p.Opaque, was.Opaque), orString(p.By, was.By)}
			return parts, nil
		}
	}
	return nil, fmt.Errorf("a fragment of %T for part %d, which is %T", piece, i, parts[i])
}

func or(a, b []byte) []byte {
	if len(a) > 0 {
		return a
	}
	return b
}

func orString(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Generate returns the whole reply of m to req. A stream that ends without a
// Stop broke off, which is an [*Error] of kind [Protocol]; the reply so far is
// returned with any error.
func Generate(ctx context.Context, m Model, req *Request) (*Reply, error) {
	return Collect(ctx, m, req, nil)
}

// Collect is [Generate] that calls show, if it is not nil, with every delta
// as it arrives.
func Collect(ctx context.Context, m Model, req *Request, show func(Delta)) (*Reply, error) {
	var r Reply
	for d, err := range m.Stream(ctx, req) {
		if err == nil {
			err = r.Add(d)
		}
		if err != nil {
			return &r, err
		}
		if show != nil {
			show(d)
		}
	}
	if err := ctx.Err(); err != nil && r.Stop == "" {
		return &r, err
	}
	if r.Stop == "" {
		return &r, &Error{Kind: Protocol, Err: errors.New("the reply broke off: its stream ended without a reason to stop")}
	}
	return &r, nil
}
