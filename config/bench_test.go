package config

import (
	"fmt"
	"strings"
	"testing"
)

// Loading is part of every start of the program.
func BenchmarkLoad(b *testing.B) {
	src := Sources{Dir: b.TempDir(), GOOS: "linux", Env: func(name string) (string, bool) { return "/nowhere", name == "HOME" }}
	for b.Loop() {
		if _, _, err := load(src); err != nil {
			b.Fatal(err)
		}
	}
}

// A file full of mistakes is refused as quickly.
func BenchmarkMistakes(b *testing.B) {
	var text strings.Builder
	for i := 0; text.Len() < maxFile-20; i++ {
		fmt.Fprintf(&text, "k%d=1\n", i)
	}
	for b.Loop() {
		l := newLoader(Sources{Dir: "/w", GOOS: "linux"})
		l.read("f", []byte(text.String()), l.set)
		if len(l.errs) == 0 {
			b.Fatal("no error")
		}
	}
}
