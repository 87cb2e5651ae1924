package workspacetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/workspace"
)

// commands are the cases of [workspace.Runner].
func commands() []testCase {
	return []testCase{
		{"run: the exit code", exitCode},
		{"run: a signal is named, and counted as shells do", signal},
		{"run: both streams, apart", streams},
		{"run: one writer gets both streams in order", oneWriter},
		{"run: a lot of output", bigOutput},
		{"run: the input", input},
		{"run: no input is an empty one", noInput},
		{"run: an input that the command does not read", unreadInput},
		{"run: an input that never comes does not keep a command alive", silentInput},
		{"run: the environment", environment},
		{"run: no secret of ours reaches a command", noSecrets},
		{"run: the working directory", workingDirectory},
		{"run: a working directory that is not there", missingDirectory},
		{"run: files and commands see the same names", sameNames},
		{"run: a program that is not there is named", notFound},
		{"run: a command has no terminal", noTerminal},
		{"run: a command ends with all that it started", leavesNothing},
		{"run: an end of the context kills the command and all that it started", cancelKills},
		{"run: grace lets a command end itself", graceHeeded},
		{"run: grace runs out for one that will not", graceIgnored},
		{"run: a context that has ended runs nothing", endedContext},
		{"run: Close kills what runs", closeKills},
		{"run: nothing runs after Close", runAfterClose},
		{"run: a writer that fails ends the command", failingWriter},
		{"run: many at once", concurrent},
	}
}

func exitCode(b *box) {
	if out, err := b.sh("exit 0"); err != nil {
		b.Errorf("exit 0: %v: %s", err, out)
	}
	for _, want := range []int{1, 3, 127, 255} {
		_, err := b.sh(fmt.Sprint("exit ", want))
		if code(err) != want {
			b.Errorf("exit %d: %v", want, err)
		}
	}
}

func signal(b *box) {
	_, err := b.sh("kill -TERM $$")
	var x *workspace.ExitError
	if !errors.As(err, &x) || x.Code != 143 || x.Signal != "SIGTERM" {
		b.Errorf("kill -TERM: %#v, want code 143 by SIGTERM", err)
	}
}

func streams(b *box) {
	var out, errs strings.Builder
	b.must(b.ws.Run(b.Context(), &workspace.Cmd{Args: []string{"sh", "-c", "echo one; echo two >&2; echo three"}, Stdout: &out, Stderr: &errs}))
	if out.String() != "one\nthree\n" || errs.String() != "two\n" {
		b.Errorf("stdout %q, stderr %q", out.String(), errs.String())
	}
}

func oneWriter(b *box) {
	out, err := b.sh("for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done")
	var want strings.Builder
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	if err != nil || out != want.String() {
		b.Errorf("%v, output:\n%s", err, out)
	}
}

func bigOutput(b *box) {
	out, err := b.sh("head -c 5000000 /dev/zero; echo end")
	if err != nil || len(out) != 5000004 || !strings.HasSuffix(out, "\x00end\n") {
		b.Errorf("%v, %d bytes", err, len(out))
	}
}

func input(b *box) {
	data := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	var out bytes.Buffer
	b.must(b.ws.Run(b.Context(), &workspace.Cmd{Args: []string{"cat"}, Stdin: bytes.NewReader(data), Stdout: &out}))
	if !bytes.Equal(out.Bytes(), data) {
		b.Errorf("cat returned %d of %d bytes", out.Len(), len(data))
	}
}

func noInput(b *box) {
	b.within("reading no input", func() {
		if out, err := b.sh("cat; echo end"); err != nil || out != "end\n" {
			b.Errorf("%v: %q", err, out)
		}
	})
}

func unreadInput(b *box) {
	b.must(b.ws.Run(b.Context(), &workspace.Cmd{Args: []string{"true"}, Stdin: bytes.NewReader(make([]byte, 1<<20))}))
}

func silentInput(b *box) {
	r, w := io.Pipe()
	defer w.Close()
	b.within("a command with a silent input", func() {
		if err := b.ws.Run(b.Context(), &workspace.Cmd{Args: []string{"sh", "-c", "exit 4"}, Stdin: r}); code(err) != 4 {
			b.Error(err)
		}
	})
}

func environment(b *box) {
	var out strings.Builder
	b.must(b.ws.Run(b.Context(), &workspace.Cmd{
		Args:   []string{"sh", "-c", `echo "$A|$B|${PATH:+path}"`},
		Env:    []string{"A=1", "B=two words", "A=2"},
		Stdout: &out,
	}))
	if out.String() != "2|two words|path\n" {
		b.Errorf("got %q", out.String())
	}
}

func noSecrets(b *box) {
	b.Setenv("OPENAI_API_KEY", "sk-do-not-tell")
	b.Setenv("SOME_PASSWORD", "do-not-tell")
	out, err := b.sh("env; cat /proc/self/environ 2>/dev/null; true")
	if err != nil || strings.Contains(out, "do-not-tell") {
		b.Errorf("%v, a command sees:\n%s", err, out)
	}
}

func workingDirectory(b *box) {
	b.must(os.MkdirAll(b.at("a", "b"), 0o777))
	for dir, want := range map[string]string{"": b.dir, ".": b.dir, "a/b": b.at("a", "b"), b.at("a"): b.at("a")} {
		var out strings.Builder
		b.must(b.ws.Run(b.Context(), &workspace.Cmd{Args: []string{"pwd", "-P"}, Dir: dir, Stdout: &out}))
		if got := strings.TrimSpace(out.String()); got != want {
			b.Errorf("Dir %q is %s, want %s", dir, got, want)
		}
	}
}

func missingDirectory(b *box) {
	err := b.ws.Run(b.Context(), &workspace.Cmd{Args: []string{"true"}, Dir: "not/there"})
	if err == nil || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join("not", "there")) {
		b.Errorf("%v, want an fs.ErrNotExist that names the directory", err)
	}
}

func sameNames(b *box) {
	b.must(b.ws.WriteFile(b.Context(), "in.txt", []byte("from us")))
	out, err := b.sh(fmt.Sprintf("cat %q && printf 'from it' > out.txt", b.at("in.txt")))
	if err != nil || out != "from us" {
		b.Errorf("%v: %q", err, out)
	}
	b.has(b.at("out.txt"), "from it")
	if got, err := fs.ReadFile(b.ws.FS(), "out.txt"); err != nil || string(got) != "from it" {
		b.Errorf("%v: %q", err, got)
	}
}

func notFound(b *box) {
	for _, name := range []string{"no-such-program-here", "./no-such-program-here", "/no/no-such-program-here"} {
		err := b.ws.Run(b.Context(), &workspace.Cmd{Args: []string{name}})
		if err == nil || code(err) >= 0 || !strings.Contains(err.Error(), "no-such-program-here") {
			b.Errorf("%s: %v, want an error that names it and is no exit status", name, err)
		}
		want := exec.ErrNotFound
		if strings.Contains(name, "/") {
			want = fs.ErrNotExist
		}
		if !errors.Is(err, want) {
			b.Errorf("%s: %v is not %q", name, err, want)
		}
	}
	if err := b.ws.Run(b.Context(), &workspace.Cmd{}); err == nil {
		b.Error("a command without a program ran")
	}
}

func noTerminal(b *box) {
	if out, err := b.sh("exec 3</dev/tty"); err == nil {
		b.Errorf("it could open /dev/tty: %s", out)
	}
}

// clan is a script that leaves processes of every kind behind, each holding the
// pipe: in the background, deaf to signals, in a session of its own, and
// forked twice from there.
const clan = `
exec 9>alive
sleep 1000 &
(trap '' HUP INT TERM; sleep 1000) &
setsid sleep 1000 &
setsid sh -c 'sleep 1000 & exec sleep 1000' &
(setsid sh -c '(trap "" HUP TERM; sleep 1000) & :' &)
`

func leavesNothing(b *box) {
	l := b.life("alive")
	b.within("a command whose output is held by others", func() {
		if out, err := b.sh(clan + "echo ready; exit 5"); code(err) != 5 || out != "ready\n" {
			b.Errorf("%v: %q", err, out)
		}
	})
	l.over()
}

func cancelKills(b *box) {
	l := b.life("alive")
	out, err := b.until("trap '' TERM;"+clan+"echo ready; sleep 1000; echo no", 0, cancelIt)
	if !errors.Is(err, context.Canceled) || out != "ready\n" {
		b.Errorf("%v, want context.Canceled; output %q", err, out)
	}
	l.over()
}

func cancelIt(cancel context.CancelFunc) { cancel() }

func graceHeeded(b *box) {
	l := b.life("alive")
	out, err := b.until("exec 9>alive; trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done 2>/dev/null", limit, cancelIt)
	if !errors.Is(err, context.Canceled) || !strings.HasSuffix(out, "bye\n") {
		b.Errorf("%v, want context.Canceled; output %q", err, out)
	}
	l.over()
}

func graceIgnored(b *box) {
	l := b.life("alive")
	out, err := b.until("exec 9>alive; trap '' TERM; echo ready; while :; do sleep 0.01; done 2>/dev/null", 10*time.Millisecond, cancelIt)
	if !errors.Is(err, context.Canceled) || strings.Contains(out, "bye") {
		b.Errorf("%v, want context.Canceled; output %q", err, out)
	}
	l.over()
}

func endedContext(b *box) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if err := b.ws.Run(ctx, &workspace.Cmd{Args: []string{"sh", "-c", "echo x > made"}}); !errors.Is(err, context.Canceled) {
		b.Errorf("%v, want context.Canceled", err)
	}
	if _, err := os.Lstat(b.at("made")); err == nil {
		b.Error("the command ran")
	}
}

func closeKills(b *box) {
	l := b.life("alive")
	_, err := b.until(clan+"echo ready; sleep 1000", 0, func(context.CancelFunc) {
		if err := b.ws.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
	})
	if err == nil || code(err) >= 0 {
		b.Errorf("%v, want an error that is no exit status", err)
	}
	l.over()
}

func runAfterClose(b *box) {
	b.must(b.ws.Close())
	if err := b.ws.Run(b.Context(), &workspace.Cmd{Args: []string{"true"}}); err == nil || code(err) >= 0 {
		b.Errorf("%v, want an error that is no exit status", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func failingWriter(b *box) {
	b.within("a command whose output nobody takes", func() {
		err := b.ws.Run(b.Context(), &workspace.Cmd{Args: []string{"sh", "-c", "while echo y; do :; done"}, Stdout: brokenWriter{}})
		if err == nil || !strings.Contains(err.Error(), "the disk is full") {
			b.Errorf("%v, want the writer's error", err)
		}
	})
}

func concurrent(b *box) {
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			out, err := b.sh(fmt.Sprintf("echo %d; exit %d", i, i+1))
			if code(err) != i+1 || out != fmt.Sprintf("%d\n", i) {
				b.Errorf("command %d: %v: %q", i, err, out)
			}
		})
	}
	all.Wait()
}
