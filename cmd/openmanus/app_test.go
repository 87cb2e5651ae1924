package main

import (
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
