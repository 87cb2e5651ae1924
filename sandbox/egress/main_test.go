package egress

import (
	"testing"

	"github.com/openmanus-go/openmanus/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
