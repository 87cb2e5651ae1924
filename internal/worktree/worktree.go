// Package worktree makes checkouts of a person's git repository for sessions, each
// with a branch of its own, and brings what was done in them back. It drives the
// program git.
//
// A checkout has a git directory of its own, which borrows the objects of the
// repository and writes new ones beside them. So a command in a sandbox can commit,
// stash, tag and rebase, and nothing of the repository has to be writable for that:
// no hook, no configuration, no branch and no object of the person's. A worktree as
// "git worktree add" makes it would need all objects and a part of the references to
// be writable, and whoever can write these can exchange what a commit contains.
//
// The repository knows the checkout as a worktree ("git worktree list") and has its
// branch. Commits come to the branch by [Tree.Sync], outside of the sandbox: git
// reads the objects of the checkout, checks that each is what its name says, and
// never reads the configuration, the index or the hooks of the checkout.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// A Tree is a checkout that was made for a session. It is stored as JSON.
type Tree struct {
	Dir        string `json:"dir"`               // the checkout
	Repository string `json:"repository"`        // the top directory of the person's checkout
	Common     string `json:"common"`            // the git directory of the repository
	Objects    string `json:"objects,omitempty"` // what the checkout borrows; "": it has all objects itself
	Format     string `json:"format"`            // of names of objects: sha1 or sha256
	Branch     string `json:"branch"`            // the name of its branch in the repository
	Base       string `json:"base"`              // the commit that it began with
	Tip        string `json:"tip"`               // the commit that Branch had when it was written last
	Within     string `json:"within,omitempty"`  // where in the repository the person was, with slashes
	Entry      string `json:"entry,omitempty"`   // the directory by which the repository knows the checkout

	Notes []string `json:"-"` // what a person should know, one sentence each; set by Find
}

// A Refusal is the error for a repository with which it cannot be done. It says what
// to do.
type Refusal struct{ why string }

func (r *Refusal) Error() string { return r.why }

func refuse(format string, a ...any) error { return &Refusal{fmt.Sprintf(format, a...)} }

// Find returns a Tree for the repository that contains dir, without Dir and Branch.
// The error is a [*Refusal] if no worktree can be made of it.
func Find(ctx context.Context, dir string) (t Tree, err error) {
	what, err := git{dir: dir}.run(ctx, "rev-parse", "--is-bare-repository", "--is-inside-work-tree")
	switch {
	case errors.Is(err, errNoGit):
		return t, refuse("%v", err)
	case code(err) >= 0 && strings.Contains(err.Error(), "not a git repository"):
		return t, refuse("%s is in no git repository: work without a worktree, or make a repository with git init and a first commit", dir)
	case err != nil:
		return t, refuse("%s: %v", dir, err)
	case strings.HasPrefix(what, "true"):
		return t, refuse("%s is a bare repository, which has no checkout to bring work to: clone it, and go there", dir)
	case what != "false\ntrue":
		return t, refuse("%s is in a git directory: go to the checkout", dir)
	}
	gitDir, err := (git{dir: dir}).run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return t, err
	}
	if t.Repository, err = (git{dir: dir}).run(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return t, err
	}
	if t.Within, err = (git{dir: dir}).run(ctx, "rev-parse", "--show-prefix"); err != nil {
		return t, err
	}
	t.Within, t.Repository = strings.TrimSuffix(t.Within, "/"), filepath.FromSlash(t.Repository)
	g := t.mine()
	// With core.worktree the files lie elsewhere: what is brought would be written there.
	if at, err := g.run(ctx, "rev-parse", "--absolute-git-dir"); err != nil || at != gitDir || !exists(filepath.Join(t.Repository, ".git")) {
		return t, refuse("the git directory %s says that its files are in %s, where it is not found (core.worktree): go to the checkout itself",
			gitDir, t.Repository)
	}
	if t.Base, err = g.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return t, refuse("the repository %s has no commit yet: make a first one, so that a worktree has something to begin with", t.Repository)
	}
	t.Tip = t.Base
	about, err := g.run(ctx, "rev-parse", "--show-object-format", "--git-common-dir")
	if err != nil {
		return t, err
	}
	t.Format, t.Common, _ = strings.Cut(about, "\n")
	if !filepath.IsAbs(t.Common) {
		t.Common = filepath.Join(t.Repository, t.Common)
	}
	if _, err := g.run(ctx, "config", "--get-regexp", `^(extensions\.partialclone|remote\..*\.promisor)$`); err == nil {
		return t, refuse("%s is a partial clone: what it lacks could not be fetched in a worktree. Clone it as a whole", t.Repository)
	}
	t.Objects = filepath.Join(t.Common, "objects")
	if _, err := os.Lstat(filepath.Join(t.Objects, "info", "alternates")); err == nil || strings.ContainsAny(t.Objects, "\n\"") {
		t.Objects = "" // these may lead anywhere, and commands would have to see that
	}
	return t, t.note(ctx)
}

// note sets Notes.
func (t *Tree) note(ctx context.Context) error {
	changed, err := t.uncommitted(ctx)
	if err != nil {
		return err
	}
	if n := len(changed); n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("the worktree has what is committed; what is not, in %d of your files, stays with you", n))
	}
	if _, err := t.mine().run(ctx, "symbolic-ref", "--quiet", "HEAD"); err != nil {
		t.Notes = append(t.Notes, "the repository is at no branch (detached HEAD); the worktree begins with the same commit")
	}
	if _, err := t.mine().run(ctx, "cat-file", "-e", t.Base+":.gitmodules"); err == nil {
		t.Notes = append(t.Notes, "submodules are empty directories in the worktree")
	}
	if _, err := t.mine().run(ctx, "grep", "--quiet", "filter=lfs", t.Base, "--", "*.gitattributes"); err == nil {
		t.Notes = append(t.Notes, "files that Git LFS keeps are pointers in the worktree, since no filters run")
	}
	return nil
}

// mine returns the git of the person's checkout, with the person's configuration.
func (t Tree) mine() git { return git{dir: t.Repository} }

// uncommitted returns the names of the files in the person's checkout that differ from
// its last commit, or that git does not know and does not ignore.
func (t Tree) uncommitted(ctx context.Context) (map[string]bool, error) {
	g, err := t.mine().unfiltered(ctx)
	if err != nil {
		return nil, err
	}
	out, err := g.run(ctx, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	for _, f := range fields(out) {
		if len(f) > 3 {
			names[f[3:]] = true
		}
	}
	return names, nil
}

// settings are those of the person's repository that say how files look in a checkout,
// and whose commits are made. They name no program.
func (t Tree) settings(ctx context.Context) (list []string) {
	for _, key := range []string{
		"core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode",
		"core.safecrlf", "user.name", "user.email",
	} {
		if v, err := t.mine().run(ctx, "config", "--get", key); err == nil && v != "" && !strings.ContainsAny(v, "\n\x00") {
			list = append(list, key+"="+v)
		}
	}
	return list
}

// Fill makes the checkout in temp, a directory that does not exist. The branch need not
// exist in the repository yet.
func (t Tree) Fill(ctx context.Context, temp string) error {
	quiet := git{dir: filepath.Dir(temp), env: private}
	if _, err := quiet.run(ctx, "init", "--quiet", "--template=", "--object-format="+t.Format, temp); err != nil {
		return err
	}
	g := git{dir: temp, env: private}
	for _, s := range t.settings(ctx) {
		key, value, _ := strings.Cut(s, "=")
		if _, err := g.run(ctx, "config", key, value); err != nil {
			return err
		}
	}
	inGit := func(name string) string { return filepath.Join(temp, ".git", filepath.FromSlash(name)) }
	if err := os.MkdirAll(inGit("info"), 0o755); err != nil {
		return err
	}
	for _, name := range []string{"shallow", "info/exclude"} { // the history that there is, and what is ignored
		if data, err := readSmall(t.Common, name); err == nil {
			if err := os.WriteFile(inGit(name), data, 0o644); err != nil {
				return err
			}
		}
	}
	if t.Objects == "" {
		// Without the person's settings git would refuse a repository of another owner.
		fetch := git{dir: temp}
		if _, err := fetch.run(ctx, "fetch", "--quiet", "--no-tags", "--update-shallow", t.Repository, "HEAD"); err != nil {
			return err
		}
	} else if err := t.borrow(ctx, inGit); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"symbolic-ref", "HEAD", "refs/heads/" + t.Branch},
		{"update-ref", "refs/heads/" + t.Branch, t.Base},
		{"reset", "--quiet", "--hard"},
	} {
		if _, err := g.run(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// borrow has the checkout use the objects of the repository, and names its branches
// and tags: branches as those of a remote, origin.
func (t Tree) borrow(ctx context.Context, inGit func(string) string) error {
	if err := os.MkdirAll(inGit("objects/info"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(inGit("objects/info/alternates"), []byte(t.Objects+"\n"), 0o644); err != nil {
		return err
	}
	refs, err := t.mine().run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# pack-refs with: sorted \n")
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		for line := range strings.Lines(refs + "\n") {
			object, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if name, ok := strings.CutPrefix(ref, prefix); ok {
				fmt.Fprintf(&b, "%s %s%s\n", object, strings.Replace(prefix, "heads", "remotes/origin", 1), name)
			}
		}
	}
	return os.WriteFile(inGit("packed-refs"), []byte(b.String()), 0o644)
}

// Branches returns names for the branch of a session, in the order in which they
// should be tried.
func Branches(name string) []string {
	list := []string{"openmanus/" + name}
	for n := 2; n < 5; n++ {
		list = append(list, fmt.Sprintf("openmanus/%s-%d", name, n))
	}
	return append(list, "openmanus-"+name) // where there is a branch openmanus
}

// Claim makes the branch in the repository, at Base, with the first of names that is
// free. keep is called with the name before.
func (t *Tree) Claim(ctx context.Context, names []string, keep func() error) error {
	var last error
	for _, name := range names {
		if _, err := t.mine().run(ctx, "show-ref", "--verify", "--quiet", "refs/heads/"+name); err == nil {
			last = fmt.Errorf("the branch %s is there already", name)
			continue
		}
		t.Branch, t.Tip = name, t.Base
		if err := keep(); err != nil {
			return err
		}
		if last = t.setBranch(ctx, t.Base, strings.Repeat("0", len(t.Base))); last == nil {
			return nil
		}
	}
	t.Branch = ""
	return fmt.Errorf("no branch can be made for the session: %w", last)
}

// setBranch moves the branch in the repository from one commit to another.
func (t *Tree) setBranch(ctx context.Context, to, from string) error {
	_, err := t.mine().run(ctx, "update-ref", "--create-reflog", "-m", "openmanus: work of a session", "refs/heads/"+t.Branch, to, from)
	return err
}

// Register lets the repository know the checkout, which is in its place, as one of its
// worktrees: git lists it then, and keeps its branch and the objects that it borrows.
// keep is called before.
func (t *Tree) Register(keep func() error) error {
	all := filepath.Join(t.Common, "worktrees")
	if err := os.MkdirAll(all, 0o755); err != nil {
		return err
	}
	name := filepath.Base(t.Dir)
	for n := 2; ; n++ {
		t.Entry = filepath.Join(all, name)
		if _, err := os.Lstat(t.Entry); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("%s-%d", filepath.Base(t.Dir), n)
	}
	if err := keep(); err != nil {
		return err
	}
	if err := os.Mkdir(t.Entry, 0o755); err != nil {
		return err
	}
	for _, f := range [][2]string{ // as gitrepository-layout(5) has them
		{"gitdir", filepath.Join(t.Dir, ".git")}, {"commondir", "../.."}, {"HEAD", "ref: refs/heads/" + t.Branch},
	} {
		if err := os.WriteFile(filepath.Join(t.Entry, f[0]), []byte(f[1]+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Forget removes what the repository has of the checkout: its entry among the
// worktrees, and its branch, unless something else has moved that. kept says what
// stays, or is "". It changes nothing in the checkout.
func (t Tree) Forget(ctx context.Context) (kept string, err error) {
	if t.Entry != "" {
		data, err := os.ReadFile(filepath.Join(t.Entry, "gitdir"))
		mine := err == nil && strings.TrimSpace(string(data)) == filepath.Join(t.Dir, ".git")
		if half := errors.Is(err, fs.ErrNotExist); mine || half {
			if err := os.RemoveAll(t.Entry); err != nil {
				return "", err
			}
		}
	}
	if t.Branch == "" || !exists(t.Common) {
		return "", nil
	}
	now, err := t.mine().run(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+t.Branch)
	switch {
	case errors.Is(err, errNoGit):
		return fmt.Sprintf("the branch %s stays: %v", t.Branch, err), nil
	case err != nil:
		return "", nil // it is gone
	case now != t.Tip && now != t.Base:
		return fmt.Sprintf("the branch %s stays: it was moved by someone else", t.Branch), nil
	}
	_, err = t.mine().run(ctx, "update-ref", "-d", "refs/heads/"+t.Branch, now)
	return "", err
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// maxSmall is how much of a file of git's is read.
const maxSmall = 16 << 20

// readSmall reads a file in dir, if it is a regular one.
func readSmall(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, _, err := regular.Open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSmall))
}

// Head returns the commit that the checkout is at. It reads the files of git itself:
// an agent may have written anything there.
func (t Tree) Head() (commit string, err error) {
	read := func(name string) string {
		data, _ := readSmall(t.Dir, path.Join(".git", name)) // what is missing is no reference
		return strings.TrimSpace(string(data))
	}
	at := read("HEAD")
	if ref, ok := strings.CutPrefix(at, "ref:"); ok {
		ref = strings.TrimSpace(ref)
		if !strings.HasPrefix(ref, "refs/") || !fs.ValidPath(ref) {
			return "", fmt.Errorf("%s has no branch that can be read", t.Dir)
		}
		if at = read(ref); at == "" {
			for line := range strings.Lines(read("packed-refs")) {
				if object, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
					at = object
				}
			}
		}
	}
	if len(at) != len(t.Base) || strings.Trim(at, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%s is at no commit that can be read", t.Dir)
	}
	return at, nil
}
