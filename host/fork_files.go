package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/copydir"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/wholefile"
	"github.com/openmanus-go/openmanus/internal/worktree"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// CopiedFiles says what a fork got of the files.
type CopiedFiles struct {
	Files   int
	Bytes   int64
	Left    []string // the first names that were left out, with the reason
	LeftOut int      // how many there are
}

// A forkRecord is what the program remembers of a directory that it made for a fork,
// so that a copy which nobody finished or changed can be removed. It is a file of its
// own in the directory of the program's data.
type forkRecord struct {
	Session string `json:"session"`
	Temp    string `json:"temp"`            // where the copy is being made
	Dir     string `json:"dir,omitempty"`   // where it is when it is complete
	Stamp   string `json:"stamp,omitempty"` // of Dir: see [copydir.Stamp]
	// tells Dir from a directory that somebody has put in its place
	Identity string `json:"identity,omitempty"`
	// the checkout of a repository that Dir is; nil: it is a copy of files
	Tree *worktree.Tree `json:"tree,omitempty"`
}

// forkRecords returns the directory of the records.
func (h *Host) forkRecords() string { return filepath.Join(h.Config.DataDir, "forks") }

func (h *Host) recordOf(session string) string {
	return filepath.Join(h.forkRecords(), session+".json")
}

// keepRecord stores the record. It is complete, or not there.
func (h *Host) keepRecord(r forkRecord) error {
	return wholefile.WriteJSON(h.recordOf(r.Session), r)
}

// A madeCopy is a copy of a workspace for a fork.
type madeCopy struct {
	CopiedFiles
	record forkRecord
	dir    string
	was    string
	seq    int64
	from   string // what it is a copy of: see the constants
}

// The source of a copy.
const (
	fromSnapshot = "snapshot"
	fromNow      = "now"      // as it was asked for
	fromNothing  = "no trees" // the workspace as it is now, because there is no snapshot
)

// copyFiles makes the directory of a fork: under a temporary name beside its place,
// which it gets when it is complete.
func (h *Host) copyFiles(ctx context.Context, f Fork, p past, workspace string) (m madeCopy, err error) {
	dir, err := h.placeOfFork(f, workspace)
	if err != nil {
		return m, err
	}
	m = madeCopy{was: workspace, seq: p.state.Seq}
	m.record = forkRecord{Session: f.To, Temp: filepath.Join(filepath.Dir(dir), ".openmanus-fork-"+f.To)}
	if err := h.keepRecord(m.record); err != nil {
		return m, fmt.Errorf("fork: %w", err)
	}
	defer func() {
		if err != nil {
			_, ferr := h.forgetFork(m.record, true)
			err = errors.Join(err, ferr)
		}
	}()
	if err := h.fillFork(ctx, &m, f, p); err != nil {
		var large *copydir.TooLarge
		if errors.As(err, &large) {
			return m, refuse("the files cannot be copied: %w. Raise --max-copy, or use --share "+
				"to work in the same directory", err)
		}
		return m, fmt.Errorf("copying the files to %s: %w", dir, err)
	}
	m.dir = dir
	return m, h.place(ctx, &m.record, dir)
}

// place gives a directory that is complete its name, and records it before: so it is
// always known.
func (h *Host) place(ctx context.Context, r *forkRecord, dir string) (err error) {
	r.Dir, r.Identity = dir, copydir.Identity(r.Temp)
	if r.Stamp, err = copydir.Stamp(ctx, r.Temp); err != nil {
		return err
	}
	if err := h.keepRecord(*r); err != nil {
		return err
	}
	if isThere(dir) {
		r.Dir = "" // it is another's, and is not removed with what was made here
		return refuse("%s has come into being meanwhile: try again", dir)
	}
	return os.Rename(r.Temp, dir)
}

// placeOfFork returns where the copy of a workspace goes, which does not exist yet,
// without symbolic links.
func (h *Host) placeOfFork(f Fork, workspace string) (string, error) {
	dir, err := h.chooseForkDir(f, workspace)
	if err != nil {
		return "", err
	}
	if dir = hostexec.RealPath(dir); placeOf(dir).in(workspace) {
		return "", refuse("%s is in the workspace itself: choose another place, or use --share", dir)
	}
	return dir, nil
}

// chooseForkDir returns the directory that was asked for, or the one beside the
// workspace, or one where the program has others.
func (h *Host) chooseForkDir(f Fork, workspace string) (string, error) {
	within := func(dir string) bool {
		return f.Within == "" || placeOf(dir).in(f.Within) && !placeOf(dir).is(f.Within)
	}
	if f.Dir != "" {
		switch {
		case !within(f.Dir):
			return "", refuse("%s is outside of %s", f.Dir, f.Within)
		case isThere(f.Dir):
			return "", refuse("%s is there already: a copy of the files needs a directory of its own", f.Dir)
		}
		return f.Dir, h.checkOwnUser(h.Config, f.Dir)
	}
	name, up := filepath.Base(workspace), filepath.Dir(workspace)
	if up != workspace && !copydir.IsMount(workspace) && within(workspace) &&
		h.CheckWorkspace(h.Config, filepath.Join(up, forkName(name, f.To)), false) == nil &&
		!placeOf(workspace).in(h.copies("", 0).Home) && writable(up) {
		return free(filepath.Join(up, name), f.To), nil
	}
	room := cmp.Or(f.Within, filepath.Join(h.Config.DataDir, "workspaces"))
	if name == string(filepath.Separator) || filepath.VolumeName(name) != "" {
		name = "root"
	}
	return free(filepath.Join(room, name), f.To), os.MkdirAll(room, 0o700)
}

// free returns the name of a fork of a workspace at which there is nothing.
func free(workspace, id string) string {
	name := forkName(workspace, id)
	for n := 2; isThere(name); n++ {
		name = fmt.Sprintf("%s-%d", forkName(workspace, id), n)
	}
	return name
}

// writable reports whether files can be made in dir.
func writable(dir string) bool {
	temp, err := os.MkdirTemp(dir, ".openmanus-")
	return err == nil && os.Remove(temp) == nil
}

// fillFork makes the files of a fork in the temporary directory.
func (h *Host) fillFork(ctx context.Context, m *madeCopy, f Fork, p past) error {
	limits := copydir.Options{Bytes: int64(cmp.Or(f.MaxMiB, MaxCopyMiB)) << 20, Files: maxCopyFiles}
	if p.tree != "" && !p.now {
		m.from = fromSnapshot
		err := h.fillFromTree(ctx, m, p.tree, limits)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := copydir.Remove(m.record.Temp); err != nil { // the snapshot is not there any more
			return err
		}
	}
	m.from = fromNothing
	if p.now {
		m.from = fromNow
	}
	own, git := h.Own(h.Config, m.was), gitFile(m.was)
	limits.Skip = func(name string) bool { return own(name) || git != "" && name == ".git" || isGitLock(name) }
	limits.Open = func(dir string) (*os.Root, error) { return openDir(h.Config, dir) }
	c, err := copydir.Copy(ctx, m.record.Temp, m.was, limits)
	if errors.Is(err, fs.ErrNotExist) && !isThere(m.was) {
		return refuse("the workspace %s is not there any more, and the session has no snapshot of it: "+
			"use --share to continue without files", m.was)
	}
	m.Files, m.Bytes, m.Left, m.LeftOut = c.Files, c.Bytes, c.Left, len(c.Left)
	if git != "" {
		m.Left, m.LeftOut = append([]string{git}, m.Left...), m.LeftOut+1
	}
	if info, serr := os.Stat(m.was); err == nil && serr == nil {
		err = os.Chmod(m.record.Temp, info.Mode().Perm()|0o700)
	}
	return err
}

// fillFromTree makes the files as they are in a snapshot.
func (h *Host) fillFromTree(ctx context.Context, m *madeCopy, text string, limits copydir.Options) error {
	var tree snapshot.Tree
	if err := tree.UnmarshalText([]byte(text)); err != nil {
		return err
	}
	if err := limits.Within(m.was, tree.Files, tree.Bytes); err != nil {
		return err
	}
	o := snapshot.FillOptions{Skip: func(name string) string {
		if isGitLock(name) {
			return "git was using it"
		}
		return ""
	}}
	mode := fs.FileMode(0o755)
	if beside, err := openDir(h.Config, m.was); err == nil {
		defer beside.Close()
		o.Beside = beside
		if info, err := beside.Stat("."); err == nil {
			mode = info.Mode().Perm() | 0o700
		}
	}
	if err := os.Mkdir(m.record.Temp, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(m.record.Temp)
	if err != nil {
		return err
	}
	defer root.Close()
	out, err := snapshot.NewReader(h.Store).Fill(ctx, root, tree, o)
	if err != nil {
		return err
	}
	m.Files, m.Bytes, m.LeftOut = out.Files, out.Bytes, out.LeftOut
	for _, l := range out.Left {
		m.Left = append(m.Left, l.Name+": "+l.Why)
	}
	if info, err := root.Lstat(".git"); err == nil && info.Mode().IsRegular() {
		m.Left, m.LeftOut = append([]string{linkedGit}, m.Left...), m.LeftOut+1
		if err := root.Remove(".git"); err != nil {
			return err
		}
	}
	return root.Chmod(".", mode)
}

// linkedGit is why a .git that is a file is not copied.
const linkedGit = ".git: it says where the index and the branch of the workspace are, " +
	"which two directories cannot share"

// gitFile returns linkedGit if the .git of a directory is a file, or "".
func gitFile(dir string) string {
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return linkedGit
}

// isGitLock reports whether a file is a lock of git: in a copy no process holds it.
func isGitLock(name string) bool {
	return strings.HasPrefix(name, ".git/") && strings.HasSuffix(name, ".lock")
}

// text returns what people read about the copy.
func (m *madeCopy) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The files are in %s: a copy of %s ", m.dir, m.was)
	switch m.from {
	case fromSnapshot:
		fmt.Fprintf(&b, "as it was after event %d", m.seq)
	case fromNow:
		b.WriteString("as it is now")
	case fromNothing:
		fmt.Fprintf(&b, "as it is now, because there is no snapshot of event %d", m.seq)
	}
	b.WriteString(".")
	const most = 5
	for i, l := range m.Left {
		if i == most {
			fmt.Fprintf(&b, "\nLeft out: %d more", m.LeftOut-i)
			break
		}
		b.WriteString("\nLeft out: " + l)
	}
	return b.String()
}

// forgetFork removes the record of a fork, and its directory if files is set, or if
// it is a copy that was not finished. With the directory of a worktree its branch is
// removed; kept says why one stays.
func (h *Host) forgetFork(r forkRecord, files bool) (kept string, err error) {
	if r.Temp != "" {
		err = copydir.Remove(r.Temp)
	}
	if files && r.Dir != "" {
		err = errors.Join(err, copydir.Remove(r.Dir))
	}
	if r.Tree != nil && (files || r.Dir == "") {
		var ferr error
		kept, ferr = r.Tree.Forget(context.Background()) // what was begun is ended
		err = errors.Join(err, ferr)
	}
	if err == nil {
		err = os.Remove(h.recordOf(r.Session))
	}
	return kept, err
}

// sweepForks removes what forks left that did not come to their end: copies of
// sessions that do not exist and that no process is making. A later fork tries
// again to remove what cannot be removed now.
func (h *Host) sweepForks(ctx context.Context) {
	l, ok := h.Store.(openmanus.Locker)
	names, err := filepath.Glob(h.recordOf("*"))
	if !ok || err != nil {
		return
	}
	for _, name := range names {
		r, err := readRecord(name)
		if err != nil {
			continue
		}
		lease, err := l.Lock(ctx, r.Session)
		if err != nil {
			continue // it is being made, or is in use
		}
		if _, err := h.Store.Session(ctx, r.Session); errors.Is(err, openmanus.ErrNoSession) {
			stamp, err := copydir.Stamp(ctx, r.Dir)
			_, _ = h.forgetFork(r, err == nil && stamp == r.Stamp)
		}
		_ = lease.Release()
	}
}

func readRecord(name string) (r forkRecord, err error) {
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

// RemoveForkFiles deletes the copy of the workspace that was made for the session id,
// a fork that was deleted. A copy that has changed since it was made stays, unless
// changed is set, and one in which other sessions work stays in any case. kept is
// the directory that stays, with the reason, or "".
func (h *Host) RemoveForkFiles(ctx context.Context, id string, changed bool) (kept string, err error) {
	r, err := readRecord(h.recordOf(id))
	if errors.Is(err, fs.ErrNotExist) || err == nil && r.Session != id {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !isThere(r.Dir) {
		return h.forgetFork(r, true)
	}
	other, err := h.worksIn(ctx, r.Dir, id)
	switch {
	case err != nil:
		return "", err
	case other != "":
		return fmt.Sprintf("%s stays: the session %s works there", r.Dir, other), nil
	case r.Tree != nil:
		return h.removeWorktree(ctx, r, changed)
	case changed && copydir.Identity(r.Dir) == r.Identity:
		return h.forgetFork(r, true)
	}
	if stamp, err := copydir.Stamp(ctx, r.Dir); err != nil || stamp != r.Stamp {
		_, err := h.forgetFork(r, false)
		return fmt.Sprintf("%s stays: its files have changed since they were copied", r.Dir), err
	}
	return h.forgetFork(r, true)
}

// worksIn returns a session that works in dir or below it, and that is neither the
// session id nor below that one; or "".
func (h *Host) worksIn(ctx context.Context, dir, id string) (string, error) {
	for s, err := range h.Store.Sessions(ctx, journal.ListOptions{}) {
		if err != nil {
			return "", err
		}
		below := s.ID == id || strings.HasPrefix(s.ID, id+".")
		if rel, err := filepath.Rel(dir, s.Workspace); !below && err == nil && filepath.IsLocal(rel) {
			return s.ID, nil
		}
	}
	return "", nil
}
