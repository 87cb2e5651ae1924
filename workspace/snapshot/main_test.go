//go:build unix

package snapshot

import (
	"os"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// The test program is also the child that TestKilled kills.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	testbed.Main(m)
}
