// Count opens a vocabulary for the first time in a process, and says how long
// that took and how much memory it keeps: "ours" or "library".
package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/openmanus-go/openmanus/llm/tokens"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var first func() (keep any, n int)
	switch {
	case len(args) == 1 && args[0] == "ours":
		first = func() (any, int) { c := tokens.For(false, "gpt-5"); return c, c.Text("Hello.") }
	case len(args) == 1 && args[0] == "library":
		first = func() (any, int) { c := codec.NewO200kBase(); n, _ := c.Count("Hello."); return c, n }
	default:
		return fmt.Errorf("usage: count ours|library")
	}
	before := heap()
	start := time.Now()
	keep, n := first()
	took := time.Since(start)
	if n != 2 {
		return fmt.Errorf("%d tokens in Hello., not 2", n)
	}
	fmt.Printf("%d %d\n", took.Nanoseconds(), heap()-before)
	runtime.KeepAlive(keep)
	return nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
