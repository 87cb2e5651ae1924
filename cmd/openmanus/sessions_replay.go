package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/local"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/journal/replay"
)

// sessionsReplayCmd is openmanus sessions replay.
type sessionsReplayCmd struct {
	ID    string `arg:"" help:"The session: its id, the beginning of it, or last; or a file that export wrote, whose name ends in .jsonl."`
	Check bool   `help:"Compare also what today's agents say to models: their instructions, tools and settings."`
	From  int64  `help:"Go on live after this event, in a copy of the session with a copy of its files." placeholder:"N"`
	Model string `help:"The model with which to go on." placeholder:"PROVIDER/NAME"`
	To    string `help:"The id of the copy." placeholder:"NEWID"`

	Save   string   `help:"Write the recording to a file, with the sessions below it: a fixture for tests." placeholder:"FILE"`
	Redact []string `help:"Write it without these words, mail addresses and names in paths, which become others of the same length." placeholder:"WORD,…"`
	listing
	shown
}

// Help is more of the command.
func (sessionsReplayCmd) Help() string {
	return `The session and those below it are run again: models, tools and people answer from the record, the clock is that of the events, and nothing is sent, started or changed. What the program does with it is done again and compared, byte for byte: requests to models, rulings, results, summaries, limits. It needs no key and no workspace.

If an event is another one today, it is shown in both versions, and the exit code is 1.

--save writes what was replayed to a file; docs/extending.md shows a test that plays it. Look at the file before you give it away: --redact finds words, and not what is encoded.

With --from N, the copy ends after event N and goes on from there, with --model if it is given.`
}

// Run implements the command.
func (c *sessionsReplayCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	switch {
	case c.From < 0:
		return usage(errors.New("--from is the number of an event, from 1; openmanus sessions log lists them"))
	case c.From == 0 && (c.Model != "" || c.To != ""):
		return usage(errors.New("--model and --to are for going on live: name the event after which with --from N"))
	case len(c.Redact) > 0 && c.Save == "":
		return usage(errors.New("--redact is about the file that --save FILE writes"))
	case c.From > 0 && (c.Check || c.JSON || c.Save != ""):
		return usage(errors.New("--from goes on live, and --check, --json and --save are about the record: use them one after the other"))
	}
	if err := checkNewID(c.To); err != nil {
		return usage(err)
	}
	if strings.HasSuffix(c.ID, ".jsonl") {
		return c.file(ctx, t, g)
	}
	x, err := oneSession{c.ID}.open(ctx, t, g, runFlags{Model: c.Model}.flags())
	if err != nil {
		return err
	}
	defer x.Close()
	if c.From > 0 {
		return t.fail(c.shown, c.live(ctx, x))
	}
	rec, err := replay.Load(ctx, x.db, x.db, x.id)
	if err != nil {
		return err
	}
	return c.replay(ctx, t, x.app, rec)
}

// replay replays a recording, and saves it if it is to be.
func (c *sessionsReplayCmd) replay(ctx context.Context, t *terminal, a *app, rec *replay.Recording) error {
	r, err := replay.Run(ctx, rec, a.Replaying(c.Check))
	if err == nil && c.Save != "" {
		err = c.save(ctx, t, a, rec)
	}
	return c.report(t, rec.Sessions[0].ID, r, err)
}

// save writes the recording to a file that does not exist yet.
func (c *sessionsReplayCmd) save(ctx context.Context, t *terminal, a *app, rec *replay.Recording) (err error) {
	if len(c.Redact) > 0 {
		if rec, err = rec.Redact(ctx, a.Replaying(false), c.Redact...); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := rec.Write(ctx, &b); err != nil {
		return err
	}
	f, err := os.OpenFile(t.abs(c.Save), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usage(fmt.Errorf("cannot write %s: %w", c.Save, reason(err)))
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}

// file replays the recording in a file.
func (c *sessionsReplayCmd) file(ctx context.Context, t *terminal, g *globals) error {
	if c.From > 0 {
		return usage(errors.New("a file cannot go on: openmanus sessions import it first"))
	}
	f, err := os.Open(t.abs(c.ID))
	if err != nil {
		return usage(err)
	}
	defer f.Close()
	rec, err := replay.Read(ctx, f)
	if err != nil {
		return usage(fmt.Errorf("%s: %w", c.ID, err))
	}
	a, err := t.open(g, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	return c.replay(ctx, t, a, rec)
}

// report prints what was replayed.
func (c *sessionsReplayCmd) report(t *terminal, id string, r *replay.Result, err error) error {
	var d *replay.Difference
	if c.JSON && (err == nil || errors.As(err, &d)) {
		out := replayJSON{Session: id, Same: err == nil}
		if r != nil {
			out.Events, out.Sessions, out.Digest = r.Events, r.Sessions, r.Digest
		}
		if d != nil {
			out.Difference = &differenceJSON{d.Session, d.Seq, d.What, string(d.Was), string(d.Is)}
		}
		return errors.Join(t.printJSON(out), err)
	}
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "replayed %s: %s, %s, %s, %s\n", id, clip.Count(r.Sessions, "session"), clip.Count(r.ModelCalls, "model call"),
		clip.Count(r.ToolCalls, "tool call"), r.Took.Round(time.Millisecond))
	fmt.Fprintf(&b, "the same journal, %s, sha256 %s\n", clip.Count(r.Events, "event"), r.Digest)
	if r.Unchecked > 0 {
		fmt.Fprintf(&b, "not compared: the requests of %s, which were not recorded then\n", clip.Count(r.Unchecked, "model call"))
	}
	if r.Imported > 0 {
		fmt.Fprintf(&b, "not replayed: %s that came with an import\n", clip.Count(r.Imported, "event"))
	}
	fmt.Fprint(t.out, b.String())
	return nil
}

// replayJSON is what --json prints.
type replayJSON struct {
	Session    string          `json:"session"`
	Same       bool            `json:"same"`
	Sessions   int             `json:"sessions,omitempty"`
	Events     int             `json:"events,omitempty"`
	Digest     string          `json:"sha256,omitempty"`
	Difference *differenceJSON `json:"difference,omitempty"`
}

type differenceJSON struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"`
	What    string `json:"what"`
	Was     string `json:"was"`
	Is      string `json:"is,omitempty"`
}

// live copies the session up to an event and goes on with the copy.
func (c *sessionsReplayCmd) live(ctx context.Context, x *session) error {
	if c.From > x.s.Seq {
		return usage(fmt.Errorf("session %s has %d events, and no event %d", x.id, x.s.Seq, c.From))
	}
	made, err := x.Fork(ctx, host.Fork{From: x.id, At: c.From, To: c.To, MaxMiB: host.MaxCopyMiB})
	if err != nil {
		return taken(c.To, err)
	}
	if !c.Quiet {
		x.note("%s is a copy of %s up to event %d", made.ID, x.id, made.Seq)
		x.note("%s", local.FilesOf(made))
	}
	copied, err := x.app.session(ctx, made.ID)
	if err != nil {
		return err
	}
	return copied.resume(ctx, runFlags{Model: c.Model}, nil, c.shown)
}
