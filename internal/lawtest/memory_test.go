package lawtest_test

import (
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/journal/journaltest"
)

func TestMemoryIsAJournal(t *testing.T) {
	shared := make(map[string]*journal.Memory) // by directory: what is opened twice is one
	journaltest.Run(t, func(t testing.TB, o journaltest.Options) openmanus.Journal {
		if shared[o.Dir] == nil {
			shared[o.Dir] = &journal.Memory{Secrets: o.Secrets}
		}
		return shared[o.Dir]
	})
}
