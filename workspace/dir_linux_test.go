package workspace_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// A daemon that leaves its session and its parents and wipes its environment
// cannot be found. It must not hang Run, and Run must not keep it secret.
func TestSurvivorThatHoldsTheOutput(t *testing.T) {
	d := newDir(t, t.TempDir())
	defer d.Close()
	var out strings.Builder
	err := d.Run(t.Context(), &workspace.Cmd{
		Args: []string{"sh", "-c", `mkfifo up
			env -i "$(command -v setsid)" -f "$(command -v sh)" -c 'echo $$; echo >up; exec sleep 1000'
			read x <up; echo done; exit 3`},
		Stdout: &out,
	})
	for line := range strings.Lines(out.String()) {
		if pid, perr := strconv.Atoi(strings.TrimSpace(line)); perr == nil {
			defer unix.Kill(pid, unix.SIGKILL)
		}
	}
	var exit *workspace.ExitError
	if !errors.As(err, &exit) || exit.Code != 3 || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("%v, want exit status 3 and a word about the survivor; output %q", err, &out)
	}
}

// A process that is just becoming another program shows no environment. It is
// not to be overlooked for that.
func TestNothingEscapesInTheMomentOfItsStart(t *testing.T) {
	d := newDir(t, t.TempDir())
	defer d.Close()
	for i := range 100 {
		pipe := filepath.Join(d.Dir(), strconv.Itoa(i))
		if err := unix.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		dead := make(chan error, 1)
		go func() {
			f, err := os.Open(pipe)
			if err == nil {
				_, err = io.ReadAll(f)
				f.Close()
			}
			dead <- err
		}()
		script := "exec 9>" + pipe + "; setsid sleep 1000 & setsid sleep 1000 & setsid setsid sleep 1000 & kill -9 $$"
		var exit *workspace.ExitError
		if err := d.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", script}}); !errors.As(err, &exit) || exit.Signal != "SIGKILL" {
			t.Fatal(err)
		}
		select {
		case err := <-dead:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("run %d left a process behind", i)
		}
	}
}

// A command that runs within a command of another workspace, as when the whole
// program is started by its own bash tool, dies with the outer one.
func TestCommandsOfAnInnerWorkspaceCarryTheOuterMark(t *testing.T) {
	t.Setenv("OPENMANUS_RUN", "outer")
	d := newDir(t, t.TempDir())
	defer d.Close()
	var out strings.Builder
	if err := d.Run(t.Context(), &workspace.Cmd{Args: []string{"printenv", "OPENMANUS_RUN"}, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "outer:") || len(out.String()) < 20 {
		t.Errorf("the mark is %q, want one of its own after the outer one", &out)
	}
}

// asNobody calls do with the file permissions of an ordinary user, even if the
// tests run as root. os.Root works on this thread alone.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Geteuid() == 0 {
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer unix.Setfsuid(0)
	}
	do()
}

func TestWriteFileHeedsReadOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "precious")
	if err := os.WriteFile(path, []byte("precious"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	d := newDir(t, dir)
	defer d.Close()
	asNobody(t, func() {
		if err := d.WriteFile(context.Background(), "precious", []byte("x")); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v, want fs.ErrPermission", err)
		}
		if err := d.WriteFile(context.Background(), "other", []byte("x")); err != nil {
			t.Error(err)
		}
	})
	if data, err := os.ReadFile(path); err != nil || string(data) != "precious" {
		t.Errorf("the file is now %q, %v", data, err)
	}
}

func TestWriteFileKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give files away: what is tested is that nobody else fails for it")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "theirs")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	want := os.Getuid()
	if os.Geteuid() == 0 {
		want = 65534
	}
	if err := os.Chown(path, want, -1); err != nil {
		t.Fatal(err)
	}
	d := newDir(t, dir)
	defer d.Close()
	if err := d.WriteFile(t.Context(), "theirs", []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := int(info.Sys().(*syscall.Stat_t).Uid); got != want {
		t.Errorf("the owner was %d and is %d", want, got)
	}
}
