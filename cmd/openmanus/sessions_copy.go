package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/local"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/internal/sharepage"
	"github.com/openmanus-go/openmanus/journal"
)

// sessionsForkCmd is openmanus sessions fork.
type sessionsForkCmd struct {
	At      string `arg:"" name:"id" help:"The session, or ID@N for its events up to N: its id, the beginning of it, or last."`
	To      string `help:"The id of the copy." placeholder:"NEWID"`
	Share   bool   `help:"Copy no files: both sessions work in the same directory."`
	Dir     string `help:"Where the copy of the files goes, a directory that does not exist. Default: beside the workspace." placeholder:"DIR"`
	MaxCopy int    `help:"The largest workspace that is copied, in MiB." default:"1024" placeholder:"N"`
}

// Help is more of the command.
func (sessionsForkCmd) Help() string {
	return `The copy of the session gets a copy of the workspace, so that the two do not change each other's files. With ID@N the files are as they were after event N, from the snapshots of the session; without, or without snapshots, they are as they are now. They go into a directory beside the workspace that has its name and the id of the copy, or where openmanus keeps its data if nothing can be made there.

openmanus sessions delete removes the copy of the files too, as long as nothing in it has changed.`
}

// Run implements the command.
func (c *sessionsForkCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	id, seq, err := idAndEvent(c.At)
	if err == nil {
		err = checkNewID(c.To)
	}
	if err == nil && c.MaxCopy < 1 {
		err = errors.New("--max-copy is a number from 1")
	}
	if err == nil && c.Share && c.Dir != "" {
		err = errors.New("--share copies no files, so --dir has no meaning with it")
	}
	if err != nil {
		return usage(err)
	}
	x, err := oneSession{id}.open(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	if seq > x.s.Seq {
		return usage(fmt.Errorf("session %s has %d events, and no event %d", x.id, x.s.Seq, seq))
	}
	f := host.Fork{From: x.id, At: seq, To: c.To, Share: c.Share, MaxMiB: c.MaxCopy}
	if c.Dir != "" {
		f.Dir = t.abs(c.Dir)
	}
	made, err := x.Fork(ctx, f)
	if err != nil {
		return taken(c.To, err)
	}
	fmt.Fprintln(t.out, made.ID)
	x.note("a copy of %s up to event %d; continue with: openmanus sessions resume %s \"…\"", x.id, made.Seq, made.ID)
	x.note("%s", local.FilesOf(made))
	return nil
}

// idAndEvent splits ID@N. seq is 0 if there is no N.
func idAndEvent(text string) (id string, seq int64, err error) {
	i := strings.LastIndexByte(text, '@')
	if i < 0 {
		return text, 0, nil
	}
	seq, err = strconv.ParseInt(text[i+1:], 10, 64)
	if err != nil || seq < 1 {
		return "", 0, fmt.Errorf("%q: after @ stands the number of an event, from 1; openmanus sessions log %s lists them", text, text[:i])
	}
	return text[:i], seq, nil
}

// newIDs matches ids that users may choose: those that need no quotes in a shell.
var newIDs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// checkNewID returns what is wrong with an id that a user chose. "" is no choice.
func checkNewID(id string) error {
	if id == "" || newIDs.MatchString(id) && id != "last" {
		return nil
	}
	return fmt.Errorf("%q is no id for a session: letters, digits, dots, dashes and underlines, and not last", id)
}

// taken returns err with what to try if a session has the id already.
func taken(id string, err error) error {
	if errors.Is(err, openmanus.ErrExists) {
		return usage(fmt.Errorf("there is a session %s already; choose another id for the copy with --to NEWID", id))
	}
	return err
}

// sessionsExportCmd is openmanus sessions export.
type sessionsExportCmd struct {
	oneSession
	File    string `arg:"" optional:"" help:"The file to write. Default: standard output."`
	Out     string `short:"o" help:"The file to write, too." placeholder:"FILE"`
	Force   bool   `help:"Replace the file if there is one."`
	Files   bool   `help:"Take the files of the workspace along: the file is a .tar.zst then."`
	Format  string `help:"What to write: journal, which import reads, or html, a page for people." enum:"journal,html" default:"journal"`
	MaxCopy int    `help:"The largest workspace that is taken along, in MiB." default:"1024" placeholder:"N"`
}

// Help is more of the command.
func (sessionsExportCmd) Help() string {
	return `With --files the file has the session and its workspace as it is now, so that openmanus sessions import --files can go on with both at another machine. What programs outside the sandbox take orders from stays here (.git, settings of editors and shells, CI), and so do files that usually hold secrets, such as .env; the command lists what it leaves out. Earlier states of the files stay here, too.

With --format html the file is a page for people to read: what was said and done, with the files that the session made or changed as they are now. It opens from disk, needs no network, and nothing in it can run.`
}

// on implements the command.
func (c *sessionsExportCmd) on(ctx context.Context, x *session) error {
	if c.File = cmp.Or(c.File, c.Out); c.Out != "" && c.Out != c.File {
		return usage(errors.New("two files are named: give one"))
	}
	write := func(w io.Writer) error { return journal.Export(ctx, x.db, x.db, x.id, w) }
	if c.Files {
		if c.MaxCopy < 1 {
			return usage(errors.New("--max-copy is a number from 1"))
		}
		write = func(w io.Writer) error { return c.withFiles(ctx, x, w) }
	}
	if c.Format == "html" {
		if c.Files {
			return usage(errors.New("a page has the files already: leave out --files or --format html"))
		}
		write = func(w io.Writer) error { return c.page(ctx, x, w) }
	}
	switch {
	case c.File != "" && c.File != "-":
		return c.toFile(x, x.t.abs(c.File), write)
	case c.Format == "html":
		return write(x.t.out)
	case c.Files && isTerminal(x.t.out):
		return usage(errors.New("name the file to write: -o FILE.tar.zst"))
	case c.Files:
		return write(bare(x.t.out).(io.Writer))
	case !isTerminal(x.t.out):
		// The journal has no secrets, and the checksum is of the bytes as written.
		return journal.Export(ctx, x.db, x.db, x.id, bare(x.t.out).(io.Writer))
	}
	var b bytes.Buffer
	if err := journal.Export(ctx, x.db, x.db, x.id, &b); err != nil {
		return err
	}
	return x.t.writeJSON(b.Bytes())
}

// page writes the session as a page, with files only if there is a workspace.
func (c *sessionsExportCmd) page(ctx context.Context, x *session, w io.Writer) error {
	shared := sharepage.Session{ID: x.id, Title: x.s.Title, Events: x.db.Events(ctx, x.id, 0), Blobs: x.db}
	if dir := x.s.Config.Workspace; dir != "" {
		root, err := os.OpenRoot(dir)
		if err == nil {
			defer root.Close()
			shared.Files = regular.FS(root)
		} else {
			x.note("the page has no files: %v", err)
		}
	}
	return sharepage.Write(ctx, w, shared)
}

// toFile writes the session to a file. If it fails there is no file.
func (c *sessionsExportCmd) toFile(x *session, file string, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(file); err == nil && !c.Force {
		return usage(fmt.Errorf("%s is there already; --force replaces it", file))
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".export-*")
	if err != nil {
		return usage(fmt.Errorf("cannot write %s: %w", file, reason(err)))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return fmt.Errorf("cannot write %s: %w", file, reason(err))
	}
	x.note("%s is in %s: the file contains everything that was said and read in the session", x.id, file)
	return nil
}

// reason returns err without the name of the file, which is a temporary one.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

// sessionsImportCmd is openmanus sessions import.
type sessionsImportCmd struct {
	File string `arg:"" help:"A file that export wrote, or - for standard input."`
	To   string `help:"The id of the session. Default: the one it had." placeholder:"NEWID"`

	Files   bool   `help:"Bring the files along that export --files took, into a new directory, where the session works."`
	Dir     string `help:"The new directory. Default: beside the file, with its name." placeholder:"DIR"`
	MaxCopy int    `help:"The most files to bring along, in MiB." default:"1024" placeholder:"N"`

	Workspace    string `help:"Where the session works. Default: the current directory." placeholder:"DIR"`
	AnyWorkspace bool   `help:"Allow a workspace with keys or the settings of programs, such as your home directory."`
	Model        string `help:"The model. Default: the one it had, if you have configured it." placeholder:"PROVIDER/NAME"`
}

// Help is more of the command.
func (sessionsImportCmd) Help() string {
	return `The file brings the conversation and, with --files, the files of the workspace. Anyone may have written it, so everything else is as for a new session of yours: workspace, endpoint, approval mode, limits, sandbox, system prompt and tools. What it says that the person said is not taken for your words.`
}

// Run implements the command.
func (c *sessionsImportCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	if err := checkNewID(c.To); err != nil {
		return usage(err)
	}
	var from io.Reader = t.in
	if c.File != "-" {
		f, err := os.Open(t.abs(c.File))
		if err != nil {
			return usage(err)
		}
		defer f.Close()
		from = f
	}
	files, err := c.files(ctx, t, &from)
	if err != nil {
		return err
	}
	err = c.add(ctx, t, g, from, files)
	if err != nil {
		err = errors.Join(err, files.remove())
	}
	return err
}

// add adds the session, to go on with the files that were brought along, if there are.
func (c *sessionsImportCmd) add(ctx context.Context, t *terminal, g *globals, from io.Reader, files broughtFiles) error {
	a, err := t.open(g, runFlags{Workspace: c.Workspace, AnyWorkspace: c.AnyWorkspace, Model: c.Model}.flags())
	if err != nil {
		return err
	}
	defer a.Close()
	in, err := a.Import(ctx, a.db, from, c.To)
	if errors.Is(err, openmanus.ErrExists) {
		return usage(fmt.Errorf("%s: %w; --to NEWID gives the copy an id of its own", c.File, err))
	}
	if err != nil {
		return usage(fmt.Errorf("%s: %w", c.File, err))
	}
	x := &session{app: a, id: in.ID, s: in.Now}
	files.note(x)
	if st := in.Was.Status(); in.Now.Status() != st {
		x.note("it was %s and is now interrupted", st)
	}
	if was, now := in.Was.Config.Approve, in.Now.Config.Approve; was != now {
		x.note("its approval mode was %q and is now %q; resume with --approve to change it", was, now)
	}
	x.note("it brings the conversation alone; workspace, sandbox, limits, system prompt and tools are those of your configuration")
	if in.Incomplete != nil {
		x.note("what it goes on with is decided when it is resumed: %v", in.Incomplete)
	}
	x.note("it works in %s, with %s", in.Now.Config.Workspace, in.Now.Config.Model)
	fmt.Fprintln(t.out, clip.Plain(in.ID))
	return nil
}
