package host

import (
	"context"
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
	MaxAttachedText  = 200 << 10 // of a text; of a longer one the beginning and the end
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
		data, err := io.ReadAll(io.LimitReader(rest, MaxAttachedText+1))
		if err != nil || len(data) <= MaxAttachedText {
			return attached(name, string(data)), err
		}
		tail := make([]byte, MaxAttachedText/2)
		if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && err != io.EOF {
			return nil, err
		}
		return attached(name, shortened(data[:MaxAttachedText/2], tail, info.Size(), "the whole is in "+path)), nil
	}
	return llm.Text{Text: fmt.Sprintf("\n\n[attached: %s, %s, %d bytes, at %s]", name, kind, info.Size(), path)}, nil
}

// TextAttachment returns a text as the model reads it. The text of a long one is its
// beginning and its end, with a note where the whole is.
func TextAttachment(name string, data []byte, limit int, whole string) llm.Part {
	if len(data) <= limit {
		return attached(name, string(data))
	}
	head, tail := data[:limit/2], data[len(data)-limit/2:]
	return attached(name, shortened(head, tail, int64(len(data)), whole))
}

// attached returns a text as the model reads it.
func attached(name, text string) llm.Part {
	text = strings.TrimSuffix(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	return llm.Text{Text: fmt.Sprintf("\n\n<file name=%q>\n%s\n</file>", name, text)}
}

// shortened joins the beginning and the end of a text of size bytes. Characters that a cut
// has broken are left out.
func shortened(head, tail []byte, size int64, whole string) string {
	for n := 0; n < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); n++ {
		tail = tail[1:]
	}
	for n := 1; n < utf8.UTFMax && n <= len(head); n++ {
		if at := len(head) - n; utf8.RuneStart(head[at]) {
			if !utf8.FullRune(head[at:]) {
				head = head[:at]
			}
			break
		}
	}
	return fmt.Sprintf("%s\n\n[... of %d bytes the %d from byte %d on are left out here; %s ...]\n\n%s",
		head, size, size-int64(len(head)+len(tail)), len(head), whole, tail)
}

// minAttachedText is how much of a text is attached however little the model reads.
const minAttachedText = 4 << 10

// AttachText adds a text to a message for a model that reads so many tokens, 0 if that is
// not known. A text that is longer than half of that, or than MaxAttachedText, is kept
// whole in blobs, where the tool read_output finds it. Then the message has its beginning
// and its end.
func AttachText(ctx context.Context, blobs openmanus.Blobs, m *openmanus.UserSaid, name string, data []byte, window int) error {
	limit := MaxAttachedText
	if window > 0 {
		limit = min(limit, max(minAttachedText, 2*window)) // at four bytes a token
	}
	whole := ""
	if len(data) > limit {
		ref, err := blobs.Put(ctx, data)
		if err != nil {
			return fmt.Errorf("keeping %s: %w", name, err)
		}
		m.Whole = append(m.Whole, ref)
		whole = fmt.Sprintf("read_output {\"ref\":%q,\"offset\":%d} shows them, and with a pattern the lines that match", openmanus.ShortRef(m.Whole, ref), limit/2)
	}
	m.Message.Parts = append(m.Message.Parts, TextAttachment(name, data, limit, whole))
	return nil
}
