package served

import (
	"context"
	"errors"

	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/server"
)

// Change implements [server.Traveller].
func (h Host) Change(ctx context.Context, session string, do func() error) error {
	return elsewhere(h.Host.Change(ctx, session, do))
}

// elsewhere makes an error of a host one of a server.
func elsewhere(err error) error {
	if there := (*host.ElsewhereError)(nil); errors.As(err, &there) {
		return &server.ElsewhereError{Err: err}
	}
	return err
}

// Environment implements [server.Host].
func (h Host) Environment(dir string) llm.Parts {
	if err := h.Look(context.Background(), dir); err != nil && h.Warn != nil {
		h.Warn(err.Error()) // the agent looks for itself
	}
	return h.Host.Environment(dir)
}
