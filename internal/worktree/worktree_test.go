package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// sh runs a script in a new directory, as a person would, and returns the directory.
func sh(t *testing.T, script string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	again(t, dir, script)
	return dir
}

// again runs a script in dir.
func again(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=p", "GIT_COMMITTER_NAME=p",
		"GIT_AUTHOR_EMAIL=p@example.org", "GIT_COMMITTER_EMAIL=p@example.org", "GIT_ALLOW_PROTOCOL=file",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// project is a repository with two commits.
const project = `git init -q -b main r && cd r && git config user.name p && git config user.email p@example.org &&
	printf '1\n2\n3\n4\n5\n' > a && mkdir d && echo b > d/b && echo '*.log' > .gitignore && git add . && git commit -qm first &&
	echo c > c && git add . && git commit -qm second && cd ..; `

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		script, at string
		refused    string
		notes      string
	}{
		"as it should be":  {script: project, at: "r/d"},
		"no repository":    {at: ".", refused: "is in no git repository"},
		"no commit":        {script: "git init -q r", at: "r", refused: "has no commit yet"},
		"bare":             {script: project + "git clone -q --bare r b.git", at: "b.git", refused: "is a bare repository"},
		"in .git":          {script: project, at: "r/.git/refs", refused: "is in a git directory"},
		"a partial clone":  {script: project + "git -C r config remote.origin.promisor true", at: "r", refused: "is a partial clone"},
		"not committed":    {script: project + "cd r; echo x >> a; echo new > n; echo l > l.log", at: "r", notes: "in 2 of your files"},
		"a detached HEAD":  {script: project + "git -C r checkout -q HEAD~1", at: "r", notes: "at no branch"},
		"a worktree of it": {script: project + "git -C r worktree add -q ../w", at: "w"},
		"a shallow clone":  {script: project + "git clone -q --depth 1 file://$PWD/r s", at: "s"},
		"borrowed objects": {script: project + "git clone -q --shared r s", at: "s"},
		"submodules": {
			script: project + "git init -q -b main m; cd m; git -c protocol.file.allow=always submodule add -q ../r sub; git commit -qm m",
			at:     "m", notes: "submodules are empty",
		},
		"a submodule": {
			script: project + "git init -q -b main m; cd m; git -c protocol.file.allow=always submodule add -q ../r sub; git commit -qm m",
			at:     "m/sub",
		},
		"sha256": {script: "git init -q --object-format=sha256 r; cd r; echo a > a; git add a; git commit -qm a", at: "r"},
		"files elsewhere": {
			script: project + "mkdir -p up/r; mv r/.git up/r/; mv r/a up/; git -C up/r config core.worktree $PWD/up", at: "up/r",
			refused: "core.worktree",
		},
		"files elsewhere, with a repository": {
			script: project + "mkdir -p up/r; cp -r r/.git up/r/; cp -r r/.git up/.git; git -C up/r config core.worktree $PWD/up", at: "up/r",
			refused: "core.worktree",
		},
		"LFS": {
			script: project + "cd r; echo '*.bin filter=lfs' > d/.gitattributes; git add .; git commit -qm l", at: "r", notes: "are pointers",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := sh(t, c.script)
			tree, err := Find(t.Context(), filepath.Join(top, c.at))
			if c.refused != "" {
				if r, ok := err.(*Refusal); !ok || !strings.Contains(r.Error(), c.refused) {
					t.Errorf("%v, want %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(tree.Notes, "; "); !strings.Contains(said, c.notes) || c.notes == "" && said != "" {
				t.Errorf("it says %q, want %q", said, c.notes)
			}
			// Whatever it is, a checkout of it is what is committed, and commits come back.
			tree = checkout(t, tree, top)
			again(t, tree.Dir, `test -z "$(git status --porcelain --ignore-submodules)"; git fsck --connectivity-only; git log -1
				echo x > x; git add x; git commit -qm x`)
			stage := stageOf(t, tree, top)
			if err := stage.Sync(t.Context(), &tree, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			again(t, tree.Repository, `git fsck; test "$(git log -1 --format=%s openmanus/s)" = x`)
		})
	}
}

func TestWithoutGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "the program git is not installed") {
		t.Error(err)
	}
}

// checkout makes the checkout of a session in top.
func checkout(t *testing.T, tree Tree, top string) Tree {
	t.Helper()
	keep := func() error { return nil }
	tree.Dir = filepath.Join(top, "tree")
	if err := tree.Claim(t.Context(), Branches("s"), keep); err != nil {
		t.Fatal(err)
	}
	if err := tree.Fill(t.Context(), tree.Dir); err != nil {
		t.Fatal(err)
	}
	if err := tree.Register(keep); err != nil {
		t.Fatal(err)
	}
	return tree
}

func stageOf(t *testing.T, tree Tree, top string) *Stage {
	t.Helper()
	s, err := tree.Stage(t.Context(), filepath.Join(t.TempDir(), "stage"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBranches(t *testing.T) {
	for script, want := range map[string]string{
		"true":                        "openmanus/s",
		"git branch openmanus/s":      "openmanus/s-2",
		"git branch openmanus":        "openmanus-s",
		"git branch openmanus/s/more": "openmanus/s-2",
	} {
		top := sh(t, project+"cd r; "+script)
		tree, err := Find(t.Context(), filepath.Join(top, "r"))
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		if err := tree.Claim(t.Context(), Branches("s"), func() error { kept = append(kept, tree.Branch); return nil }); err != nil {
			t.Fatal(err)
		}
		if tree.Branch != want || kept[len(kept)-1] != want {
			t.Errorf("%s: the branch is %s, and kept are %v, want %s", script, tree.Branch, kept, want)
		}
		if said, err := tree.Forget(t.Context()); err != nil || said != "" {
			t.Errorf("%s: %q, %v", script, said, err)
		}
		again(t, tree.Repository, "! git rev-parse -q --verify refs/heads/"+want)
	}
}

// The git directory of a checkout is written by an agent.
func TestHead(t *testing.T) {
	top := sh(t, project)
	tree, err := Find(t.Context(), filepath.Join(top, "r"))
	if err != nil {
		t.Fatal(err)
	}
	tree = checkout(t, tree, top)
	again(t, tree.Dir, "git pack-refs --all")
	if at, err := tree.Head(); err != nil || at != tree.Base {
		t.Errorf("packed: %s, %v", at, err)
	}
	for _, script := range []string{
		"echo ref: refs/../../../secret > .git/HEAD", "echo ref: refs/heads/none > .git/HEAD", "rm .git/HEAD",
		"ln -sf ../../secret .git/HEAD", "rm .git/HEAD; mkfifo .git/HEAD", "echo --help > .git/HEAD", "mv .git g; ln -s ../r/.git .git",
	} {
		again(t, tree.Dir, "cp -r . ../copy; git -C ../r rev-parse HEAD > ../secret; cd ../copy; "+script)
		other := tree
		other.Dir = filepath.Join(top, "copy")
		if at, err := other.Head(); err == nil {
			t.Errorf("%s: %s", script, at)
		}
		again(t, top, "rm -rf copy")
	}
}

// An object that is not what its name says does not come to the repository.
func TestObjectsAreChecked(t *testing.T) {
	for name, script := range map[string]string{
		"another content": `git cat-file blob HEAD:x > /dev/null; a=$(git rev-parse HEAD:x); b=$(echo evil | git hash-object -w --stdin)
			f() { echo .git/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); }; cp -f $(f $b) $(f $a)`,
		"a missing object": `a=$(git rev-parse HEAD:x); rm -f .git/objects/$(echo $a | cut -c1-2)/$(echo $a | cut -c3-)`,
		"a tree with .git": `b=$(echo evil | git hash-object -w --stdin); s=$(printf '100644 blob %s\tconfig\n' $b | git mktree)
			r=$(printf '040000 tree %s\t.git\n' $s | git mktree --missing); git reset -q --soft $(git commit-tree -p HEAD -m x $r)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := sh(t, project)
			tree, err := Find(t.Context(), filepath.Join(top, "r"))
			if err != nil {
				t.Fatal(err)
			}
			tree = checkout(t, tree, top)
			again(t, tree.Dir, "echo x > x; git add x; git commit -qm x; "+script)
			stage := stageOf(t, tree, top)
			if err := stage.Sync(t.Context(), &tree, func() error { return nil }); err == nil {
				t.Error("it was taken")
			}
			again(t, tree.Repository, "git fsck --strict; test $(git rev-parse openmanus/s) = "+tree.Base)
		})
	}
}

// A hostile git directory of a checkout runs nothing of its own when its work is
// brought: not by its configuration, its index, its hooks or its attributes.
func TestNothingRuns(t *testing.T) {
	top := sh(t, project)
	tree, err := Find(t.Context(), filepath.Join(top, "r"))
	if err != nil {
		t.Fatal(err)
	}
	tree = checkout(t, tree, top)
	again(t, tree.Dir, `echo x > x; git add x; git commit -qm x
		evil="touch $HOME/evil"; mkdir .git/hooks; for h in post-checkout pre-commit post-merge reference-transaction post-index-change
		do printf '#!/bin/sh\n%s\n' "$evil" > .git/hooks/$h; chmod +x .git/hooks/$h; done
		cat >> .git/config <<END
[core]
	fsmonitor = $evil
	hooksPath = $PWD/.git/hooks
	alternateRefsCommand = $evil
	sshCommand = $evil
[filter "e"]
	clean = $evil
	smudge = $evil
	process = $evil
	required = true
[uploadpack]
	packObjectsHook = $evil
[diff "e"]
	textconv = $evil
	command = $evil
[merge "e"]
	driver = $evil
[remote "origin"]
	promisor = true
	url = ext::$evil
[extensions]
	partialClone = origin
END
		echo '* filter=e diff=e merge=e' > .git/info/attributes; echo '* filter=e diff=e merge=e' > d/.gitattributes
		echo y >> d/b; echo y >> a`)
	again(t, tree.Repository, "echo other > other; git add .; git commit -qm other; rm -f ../evil ../tree/evil")
	stage := stageOf(t, tree, top)
	p, err := stage.Plan(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := stage.Sync(t.Context(), &tree, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := stage.Merge(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := stage.Bring(t.Context(), p, Files{}, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if again(t, top, "ls -d evil */evil 2>/dev/null || true") != "" {
		t.Error("a program of the checkout has run")
	}
	again(t, tree.Dir, "git status > /dev/null 2>&1 || true; test -e evil") // it can
	again(t, tree.Repository, `grep -q y d/b; grep -q y a; test "$(cat x)" = x; git log -1 | grep -q Merge`)
}

// The configuration of the person's repository may be a stranger's: a directory that was
// unpacked, or shared. No program that it names runs, neither when a worktree is made nor
// when its work is brought.
func TestTheRepositoryRunsNothing(t *testing.T) {
	const everyFile = "'* filter=e diff=e merge=e'"
	for name, script := range map[string]string{
		"filters":                `git config filter.e.clean "$evil"; git config filter.e.smudge "$evil"; git config filter.e.required true; ATTR=in`,
		"a filter that stays":    `git config filter.e.process "$evil"; git config filter.e.required true; ATTR=in`,
		"filters of its own":     `git config filter.e.clean "$evil"; git config filter.e.smudge "$evil"; ATTR=info`,
		"a file that it reads":   `git config -f ../more filter.e.clean "$evil"; git config include.path $PWD/../more; ATTR=in`,
		"for this directory":     `git config -f ../more filter.e.clean "$evil"; git config includeIf.gitdir:$PWD/.path $PWD/../more; ATTR=in`,
		"for this checkout":      `git config extensions.worktreeConfig true; git config --worktree filter.e.clean "$evil"; ATTR=in`,
		"a driver of merges":     `git config merge.e.driver "$evil"; ATTR=in`,
		"the driver of merges":   `git config merge.default e; git config merge.e.driver "$evil"`,
		"drivers of differences": `git config diff.e.command "$evil"; git config diff.e.textconv "$evil"; git config diff.external "$evil"; ATTR=in`,
		"a monitor of files":     `git config core.fsmonitor "$evil"`,
		"signatures":             `git config gpg.program "$evil"; git config merge.verifySignatures true; git config commit.gpgSign true; git config log.showSignature true`,
		"signatures by ssh":      `git config gpg.format ssh; git config gpg.ssh.program "$evil"; git config commit.gpgSign true; git config user.signingKey x`,
		"where a program asks":   `for k in core.editor sequence.editor core.pager core.askPass core.sshCommand core.gitProxy credential.helper; do git config $k "$evil"; done`,
		"other names":            `for k in status merge config rev-parse; do git config alias.$k "!$evil"; git config pager.$k "$evil"; done`,
		"what serves it":         `git config uploadpack.packObjectsHook "$evil"; git config core.alternateRefsCommand "$evil"`,
		"remotes":                `git config remote.origin.uploadpack "$evil"; git config remote.origin.url "ext::$evil"; git config protocol.ext.allow always`,
		"hooks": `for h in post-checkout pre-commit post-merge pre-merge-commit commit-msg prepare-commit-msg reference-transaction post-index-change post-rewrite pre-auto-gc
			do printf '#!/bin/sh\n%s\n' "$evil" > .git/hooks/$h; chmod +x .git/hooks/$h; done`,
		"hooks elsewhere": `mkdir h; for h in post-checkout post-merge reference-transaction post-index-change
			do printf '#!/bin/sh\n%s\n' "$evil" > h/$h; chmod +x h/$h; done; git config core.hooksPath $PWD/h`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := sh(t, project+`cd r; mkdir -p .git/hooks; printf 'touch '$HOME'/evil; cat; true\n' > ../e.sh; evil="sh $HOME/e.sh"
				`+script+`
				case "$ATTR" in info) mkdir -p .git/info; echo `+everyFile+` > .git/info/attributes;; in) echo `+everyFile+` > .gitattributes
					git -c core.hooksPath=/dev/null -c filter.e.clean= -c filter.e.process= -c filter.e.required=false add .gitattributes
					git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c filter.e.clean= -c filter.e.process= -c filter.e.required=false commit --no-gpg-sign -qm attributes;; esac
				rm -f ../evil`)
			tree, err := Find(t.Context(), filepath.Join(top, "r"))
			if err != nil {
				t.Fatal(err)
			}
			tree = checkout(t, tree, top)
			again(t, tree.Dir, `printf '1\n2\n3\n4\n5\ny\n' > a; echo x > x; git add .; git commit -qm x; echo y >> d/b`)
			again(t, tree.Repository, `sed -i s/1/one/ a
				git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c filter.e.clean= -c filter.e.process= -c filter.e.required=false commit --no-gpg-sign -qam other
				touch a c d/b .gitignore`)
			stage := stageOf(t, tree, top)
			p, err := stage.Plan(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if !p.CanMerge() {
				t.Fatalf("%+v", p)
			}
			if err := stage.Sync(t.Context(), &tree, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			if err := stage.Merge(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if _, err := stage.Bring(t.Context(), p, Files{}, t.TempDir()); err != nil {
				t.Fatal(err)
			}
			if _, err := tree.Forget(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again(t, top, "ls evil 2>/dev/null || true") != "" {
				t.Error("a program that the repository names has run")
			}
			again(t, tree.Repository, `test "$(tr '\n' ' ' < a)" = 'one 2 3 4 5 y '; grep -q y d/b; test "$(cat x)" = x`)
		})
	}
}
