package snapshot

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// userEnv is the directory that TestAsAnOrdinaryUser made for the tests that run as one.
const userEnv = "SNAPSHOT_TEST_USER"

// Permissions mean nothing for root, so root runs the tests about them again as someone
// else.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this user is one: the tests about permissions run by themselves")
	}
	dir, err := os.MkdirTemp("", "snapshot-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "snapshot.test")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tmp", "theirs", "theirs/closed"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, uid := range map[string]int{
		"tmp": 65534, "theirs": 65534, "theirs/of-root": 0, "theirs/closed": 0, "theirs/closed/a": 0,
	} {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err != nil {
			if err := os.WriteFile(path, []byte("of root"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tests := "-test.run=^(TestPermissions|TestFilesOfOthers|TestEndedAtEveryWrite|TestFullAtEveryWrite)$"
	cmd := exec.CommandContext(t.Context(), program, tests, "-test.v")
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + filepath.Join(dir, "tmp"), userEnv + "=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestFilesOfOthers") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// copyProgram copies this program to where everyone can execute it.
func copyProgram(to string) error {
	in, err := os.Open(os.Args[0])
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// Files that permissions hide for a while come back, and an unreadable file does not
// count as missing.
func TestPermissions(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("for root, nothing is forbidden")
	}
	const tree, locked = "mkdir -p d/e; echo 1 > d/a; echo 2 > d/e/b", "chmod -R a-w d"
	for name, c := range map[string]struct{ before, step string }{
		"a read-only directory stays so":    {tree + "; chmod 555 d", "chmod 755 d; echo 2 > d/a; echo 3 > d/b; chmod 555 d"},
		"a directory becomes read-only":     {tree, "echo 2 > d/a; echo 3 > d/b; chmod 555 d"},
		"a read-only tree is made":          {"echo 1 > a", tree + ";" + locked},
		"a read-only tree is removed":       {tree + ";" + locked, "chmod -R u+w d; rm -r d"},
		"a directory cannot be read":        {tree, "chmod 0 d"},
		"a directory below cannot be read":  {tree, "chmod 0 d/e; echo 2 > d/a"},
		"a file cannot be read":             {tree, "chmod 0 d/a; echo 2 > b"},
		"a file cannot be written":          {tree + "; chmod 400 d/a", "chmod 600 d/a; echo 2 > d/a; chmod 400 d/a"},
		"names cannot be looked up in them": {tree, "chmod 600 d"},
	} {
		t.Run(name, func(t *testing.T) {
			p, o, want := newOrder(t, c.before, c.step)
			out, err := o.undo(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range out {
				if !o.Done {
					t.Errorf("%s: %s", o.Name, o.Why)
				}
			}
			compareListings(t, "undone", listing(t, p.root), want)
			undone := p.take().Tree
			redo := order{Dir: o.Dir, Blobs: o.Blobs, Before: o.After, After: undone}
			if _, err := redo.undo(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.shell("chmod -R u+rwx .")
			p2, _, _ := newOrder(t, c.before, c.step+"; chmod -R u+rwx .")
			compareListings(t, "redone", listing(t, p.root), listing(t, p2.root))
		})
	}
}

// A file of another user comes back as one's own, if the directory is one's own.
// Otherwise it stays, and that is said.
func TestFilesOfOthers(t *testing.T) {
	dir := os.Getenv(userEnv)
	if dir == "" {
		t.Skip("TestAsAnOrdinaryUser runs it")
	}
	p, o, _ := newOrder(t, "true", "true")
	o.Dir = filepath.Join(dir, "theirs")
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if p.tracker, err = NewTracker(root, filesOf(o.Blobs), Options{}); err != nil {
		t.Fatal(err)
	}
	o.Before = p.take().Tree
	if err := root.Remove("of-root"); err != nil {
		t.Fatal(err)
	}
	o.After = p.take().Tree
	if out, err := o.undo(t.Context()); err != nil || len(out) != 1 || !out[0].Done {
		t.Errorf("%v, %v", out, err)
	}
	if data, err := root.ReadFile("of-root"); string(data) != "of root" {
		t.Errorf("there is %q, %v", data, err)
	}
	// In a directory of root, nothing can be changed, which a command of root had.
	a, err := NewReader(filesOf(o.Blobs)).Lookup(t.Context(), o.Before, "closed/a")
	if err != nil {
		t.Fatal(err)
	}
	b := *a
	b.Name = "b"
	ops := []Op{{"closed/a", a, nil}, {"closed/b", nil, &b}}
	out, err := NewReader(filesOf(o.Blobs)).Restore(t.Context(), root, ops)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if o.Done || o.Why != "permission denied" {
			t.Errorf("%s: %v, %q", o.Name, o.Done, o.Why)
		}
	}
}
