package worktree

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/copydir"
)

// Merge merges the commits of a plan into the branch of the person's checkout. The
// branch of the checkout has them already: see [Stage.Sync]. The caller has looked
// whether [Plan.CanMerge]; git itself changes nothing if a file of the person's is in
// the way after all, or if the checkout has moved on since the plan.
//
// The merge is made on the stage, where no driver of the repository is known, and the
// checkout goes forward to it.
func (s *Stage) Merge(ctx context.Context, p *Plan) error {
	if p.Total == 0 {
		return nil
	}
	to := p.tip
	if p.from != p.head {
		var err error
		if to, err = s.git.run(ctx, "commit-tree", "-p", p.head, "-p", p.tip, "-m", "Merge branch '"+s.t.Branch+"'", p.merged); err != nil {
			return err
		}
		if err := s.bring(ctx, to, p.head, p.tip); err != nil {
			return err
		}
	}
	g, err := s.t.mine().unfiltered(ctx)
	if err != nil {
		return err
	}
	_, err = g.run(ctx, "merge", "--quiet", "--no-verify", "--no-autostash", "--ff-only", to)
	return err
}

// Files are the files that a plan brings to the person's checkout, besides commits.
type Files struct {
	Leave  func(name string) string // why a file must not be brought, or ""
	Beside string                   // what is added to the names of files that conflict
	All    bool                     // the files that commits changed, too
}

// Look returns what [Stage.Bring] would do. temp is a new directory.
func (s *Stage) Look(ctx context.Context, p *Plan, f Files, temp string) (*copydir.Merged, error) {
	return s.merge(ctx, p, f, temp, copydir.Merge.Look)
}

// Bring changes files of the person's checkout as the checkout has changed them: what
// is not committed or, with All, everything. A file that is not as the checkout began
// with it stays, unless its changes are committed and the lines can be merged; then the
// version of the checkout is put beside it.
func (s *Stage) Bring(ctx context.Context, p *Plan, f Files, temp string) (*copydir.Merged, error) {
	return s.merge(ctx, p, f, temp, copydir.Merge.Do)
}

// merge merges files by do. The result has no changes that were there already.
func (s *Stage) merge(
	ctx context.Context, p *Plan, f Files, temp string, do func(copydir.Merge, context.Context) (*copydir.Merged, error),
) (*copydir.Merged, error) {
	m, err := s.merging(ctx, p, f, temp)
	if err != nil || m == nil {
		return &copydir.Merged{}, err
	}
	lacks, err := lacking(ctx, m)
	if err != nil {
		return nil, err
	}
	out, err := do(*m, ctx)
	if err == nil {
		out.Changes = slices.DeleteFunc(out.Changes, func(c copydir.Change) bool {
			return !lacks[c.Path] && !strings.HasSuffix(c.Path, f.Beside)
		})
	}
	return out, err
}

// merging writes the files that differ, as they were and as they are, to temp. It
// returns nil if none do.
func (s *Stage) merging(ctx context.Context, p *Plan, f Files, temp string) (*copydir.Merge, error) {
	base := p.tip
	if f.All {
		base = p.from
	}
	list, err := s.differ(ctx, base, p.tree)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	m := &copydir.Merge{
		Base: filepath.Join(temp, "base"), From: filepath.Join(temp, "from"), To: s.t.Repository,
		Leave: f.Leave, Beside: f.Beside,
	}
	names, wanted := []string{}, make(map[string]bool)
	for _, c := range list {
		names = append(names, c.Path)
		for at := c.Path; at != "."; at = path.Dir(at) {
			wanted[at] = true
		}
	}
	m.Skip = func(name string) bool { return !wanted[name] }
	for _, x := range [][2]string{{m.Base, base}, {m.From, p.tree}} {
		if err := s.write(ctx, x[0], x[1], names); err != nil {
			return nil, err
		}
	}
	yours, err := s.t.uncommitted(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := s.prepare(ctx, m, name, inWay(yours, name)); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// write writes the named files of a commit or tree to a new directory.
func (s *Stage) write(ctx context.Context, dir, tree string, names []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	g := s.git
	g.dir = dir
	g.env = append(g.env[:len(g.env):len(g.env)], "GIT_WORK_TREE="+dir, "GIT_INDEX_FILE="+dir+".index")
	if _, err := g.run(ctx, "read-tree", tree); err != nil {
		return err
	}
	has, err := g.feed(ctx, nil, "ls-files", "-z")
	if err != nil {
		return err
	}
	there := make(map[string]bool)
	for _, name := range fields(has) {
		there[name] = true
	}
	var in bytes.Buffer
	for _, name := range names {
		if there[name] {
			in.WriteString(name + "\x00")
		}
	}
	_, err = g.feed(ctx, &in, "checkout-index", "--quiet", "--force", "-z", "--stdin")
	return err
}

// prepare gives the versions of a file the permissions that the person's has, of which
// git keeps only whether it can be run. Where the person has changed and committed the
// file, and the changes are in other lines, the version to bring has both.
func (s *Stage) prepare(ctx context.Context, m *copydir.Merge, name string, yours bool) error {
	at := func(dir string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	regular := func(file string) fs.FileInfo {
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
			return info
		}
		return nil
	}
	to := regular(at(m.To))
	if to == nil || strings.Contains(name, "..") && !filepath.IsLocal(name) {
		return nil
	}
	for _, dir := range []string{m.Base, m.From} {
		info := regular(at(dir))
		if info == nil {
			continue
		}
		mode := to.Mode().Perm() &^ 0o111
		if info.Mode()&0o100 != 0 {
			mode |= to.Mode().Perm()&0o111 | mode&0o444>>2
		}
		if err := os.Chmod(at(dir), mode); err != nil {
			return err
		}
	}
	base, from := regular(at(m.Base)), regular(at(m.From))
	if yours || base == nil || from == nil || base.Mode() != to.Mode() || from.Mode() != to.Mode() {
		return nil
	}
	was, err := readSmall(m.Base, name)
	if err != nil {
		return err
	}
	now, err := readSmall(m.To, name)
	if err != nil || bytes.Equal(was, now) || len(now) >= maxSmall {
		return nil //nolint:nilerr // the merge says what cannot be read
	}
	mine := at(m.To)
	var merged bytes.Buffer
	err = s.git.pipe(ctx, nil, &merged, "merge-file", "-p", "--quiet", mine, at(m.Base), at(m.From))
	if err != nil {
		return ctx.Err() // they conflict, or are no text
	}
	if err := os.WriteFile(at(m.Base), now, to.Mode().Perm()); err != nil {
		return err
	}
	return os.WriteFile(at(m.From), merged.Bytes(), to.Mode().Perm())
}
