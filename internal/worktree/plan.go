package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/copydir"
)

// A Change is a file that differs between two commits or trees.
type Change struct {
	Path   string `json:"path"`
	Change string `json:"change"` // copydir.Created, Modified or Deleted
	// Why says why the file is left as it is, or what to look at; ""
	Why string `json:"why,omitempty"`
}

// A Plan says what is in a checkout that the person's checkout does not have.
type Plan struct {
	Branch string `json:"branch"`
	Into   string `json:"into"` // the branch of the person's checkout; "": none
	// Commits are those that the person's checkout lacks, the newest first, at most
	// maxCommits of them: the short name and the title. Total is how many there are.
	Commits []string `json:"commits"`
	Total   int      `json:"total_commits"`
	// Committed is what these commits change there.
	Committed []Change `json:"committed"`
	// Uncommitted is what differs in the checkout from its last commit and is not in the
	// person's checkout as well. Files that git ignores are not there.
	Uncommitted []Change `json:"uncommitted"`
	// Repositories are directories of the checkout that are repositories of their own.
	Repositories []string `json:"repositories,omitempty"`
	// Ignored are files and directories of the checkout that git ignores: they stay there.
	Ignored []string `json:"ignored,omitempty"`

	// Conflicts are files that the commits change otherwise than the person's do, and
	// Yours those that the person has changed and not committed, and that the commits
	// change.
	Conflicts []string `json:"conflicts"`
	Yours     []string `json:"yours"`
	// Blocked is another reason for which the commits cannot be merged; "".
	Blocked string `json:"blocked,omitempty"`

	head   string // the commit of the person's checkout
	tip    string // that of the checkout
	tree   string // the checkout with what is not committed
	from   string // the last commit that both have
	merged string // the tree that a merge of the commits makes
}

const maxCommits = 20

// CanMerge reports whether the commits can be merged as they are.
func (p *Plan) CanMerge() bool { return len(p.Conflicts)+len(p.Yours) == 0 && p.Blocked == "" }

// Nothing reports whether there is nothing to bring.
func (p *Plan) Nothing() bool { return p.Total == 0 && len(p.Uncommitted) == 0 }

// Same reports whether two plans bring the same to the same.
func (p *Plan) Same(q *Plan) bool { return p.head == q.head && p.tip == q.tip && p.tree == q.tree }

// A Stage is a git directory of its own outside of the checkout, which has the objects
// of both. The configuration and the index of the checkout are never read by it.
type Stage struct {
	t    Tree
	dir  string
	git  git
	tree git // with the checkout as the directory of work
}

// Stage makes a stage in dir, a new directory.
func (t Tree) Stage(ctx context.Context, dir string) (*Stage, error) {
	up := git{dir: filepath.Dir(dir), env: private}
	if _, err := up.run(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+t.Format, dir); err != nil {
		return nil, err
	}
	lines := filepath.Join(t.Common, "objects") + "\n" + filepath.Join(t.Dir, ".git", "objects") + "\n"
	for name, data := range map[string]string{"objects/info/alternates": lines} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			return nil, err
		}
	}
	s := &Stage{t: t, dir: dir, git: git{dir: dir, env: append(slices.Clone(private), "GIT_DIR="+dir), set: t.settings(ctx)}}
	for _, name := range []string{"shallow", "info/exclude"} {
		if data, err := readSmall(t.Common, name); err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700),
				os.WriteFile(filepath.Join(dir, name), data, 0o600))
			if err != nil {
				return nil, err
			}
		}
	}
	if file, err := t.mine().run(ctx, "config", "--path", "--get", "core.excludesFile"); err == nil && file != "" {
		s.git.set = append(s.git.set, "core.excludesFile="+file)
	}
	s.tree = s.git
	s.tree.dir, s.tree.env = t.Dir, append(slices.Clone(s.git.env), "GIT_WORK_TREE="+t.Dir)
	return s, nil
}

// read returns the commit of the checkout, and a tree with what is not committed.
func (s *Stage) read(ctx context.Context) (tip, tree string, own []string, err error) {
	if tip, err = s.t.Head(); err != nil {
		return "", "", nil, err
	}
	if _, err := s.git.run(ctx, "cat-file", "-e", tip+"^{commit}"); err != nil {
		return "", "", nil, fmt.Errorf("the commit %s of the worktree cannot be read: %w", tip, err)
	}
	if _, err := s.git.run(ctx, "read-tree", tip); err != nil {
		return "", "", nil, err
	}
	own, err = repositories(ctx, s.t.Dir)
	if err != nil {
		return "", "", nil, err
	}
	args := []string{"add", "--all", "--", "."}
	for _, name := range own {
		args = append(args, ":(exclude,top,literal)"+name)
	}
	if _, err := s.tree.run(ctx, args...); err != nil {
		return "", "", nil, fmt.Errorf("the files of the worktree cannot be read: %w", err)
	}
	tree, err = s.git.run(ctx, "write-tree")
	return tip, tree, own, err
}

// repositories returns the directories below dir that are repositories of their own.
func repositories(ctx context.Context, dir string) (list []string, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || !d.IsDir() || name == ".":
			return nil //nolint:nilerr // git says what it cannot read
		case d.Name() == ".git" || d.Name() == "node_modules":
			return fs.SkipDir
		case exists(filepath.Join(dir, filepath.FromSlash(name), ".git")):
			list = append(list, name)
			return fs.SkipDir
		}
		return nil
	})
	return list, err
}

// Sync brings the commits of the checkout to its branch in the repository. Every object
// is checked on the way. keep is called when the branch was moved.
func (s *Stage) Sync(ctx context.Context, t *Tree, keep func() error) error {
	tip, err := t.Head()
	if err != nil {
		return err
	}
	now, err := t.mine().run(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+t.Branch)
	if err != nil {
		now = strings.Repeat("0", len(tip)) // it was deleted
	}
	if now == tip {
		t.Tip = tip
		return keep()
	}
	if err == nil && now != t.Tip {
		return fmt.Errorf("the branch %s was moved by someone else: rename it, and try again", t.Branch)
	}
	if err := s.bring(ctx, tip, s.t.Base); err != nil {
		return fmt.Errorf("the commits of the worktree: %w", err)
	}
	if err := t.setBranch(ctx, tip, now); err != nil {
		return err
	}
	t.Tip = tip
	return keep()
}

// bring stores the objects of a commit in the repository, which has those of the others.
func (s *Stage) bring(ctx context.Context, commit string, has ...string) error {
	list := []string{commit}
	for _, c := range has {
		list = append(list, "^"+c)
	}
	var pack bytes.Buffer
	if err := s.git.pipe(ctx, strings.NewReader(strings.Join(list, "\n")+"\n"), &pack, "pack-objects", "--revs", "--stdout", "--quiet"); err != nil {
		return err
	}
	if _, err := s.t.mine().feed(ctx, &pack, "unpack-objects", "-q", "--strict"); err != nil {
		return err
	}
	_, err := s.t.mine().run(ctx, append([]string{"rev-list", "--objects", "--quiet"}, list...)...) // all of it is there
	return err
}

// Plan says what there is to bring. temp is a new directory.
func (s *Stage) Plan(ctx context.Context, temp string) (*Plan, error) {
	p := &Plan{Branch: s.t.Branch, Commits: []string{}, Conflicts: []string{}, Yours: []string{}, Committed: []Change{}}
	var err error
	if p.tip, p.tree, p.Repositories, err = s.read(ctx); err != nil {
		return nil, err
	}
	ignored, err := s.tree.run(ctx, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
	if err != nil {
		return nil, fmt.Errorf("the ignored files of the worktree cannot be listed: %w", err)
	}
	p.Ignored = fields(ignored)
	if p.head, err = s.t.mine().run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return nil, refuse("the checkout %s is at no commit any more", s.t.Repository)
	}
	p.Into, _ = s.t.mine().run(ctx, "symbolic-ref", "--quiet", "--short", "HEAD") // fails without a branch
	list, err := s.git.run(ctx, "log", "--format=%h %s", "--no-decorate", p.head+".."+p.tip)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(list) {
		if p.Total++; len(p.Commits) < maxCommits {
			p.Commits = append(p.Commits, strings.TrimSuffix(line, "\n"))
		}
	}
	if p.from, err = s.git.run(ctx, "merge-base", p.head, p.tip); err != nil {
		p.from = s.t.Base
		p.Blocked = "the worktree and the checkout have no commit in common any more"
	}
	if p.Uncommitted, err = s.pending(ctx, p, temp); err != nil {
		return nil, err
	}
	if p.Total == 0 || p.Blocked != "" {
		return p, nil
	}
	return p, s.tryMerge(ctx, p)
}

// pending returns the changes since the last commit that the person's checkout lacks.
func (s *Stage) pending(ctx context.Context, p *Plan, temp string) ([]Change, error) {
	list, err := s.differ(ctx, p.tip, p.tree)
	if err != nil || len(list) == 0 {
		return list, err
	}
	m, err := s.merging(ctx, p, Files{}, temp)
	if err != nil {
		return nil, err
	}
	lacks, err := lacking(ctx, m)
	return slices.DeleteFunc(list, func(c Change) bool { return !lacks[c.Path] }), err
}

// lacking returns the names of the files to bring that are otherwise in the person's
// checkout.
func lacking(ctx context.Context, m *copydir.Merge) (map[string]bool, error) {
	list, err := copydir.Changes(ctx, m.From, m.To, m.Skip)
	names := make(map[string]bool)
	for _, c := range list {
		names[c.Path] = true
	}
	return names, err
}

// tryMerge finds what a merge of the commits would change, and what is in its way.
func (s *Stage) tryMerge(ctx context.Context, p *Plan) error {
	p.Blocked = s.t.busy(ctx)
	tree := p.tip
	if p.from != p.head {
		out, err := s.git.run(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", p.head, p.tip)
		switch parts := fields(out); {
		case code(err) == 1 && len(parts) > 0:
			slices.Sort(parts[1:])
			p.Conflicts = slices.Compact(parts[1:])
			tree = parts[0]
		case code(err) >= 0:
			p.Blocked = "this git cannot try a merge, which git 2.38 and later can"
			tree = p.tip
		case err != nil:
			return err
		default:
			tree = parts[0]
		}
	}
	p.merged = tree
	var err error
	if p.Committed, err = s.differ(ctx, p.head, tree); err != nil {
		return err
	}
	yours, err := s.t.uncommitted(ctx)
	if err != nil {
		return err
	}
	for _, c := range p.Committed {
		if inWay(yours, c.Path) {
			p.Yours = append(p.Yours, c.Path)
		}
	}
	return nil
}

// inWay reports whether a file of names is at name, above it or below it.
func inWay(names map[string]bool, name string) bool {
	for at := name; at != "."; at = filepath.ToSlash(filepath.Dir(at)) {
		if names[at] {
			return true
		}
	}
	for other := range names {
		if strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// busy says what git is in the middle of in the person's checkout, or "".
func (t Tree) busy(ctx context.Context) string {
	for _, x := range [][2]string{
		{"MERGE_HEAD", "a merge"}, {"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"}, {"BISECT_LOG", "a bisection"},
	} {
		at, err := t.mine().run(ctx, "rev-parse", "--git-path", x[0])
		if err == nil && !filepath.IsAbs(at) {
			at = filepath.Join(t.Repository, at)
		}
		if err == nil && exists(at) {
			return x[1] + " is under way in your checkout: end it first"
		}
	}
	return ""
}

// differ returns the changes between two commits or trees.
func (s *Stage) differ(ctx context.Context, a, b string) ([]Change, error) {
	out, err := s.git.run(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-status", "--no-commit-id", a, b)
	if err != nil {
		return nil, err
	}
	list, parts := []Change{}, fields(out)
	for i := 0; i+1 < len(parts); i += 2 {
		c := Change{Path: parts[i+1], Change: copydir.Modified}
		switch parts[i] {
		case "A":
			c.Change = copydir.Created
		case "D":
			c.Change = copydir.Deleted
		}
		list = append(list, c)
	}
	return list, nil
}
