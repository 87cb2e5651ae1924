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
	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/tools"
)

// Copies makes and merges the copies of a workspace in which attempts work.
//
// The copies of one round of a session are in one directory: before/ is the
// workspace as it was, attempt-1/, attempt-2/, … are those of the attempts. They
// stay until [Copies.Remove].
type Copies struct {
	Home      string                             // the directory with the copies of all sessions
	Workspace string                             // the directory to copy from and to merge into
	Skip      func(name string) bool             // files neither to copy nor to merge; nil: none
	Protected func(name string) bool             // files not to merge, because other programs act on them; nil: none
	Open      func(dir string) (*os.Root, error) // opens the workspace; nil: [os.OpenRoot]
	Bytes     int64                              // the most bytes of a workspace; a larger one is an error
	Files     int                                // the most files of a workspace; more are an error
}

// Dir returns the directory of a round's copies.
func (c Copies) Dir(session string, round int) string {
	return filepath.Join(c.Home, session, fmt.Sprint(round))
}

// before and attempt return the directories of copies. Attempts count from 1.
func (c Copies) before(session string, round int) string {
	return filepath.Join(c.Dir(session, round), "before")
}

func (c Copies) attempt(session string, round, n int) string {
	return filepath.Join(c.Dir(session, round), fmt.Sprintf("attempt-%d", n))
}

// Remove removes the copies of all rounds of a session. It is no error if there are none.
// The session is the name of a directory below Home, so an id that would lead elsewhere is
// refused.
func (c Copies) Remove(session string) error {
	if session == "" || session == "." || !filepath.IsLocal(session) {
		return fmt.Errorf("%q is not a session id", session)
	}
	return copydir.Remove(filepath.Join(c.Home, session))
}

// begin copies the workspace for a new round.
func (c Copies) begin(ctx context.Context, session string, round int) (copydir.Copied, error) {
	if err := copydir.Remove(c.Dir(session, round)); err != nil { // left by an attempt that was interrupted
		return copydir.Copied{}, err
	}
	opts := copydir.Options{Bytes: c.Bytes, Files: c.Files, Skip: c.Skip, Open: c.Open}
	copied, err := copydir.Copy(ctx, c.before(session, round), c.Workspace, opts)
	if errors.As(err, new(*copydir.TooLarge)) {
		err = fmt.Errorf("the workspace cannot be copied: %w. Choose a smaller directory with --workspace, "+
			"remove files that can be generated again, or raise --max-copy", err)
	}
	return copied, err
}

// Place returns the directory of attempt n, counted from 1, and makes the copy if
// there is none.
func (c Copies) Place(ctx context.Context, session string, round, n int) (string, error) {
	dir := c.attempt(session, round, n)
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		return dir, nil // a copy gets its name when it is complete
	}
	_, err := copydir.Copy(ctx, dir, c.before(session, round), copydir.Options{})
	return dir, err
}

// merge returns the merge of an attempt into the workspace.
func (c Copies) merge(session string, round, n int) copydir.Merge {
	return copydir.Merge{
		Base: c.before(session, round), From: c.attempt(session, round, n), To: c.Workspace, Open: c.Open, Skip: c.skip, Leave: c.leave,
	}
}

// skip leaves out .git: the commits of an attempt stay in its copy.
func (c Copies) skip(name string) bool {
	return path.Base(name) == ".git" || c.Skip != nil && c.Skip(name)
}

// leave returns why a file must not be merged, or "".
func (c Copies) leave(name string) string {
	if c.Protected != nil && c.Protected(name) {
		return "other programs act on this file: copy it yourself if you want it"
	}
	return ""
}

// show returns what keeping an attempt would change: a list and diffs.
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

// Compare writes, for the judge, what each attempt of a round has changed to
// attempt-N.diff, and returns the directory of the round.
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
			b.WriteString("no changes\n")
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

// The most bytes of a list of diffs, about, and of a file that is in one.
const (
	maxShown     = 256 << 10
	maxShownFile = 1 << 20
)

// diffs writes the diffs of changed text files, up to about maxShown bytes.
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

// text returns the content of a file, or the target of a link. It returns nil for
// a file that does not exist, cannot be read or is too large.
func text(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, nil // it exists in the other directory only
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return []byte("link to " + target + "\n"), err
	case !info.Mode().IsRegular() || info.Size() > maxShownFile:
		return nil, nil
	}
	f, _, err := regular.Open(root, name)
	if err != nil {
		return nil, nil // no permission
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxShownFile))
}

// Kept is the Detail of a result of keep_attempt.
type Kept struct {
	Round   int    `json:"round"`
	Attempt int    `json:"attempt"`
	Why     string `json:"why"`
	From    string `json:"from"` // the copy of the attempt
	copydir.Merged
}

// String lists the changes that were merged into the workspace, and those that
// were not.
func (k Kept) String() string {
	var b strings.Builder
	b.WriteString("Files made or changed:")
	if len(k.Changes) == 0 {
		b.WriteString(" none")
	}
	b.WriteString("\n")
	for i, c := range k.Changes {
		if i == maxListed {
			fmt.Fprintf(&b, "- and %d more\n", len(k.Changes)-i)
			break
		}
		fmt.Fprintf(&b, "- %s %s\n", c.Change, c.Path)
	}
	refused(&b, "Not merged, because the file in the workspace has changed (the attempt's is in "+k.From+"):", k.Conflicts)
	refused(&b, "Not merged (the files are in "+k.From+"):", k.Left)
	return b.String()
}

// refused writes a list of changes that were not merged, if there are any.
func refused(b *strings.Builder, title string, list []copydir.Refusal) {
	if len(list) > 0 {
		b.WriteString(title + "\n")
	}
	for _, r := range list {
		fmt.Fprintf(b, "- %s: %s\n", r.Path, r.Why)
	}
}

// maxListed is the most changes in a list.
const maxListed = 50

// trouble returns which changes conflict with changes in the workspace, or "".
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
	return fmt.Sprintf("not all of attempt %d was merged, because yours has changed meanwhile: %s",
		k.Attempt, strings.Join(names, ", "))
}
