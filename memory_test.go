package openmanus_test

import (
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journaltest"
)

func TestMemoryIsAJournal(t *testing.T) {
	shared := make(map[string]*openmanus.Memory) // by directory: what is opened twice is one
	journaltest.Run(t, func(t testing.TB, o journaltest.Options) openmanus.Journal {
		if shared[o.Dir] == nil {
			shared[o.Dir] = &openmanus.Memory{Secrets: o.Secrets}
		}
		return shared[o.Dir]
	})
}
