package tui

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A history is what was typed before, in all sessions of a data directory: a file with a
// JSON string on each line, the newest last. Several programs may add to it at once. It
// is a convenience: a file that cannot be read or written is as good as none.
type history struct {
	file  string
	all   []string
	at    int    // in all, while the person looks through it; else -1
	draft string // what was typed before they began to
}

// The bounds of a history.
const (
	maxHistory      = 1000
	maxHistoryEntry = 64 << 10
	maxHistoryFile  = 4 << 20
)

// newHistory reads the history in dir; "" keeps it in memory alone.
func newHistory(dir string) *history {
	h := &history{at: -1}
	if dir == "" {
		return h
	}
	h.file = filepath.Join(dir, "typed.jsonl")
	f, err := os.Open(h.file)
	if err != nil {
		return h
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxHistoryFile {
		f.Seek(-maxHistoryFile, io.SeekEnd) // of a file that cannot be sought, the beginning is read
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 8*maxHistoryEntry)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil {
			h.keep(text)
		}
	}
	return h
}

// keep adds a text in memory. A text that is there already becomes the newest.
func (h *history) keep(text string) {
	h.all = slices.DeleteFunc(h.all, func(t string) bool { return t == text })
	h.all = append(h.all[max(0, len(h.all)-maxHistory+1):], text)
}

// add adds a text.
func (h *history) add(text string) {
	h.leave()
	if strings.TrimSpace(text) == "" {
		return
	}
	h.keep(text)
	data, err := json.Marshal(text)
	if err != nil || h.file == "" || len(text) > maxHistoryEntry {
		return
	}
	_ = os.MkdirAll(filepath.Dir(h.file), 0o700) // a server may have the sessions; opening the file says whether it worked
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	f.Write(append(data, '\n')) // see history
}

// leave ends looking through the history.
func (h *history) leave() { h.at, h.draft = -1, "" }

// move returns the text before or after the one that is shown. draft is what was typed
// before the first move; it comes back after the newest.
func (h *history) move(step int, draft string) (string, bool) {
	at := h.at
	if at < 0 {
		at = len(h.all)
	}
	switch at += step; {
	case at < 0 || at > len(h.all):
		return "", false
	case h.at < 0:
		h.draft = draft
	}
	if h.at = at; at == len(h.all) {
		text := h.draft
		h.leave()
		return text, true
	}
	return h.all[at], true
}
