package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/internal/wholefile"
	"github.com/openmanus-go/openmanus/tools"
)

// The bounds of the files of a workspace that instruct sessions. A larger file is
// none, and what lies beyond the number is left out.
const (
	maxInstruction  = 256 << 10 // bytes of an agent or a skill
	maxGuide        = 32 << 10  // bytes of AGENTS.md; of a longer one, agents read the beginning
	maxInstructions = 500
)

// guideFile is the file that says how things are done in a workspace.
const guideFile = "AGENTS.md"

// Instructions are the files of a workspace that tell sessions what to do: its
// AGENTS.md, its agents, its skills and its commands. Anyone may have put them there, the agent
// itself included. So the program remembers what they said when the user last
// saw them, in the data directory. A file that has changed since is left out of
// sessions until the user has seen the change and said yes.
//
// In a workspace without such a record, sessions read all files, without a
// question; but the user has not vouched for them.
type Instructions struct {
	dir   string            // the workspace whose record it is
	files map[string]string // what is there now, by name
	seen  seenInstructions
	known bool // there is a record
	path  string
}

// seenInstructions is the record of a workspace.
type seenInstructions struct {
	Workspace string                     `json:"workspace"`
	Files     map[string]seenInstruction `json:"files"`
}

// A seenInstruction is what a file said when the user last saw it.
type seenInstruction struct {
	Text    string `json:"text,omitempty"`
	Vouched bool   `json:"vouched,omitempty"`  // the user said yes to it
	LeftOut string `json:"left_out,omitempty"` // the hash of a later text to which the user said no
	New     bool   `json:"new,omitempty"`      // the user has seen none but that
}

// Instructions reads the instructions of the workspace dir and what is recorded of
// them.
func (e Env) Instructions(cfg *config.Config, dir string) (*Instructions, error) {
	return readInstructions(cfg, dir, dir)
}

// readInstructions reads the instructions in dir, with the record of the workspace
// of: dir may be a copy of it.
func readInstructions(cfg *config.Config, dir, of string) (*Instructions, error) {
	of = hostexec.RealPath(of)
	sum := sha256.Sum256([]byte(of))
	in := &Instructions{
		dir: of, files: make(map[string]string),
		path: filepath.Join(cfg.DataDir, "instructions", hex.EncodeToString(sum[:16])+".json"),
	}
	data, err := os.ReadFile(in.path)
	switch {
	case err == nil:
		in.known = true
		err = json.Unmarshal(data, &in.seen)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("what you have seen of the instructions in %s cannot be read: %w; remove %s to begin anew", of, err, in.path)
	}
	root, err := openDir(cfg, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return in, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, name := range instructionNames(regular.FS(root)) {
		limit := int64(maxInstruction)
		if name == guideFile {
			limit = maxGuide
		}
		text, err := regular.Read(root, name, limit+1)
		if err == nil && (len(text) <= maxInstruction || name == guideFile) {
			in.files[name] = string(text)
		}
	}
	return in, nil
}

// instructionNames returns the names of the files that instruct sessions, as far
// as there may be such files.
func instructionNames(files fs.FS) []string {
	var names []string
	for _, pattern := range instructionPatterns() {
		found, _ := fs.Glob(files, pattern) // the patterns are right
		names = append(names, found...)
	}
	return names[:min(len(names), maxInstructions)]
}

// instructionPatterns are the patterns of the names of files that instruct sessions.
func instructionPatterns() []string {
	patterns := []string{guideFile, "agents/*.md", "agents/*.toml", commandFolder + "*.md"}
	for _, folder := range workspaceSkills {
		patterns = append(patterns, folder+"/*/SKILL.md")
	}
	return patterns
}

// changed returns the names of the files that differ from what the user has seen,
// sorted. With declined, those to which the user said no are among them.
func (in *Instructions) changed(declined bool) (names []string) {
	if !in.known {
		return nil
	}
	for name, text := range in.files {
		was, ok := in.seen.Files[name]
		if ok && !was.New && was.Text == text || !declined && was.LeftOut == hashOf(text) {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unvouched returns the names of the files for which the user has not vouched, as
// they are now, sorted.
func (in *Instructions) unvouched() (names []string) {
	for name, text := range in.files {
		if was := in.seen.Files[name]; !was.Vouched || was.Text != text {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Unvouched returns what a user has to read before vouching for all files: the
// changes since they were last vouched for, or seen, as diffs; and the names of the
// files. The text is "" if there is nothing to vouch for.
func (in *Instructions) Unvouched() (text string, names []string) {
	names = in.unvouched()
	return in.diff(names, true), names
}

// diff returns how the files differ from what the user has seen. With whole, a
// file that was seen without being vouched for is shown as a new one.
func (in *Instructions) diff(names []string, whole bool) string {
	var b strings.Builder
	for _, name := range names {
		was, ok := in.seen.Files[name]
		var before []byte
		if ok && !was.New && (was.Vouched || !whole) {
			before = []byte(was.Text)
		}
		d := tools.Diff(name, before, []byte(in.files[name]))
		if d == "" {
			d = fmt.Sprintf("%s: %d bytes that cannot be shown\n", name, len(in.files[name]))
		}
		b.WriteString(d)
	}
	return b.String()
}

// Vouch records that the user has seen the files as they were read, and vouches for
// them.
func (in *Instructions) Vouch(names ...string) error {
	for _, name := range names {
		in.set(name, seenInstruction{Text: in.files[name], Vouched: true})
	}
	return in.save()
}

// decline records that the user wants sessions not to read the files as they
// are now.
func (in *Instructions) decline(names []string) error {
	for _, name := range names {
		was, ok := in.seen.Files[name]
		was.LeftOut, was.New = hashOf(in.files[name]), !ok || was.New
		in.set(name, was)
	}
	return in.save()
}

// begin makes the record of a workspace in which the first session begins: what
// the files say is what later changes are compared with.
func (in *Instructions) begin() error {
	if in.known {
		return nil
	}
	for name, text := range in.files {
		in.set(name, seenInstruction{Text: text})
	}
	return in.save()
}

func (in *Instructions) set(name string, s seenInstruction) {
	if in.seen.Files == nil {
		in.seen.Files = make(map[string]seenInstruction)
	}
	in.seen.Files[name] = s
}

// save writes the record. If two processes write one, the last wins.
func (in *Instructions) save() error {
	in.known, in.seen.Workspace = true, in.dir
	return wholefile.WriteJSON(in.path, in.seen)
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// toldNames are the names of the instructions that sessions read.
type toldNames map[string]bool

// instructions decides which instructions of the workspace dir sessions read. It asks the user about those that changed, once; where no one can answer,
// they are left out, and a line says so. It is the only function that decides
// this, for all surfaces and for sessions that others open.
func (h *Host) instructions(dir string) (*Instructions, toldNames) {
	in, err := readInstructions(h.Config, dir, h.originOf(dir))
	if err != nil {
		h.warnf("warning: %v", err)
		return nil, nil
	}
	if names := in.changed(false); len(names) > 0 && h.Ask != nil {
		line, err := h.Ask(context.Background(), fmt.Sprintf("%s\n%s\nThis tells agents what to do in %s, and has changed since you last saw it. Let them read it? [y/N] ",
			quoted(in.diff(names, false)), strings.Join(names, ", "), in.dir))
		switch {
		case err != nil: // no answer: they are left out this time
		case IsYes(line):
			err = in.Vouch(names...)
		default:
			err = in.decline(names)
		}
		if err != nil {
			h.warnf("warning: %v", err)
		}
	}
	left := in.changed(true)
	if len(left) > 0 {
		h.warnOnce(fmt.Sprintf("%s in %s changed since you last saw it, so agents do not read it; to read and accept the change: openmanus trust %s",
			strings.Join(left, ", "), in.dir, in.dir))
	}
	tell := make(toldNames)
	for name := range in.files {
		tell[name] = !slices.Contains(left, name)
	}
	return in, tell
}

// quoted sets a text of others off from what the program says.
func quoted(text string) string {
	return "│ " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n│ ")
}

// warnOnce shows a warning, unless the host has shown it.
func (h *Host) warnOnce(text string) {
	if _, shown := h.warned.LoadOrStore(text, true); !shown {
		h.warnf("%s", text)
	}
}

// originOf returns the workspace of which dir is a copy, made for the attempt of an
// evaluation, or dir itself.
func (h *Host) originOf(dir string) string {
	attempts := filepath.Join(h.Config.DataDir, "attempts")
	rel, err := filepath.Rel(hostexec.RealPath(attempts), hostexec.RealPath(dir))
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return dir
	}
	id, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	s, err := openmanus.Load(context.Background(), h.Store, id)
	if err != nil || s.Config.Workspace == "" || s.Config.Workspace == dir {
		return dir
	}
	return h.originOf(s.Config.Workspace)
}

// only returns the files of a workspace without the instructions that sessions are
// not told of.
func (t toldNames) only(files fs.FS) fs.FS { return instructionFS{files, t} }

type instructionFS struct {
	fs.FS
	tell toldNames
}

// Open implements [fs.FS].
func (f instructionFS) Open(name string) (fs.File, error) {
	if f.hides(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f.FS.Open(name)
}

// ReadDir implements [fs.ReadDirFS].
func (f instructionFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return f.hides(path.Join(name, e.Name())) }), err
}

// hides reports whether name is that of instructions that sessions do not read.
func (f instructionFS) hides(name string) bool {
	return !f.tell[name] && slices.ContainsFunc(instructionPatterns(), func(pattern string) bool {
		is, _ := path.Match(pattern, name)
		return is
	})
}
