package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/sandbox"
)

// An Opening is how a session begins.
type Opening struct {
	Spec  openmanus.Spec      // as [Host.Complete] returned it
	Owner string              // the user of a server whose session it is
	Said  *openmanus.UserSaid // the first message; nil: nothing was asked yet. Open gives it its note
	Then  []openmanus.Body    // what else is in the journal from the beginning, after Said
}

// Open opens the session id and returns the agent that speaks in it. It does not
// drive the session: see [run.Local.Wake]. All of it is stored, or nothing.
// Opening a session again in the same way changes nothing; in another way it is
// an error that is [openmanus.ErrConflict]. With Then, a session that exists is
// always an error.
func (h *Host) Open(ctx context.Context, id string, o Opening) (*openmanus.Agent, error) {
	if err := h.checkCeiling(o.Owner, o.Spec); err != nil {
		return nil, err
	}
	f, err := h.Flow(o.Spec)
	if err != nil {
		return nil, err
	}
	agent := f.Agent()
	if o.Said != nil && o.Said.Note == nil {
		o.Said.Note, o.Said.NoteSources = h.noteOf(agent.Spec, agent.Sandbox)
	}
	opened := openmanus.Opened{Flow: agent.Spec.Name(), Owner: o.Owner, Version: openmanus.FormatVersion}
	if len(o.Then) == 0 {
		err := openmanus.OpenWith(ctx, h.Store, id, opened, agent.Configured(0), o.Said)
		if err == nil && o.Said == nil && agent.Spec.Approve == openmanus.ApprovePlan {
			_, err = h.Store.Append(ctx, id, act.PlanFirst("open"))
			if errors.Is(err, openmanus.ErrExists) {
				err = nil
			}
		}
		return agent, err
	}
	bodies := append([]openmanus.Body{opened, agent.Configured(0), *o.Said}, o.Then...)
	if _, err := h.Store.Append(ctx, id, bodies...); err != nil {
		return nil, fmt.Errorf("open session %s: %w", id, err)
	}
	return agent, nil
}

// note is the [run.Worker].Note: a session that another one opens reads of its
// surroundings as one does that a user opens.
func (h *Host) note(_ context.Context, c openmanus.Configured) (llm.Parts, error) {
	parts, _ := h.noteOf(c.Spec, c.Sandbox)
	return noteOfCopy(parts, c), nil
}

// The bound of what an agent reads of its surroundings, besides maxGuide.
const maxFiles = 40 // names of files in the workspace

// Environment returns what an agent that works in dir reads before the first
// message: the date, the system, the files in the workspace, and its AGENTS.md,
// unless that changed since the user last saw it: see [Instructions]. It is part of
// a message so that the beginning of requests has no clock in it. Links that lead
// out of dir are not followed.
//
// In a cluster the directory is made what was recorded of it last. The second result says who
// wrote what others than the person did: it is for [openmanus.UserSaid].NoteSources.
func (h *Host) Environment(dir string) (llm.Parts, []openmanus.Source) {
	if err := h.Look(context.Background(), dir); err != nil {
		h.warnOnce(err.Error()) // the agent looks for itself
	}
	return h.noteOf(openmanus.Spec{Workspace: dir}, h.Config.Sandbox.Kind)
}

// workspaceLine says where the workspace is: by the path that commands find in every sandbox,
// and by that of the person, if a link leads there.
func workspaceLine(dir string) string {
	real := hostexec.RealPath(dir)
	if real == filepath.Clean(dir) {
		return "workspace: " + oneLine(dir) + "\n"
	}
	return fmt.Sprintf("workspace: %s\nThe person calls it %s, which is a link. Tools for files take both; use the first in commands.\n", oneLine(real), oneLine(dir))
}

// noteOf is Environment of a session with the spec. It is called when
// a session begins: what the instructions say then is what the user has seen. The
// kind is that of the sandbox in which commands will run.
func (h *Host) noteOf(spec openmanus.Spec, kind string) (llm.Parts, []openmanus.Source) {
	dir := spec.Workspace
	var b strings.Builder
	fmt.Fprintf(&b, "<environment>\ndate: %s\nsystem: %s/%s\n%s%s", time.Now().Format("Monday 2006-01-02 15:04 MST"), runtime.GOOS, runtime.GOARCH, workspaceLine(dir),
		noteOfWorktree(spec.Worktree))
	for _, line := range h.commandsReach(spec, kind) {
		b.WriteString(line + "\n")
	}
	if spec.Approve == openmanus.ApprovePlan {
		b.WriteString(act.PlanGuide + "\n")
	}
	root, err := openDir(h.Config, dir)
	if err != nil {
		fmt.Fprintf(&b, "files: cannot be listed: %v\n</environment>", oneLine(err.Error()))
		return llm.Parts{llm.Text{Text: b.String()}}, nil
	}
	defer root.Close()
	listFiles(&b, root.FS())
	b.WriteString("</environment>")
	parts := llm.Parts{llm.Text{Text: b.String()}}
	in, tell := h.instructions(dir)
	if in == nil {
		return parts, nil
	}
	if err := in.begin(); err != nil {
		h.warnOnce("warning: " + err.Error())
	}
	text := guide(in.files[guideFile])
	if text == "" || !tell[guideFile] {
		return parts, nil
	}
	source := openmanus.FileSource(guideFile)
	source.Trusted = in.seen.Files[guideFile].Vouched
	return append(parts, llm.Text{Text: text}), []openmanus.Source{source}
}

// commandsReach returns lines about what commands of a session can reach.
func (h *Host) commandsReach(spec openmanus.Spec, kind string) []string {
	dir := spec.Workspace
	o, err := h.Sandbox(h.Config, dir, cmp.Or(kind, h.Config.Sandbox.Kind))
	if err != nil {
		return nil // opening the workspace fails and says why
	}
	g, err := h.Gate(h.Config, gate.Options{Workspace: hostexec.RealPath(dir)})
	if err != nil {
		return nil
	}
	if g.DeniesPaths() {
		o.Deny = g.DeniesPath
	}
	if commandsLook(spec) {
		shut(&o)
	}
	lines := sandbox.Describe(o)
	for i, line := range lines {
		lines[i] = withoutMarks(line)
	}
	return lines
}

// withoutMarks takes from a line what could end it or the note: the paths in it are
// the person's own and may be anything.
func withoutMarks(line string) string {
	return strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, line)
}

// oneLine returns a name that others chose as it may stand in a line of the note:
// as it is, or quoted if it has line ends, control characters or the like, with
// which it could look like more than a name.
func oneLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.ValidString(name) ||
		strings.ContainsAny(name, "<>\"") || strings.TrimSpace(name) != name {
		return strconv.Quote(name)
	}
	return name
}

// listFiles writes the names of the files at the top of a workspace, at most
// maxFiles of them.
func listFiles(b *strings.Builder, ws fs.FS) {
	entries, err := fs.ReadDir(ws, ".")
	switch {
	case err != nil:
		fmt.Fprintf(b, "files: cannot be listed: %v\n", err)
		return
	case len(entries) == 0:
		b.WriteString("files: none yet\n")
		return
	}
	b.WriteString("files:\n")
	for i, e := range entries {
		if i == maxFiles {
			fmt.Fprintf(b, "  … and %d more\n", len(entries)-i)
			return
		}
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		b.WriteString("  " + oneLine(name) + "\n")
	}
}

// guide returns what a workspace says to agents in its AGENTS.md, or "". data is the
// beginning of the file, more than maxGuide bytes if there is more.
func guide(data string) string {
	if strings.TrimSpace(data) == "" {
		return ""
	}
	cut := ""
	if len(data) > maxGuide {
		data, cut = data[:maxGuide], "\n[cut here: the rest is in the file]"
	}
	text := strings.ToValidUTF8(strings.TrimSpace(data), "\uFFFD")
	return "<file name=\"AGENTS.md\">\nHow things are done in this workspace, by those who keep it. The person's own words come before it, and it allows nothing that they did not.\n\n" + text + cut + "\n</file>"
}
