package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// A paste is a part of the text that stands for more than it shows.
type paste struct {
	token string // in the text
	text  string // what it stands for, if it is a text
	file  string // or a file that is attached
}

// The limits above which a paste is shown as a chip.
const (
	maxPastedLines = 8
	maxPastedBytes = 1000
)

// paste inserts what was pasted: a short text unchanged, the path of a picture as an
// attachment, and a long text as a chip. It is sent whole in any case.
func (c *composer) paste(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	name, isFile := c.picture(text)
	switch {
	case isFile:
		c.chip("picture", "", paste{file: name})
	case lines > maxPastedLines || len(text) > maxPastedBytes:
		about := clip.Count(lines, "line")
		if lines == 1 {
			about = clip.Count(len(text), "byte")
		}
		c.chip("pasted", about, paste{text: text})
	default:
		c.insert(text)
	}
}

// chip inserts a part of the text that is one character to the caret.
func (c *composer) chip(what, about string, a paste) {
	if about != "" {
		about = ": " + about
	}
	a.token = fmt.Sprintf("[%s %d%s]", what, len(c.pastes)+1, about)
	c.pastes, c.tokens = append(c.pastes, a), append(c.tokens, a.token)
	c.insert(a.token)
}

// picture returns the path of a picture, if that is all of a text, as terminals paste a
// file that is dropped on them.
func (c *composer) picture(text string) (string, bool) {
	name := strings.Trim(strings.TrimSpace(text), `'"`)
	name = strings.TrimPrefix(strings.ReplaceAll(name, `\ `, " "), "file://")
	if c.dir == "" || strings.Contains(name, "\n") || len(name) > 1000 {
		return "", false
	}
	if !slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(filepath.Ext(name))) {
		return "", false
	}
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(c.dir, full)
	}
	info, err := os.Stat(full)
	return full, err == nil && info.Mode().IsRegular()
}

// maxPicture is the most bytes of a picture of the clipboard.
const maxPicture = 20 << 20

// pastePicture attaches the picture that is in the clipboard. A terminal passes on the
// text of a clipboard only, so the program has to look into it itself. told says that the
// person did not ask for a picture by a key of its own: then nothing is said if there is none.
func (p *program) pastePicture(told bool) tea.Cmd {
	if p.o.Clipboard == nil {
		return nil
	}
	dir := &p.pictures
	return p.do(func(ctx context.Context) tea.Msg {
		data, err := p.o.Clipboard(ctx)
		if err == nil && len(data) > maxPicture {
			err = fmt.Errorf("the picture has more than %d MiB", maxPicture>>20)
		}
		if err == nil && !bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) {
			err = errors.New("the clipboard has no picture")
		}
		var file string
		if err == nil {
			file, err = dir.save(data)
		}
		switch {
		case err == nil:
			return then(func(p *program) tea.Cmd {
				return p.comp.change(p, func() tea.Cmd {
					p.comp.chip("picture", "", paste{file: file})
					return nil
				})
			})
		case told:
			return nil
		}
		return noticeMsg{err.Error(), true}
	})
}

// A pictureDir has the pictures that were pasted, until the program ends. It is safe for
// concurrent use.
type pictureDir struct {
	mu   sync.Mutex
	name string
	n    int
}

// save writes a picture to a file that only this user can read, and returns its name. The
// directory is made with the first one.
func (d *pictureDir) save(data []byte) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.name == "" {
		var err error
		if d.name, err = os.MkdirTemp("", "openmanus-pasted-"); err != nil {
			return "", err
		}
	}
	d.n++
	file := filepath.Join(d.name, fmt.Sprintf("pasted-%d.png", d.n))
	return file, os.WriteFile(file, data, 0o600)
}

// close removes them.
func (d *pictureDir) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.name != "" {
		os.RemoveAll(d.name) // what is left is in a directory for such files
	}
}
