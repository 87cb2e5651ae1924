package wire

import (
	"context"
	"sync"
)

// A Once is a value that is made when it is first wanted. If that fails, the next
// call tries again.
type Once[T any] struct {
	Get func(context.Context) (T, error)

	mu   sync.Mutex
	made bool
	v    T
}

// Do returns the value. Concurrent calls wait while it is made.
func (o *Once[T]) Do(ctx context.Context) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made {
		return o.v, nil
	}
	v, err := o.Get(ctx)
	o.v, o.made = v, err == nil
	return v, err
}
