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
}

// A Plan says how to undo steps. Its names are in order, a directory before what is
// in it.
type Plan struct {
	// Ops are the names to change.
	Ops []Op
	// Conflicts are names that a step changed and that something else has
	// changed since. They stay as they are: To is what they would have become.
	Conflicts []Op
	// Lost are names whose earlier content was not kept. They stay as they are.
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
// In git directories, objects, references and their logs that are new stay.
func (r *Reader) Undo(ctx context.Context, now Tree, steps []Step) (Plan, error) {
	u := undo{r: r, ctx: ctx, now: now, names: make(map[string]*undone)}
	for _, s := range slices.Backward(steps) {
		for c, err := range r.Diff(ctx, s.Before, s.After) {
			if err == nil {
				err = u.step(c)
			}
			if err != nil {
				return Plan{}, err
			}
		}
	}
	return u.plan(), nil
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
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		at = &undone{now: now, at: now}
		u.names[c.Name] = at
	}
	switch {
	case at.conflict:
		at.older = c.Was
	case at.at.Same(c.Now):
		at.at = c.Was
	case at.at.Same(c.Was): // somebody undid it
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
		case at.now.Same(at.at), op.To == nil && growsOnly(name):
			continue
		}
		if to := op.To; to != nil && (to.Kind == Device || to.Kind == File && to.Content == nil) {
			p.Lost = append(p.Lost, op)
			continue
		}
		p.Ops = append(p.Ops, op)
	}
	for _, ops := range [][]Op{p.Ops, p.Conflicts, p.Lost} {
		slices.SortFunc(ops, func(a, b Op) int { return comparePaths(a.Name, b.Name) })
	}
	return p
}

// comparePaths orders names as a walk does: a directory, then what is in it.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// growsOnly reports whether a name in a git directory is one that stays if it is new.
func growsOnly(name string) bool {
	git := false
	for base := range strings.SplitSeq(path.Dir(name), "/") {
		if git && (base == "objects" || base == "refs" || base == "logs") {
			return true
		}
		git = git || base == ".git"
	}
	return false
}
