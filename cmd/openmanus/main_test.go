package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/openmanus-go/openmanus/internal/leaktest"
	"github.com/openmanus-go/openmanus/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	testscript.Main(leakless{m}, map[string]func(){"openmanus": main, "mcpserver": mcpServer})
}

// leakless is a run of tests after which no goroutine is left.
type leakless struct{ m *testing.M }

func (l leakless) Run() int {
	code := l.m.Run()
	if err := leaktest.Find(); code == 0 && err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return code
}

// TestScripts plays the scripts in testdata/script: what a person types, and
// what they see. Each has a home of its own, and no key.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, ".home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(home, "data"))
			e.Setenv("NO_COLOR", "1")
			return os.MkdirAll(home, 0o700)
		},
	})
}
