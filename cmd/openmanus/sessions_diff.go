package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// sessionsDiffCmd is openmanus sessions diff.
type sessionsDiffCmd struct {
	oneSession
	From int64  `help:"Only what was changed after this event." placeholder:"EVENT"`
	To   int64  `help:"Only what was changed until this event." placeholder:"EVENT"`
	Call string `help:"Only what this call changed, such as c3-1." placeholder:"CALL"`
	Stat bool   `help:"Only list the files."`
	JSON bool   `help:"Print the changes as JSON."`
}

// Help is more of the command.
func (sessionsDiffCmd) Help() string {
	return `Shows what the calls of a session, and of those below it, changed in the files of the workspace, as a unified diff. Binary files are named.`
}

// on implements the command.
func (c *sessionsDiffCmd) on(ctx context.Context, x *session) error {
	from, to := c.From, c.To
	if c.Call != "" {
		if from != 0 || to != 0 {
			return usage(errors.New("--call names the events: use it without --from and --to"))
		}
		var err error
		if from, to, err = x.SeqsOfCall(ctx, x.id, c.Call); err != nil {
			return err
		}
	}
	if to != 0 && from > to {
		return usage(fmt.Errorf("--from %d --to %d: the event of --from must come before that of --to", from, to))
	}
	diffs, err := x.Diff(ctx, x.id, from, to)
	if err != nil {
		return err
	}
	if c.JSON {
		return x.t.printJSON(diffs)
	}
	for _, d := range diffs {
		if err := x.t.printDiff(d, c.Stat); err != nil {
			return err
		}
	}
	if len(diffs) == 0 {
		x.note("no file of the workspace was changed there")
	}
	return nil
}

// printDiff prints how a file differs.
func (t *terminal) printDiff(d act.FileDiff, stat bool) error {
	name := d.Path
	if d.From != "" {
		name = d.From + " → " + d.Path
	}
	line := fmt.Sprintf("%s %s", linemode.ChangeMark(d.Change), name)
	if d.Mode != "" {
		line += "  " + d.Mode
	}
	if d.Binary {
		line += fmt.Sprintf("  (no text: %d bytes, now %d)", d.Was, d.Bytes)
	}
	text := ""
	if !stat && d.From == "" {
		text = strings.TrimRight(d.Diff, "\n")
	}
	if stat || text == "" {
		text = line
	} else if d.Mode != "" {
		text = line + "\n" + text
	}
	_, err := fmt.Fprintln(t.out, clip.Plain(text))
	return err
}

// sessionsFilesCmd is openmanus sessions files.
type sessionsFilesCmd struct {
	Session string `arg:"" name:"id" help:"The session, or ID@N for what was there after event N: its id, the beginning of it, or last."`
	Path    string `arg:"" optional:"" help:"A file, whose content is printed, or a directory of the workspace. Default: everything."`
	At      int64  `help:"As of this event. Default: the last." placeholder:"EVENT"`
	JSON    bool   `help:"Print the list as JSON."`
}

// Help is more of the command.
func (sessionsFilesCmd) Help() string {
	return `Lists the files of the workspace as they were when a call of the session had changed them, or prints one: by default after the last call. The content of files that are large or can be made again, such as node_modules, may not be kept: the list says so.`
}

// Run implements the command.
func (c *sessionsFilesCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	id, at, err := idAndEvent(c.Session)
	if err == nil && at != 0 && c.At != 0 && at != c.At {
		err = fmt.Errorf("%s and --at %d name two events: give one", c.Session, c.At)
	}
	if err != nil {
		return usage(err)
	}
	if at == 0 {
		at = c.At
	}
	x, err := oneSession{id}.open(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	name, err := inWorkspace(x.s.Config.Workspace, c.Path)
	if err != nil {
		return usage(err)
	}
	files, err := x.PastFiles(ctx, x.id, at, name, true)
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, snapshot.ErrGone) {
		return usage(fmt.Errorf("there was no %s then", name))
	}
	if err != nil {
		return err
	}
	one := len(files) == 1 && files[0].Path == name
	switch {
	case c.JSON:
		return t.printJSON(files)
	case one && files[0].Left != "":
		return fmt.Errorf("the content of %s is not kept: %s", name, files[0].Left)
	case one && isTerminal(t.out):
		var b strings.Builder
		if err := x.WritePast(ctx, &b, files[0]); err != nil {
			return err
		}
		_, err := io.WriteString(t.out, clip.Plain(b.String()))
		return err
	case one:
		return x.WritePast(ctx, bare(t.out).(io.Writer), files[0])
	}
	for _, f := range files {
		line := fmt.Sprintf("%s %12d  %s", f.Mode, f.Size, f.Path)
		if f.Target != "" {
			line += " → " + f.Target
		}
		if path.Base(f.Path) == ".git" && f.Kind == "dir" {
			line += "  (git's own files; with its name as PATH they are listed)"
		}
		if f.Left != "" {
			line += "  (not kept: " + f.Left + ")"
		}
		fmt.Fprintln(t.out, clip.Plain(line))
	}
	return nil
}

// inWorkspace returns the name, with slashes, of a path in the workspace dir.
func inWorkspace(dir, name string) (string, error) {
	if name == "" {
		return ".", nil
	}
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(dir, name)
		if err != nil || !filepath.IsLocal(rel) {
			return "", fmt.Errorf("%s is not in the workspace %s", name, dir)
		}
		name = rel
	}
	name = path.Clean(filepath.ToSlash(name))
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("%s is not in the workspace %s", name, dir)
	}
	return name, nil
}
