package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/internal/bundle"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/copydir"
	"github.com/openmanus-go/openmanus/journal"
)

// maxTaken is how many names of files are taken along.
const maxTaken = 200_000

// withFiles writes the session with the files of its workspace.
func (c *sessionsExportCmd) withFiles(ctx context.Context, x *session, w io.Writer) error {
	if x.s.Config.Workspace == "" {
		return usage(fmt.Errorf("session %s has no workspace: export it without --files", x.id))
	}
	dir := x.s.Config.Workspace
	root, err := os.OpenRoot(dir)
	if err != nil {
		return usage(fmt.Errorf("the workspace cannot be read: %w; sessions fork %s makes one of the last snapshot, "+
			"and the export without --files has the conversation alone", err, x.id))
	}
	defer root.Close()
	var b bytes.Buffer
	if err := journal.Export(ctx, x.db, x.db, x.id, &b); err != nil {
		return err
	}
	limits := bundle.Limits{Bytes: int64(c.MaxCopy) << 20, Files: maxTaken}
	done, err := bundle.Write(ctx, w, b.Bytes(), root, x.StaysAtHome(dir), limits)
	var large *bundle.TooLarge
	if errors.As(err, &large) {
		return usage(fmt.Errorf("the workspace %s: %w; --max-copy N raises the limit", dir, err))
	}
	if err != nil {
		return fmt.Errorf("the workspace %s: %w", dir, err)
	}
	x.note("%s of %s, with %s", clip.Count(done.Files, "file"), clip.Plain(dir), sizeText(done.Bytes))
	noteLeft(x.note, done)
	return nil
}

// noteLeft says what was left out.
func noteLeft(note func(string, ...any), done bundle.Done) {
	for _, l := range done.Left {
		note("left out: %s: %s", clip.Plain(l.Name), clip.Plain(l.Why))
	}
	if more := done.LeftOut - len(done.Left); more > 0 {
		note("left out: %d more", more)
	}
}

// broughtFiles are files that an import brought along. The zero value is none.
type broughtFiles struct {
	dir  string // the new directory; "": there is none
	done bundle.Done
}

func (f broughtFiles) note(x *session) {
	if f.dir == "" {
		return
	}
	x.note("%s with %s", clip.Count(f.done.Files, "file"), sizeText(f.done.Bytes))
	noteLeft(x.note, f.done)
}

// remove removes the directory after an error.
func (f broughtFiles) remove() error {
	if f.dir == "" {
		return nil
	}
	return copydir.Remove(f.dir)
}

// files makes the new directory with the files of *from, if the person wants it, and
// leaves only the session in *from. It looks at the beginning of the file either way.
func (c *sessionsImportCmd) files(ctx context.Context, t *terminal, from *io.Reader) (f broughtFiles, err error) {
	in := bufio.NewReader(*from)
	*from = in
	head, _ := in.Peek(4)
	switch is := bundle.Is(head); {
	case !c.Files && is:
		return f, usage(fmt.Errorf("%s has the files of a workspace, too: import it with --files, or export it without", c.File))
	case !c.Files && c.Dir != "":
		return f, usage(errors.New("--dir is for files: use it with --files, or --workspace without"))
	case !c.Files:
		return f, nil
	case !is:
		return f, usage(fmt.Errorf("%s: %w", c.File, bundle.ErrNot))
	case c.Workspace != "":
		return f, usage(errors.New("with --files the session works in the new directory: name it with --dir, not --workspace"))
	case c.MaxCopy < 1:
		return f, usage(errors.New("--max-copy is a number from 1"))
	}
	dir, err := c.newDir(t)
	if err != nil {
		return f, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".openmanus-import-")
	if err != nil {
		return f, usage(fmt.Errorf("cannot make %s: %w; choose another place with --dir", dir, reason(err)))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, copydir.Remove(temp))
		}
	}()
	root, err := os.OpenRoot(temp)
	if err != nil {
		return f, err
	}
	defer root.Close()
	cfg, err := t.load(&globals{}, map[string]string{})
	if err != nil {
		return f, err
	}
	limits := bundle.Limits{Bytes: int64(c.MaxCopy) << 20, Files: maxTaken}
	session, done, err := bundle.Extract(ctx, in, root, t.host().StaysAtHome(cfg, temp), limits)
	var large *bundle.TooLarge
	if errors.As(err, &large) {
		return f, usage(fmt.Errorf("%s: %w; --max-copy N raises the limit", c.File, err))
	}
	if err != nil {
		return f, usage(fmt.Errorf("%s: %w", c.File, err))
	}
	if _, err := os.Lstat(dir); err == nil {
		return f, usage(fmt.Errorf("%s has come into being meanwhile: try again", dir))
	}
	if err := errors.Join(os.Chmod(temp, 0o755), os.Rename(temp, dir)); err != nil {
		return f, err
	}
	c.Workspace, *from = dir, bytes.NewReader(session)
	return broughtFiles{dir, done}, nil
}

// newDir returns the directory to make, which does not exist yet.
func (c *sessionsImportCmd) newDir(t *terminal) (string, error) {
	dir := t.abs(c.Dir)
	if c.Dir == "" {
		if c.File == "-" {
			return "", usage(errors.New("name the directory for the files: --dir DIR"))
		}
		file := t.abs(c.File)
		base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".zst"), ".tar")
		if base == filepath.Base(file) {
			base += ".files"
		}
		dir = filepath.Join(filepath.Dir(file), base)
	}
	if _, err := os.Lstat(dir); err == nil {
		return "", usage(fmt.Errorf("%s is there already: choose a new directory with --dir", dir))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", usage(err)
	}
	return dir, nil
}

// sizeText returns a number of bytes for people.
func sizeText(n int64) string {
	switch {
	case n < 1000:
		return clip.Count(int(n), "byte")
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
