package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/copydir"
	"github.com/openmanus-go/openmanus/internal/protected"
	"github.com/openmanus-go/openmanus/internal/wholefile"
	"github.com/openmanus-go/openmanus/llm"
)

// A besides is the copy of a workspace in which a child session works while others
// work in the workspace itself. It is a directory of its own with the workspace as it
// was, and the copy. When the child has ended, what differs between the two is merged
// into the workspace, and both are removed unless something could not be merged.
type besides struct {
	dir  string // of both
	name string // of the child, among those of its parent
}

func (b besides) before() string { return filepath.Join(b.dir, "before") }
func (b besides) work() string   { return filepath.Join(b.dir, "work") }
func (b besides) result() string { return filepath.Join(b.dir, "merged.json") }

// besidesOf returns where the copy for a child session is, if it has one.
func (h *Host) besidesOf(parent, child string) besides {
	name := child[strings.LastIndexByte(child, '.')+1:]
	return besides{filepath.Join(h.copies("", 0).Home, parent, "beside-"+name), name}
}

// placeBeside gives spec, that of a session which the session id opens for t, a copy
// of the workspace, if it may change files while another session below id may. A
// workspace that is too large to be copied is shared.
func (h *Host) placeBeside(
	ctx context.Context, id string, parent *openmanus.State, t openmanus.Task, spec openmanus.Spec,
) (openmanus.Spec, error) {
	child := openmanus.ChildID(id, t.Child)
	if !spec.Copies || spec.Workspace == "" || !mayWrite(spec) {
		return spec, nil
	}
	if busy, err := h.othersWrite(ctx, parent, child); err != nil || !busy {
		return spec, err
	}
	b := h.besidesOf(id, child)
	err := h.copyBeside(ctx, b, spec.Workspace)
	if large := (*copydir.TooLarge)(nil); errors.As(err, &large) {
		h.warnOnce(fmt.Sprintf("%v: agents that work at once share it instead of working in copies", err))
		return spec, nil
	}
	if err == nil {
		spec.Workspace = b.work()
	}
	return spec, err
}

// copyBeside copies a workspace, unless that was done before: a copy gets its name when it
// is complete.
func (h *Host) copyBeside(ctx context.Context, b besides, workspace string) error {
	if isThere(b.work()) {
		return nil
	}
	c := h.copies(workspace, 0)
	_, err := copydir.Copy(ctx, b.before(), workspace, copydir.Options{Bytes: c.Bytes, Files: c.Files, Skip: c.Skip, Open: c.Open})
	if err == nil {
		_, err = copydir.Copy(ctx, b.work(), b.before(), copydir.Options{})
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the copy of the workspace: %w", err), copydir.Remove(b.dir))
	}
	return nil
}

// mayWrite reports whether sessions with the spec may change files.
func mayWrite(spec openmanus.Spec) bool {
	return !openmanus.Mode(spec.Approve).LooksOnly() && !spec.SandboxReadOnly
}

// othersWrite reports whether a session below the one in state parent, other than
// child, is open and may change files. One that is announced and not opened yet may.
func (h *Host) othersWrite(ctx context.Context, parent *openmanus.State, child string) (bool, error) {
	for _, c := range parent.OpenChildren() {
		if c.Child == child {
			continue
		}
		s, err := openmanus.Load(ctx, h.Store, c.Child)
		if errors.Is(err, openmanus.ErrNoSession) || err == nil && mayWrite(s.Config.Spec) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// noteOfCopy returns the environment message of a session that works in a copy of the
// workspace.
func noteOfCopy(parts llm.Parts, c openmanus.Configured) llm.Parts {
	first, ok := parts[0].(llm.Text)
	if !ok || c.CopyOf == "" {
		return parts
	}
	line := workspaceLine(c.Workspace)
	more := fmt.Sprintf("copy of: %s, which others work in at the same time. Use the copy wherever that directory "+
		"is meant: what you change in it is merged when you are done, but for commits.\n", oneLine(c.CopyOf))
	first.Text = strings.Replace(first.Text, line, line+more, 1)
	return append(llm.Parts{first}, parts[1:]...)
}

// mergeChild is the [run.Worker].Ended. It merges what a child session that has ended
// changed in a copy of the workspace, and says so in d.
func (h *Host) mergeChild(
	ctx context.Context, parent string, s *openmanus.State, c openmanus.Configured, d *openmanus.ChildDone,
) ([]openmanus.Body, error) {
	b, to := h.besidesOf(parent, d.Child), c.CopyOf
	if to == "" || c.Workspace != b.work() {
		return nil, nil
	}
	h.merging.Lock() // one at a time: two that end at once see each other's files complete
	defer h.merging.Unlock()
	var bodies []openmanus.Body
	out, err := b.merged()
	if errors.Is(err, fs.ErrNotExist) {
		if err := h.bringBack(ctx, b, d.Child); err != nil {
			return nil, fmt.Errorf("bring the files of session %s: %w", d.Child, err)
		}
		w := h.follower.directory(to)
		rc := w.begin(parent)
		defer w.end(rc)
		last := s.Snapshot.Tree
		taken, why := w.take(ctx, parent, last, nil)
		if why == "" && taken.Changed {
			bodies = append(bodies, changedBetween("unmerged/"+d.Child, "", last, taken))
			last = taken.Tree.String()
		}
		if out, err = h.merge(ctx, b, to); err != nil {
			return nil, fmt.Errorf("merging the files of session %s: %w", d.Child, err)
		}
		if taken, late := w.take(ctx, parent, last, nil); why+late == "" && taken.Changed && len(out.Changes) > 0 {
			var names []string
			for _, ch := range out.Changes {
				names = append(names, ch.Path)
			}
			bodies = append(bodies, changedBetween("merged/"+d.Child, cmp.Or(d.Call, d.Child), last, taken, names...))
		}
	}
	if err != nil {
		return nil, err
	}
	d.Text = strings.TrimSpace(strings.ReplaceAll(d.Text, b.work(), to) + "\n\n" + out.text(b))
	return bodies, nil
}

// A mergedCopy is the outcome of merging a copy.
type mergedCopy struct {
	copydir.Merged
	Commits bool `json:"commits,omitempty"` // it has commits that the workspace does not have
}

// merged returns the result of an earlier merge.
func (b besides) merged() (out mergedCopy, err error) {
	data, err := os.ReadFile(b.result())
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

// merge merges a copy into the directory to, and records the result before it removes
// the copy. If it is interrupted, it can be repeated.
func (h *Host) merge(ctx context.Context, b besides, to string) (out mergedCopy, err error) {
	own := h.Own(h.Config, to)
	inGit := func(name string) bool { return name == ".git" || strings.HasPrefix(name, ".git/") }
	refs := func(name string) bool { // leaves all but what names commits
		return !inGit(name) || name != ".git" && name != ".git/HEAD" && name != ".git/packed-refs" &&
			name != ".git/refs" && !strings.HasPrefix(name, ".git/refs/")
	}
	moved, err := copydir.Changes(ctx, b.before(), b.work(), refs)
	if err != nil {
		return out, err
	}
	out.Commits = len(moved) > 0
	m := copydir.Merge{
		Base: b.before(), From: b.work(), To: to, Beside: "." + b.name, Open: h.copies(to, 0).Open,
		Skip: func(name string) bool { return path.Base(name) == ".git" || own(name) },
		Leave: func(name string) string {
			if protected.Is(name) {
				return "other programs act on this file"
			}
			return ""
		},
	}
	merged, err := m.Do(ctx)
	if err != nil {
		return out, err
	}
	out.Merged = *merged
	if err := wholefile.WriteJSON(b.result(), out); err != nil {
		return out, err
	}
	if len(out.Left) > 0 || len(out.Conflicts) > 0 || out.Commits {
		return out, nil
	}
	return out, errors.Join(copydir.Remove(b.before()), copydir.Remove(b.work()))
}

// text returns what the parent reads of the merge.
func (m *mergedCopy) text(b besides) string {
	var t strings.Builder
	n := len(m.Changes)
	fmt.Fprintf(&t, "(It worked in a copy of the workspace. %s %s merged.", clip.Count(n, "change"), clip.Which(n, "is", "are"))
	list := func(what string, all []copydir.Refusal) {
		for i, r := range all {
			if i == 0 {
				t.WriteString(what)
			}
			if i == 10 {
				fmt.Fprintf(&t, " and %d more", len(all)-i)
				break
			}
			fmt.Fprintf(&t, "\n- %s: %s", r.Path, r.Why)
		}
	}
	list(" Not merged, and to be put together by you:", m.Conflicts)
	list("\nNot merged; they are in "+b.work()+":", slices.Clone(m.Left))
	if m.Commits {
		fmt.Fprintf(&t, "\nIts commits are in the git repository %s.", b.work())
	}
	return t.String() + ")"
}
