package main

import (
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func Example() {
	main()
	// Output:
	// stock says: there is no item "apples"; the items are apple and pear
	// stock says: 12
	// There are 12 apples.
}
