package wire

import (
	"context"
	"sync"
)

// Once is a value that is made when it is first wanted, and again until that
// works.
type Once[T any] struct {
	Get func(context.Context) (T, error)

	mu   sync.Mutex
	made bool
	v    T
}

// Do returns the value. Who comes while it is made waits.
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
