package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A session goes on at another machine with the files of its workspace, without what
// stays at home, and without authority. Whatever is wrong leaves nothing behind.
func TestFilesAreTakenAlong(t *testing.T) {
	d := newDesk(t, nil)
	d.write("s", "-- 1 --\nHello.\n-- 2 --\nAgain.\n")
	for _, dir := range []string{"work/src", "work/.git"} {
		if err := os.MkdirAll(filepath.Join(d.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.write("work/src/a.txt", "one")
	d.write("work/.git/config", "[core]\n\thooksPath = /tmp\n")
	d.write("work/.env", "KEY=secret")
	d.must("run", "--model", "scripted:s", "--workspace", "work", "--approve", "all", "hi")
	file := filepath.Join(d.dir, "it.tar.zst")
	_, notes, code := d.run("sessions", "export", "last", "--files", "-o", "it.tar.zst")
	if code != 0 || !strings.Contains(notes, "left out: .git: it stays on its machine") ||
		!strings.Contains(notes, "left out: .env: files of this name usually hold secrets") {
		t.Fatalf("exit code %d\n%s", code, notes)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(whole), "secret") {
		t.Error("the secret is in the file")
	}
	for _, c := range []struct {
		args, want string
		data       string // of the file; "": as it was written
	}{
		{"sessions import it.tar.zst --to b", "import it with --files", ""},
		{"sessions import it.tar.zst --to b --files --dir work", "is there already", ""},
		{"sessions import it.tar.zst --to b --files --workspace x", "--dir, not --workspace", ""},
		{"sessions import it.tar.zst --to b --files", "cut off", string(whole[:len(whole)/2])},
		{"sessions import it.tar.zst --to b --files", "it is no session with files", "{}\n"},
		{"sessions import it.tar.zst --files", "--to NEWID", ""}, // the id is taken: the files go again
	} {
		data := whole
		if c.data != "" {
			data = []byte(c.data)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errs, code := d.run(strings.Fields(c.args)...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, not %q: %s%s", c.args, code, c.want, out, errs)
		}
		if _, err := os.Lstat(filepath.Join(d.dir, "it")); err == nil {
			t.Errorf("%s: files are left", c.args)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(d.dir, ".openmanus-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	d.must("sessions", "import", "it.tar.zst", "--files", "--to", "b")
	if data, err := os.ReadFile(filepath.Join(d.dir, "it/src/a.txt")); err != nil || string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(d.dir, "it/.git")); err == nil {
		t.Error("hooks came along")
	}
	shown := d.must("sessions", "show", "b", "--json")
	if !strings.Contains(shown, filepath.Join(d.dir, "it")) || !strings.Contains(shown, `"approve": "ask"`) {
		t.Errorf("it is %s", shown)
	}
}

// A file that one request made and the next removes is the session's change. At another
// machine, which has the session and its files by an import, nothing is put back, and the
// reason is the import.
func TestARequestRemovesWhatAnotherMade(t *testing.T) {
	d := newDesk(t, nil)
	d.write("s", "-- 1 --\n@call bash {\"command\": \"echo a > made\"}\n-- 2 --\nDone.\n-- 3 --\n@call bash {\"command\": \"rm made; echo b > other\"}\n-- 4 --\nDone.\n")
	if err := os.Mkdir(filepath.Join(d.dir, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.must("run", "--model", "scripted:s", "--workspace", "work", "--approve", "all", "--sandbox", "none", "make it")
	_, notes, code := d.run("sessions", "resume", "last", "--model", "scripted:s", "remove it")
	if code != 0 || !strings.Contains(notes, "deleted  made") || strings.Contains(notes, "meanwhile") {
		t.Errorf("exit code %d\n%s", code, notes)
	}
	d.must("sessions", "export", "last", "--files", "-o", "it.tar.zst")
	d.env["OPENMANUS_DATA_DIR"] = filepath.Join(d.dir, "elsewhere")
	d.must("sessions", "import", "it.tar.zst", "--files", "--to", "b")
	for _, args := range [][]string{{"rewind", "b", "--yes", "--last"}, {"files", "b", "--at", "5"}, {"diff", "b"}} {
		if out, errs, code := d.run(append([]string{"sessions"}, args...)...); code == 0 || !strings.Contains(errs, "session b was imported") || strings.Contains(errs, "deleted") {
			t.Errorf("%q: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	d.must("sessions", "rewind", "b", "--yes", "--last", "--talk")
}

// The command first says which files of earlier moments can be deleted. The sessions
// stay.
func TestSessionsPrune(t *testing.T) {
	d := newDesk(t, map[string]string{"OPENMANUS_HISTORY_MAX_SIZE": "1m"})
	d.write("s", "-- 1 --\n@call bash {\"command\": \"head -c 1500000 /dev/urandom > a\"}\n-- 2 --\nDone.\n")
	for range 2 { // the newest keeps what it has
		d.must("run", "--model", "scripted:s", "--approve", "all", "hi")
	}
	if out := d.must("sessions", "prune", "--dry-run"); !strings.Contains(out, "would be deleted") ||
		strings.Count(out, "cannot put files back any more") != 1 {
		t.Errorf("it says %s", out)
	}
	if out := d.must("sessions", "prune"); strings.Count(out, "cannot put files back any more") != 1 {
		t.Errorf("it says %s", out)
	}
	if out := d.must("sessions", "prune", "--json"); !strings.Contains(out, `"sessions": null`) && !strings.Contains(out, `"sessions": []`) {
		t.Errorf("once more, it says %s", out)
	}
	if out := d.must("sessions", "list"); strings.Count(out, "\n") != 3 {
		t.Errorf("there is %s", out)
	}
	if out, _, _ := d.run("doctor", "--offline"); !strings.Contains(out, "snapshots of workspaces") {
		t.Errorf("the doctor says %s", out)
	}
}
