// Package ctxio ties readers to contexts.
package ctxio

import (
	"context"
	"io"
)

// NewReader returns a reader of r whose calls fail with ctx's error once ctx is
// done. A call that already blocks in r is not interrupted.
func NewReader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (c *reader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
