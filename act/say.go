package act

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
)

// The bounds of what comes with a message, in bytes.
const (
	MaxText  = 200 << 10 // of a text; of a longer one the model reads the beginning and the end
	MaxImage = 20 << 20
	minText  = 4 << 10 // of a text, however little the model reads
)

// Message returns what a person said, without the space around it. sources say who wrote
// it, if that is not the person alone. The id is that of the message: one that is sent
// again with the same id is stored once. "" is a new one.
func Message(id, text string, sources ...openmanus.Source) openmanus.UserSaid {
	m := openmanus.UserSaid{ID: cmp.Or(id, ids.New()), Message: llm.Message{Role: llm.User}, Sources: sources}
	if text = strings.TrimSpace(text); text != "" {
		m.Message.Parts = llm.Parts{llm.Text{Text: text}}
	}
	return m
}

// A File is one that comes with a message.
type File struct {
	Name string // a path, or another name for people
	MIME string
	Data []byte
}

// Attach adds a file to a message, as the model reads it: an image as an image, and a text
// as [AttachText] does. It reports false, and adds nothing, if the file is neither, or a
// larger image than [MaxImage].
func Attach(ctx context.Context, blobs openmanus.Blobs, m *openmanus.UserSaid, f File) (bool, error) {
	switch {
	case strings.HasPrefix(f.MIME, "image/") && len(f.Data) <= MaxImage:
		m.Message.Parts = append(m.Message.Parts, llm.Blob{MIME: f.MIME, Name: f.Name, Data: f.Data})
		return true, nil
	case utf8.Valid(Text(f.Data)):
		return true, AttachText(ctx, blobs, m, f.Name, Text(f.Data), 0)
	}
	return false, nil
}

// Prepare gives the first message of a session the note about its workspace. A message that
// the session has already, as its id says, gets the note and the trace of that one, which
// the person did not say, and is reported: to append it again changes nothing.
func (x Sessions) Prepare(ctx context.Context, id string, m *openmanus.UserSaid) (again bool, err error) {
	err = x.view(ctx, id, func(s *openmanus.State) error {
		if s.Foreign != "" {
			return conflict("the session has events of a newer version: it can be read but not continued")
		}
		if s.Turn == 0 && len(s.Inbox) == 0 && x.Note != nil {
			m.Note, m.NoteSources = x.Note(s.Config.Workspace)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for ev, err := range x.Journal.Events(ctx, id, 0) {
		if err != nil {
			return false, err
		}
		if said, ok := ev.Body.(openmanus.UserSaid); ok && said.ID == m.ID {
			m.Note, m.NoteSources, m.Trace = said.Note, said.NoteSources, said.Trace
			return true, nil
		}
	}
	return false, nil
}

// Text returns data as a text in UTF-8 without a byte order mark. A text in UTF-16 begins
// with such a mark; half a character at its end, where it was cut, becomes a replacement
// character. Text returns any other data as it is.
func Text(data []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return data[3:]
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	case !bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")): // the latter is UTF-32
		return data
	}
	units := make([]uint16, len(data)/2-1)
	for i := range units {
		units[i] = order.Uint16(data[2*i+2:])
	}
	text := []byte(string(utf16.Decode(units)))
	if len(data)%2 == 1 {
		text = utf8.AppendRune(text, utf8.RuneError)
	}
	return text
}

// TextOf returns a text that comes with a message, as the model reads it.
func TextOf(name, text string) llm.Part {
	text = strings.TrimSuffix(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	return llm.Text{Text: fmt.Sprintf("\n\n<file name=%q>\n%s\n</file>", name, text)}
}

// Shortened joins the beginning and the end of a text of size bytes. Characters that a cut
// has broken are left out.
func Shortened(head, tail []byte, size int64, whole string) string {
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

// AttachText adds a text to a message for a model that reads so many tokens, 0 if that is
// not known. A text that is longer than half of that, or than MaxText, is kept
// whole in blobs, where the tool read_output finds it. Then the message has its beginning
// and its end.
func AttachText(ctx context.Context, blobs openmanus.Blobs, m *openmanus.UserSaid, name string, data []byte, window int) error {
	limit := MaxText
	if window > 0 {
		limit = min(limit, max(minText, 2*window)) // at four bytes a token
	}
	text := string(data)
	if len(data) > limit {
		ref, err := blobs.Put(ctx, data)
		if err != nil {
			return fmt.Errorf("keeping %s: %w", name, err)
		}
		m.Whole = append(m.Whole, ref)
		whole := fmt.Sprintf("read_output {\"ref\":%q,\"offset\":%d} shows them, and with a pattern the lines that match", openmanus.ShortRef(m.Whole, ref), limit/2)
		text = Shortened(data[:limit/2], data[len(data)-limit/2:], int64(len(data)), whole)
	}
	m.Message.Parts = append(m.Message.Parts, TextOf(name, text))
	return nil
}
