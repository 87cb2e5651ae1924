package sandbox

import (
	"context"
	"errors"

	"github.com/openmanus-go/openmanus/workspace"
)

func newLandlock(context.Context, Options) (workspace.Cage, error)  { return nil, errors.New("todo") }
func newContainer(context.Context, Options) (workspace.Cage, error) { return nil, errors.New("todo") }

// Main x
func Main() {}
