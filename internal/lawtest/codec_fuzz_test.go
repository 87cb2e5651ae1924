package lawtest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/journal/journaltest"
)

// FuzzEventCodec decodes whatever may stand in a journal. A decoded body can be
// encoded, and from then on always encodes as the same bytes, with blobs and
// without.
func FuzzEventCodec(f *testing.F) {
	for _, b := range journaltest.Bodies() {
		s, err := journal.Codec{}.Encode(f.Context(), b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.Type, s.Key, []byte(s.Body))
	}
	f.Add("call_done", "done/c", []byte(`{"call":"c","parts":[{"type":"text","text_base64":"/w=="},{"type":"hologram"}],"detail":{"$blob":"sha256:00"}}`))
	f.Add("user_said", "user/1", []byte(`{"id":"1","message":{"role":"user","parts":[{"type":"text","text":"`+strings.Repeat("big ", 3000)+`"}]}}`))
	f.Add("typing", "", []byte(`{"parts":null}`))
	f.Add("teleported", "teleport/1", []byte(`{"n":12345678901234567890}`))
	f.Fuzz(func(t *testing.T, typ, key string, body []byte) {
		if !utf8.ValidString(typ) || !utf8.ValidString(key) {
			return // JSON cannot hold them, and nobody stored that
		}
		stored := journal.Stored{Type: typ, Key: key, Body: body}
		for _, c := range []journal.Codec{{}, {Blobs: new(journal.Memory)}} {
			b, err := c.Decode(t.Context(), stored)
			if err != nil || b.Key() == "" || typ == "" {
				continue
			}
			if f, ok := b.(openmanus.Foreign); ok && !json.Valid(f.Content) {
				continue // nobody stored that
			}
			once, err := c.Encode(t.Context(), b)
			if err != nil {
				t.Fatalf("%s %s was decoded and cannot be encoded: %v", typ, body, err)
			}
			again, err := c.Decode(t.Context(), once)
			if err != nil {
				t.Fatalf("%s was encoded as %s, and cannot be decoded: %v", body, once.Body, err)
			}
			twice, err := c.Encode(t.Context(), again)
			if err != nil || !journal.Same(once, twice) || once.Key != twice.Key {
				t.Fatalf("%s %s was encoded as\n%s %s, and then as\n%s %s, %v", typ, body, once.Key, once.Body, twice.Key, twice.Body, err)
			}
			alone(t, b)
		}
	})
}

// alone encodes a body as an event of its own, and decodes that.
func alone(t *testing.T, b openmanus.Body) {
	line, err := json.Marshal(openmanus.Event{Seq: 7, Time: journal.Now(), Body: b})
	if err != nil {
		t.Fatalf("%#v cannot be encoded as an event: %v", b, err)
	}
	var ev openmanus.Event
	if err := json.Unmarshal(line, &ev); err != nil {
		t.Fatalf("the event %s cannot be decoded: %v", line, err)
	}
	again, err := json.Marshal(ev)
	if err != nil || !bytes.Equal(line, again) {
		t.Fatalf("an event was encoded as\n%s, and then as\n%s, %v", line, again, err)
	}
}

var checksum = regexp.MustCompile(`,"sha256":"[0-9a-f]*"`)

// FuzzImport reads whatever calls itself an export. An accepted session can be
// exported, and comes back as the same bytes.
func FuzzImport(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "journals", "*.jsonl"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 4<<10 { // what is larger makes fuzzing slow
			f.Add(checksum.ReplaceAll(data, nil)) // which nothing that was changed would fit
		}
	}
	f.Add([]byte(strings.Join(plainLines(f), "")))
	f.Add([]byte("\ufeff{}\r\n\x00\u2028"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var files []string
		for range 3 {
			j := new(journal.Memory)
			id, err := journal.Import(t.Context(), j, j, "", bytes.NewReader(data))
			if err != nil && len(files) == 0 {
				return
			}
			if err != nil {
				t.Fatalf("what was exported cannot be imported: %v\n%s", err, data)
			}
			files = append(files, export(t, j, id))
			data = []byte(files[len(files)-1])
		}
		if files[0] != files[1] || files[1] != files[2] {
			t.Fatalf("it was exported as\n%s, then as\n%s", files[0], files[1])
		}
	})
}
