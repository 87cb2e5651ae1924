package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
)

// A Decision is a decision of a person that holds until it is forgotten.
type Decision struct {
	Key       string    `json:"key"` // of what it is about: see [Key] and [CallKey]
	Allow     bool      `json:"allow"`
	What      string    `json:"what"`                // for people: what was decided on
	Tool      string    `json:"tool,omitempty"`      // of the call
	Workspace string    `json:"workspace,omitempty"` // of the call
	Session   string    `json:"session,omitempty"`   // where it was decided
	By        string    `json:"by"`
	At        time.Time `json:"at"`
	Forgotten bool      `json:"forgotten,omitempty"` // it was revoked
}

// rule returns the decision as a verdict's rule: which one, whose, and when.
func (d Decision) rule() string {
	verb := "denied"
	if d.Allow {
		verb = "allowed"
	}
	at := d.At.UTC().Format("2006-01-02 15:04")
	text := fmt.Sprintf("remembered %.8s: %s by %s at %s", d.Key, verb, d.By, at)
	if d.Session != "" {
		text += " in " + d.Session
	}
	return text
}

// Key returns the key under which a decision about parts is remembered: a hash.
// The order of the parts matters.
func Key(parts ...string) string {
	data, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings always encode
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CallKey returns the key of the call c, which waits for approval in the
// session s. The key is of the call's arguments, its tool as the model sees it,
// the workspace and the sandbox. It is "" for a call that was previewed, or whose
// tool has [openmanus.Hints].Ordered: what such a call does depends on the moment,
// so its decision cannot be remembered. Nor can one that is asked each time (see
// [OnlyPerson]), or that is about a server on this machine.
func CallKey(s *openmanus.State, c *openmanus.CallState) string {
	i := slices.IndexFunc(s.Config.Tools, func(t openmanus.ToolSpec) bool { return t.Name == c.Name })
	if c.Ruling == nil || c.Ruling.Shown != "" || OnlyPerson(c.Ruling.Rule) || c.Ruling.Rule == RuleLocal || i < 0 {
		return ""
	}
	return key(s.Config.Workspace, s.Config.Sandbox, s.Config.Tools[i], c.Ruling.Hash)
}

// key returns the key of a call with this hash. It is "" for calls of which the
// order matters, as for acts on a page: the same call is another one elsewhere.
func key(workspace, sandbox string, spec openmanus.ToolSpec, hash string) string {
	if spec.Hints.Ordered {
		return ""
	}
	return Key("call", workspace, sandbox, spec.Name, spec.Description, string(spec.Input), hash)
}

// A Memory keeps decisions in a file of JSON Lines that only grows, with mode
// 0600. Any number of processes may share the file. A Memory is safe for
// concurrent use. A nil Memory holds nothing and remembers nothing.
type Memory struct {
	path string

	mu   sync.Mutex
	read os.FileInfo         // of the file when it was read
	by   map[string]Decision // the last one of each key
	list []string            // the keys, in the order of their first decisions
}

// Open returns the memory in the file path, which need not exist yet.
func Open(path string) *Memory { return &Memory{path: path} }

// maxMemory is how large the file may be, in bytes.
const maxMemory = 64 << 20

// Recall returns the decision with the key, and whether there is one. It is an
// error if other users can write the file, or if it is damaged.
func (m *Memory) Recall(key string) (Decision, bool, error) {
	if m == nil {
		return Decision{}, false, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.load(); err != nil {
		return Decision{}, false, err
	}
	d, ok := m.by[key]
	return d, ok && !d.Forgotten, nil
}

// All returns the decisions that hold, the oldest first.
func (m *Memory) All() ([]Decision, error) {
	if m == nil {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.load(); err != nil {
		return nil, err
	}
	var all []Decision
	for _, k := range m.list {
		if d := m.by[k]; !d.Forgotten {
			all = append(all, d)
		}
	}
	return all, nil
}

// Remember stores d, which replaces an earlier decision with the same key.
func (m *Memory) Remember(d Decision) error {
	if m == nil {
		return errors.New("decisions cannot be remembered: there is no file for them")
	}
	if d.Key == "" {
		return errors.New("this decision cannot be remembered: what the call does depends on the moment")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.load(); err != nil {
		return err
	}
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(m.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	// End a line that a crash left unfinished. A line is written at once, so
	// that lines of several processes do not mix.
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// Forget revokes the decision d.
func (m *Memory) Forget(d Decision) error {
	d.Forgotten, d.At = true, time.Now().UTC()
	return m.Remember(d)
}

// load reads the file if it has changed since it was last read: another process
// may have added decisions. m.mu is locked.
func (m *Memory) load() error {
	f, err := os.Open(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		m.read, m.by, m.list = nil, nil, nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("remembered decisions: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("remembered decisions: %w", err)
	}
	if m.read != nil && os.SameFile(info, m.read) &&
		info.Size() == m.read.Size() && info.ModTime().Equal(m.read.ModTime()) {
		return nil
	}
	if why := notOwn(info); why != "" {
		return fmt.Errorf("remembered decisions: %s %s, so it is not trusted; check what is in it, then: "+
			"chmod 600 %s",
			m.path, why, m.path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxMemory+1))
	if err != nil {
		return fmt.Errorf("remembered decisions: %w", err)
	}
	if len(data) > maxMemory {
		return fmt.Errorf("remembered decisions: %s has more than %d bytes", m.path, maxMemory)
	}
	by, list, err := decisions(data)
	if err != nil {
		return fmt.Errorf("remembered decisions: %s: %w", m.path, err)
	}
	m.read, m.by, m.list = info, by, list
	return nil
}

// decisions reads the lines of a memory. It ignores a line that a crash cut
// off.
func decisions(data []byte) (map[string]Decision, []string, error) {
	by := make(map[string]Decision)
	var list []string
	n := 0
	for line := range bytes.Lines(data) {
		n++
		var d Decision
		switch err := json.NewDecoder(bytes.NewReader(bytes.TrimRight(line, "\n"))).Decode(&d); {
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			continue
		case err != nil || d.Key == "":
			return nil, nil, fmt.Errorf("line %d is damaged: remove it", n)
		}
		if _, ok := by[d.Key]; !ok {
			list = append(list, d.Key)
		}
		by[d.Key] = d
	}
	return by, list, nil
}
