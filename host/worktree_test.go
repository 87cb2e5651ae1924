package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
)

// git runs a script in the workspace and returns what it prints.
func (p *place) git(script string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "sh", "-ec", script)
	cmd.Dir = p.path("ws")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// newRepository makes a place whose workspace is a repository.
func newRepository(t *testing.T) (*place, *host.Host) {
	p := newPlace(t, "-- 1 --\nDone.\n")
	h, _, _ := p.open()
	p.write("ws/a", "one")
	p.git("git init -q -b main . && git config user.name p && git config user.email p@example.org && git add . && git commit -qm first")
	return p, h
}

// left is what there is beside the workspace, and what the repository knows.
func (p *place) left() string {
	return p.names(p.dir) + ", " + p.git("git for-each-ref --format='%(refname:short)' refs/heads; ls .git/worktrees 2>/dev/null || true")
}

// If git fails at any time while a worktree is made, nothing is left of it.
func TestWorktreeFails(t *testing.T) {
	p, h := newRepository(t)
	before := p.left()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	p.write("home/bin/git", fmt.Sprintf("#!/bin/sh\nn=$(cat %[1]s/count); echo $((n+1)) > %[1]s/count\n"+
		"[ $n = $(cat %[1]s/fail) ] && exit 9\nexec %[2]s \"$@\"\n", p.path("home"), real))
	if err := os.Chmod(p.path("home/bin/git"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	spec := openmanus.Spec{Workspace: p.path("ws")}
	for n := 1; ; n++ {
		p.write("home/count", "1")
		p.write("home/fail", fmt.Sprint(n))
		t.Setenv("PATH", p.path("home/bin")+":"+path)
		w, err := h.Worktree(t.Context(), "s", spec, "")
		count, rerr := os.ReadFile(p.path("home/count"))
		t.Setenv("PATH", path)
		if err != nil {
			if got := p.left(); got != before {
				t.Fatalf("failed at %d (%v): there is %s", n, err, got)
			}
			continue
		}
		if err := w.Done(fmt.Errorf("the session was not opened")); err != nil {
			t.Fatal(err)
		}
		if got := p.left(); got != before {
			t.Fatalf("not opened: there is %s", got)
		}
		if made := strings.TrimSpace(string(count)); rerr != nil || n > 50 {
			t.Fatal(rerr, n)
		} else if made == fmt.Sprint(n) { // fewer calls than that
			break
		}
	}
}

// The next worktree removes what a killed process left, with the branch, and not what a
// person put there.
func TestWorktreeSweepsWhatWasKilled(t *testing.T) {
	p, h := newRepository(t)
	spec := openmanus.Spec{Workspace: p.path("ws")}
	for _, id := range []string{"killed", "kept"} {
		w, err := h.Worktree(t.Context(), id, spec, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Done(nil); err != nil { // its session is never stored
			t.Fatal(err)
		}
	}
	p.write("ws-kept/mine", "mine")
	// One was killed while it was filled.
	p.git("git branch openmanus/half")
	base := p.git("git rev-parse HEAD")
	p.write(".openmanus-fork-half/a", "half")
	p.write("data/forks/half.json", fmt.Sprintf(`{"session":"half","temp":%q,"tree":{"dir":%q,"repository":%q,"common":%q,`+
		`"branch":"openmanus/half","base":%q,"tip":%q}}`, p.path(".openmanus-fork-half"), p.path("ws-half"), p.path("ws"), p.path("ws/.git"), base, base))
	w, err := h.Worktree(t.Context(), "next", spec, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Done(nil); err != nil {
		t.Fatal(err)
	}
	want := "data home other.txt s.txt ws ws-kept ws-next, main openmanus/kept openmanus/next ws-kept ws-next"
	if got := p.left(); got != want {
		t.Errorf("there is %s, want %s", got, want)
	}
}

// Two sessions that begin at once have two worktrees, and a name that is taken is not
// touched.
func TestWorktreesAtOnce(t *testing.T) {
	p, h := newRepository(t)
	p.write("ws-a/mine", "mine")
	p.git("git branch openmanus/b")
	spec := openmanus.Spec{Workspace: p.path("ws")}
	type made struct {
		w   *host.NewWorktree
		err error
	}
	done := make(chan made)
	for _, id := range []string{"a", "b", "c"} {
		go func() {
			w, err := h.Worktree(t.Context(), id, spec, "")
			done <- made{w, err}
		}()
	}
	all := []made{<-done, <-done, <-done} // one that is done without a session is swept by the next
	for _, m := range all {
		if m.err != nil {
			t.Fatal(m.err)
		}
		if err := m.w.Done(nil); err != nil {
			t.Fatal(err)
		}
	}
	want := "data home other.txt s.txt ws ws-a ws-a-2 ws-b ws-c, " +
		"main openmanus/a openmanus/b openmanus/b-2 openmanus/c ws-a-2 ws-b ws-c"
	if got := p.left(); got != want {
		t.Errorf("there is %s, want %s", got, want)
	}
}
