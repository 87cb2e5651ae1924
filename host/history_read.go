package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// A PastFile is a file of a workspace as it was.
type PastFile struct {
	Path string `json:"path"` // relative to the workspace, with slashes
	Kind string `json:"kind"` // "file", "dir", "link" or "device"
	Mode string `json:"mode"` // its permissions, as in -rw-r--r--
	Size int64  `json:"size"` // in bytes
	// Target is where a link leads.
	Target string `json:"target,omitempty"`
	// Left says why the content is not kept; "".
	Left string `json:"left,omitempty"`

	entry *snapshot.Entry
}

// ErrNoPast says that it is not known what a workspace contained.
var ErrNoPast = errors.New("it is not known what the workspace contained then")

// treeAt returns what the workspace of a session contained after an event; 0 is the
// last one.
func (h *Host) treeAt(ctx context.Context, session string, seq int64) (snapshot.Tree, error) {
	p, err := h.past(ctx, session, seq)
	if err != nil {
		return snapshot.Tree{}, err
	}
	if p.tree == "" { // the last event, or none of before
		t := treeSearch{at: p.state.Updated, workspace: SpecOf(p.state).Workspace}
		if err := h.searchTrees(ctx, session, &t); err != nil {
			return snapshot.Tree{}, err
		}
		p.tree = t.before
	}
	if of := p.state.Config.CopyOf; p.tree == "" && of != "" { // a fork that has changed nothing yet
		t := treeSearch{at: p.state.Updated, workspace: of}
		if err := h.searchTrees(ctx, session, &t); err != nil {
			return snapshot.Tree{}, err
		}
		p.tree = t.before
	}
	if p.tree == "" {
		return snapshot.Tree{}, &act.Error{Kind: act.Absent, Field: "at",
			Err: fmt.Errorf("session %s: %w: no call that may change files was followed", session, ErrNoPast)}
	}
	return snapshot.ParseTree(p.tree)
}

// The limits of what [Host.PastFiles] returns: names, and directories in one another.
const (
	maxPast      = 500_000
	maxPastDepth = 256
)

// PastFiles returns the files below a directory of the workspace of a session as they
// were after an event, in order: "." is the workspace, and the event 0 the last one.
// For a file it returns that alone. If all is set, directories are descended into, but
// for those of git that name does not mean. The error is [fs.ErrNotExist] if there was
// no such file, and [ErrNoPast].
func (h *Host) PastFiles(ctx context.Context, session string, seq int64, name string, all bool) ([]PastFile, error) {
	tree, err := h.treeAt(ctx, session, seq)
	if err != nil {
		return nil, err
	}
	at, err := h.reader.Lookup(ctx, tree, name)
	if err != nil {
		return nil, goneOf(ctx, h.Store, session, err)
	}
	if at.Kind != snapshot.Dir {
		return []PastFile{pastFile(name, at)}, nil
	}
	files := []PastFile{}
	var list func(name string, dir *snapshot.Entry) error
	list = func(name string, dir *snapshot.Entry) error {
		if dir.Content == nil {
			return nil // it could not be read
		}
		entries, err := h.reader.List(ctx, dir.Content)
		for _, e := range entries {
			full := e.Name
			if name != "." {
				full = name + "/" + e.Name
			}
			// Snapshots have less. In a tree from elsewhere a directory can contain itself.
			if len(files) == maxPast || strings.Count(full, "/") > maxPastDepth {
				return fmt.Errorf("there are more than %d files, or %d directories in one another", maxPast, maxPastDepth)
			}
			files = append(files, pastFile(full, e))
			if all && e.Kind == snapshot.Dir && e.Name != ".git" {
				if err := list(full, e); err != nil {
					return err
				}
			}
		}
		return err
	}
	return files, goneOf(ctx, h.Store, session, list(name, at))
}

func pastFile(name string, e *snapshot.Entry) PastFile {
	mode := e.Mode
	switch e.Kind {
	case snapshot.Dir:
		mode |= fs.ModeDir
	case snapshot.Link:
		mode |= fs.ModeSymlink | 0o777
	}
	return PastFile{Path: name, Kind: string(e.Kind), Mode: mode.String(), Size: e.Size, Target: e.Target, Left: e.Left, entry: e}
}

// WritePast writes the content of a file that [Host.PastFiles] returned. The error is
// [fs.ErrNotExist] if it was not kept.
func (h *Host) WritePast(ctx context.Context, w io.Writer, f PastFile) error {
	if f.entry.Kind != snapshot.File {
		return mistake(fmt.Errorf("%s is no file: it is a %s", f.Path, f.Kind))
	}
	return gone(h.reader.WriteTo(ctx, w, f.entry))
}

// maxDiffBytes bounds the files of which a diff is made.
const maxDiffBytes = 1 << 20

// Diff returns how the files that a session and those below it changed differ
// between two events: what its calls did after from, and until to. 0 is before the
// first event, or after the last one. It includes changes of others only where they are
// in the same file. A file that is as it was is not in it.
func (h *Host) Diff(ctx context.Context, session string, from, to int64) ([]act.FileDiff, error) {
	x, err := h.loadBack(ctx, session)
	if err != nil {
		return nil, err
	}
	to = cmp.Or(to, x.s.Seq)
	if from > to && to > 0 && from <= x.s.Seq {
		return nil, mistake(fmt.Errorf("event %d comes after event %d: the first of the two must come before the other", from, to))
	}
	if from < 0 || to < 0 || to > x.s.Seq || from > to {
		return nil, mistake(fmt.Errorf("session %s has the events 1 to %d", session, x.s.Seq))
	}
	branches, err := x.branches(ctx, from, to)
	if err != nil {
		return nil, err
	}
	all, err := new(undo).dones(branches, x.s.Config.Workspace)
	if err != nil {
		return nil, err
	}
	was, now := make(map[string]*snapshot.Entry), make(map[string]*snapshot.Entry)
	var names []string
	for _, d := range all {
		for c, err := range h.reader.Diff(ctx, d.Before, d.After) {
			if err != nil {
				return nil, goneOf(ctx, h.Store, session, err)
			}
			if d.Only != nil && !d.Only(c.Name) || hiddenFile(c.Name) {
				continue
			}
			if _, known := now[c.Name]; !known {
				was[c.Name] = c.Was
				names = append(names, c.Name)
			}
			now[c.Name] = c.Now
		}
	}
	slices.Sort(names)
	diffs := []act.FileDiff{}
	for _, name := range names {
		d, some, err := h.diffOf(ctx, snapshot.Change{Name: name, Was: was[name], Now: now[name]})
		if err != nil {
			return nil, goneOf(ctx, h.Store, session, err)
		}
		if some {
			diffs = append(diffs, d)
		}
	}
	noteMoves(diffs, was, now)
	return diffs, nil
}

// diffOf returns how a file differs, if it does.
func (h *Host) diffOf(ctx context.Context, c snapshot.Change) (d act.FileDiff, some bool, err error) {
	change, isFile := fileChange(c)
	if !isFile || c.Was.Same(c.Now) {
		return d, false, nil
	}
	d.FileChange = change
	content := func(e *snapshot.Entry) ([]byte, error) {
		switch {
		case e == nil || e.Kind == snapshot.Dir:
			return nil, nil
		case e.Kind == snapshot.Link:
			return []byte(e.Target), nil
		case e.Content == nil || e.Size > maxDiffBytes:
			d.Binary = true
			return nil, nil
		}
		b := bytes.NewBuffer([]byte{})
		err := h.reader.WriteTo(ctx, b, e)
		d.Binary = d.Binary || bytes.IndexByte(b.Bytes(), 0) >= 0 || !utf8.Valid(b.Bytes())
		return b.Bytes(), err
	}
	before, err := content(c.Was)
	if err != nil {
		return d, false, err
	}
	after, err := content(c.Now)
	if err != nil {
		return d, false, err
	}
	if c.Was != nil {
		d.Was = c.Was.Size
	}
	if c.Now != nil {
		d.Bytes = c.Now.Size
	}
	if c.Was != nil && c.Now != nil && c.Was.Mode != c.Now.Mode {
		d.Mode = c.Was.Mode.String() + " → " + c.Now.Mode.String()
	}
	if !d.Binary {
		d.Diff = tools.Diff(c.Name, before, after)
	}
	return d, true, nil
}

// noteMoves names where a new file comes from if one with its content is gone.
func noteMoves(diffs []act.FileDiff, was, now map[string]*snapshot.Entry) {
	gone := make(map[snapshot.Sum]string)
	for _, d := range diffs {
		if e := was[d.Path]; d.Change == openmanus.FileDeleted && e.Content != nil && e.Size > 0 {
			gone[e.Content.Sum] = d.Path
		}
	}
	for i, d := range diffs {
		if e := now[d.Path]; d.Change == openmanus.FileCreated && e.Kind == snapshot.File && e.Content != nil {
			diffs[i].From = gone[e.Content.Sum]
		}
	}
}

// SeqsOfCall returns the events between which a call of a session ran: the one before
// its start, and that of its result.
func (h *Host) SeqsOfCall(ctx context.Context, session, call string) (from, to int64, err error) {
	for ev, err := range h.Store.Events(ctx, session, 0) {
		if err != nil {
			return 0, 0, err
		}
		switch b := ev.Body.(type) {
		case openmanus.CallStarted:
			if b.Call == call && from == 0 {
				from = ev.Seq - 1
			}
		case openmanus.ChildOpened:
			if b.Call == call && from == 0 {
				from = ev.Seq - 1
			}
		case openmanus.CallDone:
			if b.Call == call {
				to = ev.Seq
			}
		case openmanus.ChildDone:
			if b.Call == call {
				to = ev.Seq
			}
		}
	}
	if from == 0 {
		return 0, 0, mistake(fmt.Errorf("session %s has no call %q that ran; openmanus sessions log %s lists them", session, call, session))
	}
	return from, to, nil
}
