package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// TestGitInTheSandbox holds what docs/sandbox.md says of git: what works in a
// repository that was there, and which line a command has that does not.
func TestGitInTheSandbox(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			outside := func(script string) {
				cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
				cmd.Dir = dir
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			outside(`git init -q -b main .; git config user.name x; git config user.email x@example.org; git config core.fsmonitor false
				echo a > a; git add a; git commit -qm a; git branch other; git init -q --bare bare.git`)
			before, err := os.ReadFile(filepath.Join(dir, ".git", "config"))
			if err != nil {
				t.Fatal(err)
			}
			ws := open(t, sandbox.Options{Dir: dir, Kind: kind})
			defer ws.Close()
			for _, test := range []struct{ script, refused string }{
				{"echo b > b; git add b; git commit -qm b", ""},
				{"git switch -q other && echo c > c && git add c && git commit -qm c && git merge -q -m m main", ""},
				{"echo d >> a && git stash -q && git stash pop -q && git checkout -q -- a", ""},
				{"git switch -q main && git rebase -q other && git tag v1 && echo p > p && git add p && git commit -qm p && git switch -q -c side v1 && git cherry-pick -x main && git switch -q main", ""},
				{"echo r > r && git add r && git commit -qm r && git commit -q --amend -m again && git revert --no-edit HEAD && git reset -q --hard HEAD~1", ""},
				{"git gc -q && git fsck && git update-index --index-version 4 && git status", ""},
				{"git branch -m other third && git branch -D third", ""},
				{"git branch -q fifth && git branch -q -u main fifth && git switch -q -c sixth --track main && git switch -q main", ""},
				{"git push -q ./bare.git main", ""},
				{"git clone -q . ../clone-$$ 2>/dev/null; git clone -q . sub && cd sub && git commit -q --allow-empty -m x && git pull -q", ""},
				{"git init -q new && cd new && git config user.name y && git remote add origin https://example.org/x", ""},
				{"git clone -q --bare . copy.git && git -C copy.git log -1 --format=%s && rm -rf copy.git sub new", ""},
				{"git config user.name evil", ".git/config"},
				{"git remote add origin https://example.org/x", ".git/config"},
				{"git config branch.main.remote https://example.org/x", ".git/config"},
				{"git worktree add tree", ".git/worktrees"},
				{"git -c protocol.file.allow=always submodule add ./bare.git module", "is protected"},
				{"git init -q --separate-git-dir=gd sep", "sep/.git is protected"},
				{"git sparse-checkout set a", "is protected"},
				{"git init -q n2 && git -C n2 config core.pager less", "n2/.git/config is protected, because git may take an order"},
				{"git init -q n3 && echo x > n3/.git/hooks/pre-commit", "n3/.git/hooks/pre-commit is protected"},
				{"mv .git git", ".git is protected"},
				{"rm -rf .git/hooks", ".git/hooks"},
			} {
				var out strings.Builder
				err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", test.script}, Stdout: &out, Stderr: &out})
				if e := (*workspace.ExitError)(nil); err != nil && !errors.As(err, &e) {
					t.Fatal(err)
				}
				switch {
				case test.refused == "" && (err != nil || strings.Contains(out.String(), "is protected")):
					t.Errorf("%s: %v\n%s", test.script, err, out.String())
				case test.refused != "" && (err == nil || !strings.Contains(out.String(), "sandbox: ") || !strings.Contains(out.String(), test.refused)):
					t.Errorf("%s: %v, want %q\n%s", test.script, err, test.refused, out.String())
				}
			}
			after, err := os.ReadFile(filepath.Join(dir, ".git", "config"))
			if own, _, _ := strings.Cut(string(after), "[branch"); err != nil || own != string(before) {
				t.Errorf("the configuration is now %s, %v", after, err)
			}
			outside("git status && git fsck && git log -1")
		})
	}
}
