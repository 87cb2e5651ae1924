//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/tui"
)

// A far is the full screen's source of a server's sessions, in a test.
type far struct {
	t *testing.T
	tui.Source
	id string
}

// until reads the session's events until one is what is waited for.
func (f *far) until(what func(openmanus.Body) bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute) // an event that never comes is to fail, not to hang
	defer cancel()
	for ev, err := range f.Follow(ctx, f.id, 0) {
		if err != nil {
			f.t.Fatal(err)
		}
		if ev.Seq > 0 && what(ev.Body) {
			return
		}
	}
	f.t.Fatalf("the events of %s ended", f.id)
}

// answer waits until the agent has said a text.
func (f *far) answer(text string) {
	f.t.Helper()
	f.until(func(b openmanus.Body) bool {
		said, ok := b.(openmanus.ModelSaid)
		return ok && said.Message.Text() == text
	})
}

// TestAttached: the full screen works on the sessions of a server as on its own. An
// edited call shows its effect, the mode changes, a plan is approved, and all of it can
// be taken back.
func TestAttached(t *testing.T) {
	dir := write(t, "s", `A session that the full screen follows.
-- 1 --
@call str_replace_editor {"command": "create", "path": "a.txt", "file_text": "one\n"}
-- 2 --
It is written.
-- 3 --
1. Write b.txt.
-- 4 --
@call str_replace_editor {"command": "create", "path": "b.txt", "file_text": "two\n"}
-- 5 --
Both are written.
`)
	s := serve(t, dir, "127.0.0.1:0")
	link, err := os.ReadFile(filepath.Join(dir, "link"))
	if err != nil {
		t.Fatal(err)
	}
	src, err := tui.Attach(strings.TrimSpace(string(link)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // what never comes is to fail, not to hang
	defer cancel()
	f := &far{t: t, Source: src}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	f.id, err = src.Start(ctx, tui.Message{ID: "m1", Text: "write a.txt"})
	must(err)

	var asked openmanus.Asked
	f.until(func(b openmanus.Body) (ok bool) {
		asked, ok = b.(openmanus.Asked)
		return ok
	})
	input := `{"command": "create", "path": "a.txt", "file_text": "edited\n"}`
	effect, err := src.(tui.Previewer).Preview(ctx, f.id, asked.Call, input)
	must(err)
	if !strings.Contains(effect.Shown, "edited") {
		t.Errorf("the edited call would do %+v", effect)
	}
	must(src.Decide(ctx, tui.Decision{Session: f.id, Call: asked.Call, Kind: openmanus.AskRuling, Allow: true, Input: input}))
	f.answer("It is written.")
	files := filepath.Join(dir, ".home/.local/share/openmanus/workspaces")
	if got := contents(t, files, "a.txt"); got != "edited\n" {
		t.Errorf("a.txt is %q", got)
	}

	must(src.Change(ctx, f.id, tui.Setting{Mode: openmanus.ApprovePlan}))
	must(src.Say(ctx, f.id, tui.Message{ID: "m2", Text: "and b.txt"}))
	f.answer("1. Write b.txt.")
	planner := src.(tui.Planner)
	if plan, err := planner.Proposal(ctx, f.id); err != nil || plan != "1. Write b.txt." {
		t.Errorf("the plan is %q, %v", plan, err)
	}
	must(planner.Approve(ctx, f.id, openmanus.ApproveEdits, ""))
	f.answer("Both are written.")
	if got := contents(t, files, "b.txt"); got != "two\n" {
		t.Errorf("b.txt is %q", got)
	}

	back := act.Rewind{Last: true, Plan: true}
	plan, err := src.Back(ctx, f.id, back)
	must(err)
	if lines := linemode.PlanLines(f.id, plan); !strings.Contains(strings.Join(lines, "\n"), "b.txt") {
		t.Errorf("going back would do %q", lines)
	}
	back.Plan = false
	for { // who worked on the session until now lets it go in a moment
		if _, err = src.Back(ctx, f.id, back); err == nil || !strings.Contains(err.Error(), "is running") {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	must(err)
	if got := contents(t, files, "b.txt"); got != "" {
		t.Errorf("b.txt is still there: %q", got)
	}
	if err := src.Change(ctx, f.id, tui.Setting{Agent: "swe"}); err == nil {
		t.Error("a session has another agent")
	}
	s.kill()
	if _, err := src.Session(ctx, f.id); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("of a server that is gone it is said: %v", err)
	}
}

// contents returns the content of the file of that name in a directory below dir, or "".
func contents(t *testing.T, dir, name string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", name))
	if err != nil || len(found) == 0 {
		return ""
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Flags that the sessions of a server do not have are refused, before the server is asked.
func TestAttachedWithFlagsOfItsOwn(t *testing.T) {
	for flag, given := range map[string][]string{
		"sandbox": {"--sandbox", "none"}, "workspace": {"--workspace", "."}, "delegate": {"--delegate", "swe"}, "max-cost": {"--max-cost", "1"},
		"copies": {"--copies"}, "worktree": {"--worktree"}, "mcp-config": {"--mcp-config", "mcp.json"}, "any-workspace": {"--any-workspace"}, "base-url": {"--base-url", "http://127.0.0.1:1"},
	} {
		s := sitAt(t, "xterm-256color", t.TempDir(), append([]string{"chat", "--attach", "http://127.0.0.1:1/?token=x"}, given...)...)
		s.sees("--" + flag + " is for sessions of this program, not for those of a server")
		s.leaves(exitUsage)
	}
}
