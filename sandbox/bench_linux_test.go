package sandbox_test

import (
	"os/exec"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

func BenchmarkTrue(b *testing.B) {
	for _, kind := range kinds(b) {
		b.Run(string(kind), func(b *testing.B) {
			ws := open(b, sandbox.Options{Dir: b.TempDir(), Kind: kind})
			defer ws.Close()
			for b.Loop() {
				if err := ws.Run(b.Context(), &workspace.Cmd{Args: []string{"true"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("plain bwrap", func(b *testing.B) {
		dir := b.TempDir()
		for b.Loop() {
			err := exec.Command("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", dir, dir, "true").Run()
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	for _, kind := range kinds(b) {
		b.Run(string(kind), func(b *testing.B) {
			dir := b.TempDir()
			for b.Loop() {
				if err := open(b, sandbox.Options{Dir: dir, Kind: kind}).Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
