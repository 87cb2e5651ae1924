package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/copydir"
	"github.com/openmanus-go/openmanus/internal/worktree"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// A command in a worktree can do with git what it can in a repository, and nothing to
// the repository that the worktree is of, whatever it tries; what it commits comes to
// its branch.
func TestAWorktreeInTheSandbox(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			repo, dir := filepath.Join(top, "repo"), filepath.Join(top, "tree")
			outside := func(script string) {
				cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
				cmd.Dir, cmd.Env = repo, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top, "GIT_CONFIG_NOSYSTEM=1"}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			if err := os.Mkdir(repo, 0o755); err != nil {
				t.Fatal(err)
			}
			outside(`git init -q -b main .; git config user.name x; git config user.email x@example.org
				echo a > a; git add a; git commit -qm a; git branch other; git gc -q; echo b > b; git add b; git commit -qm b`)
			tree, err := worktree.Find(t.Context(), repo)
			if err != nil {
				t.Fatal(err)
			}
			keep := func() error { return nil }
			tree.Dir = dir
			if err := errors.Join(tree.Claim(t.Context(), []string{"openmanus/x"}, keep), tree.Fill(t.Context(), dir),
				tree.Register(keep)); err != nil {
				t.Fatal(err)
			}
			stamp, err := copydir.Stamp(t.Context(), repo)
			if err != nil {
				t.Fatal(err)
			}
			ws := open(t, sandbox.Options{Dir: dir, Kind: kind, Read: []string{tree.Objects}})
			defer ws.Close()
			git := filepath.Join(repo, ".git")
			for _, test := range []struct {
				script string
				works  bool
			}{
				{"git status && git log main 2>/dev/null || git log -1 origin/main", true},
				{"echo c > c && git add c && git commit -qm c && git tag v1 && git switch -q -c more && git switch -q -", true},
				{"echo d >> a && git stash -q && git stash pop -q && git commit -qam d && git gc -q && git fsck", true},
				{"git rebase -q origin/other --onto origin/main && git diff --stat origin/main", true},
				{"echo x > " + git + "/hooks/post-commit", false},
				{"echo x > " + git + "/objects/x", false},
				{"rm -rf " + git + "/objects/pack", false},
				{"chmod -R u+w " + git + "/objects && rm -f " + git + "/objects/*/*", false},
				{"f=$(ls " + git + "/objects/*/* | head -1) && ln $f l && chmod u+w l && echo x > l", false},
				{"git --git-dir=" + git + " config core.fsmonitor evil", false},
				{"git --git-dir=" + git + " update-ref refs/heads/other HEAD", false},
				{"git --git-dir=" + git + " update-ref refs/heads/openmanus/x $(git rev-parse origin/other)", false},
				{"echo 'ref: refs/heads/other' > " + git + "/worktrees/tree/HEAD", false},
				{"cat " + git + "/config", false},
				{"git push " + repo + " HEAD:refs/heads/evil", false},
				{"echo x > .git/hooks/post-checkout || mkdir -p .git/hooks && echo x > .git/hooks/post-checkout", false},
				{"echo /etc >> .git/objects/info/alternates", false},
				{"git config core.fsmonitor evil", false},
				{"rm .git/objects/info/alternates", false},
				{"mv .git g && git init -q .", false},
			} {
				var out strings.Builder
				err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", test.script}, Stdout: &out, Stderr: &out})
				if e := (*workspace.ExitError)(nil); err != nil && !errors.As(err, &e) {
					t.Fatal(err)
				}
				if test.works != (err == nil) {
					t.Errorf("%s: %v\n%s", test.script, err, out.String())
				}
			}
			if now, err := copydir.Stamp(t.Context(), repo); err != nil || now != stamp {
				t.Errorf("something in the repository has changed: %v", err)
			}
			stage, err := tree.Stage(t.Context(), filepath.Join(top, "stage"))
			if err != nil {
				t.Fatal(err)
			}
			if err := stage.Sync(t.Context(), &tree, keep); err != nil {
				t.Fatal(err)
			}
			outside(`git fsck --strict && test "$(git log --topo-order --format=%s openmanus/x | tr '\n' ' ')" = "d c b a " &&
				test "$(git -C ../tree rev-parse HEAD)" = "$(git rev-parse openmanus/x)" && git worktree list | grep -q 'tree .*openmanus/x'`)
		})
	}
}
