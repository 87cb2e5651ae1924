package main

import (
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func Example() {
	main()
	// Output:
	// finished after 2 replies: The tower is 324 metres high.
}
