package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDataDir has every command that opens a session find it in --data-dir.
func TestDataDir(t *testing.T) {
	d := newDesk(t, nil)
	d.write("script.txt", "-- any --\nDone.\n")
	dir := filepath.Join(d.dir, "elsewhere")
	d.must("run", "--data-dir", dir, "--model", "scripted:script.txt", "hello")
	for _, line := range []string{
		"list", "request last 4", "show last", "log last", "audit last", "export last", "fork last --to copy", "say copy more", "interrupt copy",
		"resume copy", "retry copy", "approve copy", "deny copy", "answer copy yes", "delete copy --yes",
	} {
		args := append([]string{"sessions", "--data-dir", dir}, strings.Fields(line)...)
		if out, err, code := d.run(args...); code == exitUsage {
			t.Errorf("sessions %s: exit code %d\n%s%s", line, code, out, err)
		}
	}
}

// TestFollowEnds: that a drive ends while its events are read is no error, which
// would hide why it ended.
func TestFollowEnds(t *testing.T) {
	d := newDesk(t, nil)
	d.write("script.txt", "-- any --\nDone.\n")
	d.must("run", "--model", "scripted:script.txt", "hello")
	term := &terminal{in: os.Stdin, out: io.Discard, err: io.Discard, dir: d.dir, env: func(name string) (string, bool) { v, ok := d.env[name]; return v, ok }}
	x, err := oneSession{"last"}.open(t.Context(), term, new(globals), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	drive, err := x.newDrive(x.id, d.dir, shown{Output: outText})
	if err != nil {
		t.Fatal(err)
	}
	defer drive.Close()
	ended, end := context.WithCancel(t.Context())
	end()
	if err := drive.follow(ended); err != nil {
		t.Errorf("follow: %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// TestOutputFails: a run whose output cannot be written ends, fails, and says why.
func TestOutputFails(t *testing.T) {
	for _, output := range []string{"text", "json", "jsonl"} {
		d := newDesk(t, nil)
		d.write("script.txt", "-- any --\nDone.\n")
		var errs bytes.Buffer
		term := &terminal{in: os.Stdin, out: fullDisk{}, err: &errs, dir: d.dir, env: func(name string) (string, bool) { v, ok := d.env[name]; return v, ok }}
		code := Main(t.Context(), []string{"run", "--output", output, "--model", "scripted:script.txt", "hello"}, term)
		if code != exitFailed || !strings.Contains(errs.String(), "the disk is full") {
			t.Errorf("--output %s: exit code %d\n%s", output, code, errs.String())
		}
	}
}
