package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main() // parts of a sandbox are this program again
	testbed.Main(m)
}

func Example() {
	if err := do(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// parrot/polly: polly says: hello
}
