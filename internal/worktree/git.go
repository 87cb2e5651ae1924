package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// A git runs the program git in a directory. It runs no hooks and no monitor of
// files, and asks for no signature, whatever the configuration of the repository says.
type git struct {
	dir string
	env []string // more variables
	set []string // more settings, KEY=VALUE
}

// private are the variables of a git that reads no configuration of the person's and
// none of the system's.
var private = []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1"}

// errNoGit is the error where the program git is missing.
var errNoGit = errors.New("the program git is not installed, and a worktree needs it")

// programs matches the settings by which git, where it compares and writes files, runs
// programs of a repository: see gitattributes(5), "filter". No other command that is run
// in a person's repository runs a program that its configuration can name, besides those
// which pipe switches off. Merges are made on a [Stage], and so by no driver of theirs.
var programs = regexp.MustCompile(`(?is)^filter\..*\.(clean|smudge|process|required)$`)

// unfiltered returns g without the filters that the repository in g.dir names. Those of
// the person's own configuration stay, such as Git LFS.
func (g git) unfiltered(ctx context.Context) (git, error) {
	out, err := g.run(ctx, "config", "--list", "--show-scope", "-z")
	if err != nil {
		return g, err
	}
	parts := fields(out)
	persons, repositories := map[string]string{}, map[string]bool{}
	for i := 0; i+1 < len(parts); i += 2 {
		key, value, _ := strings.Cut(parts[i+1], "\n")
		switch scope := parts[i]; {
		case !programs.MatchString(key):
		case strings.Contains(key, "="):
			return g, refuse("the configuration of the repository has the setting %q, whose name no option of git can carry: rename that filter", key)
		case scope == "system" || scope == "global":
			persons[key] = value
		default:
			repositories[key] = true
		}
	}
	for key := range repositories {
		value := persons[key]
		if value == "" && strings.HasSuffix(key, ".required") {
			value = "false"
		}
		g.set = append(g.set[:len(g.set):len(g.set)], key+"="+value)
	}
	return g, nil
}

// run runs git and returns what it printed, without the last line end.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	return g.feed(ctx, nil, args...)
}

// feed is run with a standard input.
func (g git) feed(ctx context.Context, in io.Reader, args ...string) (string, error) {
	var out bytes.Buffer
	if err := g.pipe(ctx, in, &out, args...); err != nil {
		return strings.TrimSuffix(out.String(), "\n"), err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// pipe is feed that writes what git prints to out.
func (g git) pipe(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	all := []string{
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "merge.verifySignatures=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "submodule.recurse=false", "-c", "protocol.allow=never", "-c", "protocol.file.allow=always",
		"-c", "core.quotePath=false",
	}
	for _, s := range g.set {
		all = append(all, "-c", s)
	}
	here, _ := os.Getwd() // none: it is in no workspace
	cmd := hostexec.Outside(g.dir, here).Command(ctx, "git", append(all, args...)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout = g.dir, in, out
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_EDITOR=:", "LC_ALL=C")
	cmd.Env = append(cmd.Env, g.env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w: %w", errNoGit, err)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &gitError{args[0], strings.TrimSpace(said.String()), err}
}

// A gitError is the error of a git that failed.
type gitError struct {
	command string
	said    string // to standard error
	err     error
}

func (e *gitError) Error() string {
	said := e.said
	if said == "" {
		said = e.err.Error()
	}
	return fmt.Sprintf("git %s: %s", e.command, strings.TrimPrefix(said, "fatal: "))
}

func (e *gitError) Unwrap() error { return e.err }

// code returns the exit code of a git that ran, or -1.
func code(err error) int {
	var x *exec.ExitError
	if errors.As(err, &x) {
		return x.ExitCode()
	}
	return -1
}

// fields returns the parts of a list that NUL separates or ends.
func fields(text string) []string {
	if text = strings.TrimSuffix(text, "\x00"); text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
