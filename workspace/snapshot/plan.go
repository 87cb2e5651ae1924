package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A Step is what one call did to a directory: the trees before and after it.
type Step struct {
	Before, After Tree
	// Only, if not nil, reports whether the call may have changed a name. Other
	// differences are changes of others.
	Only func(name string) bool
}

// A Plan says how to undo steps. Its names are in order, a directory before what is
// in it.
type Plan struct {
	// Ops are the names to change. Those whose From is the same as To are
	// directories that must be writable for a moment.
	Ops []Op
	// Conflicts are names that a step changed and that something else has
	// changed since. They stay as they are: To is what they would have become.
	Conflicts []Op
	// Lost are names whose earlier content was not kept. They stay as they are;
	// a directory comes back empty.
	Lost []Op
}

// An Op brings one name from one state to another.
type Op struct {
	Name string
	From *Entry // what is there; nil: nothing
	To   *Entry // what is to be there; nil: nothing
}

// Undo plans how to undo steps, in the order in which they were made, in a directory
// whose content is now. It undoes what the steps changed and nothing else: what
// changed between steps, or after them, stays. If something else changed a name after
// a step had changed it, that step and those before it cannot be undone there, which
// is one of [Plan.Conflicts].
//
// In git directories that were there before, objects and references that are new stay,
// and so do logs of references that have grown.
//
// A step that changed nothing of a file but its owner, times or attributes has nothing
// to undo.
func (r *Reader) Undo(ctx context.Context, now Tree, steps []Step) (Plan, error) {
	u := undo{r: r, ctx: ctx, now: now, names: make(map[string]*undone)}
	for _, s := range slices.Backward(steps) {
		for c, err := range r.Diff(ctx, s.Before, s.After) {
			if err == nil && s.Only != nil && !s.Only(c.Name) {
				continue
			}
			if err == nil {
				err = u.step(c)
			}
			if err != nil {
				return Plan{}, err
			}
		}
	}
	p := u.plan()
	return p, u.unlock(&p)
}

// unlock adds to the operations the directories that stay, contain what changes, and
// are not writable.
func (u *undo) unlock(p *Plan) error {
	seen := make(map[string]bool)
	for _, op := range p.Ops {
		seen[op.Name] = true
	}
	for _, op := range slices.Clone(p.Ops) {
		dir := path.Dir(op.Name)
		if seen[dir] || dir == "." {
			continue
		}
		seen[dir] = true
		e, err := u.r.Lookup(u.ctx, u.now, dir)
		if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		if e.isDir() && e.Mode&0o300 != 0o300 {
			p.Ops = append(p.Ops, Op{dir, e, e})
		}
	}
	p.sort()
	return nil
}

type undo struct {
	r     *Reader
	ctx   context.Context
	now   Tree
	names map[string]*undone
}

// An undone is how far the steps have been undone at one name.
type undone struct {
	now, at  *Entry
	conflict bool
	older    *Entry // of a conflict: what the name would have become
}

// step undoes a change of the latest step that is not undone yet.
func (u *undo) step(c Change) error {
	at := u.names[c.Name]
	if at == nil {
		now, err := u.r.Lookup(u.ctx, u.now, c.Name)
		if err != nil && (!errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrGone)) {
			return err
		}
		at = &undone{now: now, at: now}
		u.names[c.Name] = at
	}
	switch {
	case at.conflict:
		at.older = c.Was
	case u.same(c.Name, at.at, c.Now):
		at.at = c.Was
	case u.same(c.Name, at.at, c.Was): // somebody undid it
	default:
		at.conflict, at.older = true, c.Was
	}
	return nil
}

func (u *undo) plan() (p Plan) {
	for name, at := range u.names {
		op := Op{name, at.now, at.at}
		switch {
		case at.conflict:
			p.Conflicts = append(p.Conflicts, Op{name, at.now, at.older})
			if at.now.Same(at.at) {
				continue
			}
		case at.now.Same(at.at), u.stays(name, op):
			continue
		}
		if to := op.To; to.lost(op.From) {
			p.Lost = append(p.Lost, op)
			if to.Kind != Dir {
				continue
			}
		}
		p.Ops = append(p.Ops, op)
	}
	p.sort()
	return p
}

// lost reports whether e cannot be made of what there is: its content was not kept. A
// directory keeps its own.
func (e *Entry) lost(from *Entry) bool {
	switch {
	case e == nil || e.Kind == Link:
		return false
	case e.Kind == Dir:
		return e.Content == nil && !from.isDir()
	}
	return e.Content == nil && !from.hasContentOf(e)
}

func (p *Plan) sort() {
	for _, ops := range [][]Op{p.Ops, p.Conflicts, p.Lost} {
		slices.SortFunc(ops, func(a, b Op) int { return comparePaths(a.Name, b.Name) })
	}
}

// comparePaths orders names as a walk does: a directory, then what is in it.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// stays reports whether a name in a git directory stays as it is: see [Reader.Undo].
func (u *undo) stays(name string, op Op) bool {
	git, kind := inGit(name)
	switch {
	case kind == "":
		return false
	case op.To == nil:
		// A whole repository that is new goes.
		repository := u.names[git]
		return repository == nil || repository.at != nil
	}
	from, to := op.From, op.To
	return kind == "logs" && from != nil && from.Kind == File && to.Kind == File && from.Size > to.Size
}

// inGit returns the git directory that a name is in and, if it is below "objects",
// "refs" or "logs" there, which of them.
func inGit(name string) (git, kind string) {
	at := 0
	for base := range strings.SplitSeq(path.Dir(name), "/") {
		at += len(base) + 1
		if git == "" && strings.HasSuffix(base, ".git") {
			git = name[:at-1]
		} else if git != "" && (base == "objects" || base == "refs" || base == "logs") {
			return git, base
		}
	}
	return "", ""
}
