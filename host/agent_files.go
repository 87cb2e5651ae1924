package host

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/regular"
)

// An AgentFile is a file of the user's in which an agent is defined. Agents of workspaces are
// not among them: they come with what is in a workspace.
type AgentFile struct {
	File string // its name in the directory, such as reviewer.md
	Path string // the whole path
	Text string
	Hash string // of Text; "" if there is no such file
	Err  error  // why it cannot be used
}

// fault returns a mistake in the file of an agent, and the part of the file that it is in:
// name, model, tools, agents, or text for the file as a whole.
func fault(field string, err error) error { return &act.Error{Field: field, Err: err} }

// agentDir opens the user's directory of agents. If there is none, it is made if make is set,
// and else the error is [fs.ErrNotExist].
func (e Env) agentDir(make bool) (*os.Root, string, error) {
	user, err := config.UserDir("", e.lookup)
	if err != nil {
		return nil, "", err
	}
	dir := filepath.Join(user, "agents")
	if make {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, "", err
		}
	}
	root, err := os.OpenRoot(dir)
	return root, dir, err
}

// AgentFiles returns the files of the user's agents. Those that cannot be used are
// included, with the reason in Err. It is empty if there is no directory of agents.
func (h *Host) AgentFiles() (list []AgentFile, err error) {
	root, _, err := h.agentDir(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if agentFileName(e.Name()) != nil || e.IsDir() {
			continue
		}
		f, err := h.AgentFile(e.Name())
		if err != nil {
			f = AgentFile{File: e.Name(), Err: err}
		}
		list = append(list, f)
	}
	return list, err
}

// agentFileName returns an error unless a file with the name would be read as an agent's.
func agentFileName(name string) error {
	ext := path.Ext(name)
	switch {
	case ext != ".md" && ext != ".toml", strings.HasPrefix(name, "."), strings.ContainsAny(name, "/\\\x00"), strings.EqualFold(name, "README.md"):
		return fault("name", fmt.Errorf("%q is no name of an agent's file: NAME.md or NAME.toml", name))
	}
	return nil
}

// AgentFile reads one file of the user's. If there is none, the text is that of the built-in
// agent with its name, as a file that replaces its instructions, and else [fs.ErrNotExist]
// is the error.
func (h *Host) AgentFile(file string) (f AgentFile, err error) {
	if err := agentFileName(file); err != nil {
		return f, err
	}
	root, dir, err := h.agentDir(false)
	if err == nil {
		defer root.Close()
		var data []byte
		if data, err = readAgent(root, file); err == nil {
			f = AgentFile{File: file, Path: filepath.Join(dir, file), Text: string(data), Hash: agentHash(data)}
			f.Err = h.CheckAgent(file, f.Text)
			return f, nil
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	name, md := strings.CutSuffix(file, ".md")
	i := slices.IndexFunc(h.AllKinds(), func(k agents.Kind) bool { return k.Name == name && !k.Hidden && !k.Bare })
	if !md || i < 0 {
		return f, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
	}
	a, err := h.Shown(h.Config, h.AllKinds()[i])
	if err != nil {
		return f, err
	}
	return AgentFile{File: file, Text: "---\ndescription: " + strconv.Quote(a.Description) + "\n---\n\n" + strings.TrimSpace(a.Instructions) + "\n"}, nil
}

// readAgent reads a file of agents, as far as one may be.
func readAgent(root *os.Root, file string) ([]byte, error) {
	f, stat, err := regular.Open(root, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if stat.Size() > agents.MaxFile {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", file, stat.Size(), agents.MaxFile)
	}
	data := make([]byte, stat.Size())
	n, err := f.Read(data)
	if n == len(data) {
		err = nil
	}
	return data[:n], err
}

func agentHash(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data))[:32] }

// CheckAgent says what is wrong with the text of an agent's file, by the code that loads it. An
// agent whose tools, model or helpers do not exist is a fault as well.
func (h *Host) CheckAgent(file, text string) error {
	f, err := agents.ParseFile(file, []byte(text))
	if err != nil {
		return fault("text", err)
	}
	f.Path, f.From = file, "user"
	if base := strings.TrimSuffix(file, path.Ext(file)); f.Name != base {
		return fault("name", fmt.Errorf("the file is called %s and the agent %q: give both the same name", file, f.Name))
	}
	all := h.AllKinds()
	kind := f.Kind()
	if i := slices.IndexFunc(all, func(k agents.Kind) bool { return k.Name == f.Name }); i >= 0 {
		if all[i].Bare || all[i].File != nil {
			return fault("name", fmt.Errorf("%q is an agent whose instructions cannot be replaced", f.Name))
		}
		kind = f.Replaces(all[i])
	}
	if f.Model != "" {
		if _, err := h.Config.Model(f.Model); err != nil {
			return fault("model", err)
		}
	}
	if len(f.Agents) > 0 {
		if _, err := agents.Assistants(h.OwnTeam().Kinds, f.Agents); err != nil {
			return fault("agents", err)
		}
	}
	if _, err := h.Shown(h.Config, kind); err != nil {
		return fault("tools", err)
	}
	return nil
}

// OwnTeam returns the agents of the program and of the user, without those of any
// workspace. The result is the caller's own.
func (h *Host) OwnTeam() *Team {
	tm := &Team{Kinds: slices.Clip(h.AllKinds())}
	if user, err := config.UserDir("", h.lookup); err == nil {
		tm.add(user, "user", nil, all)
	}
	return tm
}

// WriteAgent replaces the file of an agent, which must still have the hash that was read; ""
// says that there was none. A text with a mistake is not written: the error is an
// [*act.Error]. Sessions that are opened from then on have the agent as it says.
func (h *Host) WriteAgent(file, text, hash string) error {
	if err := agentFileName(file); err != nil {
		return err
	}
	if err := h.CheckAgent(file, text); err != nil {
		return err
	}
	return h.changeAgent(file, hash, true, func(root *os.Root) error {
		part := "." + file + ".part"
		if err := root.WriteFile(part, []byte(text), 0o600); err != nil {
			return err
		}
		return root.Rename(part, file)
	})
}

// RemoveAgent removes the file of an agent, which must still have the hash. A built-in agent
// that it replaced is as before.
func (h *Host) RemoveAgent(file, hash string) error {
	if err := agentFileName(file); err != nil {
		return err
	}
	return h.changeAgent(file, hash, false, func(root *os.Root) error { return root.Remove(file) })
}

// changeAgent changes a file of the user's agents, if it has the hash, and makes sessions that
// are opened from then on read it.
func (h *Host) changeAgent(file, hash string, make bool, change func(*os.Root) error) error {
	root, _, err := h.agentDir(make)
	if err != nil {
		return err
	}
	defer root.Close()
	h.teamMu.Lock() // one change at a time
	defer h.teamMu.Unlock()
	now := ""
	data, err := readAgent(root, file)
	switch {
	case err == nil:
		now = agentHash(data)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if now != hash {
		return &act.Error{Kind: act.Conflict, Field: "hash", Err: errors.New("the file has changed since it was read: read it again")}
	}
	if err := change(root); err != nil {
		return err
	}
	clear(h.teams)
	return nil
}
