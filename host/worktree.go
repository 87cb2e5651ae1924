package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/copydir"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/internal/protected"
	"github.com/openmanus-go/openmanus/internal/worktree"
)

// A NewWorktree is a checkout that was made for a session that does not exist yet.
type NewWorktree struct {
	Spec  openmanus.Spec // of the session, which works in the checkout
	Notes []string       // what a person should know, one sentence each

	h       *Host
	record  forkRecord
	release func() error
}

// Worktree makes a checkout of the git repository that contains the workspace of spec,
// for the session id, which does not exist yet. The caller opens the session with the
// Spec of the result and calls Done. within is as [Fork].Within. The error is an
// [*act.Error] if no checkout can be made of what is there.
//
// What a process that was killed has left is removed with the next worktree or fork.
func (h *Host) Worktree(ctx context.Context, id string, spec openmanus.Spec, within string) (w *NewWorktree, err error) {
	t, err := worktree.Find(ctx, spec.Workspace)
	if err != nil {
		return nil, ofWorktree(err)
	}
	w = &NewWorktree{Spec: spec, Notes: t.Notes, h: h, release: func() error { return nil }}
	if l, ok := h.Store.(openmanus.Locker); ok { // see Fork
		lease, err := l.Lock(ctx, id)
		if err != nil {
			return nil, err
		}
		w.release = lease.Release
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Done(err))
		}
	}()
	h.sweepForks(ctx)
	dir, err := h.placeOfFork(Fork{To: id, Within: within}, t.Repository)
	if err != nil {
		return w, err
	}
	t.Dir = dir
	w.record = forkRecord{Session: id, Temp: filepath.Join(filepath.Dir(dir), ".openmanus-fork-"+id), Tree: &t}
	keep := func() error { return h.keepRecord(w.record) }
	if err := t.Claim(ctx, worktree.Branches(shortID(id)), keep); err != nil {
		return w, ofWorktree(err)
	}
	if err := t.Fill(ctx, w.record.Temp); err != nil {
		return w, fmt.Errorf("a worktree of %s: %w", t.Repository, err)
	}
	if err := h.place(ctx, &w.record, dir); err != nil {
		return w, err
	}
	if err := t.Register(keep); err != nil {
		return w, fmt.Errorf("a worktree of %s: %w", t.Repository, err)
	}
	w.Spec.Workspace, w.Spec.Worktree = dir, specOfTree(t)
	return w, nil
}

// specOfTree returns what the spec of a session says of its checkout.
func specOfTree(t worktree.Tree) *openmanus.Worktree {
	return &openmanus.Worktree{
		Repository: t.Repository, Branch: t.Branch, Base: t.Base, Within: t.Within, Objects: t.Objects,
	}
}

// Done ends the making of the worktree: its session is open, or there is none because of
// err, and then the checkout and its branch are removed.
func (w *NewWorktree) Done(err error) error {
	if err != nil && w.record.Session != "" {
		_, ferr := w.h.forgetFork(w.record, true)
		return errors.Join(ferr, w.release())
	}
	return w.release()
}

// Text says where the session works, for people.
func (w *NewWorktree) Text() string {
	t := w.Spec.Worktree
	text := fmt.Sprintf("worktree of %s: branch %s, from commit %s", t.Repository, t.Branch, t.Base[:min(len(t.Base), 10)])
	return strings.Join(append([]string{text}, w.Notes...), "\n")
}

// shortID returns the part of an id that tells it from others, as names of files have it.
func shortID(id string) string {
	if newIDs.MatchString(id) {
		return id[strings.LastIndexByte(id, '-')+1:]
	}
	return strings.Map(func(r rune) rune {
		if r == '.' { // two of them mean something to git, and so does one at an end
			return '-'
		}
		return r
	}, id)
}

// ofWorktree returns the error of package worktree as one that a user can mend, if it is.
func ofWorktree(err error) error {
	if r := (*worktree.Refusal)(nil); errors.As(err, &r) {
		return mistake(err)
	}
	return err
}

// adoptWorktree makes a fork of a session with a worktree one that has a branch of its own.
func (h *Host) adoptWorktree(ctx context.Context, from string, r *forkRecord, spec *openmanus.Spec) error {
	if spec.Worktree == nil {
		return nil
	}
	old, err := readRecord(h.recordOf(from))
	if err != nil || old.Tree == nil { // the worktree is gone: the fork has files, and commits as far as they were kept
		w := *spec.Worktree
		w.Branch = ""
		spec.Worktree = &w
		return nil //nolint:nilerr // as the comment says
	}
	t := *old.Tree
	t.Dir, t.Entry = r.Dir, ""
	r.Tree = &t
	keep := func() error { return h.keepRecord(*r) }
	if err := t.Claim(ctx, worktree.Branches(shortID(r.Session)), keep); err != nil {
		return err
	}
	if err := t.Register(keep); err != nil {
		return err
	}
	spec.Worktree = specOfTree(t)
	return nil
}

// borrowed returns the directories outside of the workspace that commands of a session
// see because its checkout needs them.
func borrowed(spec openmanus.Spec) []string {
	if spec.Worktree == nil || spec.Worktree.Objects == "" {
		return nil
	}
	dir := spec.Worktree.Objects
	if filepath.Base(dir) != "objects" || !isThere(filepath.Join(filepath.Dir(dir), "HEAD")) {
		return nil
	}
	return []string{dir}
}

// noteOfWorktree returns what an agent reads of the checkout in which it works.
func noteOfWorktree(w *openmanus.Worktree) string {
	if w == nil || w.Branch == "" {
		return ""
	}
	text := fmt.Sprintf("git: the workspace is a checkout of the repository %s that was made for you, with the branch %s from "+
		"commit %s. Use it wherever that directory is meant. You can commit here; the person decides what becomes of it. "+
		"There is no remote.", oneLine(w.Repository), oneLine(w.Branch), w.Base[:min(len(w.Base), 10)])
	if w.Within != "" {
		text += " The person is in its directory " + oneLine(w.Within) + "."
	}
	return text + "\n"
}

// ApplyOptions say how the work of a session comes to the person's checkout.
type ApplyOptions struct {
	// Files brings changes of files alone, those of commits included, and no commits.
	Files bool
	// Unseen says that no person sees the list before it is done. Commits that change
	// files on which other programs act are not merged then.
	Unseen bool
}

// A TreeChange is a file of a worktree that differs from that of the person's checkout.
type TreeChange = worktree.Change

// An ApplyPlan says what of a session's worktree comes to the person's checkout.
type ApplyPlan struct {
	*worktree.Plan
	Session    string `json:"session"`
	Dir        string `json:"dir"`        // the checkout of the session
	Repository string `json:"repository"` // that of the person
	Files      bool   `json:"files"`      // no commits, only changes of files
	// Refused says why nothing is done, and what to do; "".
	Refused string `json:"refused,omitempty"`
	// Changes are the files that change in the person's checkout without a commit, and
	// Kept those that stay as they are, with the reason.
	Changes []TreeChange `json:"changes"`
	Kept    []TreeChange `json:"kept"`
}

// Nothing reports whether nothing is to be brought.
func (p *ApplyPlan) Nothing() bool {
	return len(p.Changes)+len(p.Kept) == 0 && p.Refused == "" && (p.Files || p.Total == 0)
}

// Apply brings the commits of a session's worktree, and what is not committed there, to
// the person's checkout. agreed is called with the plan, and nothing is done if it
// returns an error; nil agrees. Where the plan is refused, the error says so.
func (h *Host) Apply(ctx context.Context, id string, o ApplyOptions, agreed func(*ApplyPlan) error) (p *ApplyPlan, err error) {
	x, err := h.openWorktree(ctx, id)
	if err != nil {
		return nil, err
	}
	defer x.close(&err)
	if p, err = x.plan(ctx, o); err != nil {
		return nil, err
	}
	if agreed != nil {
		if err := agreed(p); err != nil {
			return p, err
		}
	}
	switch {
	case p.Refused != "":
		return p, refuse("nothing was changed: %s", p.Refused)
	case p.Nothing():
		return p, nil
	}
	if err := x.stage.Sync(ctx, x.record.Tree, x.keep); err != nil {
		return p, err
	}
	said := []string{}
	if p.Total > 0 && !p.Files {
		if err := x.stage.Merge(ctx, p.Plan); err != nil {
			return p, err
		}
		said = append(said, clip.Count(p.Total, "commit"))
	}
	out, err := x.stage.Bring(ctx, p.Plan, x.files(o), filepath.Join(x.temp, "do"))
	if err != nil {
		return p, err
	}
	p.take(out)
	if len(p.Changes) > 0 {
		said = append(said, clip.Count(len(p.Changes), "changed file"))
	}
	text := fmt.Sprintf("The work was brought to %s: %s.", p.Repository, cmp.Or(strings.Join(said, " and "), "nothing"))
	_, err = h.Store.Append(context.WithoutCancel(ctx), id, openmanus.Noted{ID: ids.New(), Text: text})
	return p, err
}

// take records what the merge of files did or would do.
func (p *ApplyPlan) take(m *copydir.Merged) {
	p.Changes, p.Kept = []TreeChange{}, []TreeChange{}
	for _, c := range m.Changes {
		p.Changes = append(p.Changes, TreeChange{Path: c.Path, Change: c.Change})
	}
	for _, list := range [][]copydir.Refusal{m.Conflicts, m.Left} {
		for _, r := range list {
			p.Kept = append(p.Kept, TreeChange{Path: r.Path, Why: r.Why})
		}
	}
}

// An openedWorktree is a worktree that is being looked at.
type openedWorktree struct {
	h      *Host
	record forkRecord
	temp   string // a directory for this purpose alone
	stage  *worktree.Stage
	free   func() error // gives the lease of the session back
}

// openWorktree opens the worktree of a session, which must not be running. The caller
// closes it.
func (h *Host) openWorktree(ctx context.Context, id string) (x *openedWorktree, err error) {
	r, err := h.worktreeRecord(id)
	if err != nil {
		return nil, err
	}
	if !isThere(r.Tree.Dir) {
		return nil, refuse("the worktree %s is not there any more; openmanus sessions discard %s removes its branch %s",
			r.Tree.Dir, id, r.Tree.Branch)
	}
	if !isThere(r.Tree.Common) {
		return nil, refuse("the repository %s is not there any more; the work is in %s", r.Tree.Repository, r.Tree.Dir)
	}
	x = &openedWorktree{h: h, record: r}
	defer func() {
		if err != nil {
			x.close(&err)
		}
	}()
	x.free, err = h.lease(ctx, id, false)
	if errors.Is(err, openmanus.ErrDriven) {
		return x, refuse("session %s is running: wait until it has ended, or openmanus sessions interrupt %s", id, id)
	}
	if err != nil {
		return x, err
	}
	if x.temp, err = os.MkdirTemp(h.Config.DataDir, "worktree-"); err != nil {
		return x, err
	}
	x.stage, err = r.Tree.Stage(ctx, filepath.Join(x.temp, "git"))
	return x, err
}

// worktreeRecord returns the record of a session with a worktree.
func (h *Host) worktreeRecord(id string) (forkRecord, error) {
	r, err := readRecord(h.recordOf(id))
	if errors.Is(err, fs.ErrNotExist) || err == nil && (r.Session != id || r.Tree == nil) {
		return r, refuse("session %s has no worktree: one that was begun with --worktree has", id)
	}
	return r, err
}

func (x *openedWorktree) close(err *error) {
	if x.temp != "" {
		*err = errors.Join(*err, copydir.Remove(x.temp))
	}
	if x.free != nil {
		*err = errors.Join(*err, x.free())
	}
}

func (x *openedWorktree) keep() error { return x.h.keepRecord(x.record) }

// files says which files come along without a commit.
func (x *openedWorktree) files(o ApplyOptions) worktree.Files {
	return worktree.Files{
		All: o.Files, Beside: "." + shortID(x.record.Session),
		Leave: func(name string) string {
			if protected.Is(name) {
				return "other programs act on it; it is in " + x.record.Tree.Dir
			}
			return ""
		},
	}
}

// plan returns what would be done.
func (x *openedWorktree) plan(ctx context.Context, o ApplyOptions) (*ApplyPlan, error) {
	t := x.record.Tree
	p := &ApplyPlan{Session: x.record.Session, Dir: t.Dir, Repository: t.Repository, Files: o.Files,
		Changes: []TreeChange{}, Kept: []TreeChange{}}
	var err error
	if p.Plan, err = x.stage.Plan(ctx, filepath.Join(x.temp, "plan")); err != nil {
		return nil, ofWorktree(err)
	}
	acts := ""
	for i, c := range p.Committed {
		if r, ok := protected.Find(c.Path); ok && r.Protected {
			p.Committed[i].Why, acts = r.Reason, c.Path
		}
	}
	if p.Total > 0 && !o.Files {
		if p.Refused = x.refused(p, acts, o); p.Refused != "" {
			return p, nil
		}
		for _, c := range p.Uncommitted { // what of it conflicts is known after the commits
			if why := x.files(o).Leave(c.Path); why != "" {
				p.Kept = append(p.Kept, TreeChange{Path: c.Path, Why: why})
			} else {
				p.Changes = append(p.Changes, c)
			}
		}
		return p, nil
	}
	look, err := x.stage.Look(ctx, p.Plan, x.files(o), filepath.Join(x.temp, "look"))
	if err == nil {
		p.take(look)
	}
	return p, err
}

// refused says why the commits of a plan are not merged, and what can be done; "" if
// they are. acts is a file that they change and on which other programs act.
func (x *openedWorktree) refused(p *ApplyPlan, acts string, o ApplyOptions) string {
	id, hand := p.Session, fmt.Sprintf("git merge %s in %s merges the commits by hand", p.Branch, p.Repository)
	files := fmt.Sprintf("openmanus sessions apply %s --files brings the changes without commits, and leaves your files "+
		"where both changed them", id)
	switch {
	case p.Blocked != "":
		return p.Blocked + "\n" + files
	case len(p.Yours) > 0:
		return fmt.Sprintf("the commits change what you have changed and not committed: %s\ncommit or stash that, and try again; %s",
			someOf(p.Yours), files)
	case len(p.Conflicts) > 0:
		return fmt.Sprintf("the commits conflict with yours in %s\n%s; %s", someOf(p.Conflicts), hand, files)
	case acts != "" && o.Unseen:
		return fmt.Sprintf("the commits change %s, and other programs act on it\nlook at it and answer the question at a "+
			"terminal; or %s", acts, hand)
	}
	return ""
}

// someOf returns the first of a list of names.
func someOf(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// SyncWorktree brings the commits of a session's worktree to its branch in the
// person's repository, and returns a sentence about what there is to apply. It is ""
// for a session without a worktree.
func (h *Host) SyncWorktree(ctx context.Context, id string) (text string, err error) {
	if r, err := readRecord(h.recordOf(id)); err != nil || r.Tree == nil || r.Session != id {
		return "", nil //nolint:nilerr // it has none
	}
	x, err := h.openWorktree(ctx, id)
	if err != nil {
		return "", err
	}
	defer x.close(&err)
	if err := x.stage.Sync(ctx, x.record.Tree, x.keep); err != nil {
		return "", err
	}
	p, err := x.stage.Plan(ctx, filepath.Join(x.temp, "plan"))
	if err != nil {
		return "", err
	}
	if p.Nothing() {
		return fmt.Sprintf("the branch %s has nothing that %s lacks", p.Branch, x.record.Tree.Repository), nil
	}
	return fmt.Sprintf("the branch %s has %s, and %s not committed: openmanus sessions apply %s brings that to %s, "+
		"sessions discard %s removes it", p.Branch, clip.Count(p.Total, "new commit"),
		clip.Count(len(p.Uncommitted), "file"), id, x.record.Tree.Repository, id), nil
}

// Discard removes the worktree of a session, and its branch. agreed is called with what
// would be lost, and nothing is removed if it returns an error; nil agrees. p is nil if
// the checkout is gone already. kept says what stays, or is "".
func (h *Host) Discard(ctx context.Context, id string, agreed func(*ApplyPlan) error) (kept string, err error) {
	r, err := h.worktreeRecord(id)
	if err != nil {
		return "", err
	}
	if !isThere(r.Tree.Dir) {
		return h.forgetFork(r, true)
	}
	if other, err := h.worksIn(ctx, r.Dir, id); err != nil || other != "" {
		return "", errors.Join(err, refuse("the session %s works in %s, too: delete it first", other, r.Dir))
	}
	x, err := h.openWorktree(ctx, id)
	if err != nil {
		return "", err
	}
	defer x.close(&err)
	p, err := x.plan(ctx, ApplyOptions{})
	if err != nil {
		return "", err
	}
	if agreed != nil {
		if err := agreed(p); err != nil {
			return "", err
		}
	}
	return h.forgetWorktree(r)
}

// forgetWorktree removes a worktree, unless there is another directory in its place.
func (h *Host) forgetWorktree(r forkRecord) (kept string, err error) {
	if now := copydir.Identity(r.Dir); r.Identity != "" && now != "" && now != r.Identity {
		return "", refuse("%s is not the directory that was made for the session: look what it is, and remove it yourself", r.Dir)
	}
	return h.forgetFork(r, true)
}

// removeWorktree is RemoveForkFiles for a worktree: one with work that the person's
// checkout does not have stays, with its branch, unless changed is set.
func (h *Host) removeWorktree(ctx context.Context, r forkRecord, changed bool) (kept string, err error) {
	x, err := h.openWorktree(ctx, r.Session)
	if err == nil {
		defer x.close(&err)
		p, perr := x.stage.Plan(ctx, filepath.Join(x.temp, "plan"))
		if perr == nil && (changed || p.Nothing()) {
			return h.forgetWorktree(r)
		}
		if perr == nil {
			perr = x.stage.Sync(ctx, x.record.Tree, x.keep)
		}
		err = perr
	} else if changed {
		return h.forgetWorktree(r)
	}
	kept = fmt.Sprintf("%s stays, and so does the branch %s: there is work that %s does not have; "+
		"git branch -D %s, after rm -r %s and git worktree prune, removes them", r.Dir, r.Tree.Branch, r.Tree.Repository,
		r.Tree.Branch, r.Dir)
	if err != nil {
		kept += fmt.Sprintf(" (%v)", err)
	}
	return kept, os.Remove(h.recordOf(r.Session))
}
