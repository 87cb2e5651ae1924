package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
)

// TestWrongInput: what is asked wrongly ends with 2, what a session is in no
// state for with 1; standard output stays empty, and what is said is short and
// names what to try.
func TestWrongInput(t *testing.T) {
	d := newDesk(t, nil)
	d.write("ask.txt", "-- 1 --\n@call ask_human {\"inquire\": \"Why?\"}\n-- 2 --\nSo.\n")
	d.write("two.txt", "-- 1 --\n@call file_saver {\"file_path\":\"a\",\"content\":\"\"}\n@call file_saver {\"file_path\":\"b\",\"content\":\"\"}\n")
	d.write("broken.toml", "[llm]\nmodle = \"x\"\n")
	if _, err, code := d.run("run", "--model", "scripted:ask.txt", "one"); code != exitWaits {
		t.Fatal(code, err)
	}
	d.must("sessions", "fork", "last", "--to", "asks")
	if _, err, code := d.run("run", "--model", "scripted:two.txt", "two"); code != exitWaits {
		t.Fatal(code, err)
	}
	for _, tc := range []struct {
		args string // between |
		code int
		want string // on standard error
	}{
		{"sessions", 2, "expected one of"},
		{"sessions|show", 2, "Try: openmanus sessions show"},
		{"sessions|show|nosuch", 2, "openmanus sessions list"},
		{"sessions|show|", 2, "no session id given"},
		{"sessions|list|--limit|x", 2, "Try: openmanus sessions list"},
		{"sessions|list|--limit|0", 2, "--all"},
		{"sessions|list|extra", 2, "unexpected argument extra"},
		{"sessions|log|last|--after=-3", 2, "counts events from 1"},
		{"sessions|log|last|--after|x", 2, "Try:"},
		{"sessions|resume|nosuch", 2, "openmanus sessions list"},
		{"sessions|resume|last|--output|xml", 2, "text"},
		{"sessions|resume|last|--attach|ask.txt", 2, "--attach goes with a new request"},
		{"sessions|resume|last|new|--attach|nowhere", 2, "cannot attach nowhere"},
		{"sessions|say|last", 2, "Try: openmanus sessions say"},
		{"sessions|say|last| ", 2, "nothing to say"},
		{"sessions|approve|asks", 1, "nothing waits for approval"},
		{"sessions|approve|last", 2, "name one"},
		{"sessions|approve|last|c5-5", 2, "what waits"},
		{"sessions|approve|last|c0-1|--input|{", 2, "not valid JSON"},
		{"sessions|approve|last|c0-1|--input|[]", 2, "does not fit file_saver"},
		{"sessions|deny|nosuch", 2, "openmanus sessions list"},
		{"sessions|answer|last|yes", 1, "approval: openmanus sessions approve"},
		{"sessions|answer|last", 2, "Try: openmanus sessions answer"},
		{"sessions|interrupt|asks", 1, "nothing to interrupt"},
		{"sessions|retry|last", 1, "openmanus sessions resume"},
		{"sessions|fork|last@0", 2, "number of an event"},
		{"sessions|fork|last@x", 2, "number of an event"},
		{"sessions|fork|last@999", 2, "no event 999"},
		{"sessions|fork|last|--to|asks", 2, "there is a session asks already"},
		{"sessions|fork|last|--to|a/b", 2, "is no id for a session"},
		{"sessions|fork|last|--to|last", 2, "is no id for a session"},
		{"sessions|request|last|1", 2, "these are, the last of them: 4"},
		{"sessions|request|last|x", 2, "Try: openmanus sessions request"},
		{"sessions|export|nosuch", 2, "openmanus sessions list"},
		{"sessions|import|nowhere.txt", 2, "nowhere.txt"},
		{"sessions|import|ask.txt", 2, "ask.txt"},
		{"sessions|delete|last", 2, "--yes"},
		{"evaluate|--attempts|0|x", 2, "--attempts 0: it is a number from 1 to 16"},
		{"run|--max-steps|0|x", 2, "allowed: a whole number from 1"},
		{"run|--timeout|0|x", 2, "allowed: a duration from one second"},
		{"serve|--addr|127.0.0.1:0|--model|ghost", 2, "openai/ghost needs a key"},
		{"sessions|delete|asks|nosuch|--yes", 2, "openmanus sessions list"},
		{"sessions|delete", 2, "Try: openmanus sessions delete"},
		{"tools|nosuch", 2, "there are bash"},
		{"tools|--agent|nosuch", 2, "there are manus"},
		{"config|check|nowhere.toml", 2, "nowhere.toml"},
		{"config|check|broken.toml", 2, "model"},
		{"config|init|broken.toml", 2, "exists already"},
		{"config|show|--config|broken.toml", 2, "broken.toml:2"},
		{"models|--config|broken.toml", 2, "broken.toml:2"},
		{"completion", 2, "expected one of"},
		{"completion|tcsh", 2, "did you mean"},
		{"version|extra", 2, "unexpected argument"},
		{"--no-color|write|hello", 2, "unexpected argument write"},
	} {
		out, err, code := d.run(strings.Split(tc.args, "|")...)
		if code != tc.code || !strings.Contains(err, tc.want) || out != "" {
			t.Errorf("openmanus %s: exit code %d, want %d and %q\n%s%s", strings.ReplaceAll(tc.args, "|", " "), code, tc.code, tc.want, out, err)
		}
		if lines := strings.Count(err, "\n"); lines > 4 {
			t.Errorf("openmanus %s: %d lines of error\n%s", strings.ReplaceAll(tc.args, "|", " "), lines, err)
		}
	}
	if out := d.must("sessions", "list", "--all"); strings.Count(out, "\n") != 1+3 {
		t.Errorf("something was deleted or made:\n%s", out)
	}
}

// write writes a file of the desk.
func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// TestFasterElsewhere: between looking and ruling, somebody else ruled. The
// same ruling is no news; another one is told of, and the first stands.
func TestFasterElsewhere(t *testing.T) {
	d := newDesk(t, nil)
	d.write("two.txt", "-- 1 --\n@call file_saver {\"file_path\":\"a\",\"content\":\"\"}\n@call file_saver {\"file_path\":\"b\",\"content\":\"\"}\n")
	d.run("run", "--model", "scripted:two.txt", "two")
	var out, errs bytes.Buffer
	term := &terminal{in: os.Stdin, out: &out, err: &errs, dir: d.dir, env: func(name string) (string, bool) { v, ok := d.env[name]; return v, ok }}
	x, err := oneSession{"last"}.open(t.Context(), term, new(globals), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	d.must("sessions", "deny", "last", "c0-1")
	d.must("sessions", "approve", "last", "c0-2")
	for i, want := range []string{"it is decided already: c0-1 was denied by the person at ", ""} {
		call := x.s.Calls[i]
		err := x.rule(t.Context(), call, act.Decision{Call: call.ID, Allow: true, By: act.ByPerson, Hash: call.Question().Hash})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("allowing %s: %v, want %q", call.ID, err, want)
		}
	}
	s, err := openmanus.Load(t.Context(), x.db, x.id)
	if err != nil || s.Calls[0].Ruled.Allow || !s.Calls[1].Ruled.Allow {
		t.Errorf("the first ruling does not stand: %v", err)
	}
}
