// Command openmanus gives tasks to agents: openmanus run "what you want done".
//
// Its parts are the command line (a file for each command), the terminal (what
// is shown while an agent works, and how the user is asked), and the wiring of
// package host, which makes the agents. Whatever another surface could use is
// not here but in host and the packages below it.
//
// # Where things are
//
//   - main.go lists the commands; each has a file of its name, with its flags, its help and a method that runs it.
//   - app.go opens what most commands need: configuration, store and host. The terminal (person.go, table.go) is the only place that prints.
//   - run.go, chat*.go, flow.go, evaluate.go and research.go begin sessions; drive.go drives one and shows it, until it ends or waits.
//   - sessions*.go read and change sessions that exist. They print tables for people, and with --json what programs read.
//   - screen*.go connect the full screen of package tui, acp.go the editors, serve.go the HTTP server, and worker.go the workers of a cluster. With the build tag cluster, cluster_on.go adds Temporal and S3.
//
// A method Run returns an error for people, or an exit with a code: 0 for success, 1 for a
// failure, 2 for a mistake in the command line or the configuration, 3 for a limit, 4 if a
// person is needed and no terminal is attached, and 130 after an interrupt. The error is
// printed once, by main.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/cli"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/sandbox"
)

const about = `An agent that does what you ask, with tools, on your own machine.

Progress goes to standard error, and the answer alone to standard output.

Examples of what people do most: openmanus help examples

Exit codes:
  0    finished
  1    the run failed, or the agent said that it did not succeed
  2    wrong usage or configuration, also a key or model the provider refuses
  3    stopped by a limit (steps, tokens, money, time, stuck)
  4    input or approval is needed, and no terminal is attached
  130  interrupted`

// commands is the command line. Each command has a file of its own.
type commands struct {
	Run        runCmd        `cmd:"" help:"Give a task, and get the answer."`
	Flow       flowCmd       `cmd:"" help:"Plan a task, and have agents do the steps."`
	Evaluate   evaluateCmd   `cmd:"" help:"Attempt a task several times, and keep the best attempt."`
	Chat       chatCmd       `cmd:"" help:"Talk with an agent."`
	Research   researchCmd   `cmd:"" help:"Research a question on the web, and write a report with checked quotations."`
	Serve      serveCmd      `cmd:"" help:"Serve sessions to browsers and programs, over HTTP."`
	Worker     workerCmd     `cmd:"" help:"Drive the sessions of servers on other machines."`
	Sessions   sessionsCmd   `cmd:"" help:"List, read, continue and steer sessions."`
	Schedule   scheduleCmd   `cmd:"" help:"Add, list, run and pause tasks that repeat."`
	Usage      usageCmd      `cmd:"" help:"Add up the tokens and costs of all sessions."`
	Approvals  approvalsCmd  `cmd:"" help:"List and forget the decisions that you had remembered."`
	Trust      trustCmd      `cmd:"" help:"Read and vouch for the files of a workspace that tell agents what to do."`
	Tools      toolsCmd      `cmd:"" help:"List the tools."`
	Agents     agentsCmd     `cmd:"" help:"List the agents."`
	ACP        acpCmd        `cmd:"" name:"acp" help:"Work for an editor, over the Agent Client Protocol."`
	MCP        mcpCmd        `cmd:"" name:"mcp" help:"Add, list, approve and test MCP servers."`
	Hooks      hooksCmd      `cmd:"" help:"List, try and approve the programs that are asked before calls and notified of events."`
	A2A        a2aCmd        `cmd:"" name:"a2a" help:"Add, list, approve and test agents elsewhere, to give work to."`
	Models     modelsCmd     `cmd:"" help:"List the configured models, and what is known about models."`
	Setup      setupCmd      `cmd:"" help:"Choose a provider, a key and a model, and try them."`
	Config     configCmd     `cmd:"" help:"Show, check and create the configuration."`
	Sandbox    sandboxCmd    `cmd:"" help:"Inspect and test the sandbox that commands run in."`
	Doctor     doctorCmd     `cmd:"" help:"Check what this machine has and lacks."`
	Demo       demoCmd       `cmd:"" help:"Play a built-in script with the real tools, without a model or a key."`
	Docs       docsCmd       `cmd:"" help:"Open the documentation of this version, which is in the program."`
	Man        manCmd        `cmd:"" help:"Print the manual page of a command."`
	Update     updateCmd     `cmd:"" help:"Look for a newer version, verify it, and install it."`
	Version    versionCmd    `cmd:"" help:"Print the version, or verify this program."`
	Completion completionCmd `cmd:"" help:"Print a completion script for your shell."`

	globals
}

// globals are the flags of every command.
type globals struct {
	Config  string `help:"Read this configuration file and no other." placeholder:"FILE"`
	DataDir string `help:"Keep sessions here." placeholder:"DIR"`
	NoColor bool   `help:"No colour."`
}

// Exit codes: the contract of the command line.
const (
	exitFinished    = 0
	exitFailed      = 1
	exitUsage       = 2
	exitLimit       = 3
	exitWaits       = 4
	exitInterrupted = 130
)

// An exit is an error that ends the program with a code. Its err, if not nil, is
// printed.
type exit struct {
	code     int
	err      error
	reported bool // --output json has been printed
}

func (e exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// usage makes err an error with the exit code for wrong usage or configuration.
func usage(err error) error { return exit{code: exitUsage, err: err} }

// A terminal is the process's surroundings: standard streams, environment and
// working directory. Tests pass their own. Nothing else in this package uses os
// for them.
type terminal struct {
	in       *os.File
	out, err io.Writer
	env      func(string) (string, bool)
	envNames []string
	dir      string // where it was started
	program  string // the file of this program; "" if it is not known

	// asks, if not nil, asks the user in place of the terminal's lines
	asks func(ctx context.Context, question string) (string, error)

	lines   sync.Once // begins to read lines of in
	want    chan struct{}
	reading atomic.Bool // a reader waits for a line
	line    chan lineRead
}

func main() {
	sandbox.Main()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "openmanus: the current directory is gone: "+err.Error())
		os.Exit(exitUsage)
	}
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		program = "" // only what installs it needs to know
	}
	os.Exit(Main(context.Background(), os.Args[1:], &terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.LookupEnv, envNames: envNames(), dir: dir, program: program}))
}

func envNames() []string {
	var names []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	return names
}

// Main runs the program with the given arguments and returns its exit code.
func Main(ctx context.Context, args []string, t *terminal) int {
	out := &checked{w: t.out}
	t.out = out
	code := t.main(ctx, args)
	if t.want != nil {
		close(t.want)
	}
	if err := out.failed(); err != nil && code == exitFinished {
		return t.report(fmt.Errorf("what was to be printed was not written: %w", err))
	}
	return code
}

// A checked is standard output, of which the first error makes the program fail: no
// command needs to look for it where it has nothing else to do.
type checked struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// Write implements [io.Writer].
func (c *checked) Write(data []byte) (int, error) {
	n, err := c.w.Write(data)
	if err != nil {
		c.mu.Lock()
		c.err = cmp.Or(c.err, err)
		c.mu.Unlock()
	}
	return n, err
}

// Unwrap returns the writer below.
func (c *checked) Unwrap() io.Writer { return c.w }

func (c *checked) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (t *terminal) main(ctx context.Context, args []string) int {
	var all commands
	line := cli.New("openmanus", about, &all)
	named, err := line.Parse(spelled(withoutCommand(line, args, t.fullScreen())))
	if errors.Is(err, cli.ErrHelp) {
		return t.report(named.WriteHelp(t.out, min(columns(t.out), 100)))
	}
	if err != nil {
		fmt.Fprintf(t.err, "openmanus: %v\nTry: %s --help\n", err, strings.TrimSpace("openmanus "+named.Path()))
		return exitUsage
	}
	return t.report(t.run(ctx, named.Target(), &all.globals))
}

// spelled translates common forms of other programs, such as "help" and
// "--version", into commands of this one.
func spelled(args []string) []string {
	if len(args) == 0 {
		return []string{"--help"}
	}
	switch args[0] {
	case "help":
		if len(args) == 2 && args[1] == "examples" {
			return []string{"docs", "cheatsheet", "--print"}
		}
		return append(slices.Clone(slices.DeleteFunc(args[1:], isHelp)), "--help")
	case "--version", "-v", "-V":
		return append([]string{"version"}, args[1:]...)
	}
	if len(args) == 2 && isHelp(args[1]) { // of a command, as in "run help"
		return []string{args[0], "--help"}
	}
	return args
}

func isHelp(word string) bool { return word == "help" }

// A command is a struct of the command line, whose fields are its flags and arguments. It has
// one of these methods, by what has to be there before it runs: see [terminal.run].
type (
	command interface {
		Run(ctx context.Context, t *terminal, g *globals) error
	}
	taskCommand interface {
		run(ctx context.Context, t *terminal, g *globals) error
		asShown() shown
	}
	configCommand interface {
		configured(ctx context.Context, t *terminal, g *globals, cfg *config.Config) error
	}
	appCommand interface {
		opened(ctx context.Context, a *app) error
	}
	sessionCommand interface {
		open(ctx context.Context, t *terminal, g *globals, flags map[string]string) (*session, error)
		on(ctx context.Context, x *session) error
	}
)

// run runs a command: with the configuration, the program or the session that it is about,
// which is closed afterwards. Whoever wants the outcome of a task as JSON gets its failure so, too.
func (t *terminal) run(ctx context.Context, c any, g *globals) error {
	var flags map[string]string
	if given, ok := c.(interface{ flags() map[string]string }); ok {
		flags = given.flags()
	}
	switch c := c.(type) {
	case command:
		return c.Run(ctx, t, g)
	case taskCommand:
		return t.fail(c.asShown(), c.run(ctx, t, g))
	case configCommand:
		cfg, err := t.load(g, flags)
		if err != nil {
			return err
		}
		return c.configured(ctx, t, g, cfg)
	case appCommand:
		a, err := t.open(g, flags)
		if err != nil {
			return err
		}
		defer a.Close()
		return c.opened(ctx, a)
	}
	x, err := c.(sessionCommand).open(ctx, t, g, flags)
	if err != nil {
		return err
	}
	defer x.Close()
	return c.(sessionCommand).on(ctx, x)
}

// report prints err unless it has nothing to say, and returns its exit code. An
// error of package host is a mistake in the configuration, and so may be one of act.
func (t *terminal) report(err error) int {
	if err == nil {
		return exitFinished
	}
	code := exitFailed
	if refused := (*act.Error)(nil); errors.As(err, &refused) && refused.Kind == act.Invalid {
		code = exitUsage
	}
	var e exit
	if errors.As(err, &e) {
		code = e.code
		if e.err == nil {
			return code
		}
	}
	fmt.Fprintf(t.err, "openmanus: %s\n", clip.Plain(err.Error()))
	return code
}
