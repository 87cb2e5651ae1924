//go:build linux

// Package attempts tries to break out of a sandbox in every way that is known
// to have worked somewhere, and checks outside the sandbox whether it did. The
// command "openmanus sandbox check" runs it; so can the tests of a sandbox.
//
// The attempts are the txtar archives in the directory scripts. The first line
// of an archive is "class: NAME", and an attempt in it is
//
//	-- attempt: a hook of git --
//	tries: to leave a hook that the next commit outside runs
//	clear: .git/hooks
//	-- ws/.git/HEAD --
//	ref: refs/heads/main
//	-- inside.sh --
//	echo EVIL > .git/hooks/pre-commit
//
// The section inside.sh (or inside.py) runs in the sandbox, in a new workspace
// that has the files of the sections ws/PATH. It goes on after errors, since
// any step may be refused. Its variables are OUT, a directory outside with a
// file canary in it; NAME, unique to this attempt and known outside; RUNNER, the
// process that made the sandbox.
//
// The section outside.py runs on this machine, outside the sandbox, and decides
// when the inside runs: scripts/outside.py has what it can call. Special limits
// of the sandbox, a listener that must not be reached and a look at what a
// command left are a few lines of it. Sections before the first attempt belong
// to every attempt of the archive.
//
// The field "alone: yes" is for an attempt that changes variables of this process by which
// others would make their sandboxes: it is made after them.
//
// An attempt got out if one of its scripts prints REACHED, if the text of
// $OUT/canary is in its output, if anything in $OUT changed, if a file changed
// that a section ws/PATH made (unless the field "free" names it), or if a name
// of the field "clear" is or has a symbolic link or a file with EVIL in it. An
// attempt that could not be made counts as failed: a sandbox is not safe because
// a tool was missing. Scripts need Python 3, inside and outside.
package attempts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// An Attempt is one way to break out.
type Attempt struct {
	Class string
	Name  string // unique
	Tries string // what it tries: "to leave a hook …"

	parts       map[string]string // scripts, by section
	files       []txtar.File      // of the workspace
	clear, free []string
	alone       bool
}

// A Result is the outcome of an attempt.
type Result struct {
	Attempt
	Breach error // what it reached; nil if the sandbox held
	Fault  error // why it could not be made
	Took   time.Duration
}

// Held reports whether the attempt was made, and the sandbox held.
func (r Result) Held() bool { return r.Breach == nil && r.Fault == nil }

// Run makes the attempts, four at a time and some alone, in sandboxes with the options o, and
// returns the results in the same order. The attempts choose the workspace, the
// limits and the network. For those with the network "hosts", o.Proxy must let
// through the host allowed.example alone.
func Run(ctx context.Context, o sandbox.Options, all []Attempt) []Result {
	results := make([]Result, len(all))
	var running errgroup.Group
	running.SetLimit(4)
	for i, a := range all {
		if a.alone {
			continue
		}
		running.Go(func() error {
			results[i] = run(ctx, o, a)
			return nil
		})
	}
	_ = running.Wait() // no function returns an error
	for i, a := range all {
		if a.alone {
			results[i] = run(ctx, o, a)
		}
	}
	return results
}

// Available returns the reason why this machine cannot make a sandbox with the
// options o.
func Available(ctx context.Context, o sandbox.Options) error {
	r := run(ctx, o, Attempt{parts: map[string]string{"inside.sh": tried}})
	return errors.Join(r.Breach, r.Fault)
}

// A breach is an error that says what an attempt reached.
type breach struct{ text string }

func (b breach) Error() string { return b.text }

func reached(format string, a ...any) error { return breach{fmt.Sprintf(format, a...)} }

// attemptTime is how long one attempt may take. Taking longer is a breach:
// nothing inside may hang this process.
const attemptTime = 90 * time.Second

func run(ctx context.Context, o sandbox.Options, a Attempt) Result {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	t := &trial{Attempt: a, o: o, ctx: limited}
	err := t.setUp()
	if err == nil {
		err = t.play()
	}
	if err == nil {
		err = t.check()
	}
	if limited.Err() != nil && ctx.Err() == nil {
		err = reached("it was not over after %v: %v", attemptTime, err) // which has what it printed
	}
	cancel()
	err = errors.Join(err, t.tearDown())
	r := Result{Attempt: a, Fault: err, Took: time.Since(began)}
	if b := (breach{}); errors.As(err, &b) {
		r.Breach, r.Fault = b, nil
	}
	return r
}

// A trial is an attempt that is being made.
type trial struct {
	Attempt
	o   sandbox.Options
	ctx context.Context

	top    string // a directory that has the workspace and the directory outside
	dir    string // the workspace
	out    string // the directory outside
	canary string // a secret: the text of the file canary outside

	ws   *workspace.Dir // nil until the sandbox is made
	cmd  *command       // what was started last; nil before
	undo []func()       // puts variables of this process back
}

func (t *trial) setUp() (err error) {
	if t.top, err = os.MkdirTemp("", "openmanus-attempt-"); err != nil {
		return err
	}
	if t.top, err = filepath.EvalSymlinks(t.top); err != nil {
		return err
	}
	t.dir, t.out, t.canary = filepath.Join(t.top, "ws"), filepath.Join(t.top, "outside"), "canary-"+rand.Text()
	files, err := txtar.FS(&txtar.Archive{Files: t.files})
	if err != nil {
		return err
	}
	canary := filepath.Join(t.out, "canary")
	err = errors.Join(os.MkdirAll(t.dir, 0o755), os.CopyFS(t.dir, files), os.Mkdir(t.out, 0o755),
		os.WriteFile(canary, []byte(t.canary), 0o644), os.Chtimes(canary, planted, planted))
	if err != nil || os.Getuid() != 0 || t.o.Kind != sandbox.Docker && t.o.Kind != sandbox.GVisor {
		return err
	}
	return filepath.WalkDir(t.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 1000, 1000)) // in containers commands are not root
	})
}

// planted is the time of the file canary.
var planted = time.Unix(1e9, 0)

func (t *trial) tearDown() (err error) {
	if t.cmd != nil {
		<-t.cmd.ended
	}
	if t.ws != nil {
		err = t.ws.Close()
	}
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	return errors.Join(err, os.RemoveAll(t.top))
}

// check returns a breach if the attempt left what it must not.
func (t *trial) check() error {
	entries, err := os.ReadDir(t.out)
	if err != nil {
		return reached("the directory outside is gone: %v", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || e.Name() != "canary" || info.Mode() != 0o644 || !info.ModTime().Equal(planted) {
			return reached("it made or changed %s outside", e.Name())
		}
	}
	own := map[string]bool{}
	for _, f := range append(t.files, txtar.File{Name: "../outside/canary", Data: []byte(t.canary)}) {
		own[f.Name] = true
		data, err := os.ReadFile(filepath.Join(t.dir, f.Name))
		if (err != nil || string(data) != string(f.Data)) && !slices.Contains(t.free, f.Name) {
			return reached("%s is now %q, %v", f.Name, data, err)
		}
	}
	for _, name := range t.clear {
		err := filepath.WalkDir(filepath.Join(t.dir, name), func(path string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(t.dir, path) // path is below
			if err != nil || own[rel] {
				return nil //nolint:nilerr // it does not exist, as it should be
			}
			var data []byte
			if d.Type().IsRegular() { // reading a pipe would wait
				data, _ = os.ReadFile(path) // what cannot be read has no EVIL
			}
			if d.Type()&fs.ModeSymlink != 0 || strings.Contains(string(data), "EVIL") {
				return reached("it left %s: %q", rel, data)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
