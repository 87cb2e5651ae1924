// Package doctor checks everything that openmanus needs of the machine: its
// configuration, the models and their endpoints, the data directory, and the
// programs that tools run. It says what is missing and how to get it.
//
// It prints nothing and reaches the machine through [Machine] alone, so that a
// test can describe any machine. Nothing that it returns contains a key.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// A State says how serious a [Finding] is.
type State string

// The states.
const (
	OK      State = "ok"
	Warn    State = "warn"    // some feature does not work, or works less well
	Missing State = "missing" // openmanus can do no task
)

// A Finding is the result of one check.
type Finding struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"` // what to do; "" if there is nothing to do
}

// A Machine is what [Check] looks at. All fields but those that allow nil are
// required. [This] returns the real one.
type Machine struct {
	GOOS, GOARCH string
	Root         bool // the user is root
	Env          config.Lookup

	// LookPath finds a program, as [hostexec.Finder.Look] does.
	LookPath func(name string) (string, error)
	// Path returns the directories of PATH in which LookPath does not look. Nil: none.
	Path func() []hostexec.Passed
	// Run runs a program and returns its standard output; the error has the first
	// line of its error output. It ends when ctx does.
	Run func(ctx context.Context, name string, args ...string) (string, error)
	// Inside is the machine as commands of the agent find it: in the sandbox. Nil:
	// what they run is asked of the machine itself.
	Inside *Inside
	// Stat is [os.Stat], ReadFile [os.ReadFile].
	Stat     func(name string) (fs.FileInfo, error)
	ReadFile func(name string) ([]byte, error)
	// Free returns how many bytes can still be written below a directory.
	Free func(dir string) (uint64, error)
	// Models returns the names of the models at an endpoint: see [Models].
	// Nil: no endpoint is asked.
	Models func(ctx context.Context, baseURL, key string) ([]string, error)
	// Store opens and closes the store in an existing data directory. The
	// error says why it cannot hold sessions, such as that it is on a network
	// file system. Nil: the store is not opened.
	Store func(dir string) error

	// Uses says what takes how much of an existing data directory, or "". The check
	// leaves it out if Uses is nil.
	Uses     func(ctx context.Context, dir string) string
	Terminal Terminal
}

// An Inside looks for programs, and runs them, as commands of the agent do. The
// fields are as those of [Machine].
type Inside struct {
	LookPath func(name string) (string, error)
	Run      func(ctx context.Context, name string, args ...string) (string, error)
}

// A Terminal says which of the standard streams are terminals.
type Terminal struct{ In, Out, Err bool }

// A Setup is the result of [config.Load], and the working directory.
type Setup struct {
	Config   *config.Config // nil if Err is not
	Warnings []config.Warning
	Err      error
	Dir      string
}

// This returns the machine that the program runs on, of which commands of the agent write
// the workspaces. The caller sets Store and Terminal, which only it knows.
func This(env config.Lookup, workspaces ...string) Machine {
	outside := hostexec.Outside(workspaces...)
	run := func(ctx context.Context, name string, args ...string) (string, error) {
		return run(outside.Command(ctx, name, args...))
	}
	return Machine{GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Root: os.Geteuid() == 0, Env: env, LookPath: outside.Look, Run: run, Path: outside.Passed,
		Stat: os.Stat, ReadFile: os.ReadFile, Free: free, Models: Models}
}

// patience bounds one question to a program or an endpoint.
const patience = 5 * time.Second

// run is [Machine].Run on the real machine.
func run(cmd *exec.Cmd) (string, error) {
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		err = Failed(err, string(ended.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}

// Failed returns the error of a program that failed with err and wrote stderr.
func Failed(err error, stderr string) error {
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	if line == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, line)
}

// Check makes all checks at the same time, and returns what they found in a fixed
// order. It takes a few seconds at most, and less if ctx ends.
func Check(ctx context.Context, m Machine, s Setup) []Finding {
	c, in := &checker{Machine: m, Setup: s}, &checker{Machine: m, Setup: s}
	if m.Inside != nil {
		in.LookPath, in.Run, in.where = m.Inside.LookPath, m.Inside.Run, " (in the sandbox)"
	}
	checks := []func(context.Context) []Finding{
		c.system, c.configuration, c.keys, c.model, c.dataDir, in.shell, in.python, in.git, c.chromium, c.bubblewrap, c.path, c.terminal, c.unattended,
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

// A checker has the checks as methods. They run at the same time, and change nothing in
// it.
type checker struct {
	Machine
	Setup
	where string // what findings about a program end with
}

// asked runs a program and returns the first line of its output, without control
// characters and at most 100 characters of it. The error includes the line.
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

// first returns the path of the first of the programs that exists.
func (c *checker) first(names ...string) (string, bool) {
	for _, name := range names {
		if path, err := c.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// one returns a list of one finding.
func one(name string, state State, detail, remedy string) []Finding {
	return []Finding{{name, state, detail, remedy}}
}
