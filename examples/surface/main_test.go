package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func Example() {
	if err := talk(context.Background(), strings.NewReader("y\n"), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// > Send Ann my regards.
	// ? May send run? [y/n]
	//   allowed: true
	//   result: sent to Ann
	// Ann has your regards.
	// [finished]
}

func Example_denied() {
	if err := talk(context.Background(), strings.NewReader("no, she is away\n"), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// > Send Ann my regards.
	// ? May send run? [y/n]
	//   allowed: false
	// Ann has your regards.
	// [finished]
}
