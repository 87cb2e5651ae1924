package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main() // parts of a sandbox are this program again
	os.Exit(m.Run())
}

func Example() {
	if err := do(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// parrot/polly: polly says: hello
}
