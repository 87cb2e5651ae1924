package host

import (
	"errors"
	"io"
	"sync"
	"testing"
)

// meets is a closer that ends when as many others are being closed.
type meets struct{ *sync.WaitGroup }

func (m meets) Close() error {
	m.Done()
	m.Wait()
	return errors.New("closed")
}

// Agents are closed side by side: a server with many does not end one after the other.
func TestAgentsAreClosedTogether(t *testing.T) {
	var together sync.WaitGroup
	together.Add(closing)
	all := make([]agentInstance, closing)
	for i := range all {
		all[i].close = []io.Closer{meets{&together}}
	}
	for _, err := range closeAgents(all) {
		if err == nil {
			t.Error("an error is lost")
		}
	}
}
