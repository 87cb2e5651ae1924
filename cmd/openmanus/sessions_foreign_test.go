package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/store"
)

// TestNewerSession: a session with an event of a newer version can be looked
// at and exported, and not gone on with: law 12.
func TestNewerSession(t *testing.T) {
	d := newDesk(t, nil)
	d.write("s", "-- 1 --\nHello.\n-- 2 --\nAgain.\n")
	d.must("run", "--model", "scripted:s", "hi")
	id := strings.TrimSpace(d.must("sessions", "fork", "last", "--to", "newer"))
	data := filepath.Dir(strings.TrimSpace(d.find("journal.db")))
	db, err := store.Open(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Append(context.Background(), id, openmanus.Foreign{Type: "telepathy", Stored: "tele/1", Content: json.RawMessage(`{"thought":"x"}`)})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"list": "newer", "show newer": "an event of a newer version: telepathy", "log newer": "telepathy     tele/1",
		"log newer --full": `"thought": "x"`, "export newer": `"telepathy"`, "show newer --json": `"unknown": "telepathy"`, "request newer 4": `"text": "hi"`,
	} {
		if out := d.must(append([]string{"sessions"}, strings.Fields(args)...)...); !strings.Contains(out, want) {
			t.Errorf("sessions %s: no %q in\n%s", args, want, out)
		}
	}
	for _, args := range []string{"resume newer", "resume newer more", "retry newer", "say newer more", "approve newer", "deny newer", "answer newer yes", "interrupt newer"} {
		out, err, code := d.run(append([]string{"sessions"}, strings.Fields(args)...)...)
		if code != exitFailed || out != "" || !strings.Contains(err, `"telepathy", which this version does not know`) {
			t.Errorf("sessions %s: exit code %d\n%s%s", args, code, out, err)
		}
	}
}

// find returns the path of the file with the name in the home of the desk.
func (d *desk) find(name string) string {
	d.t.Helper()
	for _, pattern := range []string{"*", "*/*", "*/*/*", "*/*/*/*"} {
		if found, _ := filepath.Glob(filepath.Join(d.env["HOME"], pattern, name)); len(found) > 0 {
			return found[0]
		}
	}
	d.t.Fatalf("there is no %s", name)
	return ""
}
