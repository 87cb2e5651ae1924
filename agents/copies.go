package agents

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

	"github.com/openmanus-go/openmanus/internal/copydir"
	"github.com/openmanus-go/openmanus/tools"
)

// Copies are the copies of a workspace in which attempts are made.
//
// Those of a round of a session are in one directory: before/, attempt-1/,
// attempt-2/, … They stay until they are removed.
type Copies struct {
	Home      string                 // the directory of all sessions
	Workspace string                 // what is copied, and brought back to
	Skip      func(name string) bool // what of it is neither; nil: nothing
	Protected func(name string) bool // what is not brought back, since other programs obey it; nil: nothing
	Bytes     int64                  // a larger workspace is not copied
	Files     int                    // nor one with more files
}

// Dir is where the copies of a round are.
func (c Copies) Dir(session string, round int) string {
	return filepath.Join(c.Home, session, fmt.Sprint(round))
}

func (c Copies) before(session string, round int) string {
	return filepath.Join(c.Dir(session, round), "before")
}

func (c Copies) attempt(session string, round, n int) string {
	return filepath.Join(c.Dir(session, round), fmt.Sprintf("attempt-%d", n))
}

// Remove removes the copies of all rounds of a session.
func (c Copies) Remove(session string) error {
	if session == "" || session == "." || !filepath.IsLocal(session) {
		return fmt.Errorf("%q is the name of no session", session)
	}
	return copydir.Remove(filepath.Join(c.Home, session))
}

// begin copies the workspace as it is now.
func (c Copies) begin(ctx context.Context, session string, round int) (copydir.Copied, error) {
	if err := copydir.Remove(c.Dir(session, round)); err != nil { // of a try that was cut short
		return copydir.Copied{}, err
	}
	copied, err := copydir.Copy(ctx, c.before(session, round), c.Workspace, copydir.Options{Bytes: c.Bytes, Files: c.Files, Skip: c.Skip})
	if errors.As(err, new(*copydir.TooLarge)) {
		err = fmt.Errorf("the workspace is not copied: %w. Choose a smaller directory with --workspace, take away what can be made again, or allow more with --max-copy", err)
	}
	return copied, err
}

// Place returns the directory in which the n-th attempt works, from 1. It is
// made if it is not there.
func (c Copies) Place(ctx context.Context, session string, round, n int) (string, error) {
	dir := c.attempt(session, round, n)
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		return dir, nil // it is complete: it has its name only then
	}
	_, err := copydir.Copy(ctx, dir, c.before(session, round), copydir.Options{})
	return dir, err
}

// merge is what brings an attempt back.
func (c Copies) merge(session string, round, n int) copydir.Merge {
	return copydir.Merge{
		Base: c.before(session, round), From: c.attempt(session, round, n), To: c.Workspace, Skip: c.skip, Leave: c.leave,
	}
}

// skip leaves out what git keeps: commits of an attempt stay in its copy.
func (c Copies) skip(name string) bool {
	return path.Base(name) == ".git" || c.Skip != nil && c.Skip(name)
}

func (c Copies) leave(name string) string {
	if c.Protected != nil && c.Protected(name) {
		return "other programs obey it: bring it over yourself if you want it"
	}
	return ""
}

// show is what keeping an attempt would change, as a diff.
func (c Copies) show(ctx context.Context, session string, round, n int) (string, error) {
	m := c.merge(session, round, n)
	merged, err := m.Look(ctx)
	if err != nil {
		return "", err
	}
	k := Kept{Round: round, Attempt: n, Merged: *merged, From: m.From}
	var b strings.Builder
	b.WriteString(k.String())
	if err := diffs(&b, m.Base, m.From, merged.Changes); err != nil {
		return "", err
	}
	return b.String(), nil
}

// Compare writes beside the copies of a round what was changed in each, for
// who compares them, and returns the directory of the round.
func (c Copies) Compare(ctx context.Context, session string, round int) (string, error) {
	dir := c.Dir(session, round)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), "attempt-") || strings.HasSuffix(e.Name(), ".part") {
			continue
		}
		list, err := copydir.Changes(ctx, filepath.Join(dir, "before"), filepath.Join(dir, e.Name()), c.skip)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		for _, ch := range list {
			fmt.Fprintf(&b, "%s %s (%d bytes)\n", ch.Change, ch.Path, ch.Bytes)
		}
		if len(list) == 0 {
			b.WriteString("no file was changed\n")
		}
		if err := diffs(&b, filepath.Join(dir, "before"), filepath.Join(dir, e.Name()), list); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()+".diff"), []byte(b.String()), 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// The bounds of what is shown of changes.
const (
	maxShown     = 256 << 10
	maxShownFile = 1 << 20
)

// diffs writes the differences of files that were changed, as far as they are
// text and not too many.
func diffs(b *strings.Builder, before, after string, list []copydir.Change) error {
	for i, ch := range list {
		if b.Len() > maxShown {
			fmt.Fprintf(b, "\n(%d more files)\n", len(list)-i)
			return nil
		}
		was, err := text(before, ch.Path)
		if err != nil {
			return err
		}
		now, err := text(after, ch.Path)
		if err != nil {
			return err
		}
		if d := tools.Diff(ch.Path, was, now); d != "" {
			b.WriteString("\n" + d)
		}
	}
	return nil
}

// text is what is in a file, or where a link leads; nil if it is not there, or
// too large to be shown.
func text(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, nil // it is in one of the two alone
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return []byte("link to " + target + "\n"), err
	case !info.Mode().IsRegular() || info.Size() > maxShownFile:
		return nil, nil
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, nil // it may not be read
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxShownFile))
}

// Kept is the Detail of what keep_attempt comes to.
type Kept struct {
	Round   int    `json:"round"`
	Attempt int    `json:"attempt"`
	Why     string `json:"why"`
	From    string `json:"from"` // the copy
	copydir.Merged
}

// String tells what of an attempt is in the workspace, and what is not.
func (k Kept) String() string {
	var b strings.Builder
	if len(k.Changes) == 0 {
		b.WriteString("Files made or changed: none\n")
	} else {
		b.WriteString("Files made or changed:\n")
	}
	for i, c := range k.Changes {
		if i == maxListed {
			fmt.Fprintf(&b, "- and %d more\n", len(k.Changes)-i)
			break
		}
		fmt.Fprintf(&b, "- %s %s\n", c.Change, c.Path)
	}
	for _, list := range []struct {
		head string
		of   []copydir.Refusal
	}{{"Not taken, because yours has changed (the attempt's is in " + k.From + "):", k.Conflicts}, {"Not taken (they are in " + k.From + "):", k.Left}} {
		if len(list.of) == 0 {
			continue
		}
		b.WriteString(list.head + "\n")
		for _, r := range list.of {
			fmt.Fprintf(&b, "- %s: %s\n", r.Path, r.Why)
		}
	}
	return b.String()
}

// maxListed is how many files are listed.
const maxListed = 50

// trouble says what of an attempt is not in the workspace because that has
// changed, or "".
func (k Kept) trouble() string {
	var names []string
	for i, r := range k.Conflicts {
		if i == 5 {
			names = append(names, fmt.Sprintf("%d more", len(k.Conflicts)-i))
			break
		}
		names = append(names, r.Path)
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("not all of attempt %d was taken, because yours has changed meanwhile: %s", k.Attempt, strings.Join(names, ", "))
}
