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

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/llm"
)

// Message makes a message of a user of a prompt and files: those in attach, and
// those that the prompt names as @path. Names are relative to dir. Text files
// are read, and so are images; of other files the message says where they are.
func Message(dir, prompt string, attach []string) (openmanus.UserSaid, error) {
	m := act.Message("", prompt)
	for _, name := range append(attach, mentioned(prompt, dir)...) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		p, err := attachment(path, name)
		if err != nil {
			return m, mistake(fmt.Errorf("cannot attach %s: %w", name, err))
		}
		m.Message.Parts = append(m.Message.Parts, p)
	}
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
		if info.Size() > act.MaxImage {
			return nil, fmt.Errorf("the image has %d bytes, more than the %d that are sent", info.Size(), act.MaxImage)
		}
		data, err := io.ReadAll(rest)
		return llm.Blob{MIME: kind, Name: name, Data: data}, err
	case strings.HasPrefix(http.DetectContentType(head[:n]), "text/"):
		data, err := io.ReadAll(io.LimitReader(rest, act.MaxText+1))
		if err != nil || len(data) <= act.MaxText {
			return act.TextOf(name, string(data)), err
		}
		tail := make([]byte, act.MaxText/2)
		if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && err != io.EOF {
			return nil, err
		}
		return act.TextOf(name, act.Shortened(data[:act.MaxText/2], tail, info.Size(), "the whole is in "+path)), nil
	}
	return llm.Text{Text: fmt.Sprintf("\n\n[attached: %s, %s, %d bytes, at %s]", name, kind, info.Size(), path)}, nil
}
