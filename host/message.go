package host

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
)

// The bounds of what is attached to a message, in bytes.
const (
	MaxAttachedText  = 200 << 10 // of a text; more is cut
	MaxAttachedImage = 20 << 20  // a larger image is an error
)

// Message makes a message of a user of a prompt and files: those in attach, and
// those that the prompt names as @path. Names are relative to dir. Text files
// are read, and so are images; of other files the message says where they are.
func Message(dir, prompt string, attach []string) (openmanus.UserSaid, error) {
	m := openmanus.UserSaid{ID: ids.New()}
	parts := llm.Parts{llm.Text{Text: prompt}}
	for _, name := range append(attach, mentioned(prompt, dir)...) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		p, err := attachment(path, name)
		if err != nil {
			return m, mistake(fmt.Errorf("cannot attach %s: %w", name, err))
		}
		parts = append(parts, p)
	}
	m.Message = llm.Message{Role: llm.User, Parts: parts}
	return m, nil
}

// mentioned returns the files that the prompt names as @path, without the
// punctuation that may follow a name. A word that is not the path of an existing
// file is left alone: it may be a name or an address.
func mentioned(prompt, dir string) []string {
	var names []string
	for _, word := range strings.Fields(prompt) {
		name, ok := strings.CutPrefix(word, "@")
		if !ok {
			continue
		}
		for _, n := range []string{name, strings.TrimRight(name, ".,;:!?)\"'")} {
			full := n
			if !filepath.IsAbs(n) {
				full = filepath.Join(dir, n)
			}
			if info, err := os.Stat(full); n != "" && err == nil && info.Mode().IsRegular() {
				names = append(names, n)
				break
			}
		}
	}
	return names
}

// attachment reads a file for the model: text as text, an image as an image.
// For any other file it says where it is.
func attachment(path, name string) (llm.Part, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	kind := http.DetectContentType(head[:n])
	if byName := mime.TypeByExtension(filepath.Ext(path)); !strings.HasPrefix(kind, "text/") && byName != "" {
		kind = byName
	}
	rest := io.MultiReader(strings.NewReader(string(head[:n])), f)
	switch {
	case strings.HasPrefix(kind, "image/"):
		if info.Size() > MaxAttachedImage {
			return nil, fmt.Errorf("the image has %d bytes, more than the %d that are sent", info.Size(), MaxAttachedImage)
		}
		data, err := io.ReadAll(rest)
		return llm.Blob{MIME: kind, Name: name, Data: data}, err
	case strings.HasPrefix(http.DetectContentType(head[:n]), "text/"):
		data, err := io.ReadAll(io.LimitReader(rest, MaxAttachedText+utf8.UTFMax))
		if err != nil {
			return nil, err
		}
		return TextAttachment(name, data, info.Size()), nil
	}
	return llm.Text{Text: fmt.Sprintf("\n\n[attached: %s, %s, %d bytes, at %s]", name, kind, info.Size(), path)}, nil
}

// TextAttachment returns a text of size bytes, of which data is all or the
// beginning, as the model reads it. The text beyond MaxAttachedText is left out.
func TextAttachment(name string, data []byte, size int64) llm.Part {
	note := ""
	if len(data) > MaxAttachedText {
		data = data[:MaxAttachedText]
		for len(data) > 0 && !utf8.RuneStart(data[len(data)-1]) {
			data = data[:len(data)-1]
		}
		data = data[:max(0, len(data)-1)]
		note = fmt.Sprintf("\n[the first %d of %d bytes]", len(data), size)
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	return llm.Text{Text: fmt.Sprintf("\n\n<file name=%q>\n%s\n</file>%s", name, strings.TrimSuffix(text, "\n"), note)}
}
