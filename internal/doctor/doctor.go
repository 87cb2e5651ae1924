// Package doctor looks at everything that the program needs of the machine it
// runs on, and says of what is missing what to do about it. It prints nothing
// and asks the machine through [Machine] alone.
package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/config"
)

// A State says how a [Finding] stands.
type State string

// The states.
const (
	OK      State = "ok"
	Warn    State = "warn"    // a part of the program does not work, or less well
	Missing State = "missing" // no task can be done without it
)

// A Finding is what was found about one thing. No finding contains a key.
type Finding struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"` // what to do; "" if there is nothing to do
}

// A Machine is what is looked at. [This] is the real one.
type Machine struct {
	GOOS, GOARCH string
	Env          config.Lookup

	// LookPath finds a program, as [exec.LookPath] does.
	LookPath func(name string) (string, error)
	// Run runs a program and returns its standard output and standard
	// error. It ends when ctx does.
	Run func(ctx context.Context, name string, args ...string) (string, error)
	// Stat is [os.Stat], ReadFile [os.ReadFile].
	Stat     func(name string) (fs.FileInfo, error)
	ReadFile func(name string) ([]byte, error)
	// Free returns how many bytes can still be written below a directory.
	Free func(dir string) (uint64, error)
	// Models asks the endpoint for the names of its models: see [Models].
	// Nil: no endpoint is asked.
	Models func(ctx context.Context, baseURL, key string) ([]string, error)
	// Store opens and closes the store in an existing data directory. An
	// error says why sessions cannot be kept there, such as a network file
	// system. Nil: it is not tried.
	Store func(dir string) error
	// Terminal says which of the standard streams are terminals.
	Terminal Terminal
}

// A Terminal is how a person sees the program.
type Terminal struct{ In, Out, Err bool }

// A Setup is what [config.Load] returned, and the directory that openmanus was
// started in.
type Setup struct {
	Config   *config.Config // nil if Err is not
	Warnings []config.Warning
	Err      error
	Dir      string
}

// This is the machine that we run on. What a caller alone can know, Store and
// Terminal, is left to it.
func This(env config.Lookup) Machine {
	return Machine{GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Env: env, LookPath: exec.LookPath, Run: run,
		Stat: os.Stat, ReadFile: os.ReadFile, Free: free, Models: Models}
}

// patience is how long one question to a program or an endpoint may take.
const patience = 5 * time.Second

func run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Check looks at everything, at once, and returns what it found in a fixed
// order. It takes a few seconds at most, less if ctx ends.
func Check(ctx context.Context, m Machine, s Setup) []Finding {
	c := &checker{m, s}
	checks := []func(context.Context) []Finding{
		c.system, c.configuration, c.keys, c.model, c.dataDir, c.shell, c.python, c.git, c.chromium, c.bubblewrap, c.terminal,
	}
	found := make([][]Finding, len(checks))
	var wg sync.WaitGroup
	for i, check := range checks {
		wg.Go(func() { found[i] = check(ctx) })
	}
	wg.Wait()
	var all []Finding
	for _, f := range found {
		all = append(all, f...)
	}
	return all
}

type checker struct {
	Machine
	Setup
}

// asked runs a program for its first line of output.
func (c *checker) asked(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := c.Run(ctx, name, args...)
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, line)
	switch {
	case ctx.Err() != nil:
		return line, errors.New("no answer in time")
	case err != nil && line != "":
		err = errors.New(err.Error() + ": " + line)
	}
	if r := []rune(line); len(r) > 100 {
		line = string(r[:100]) + "…"
	}
	return line, err
}

// first finds the first of the programs.
func (c *checker) first(names ...string) (string, bool) {
	for _, name := range names {
		if path, err := c.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

func one(name string, state State, detail, remedy string) []Finding {
	return []Finding{{name, state, detail, remedy}}
}
