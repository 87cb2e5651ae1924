package document

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"unicode/utf16"
)

// A message of Outlook whose texts have one byte a character is read in the code page that it names, and
// without one by a guess, which is said.
func TestOutlookCodePage(t *testing.T) {
	for _, c := range []struct {
		page          uint32
		subject, want string
		note          string
	}{
		{1251, "\xc7\xe0\xea\xe0\xe7 \xf1\xea\xe0\xed\xe5\xf0\xe0", "Subject: Заказ сканера\n", ""},
		{28592, "\xa3\xf3d\xbc", "Subject: Łódź\n", ""},
		{932, "\x93\xfa\x96{\x8c\xea", "Subject: 日本語\n", ""},
		{65001, "Łódź", "Subject: Łódź\n", ""},
		{0, "\xc7\xe0\xea\xe0\xe7 \xf1\xea\xe0\xed\xe5\xf0\xe0", "Subject: Заказ сканера\n", "read as windows-1251, a guess"},
	} {
		d, err := read(t, "a.msg", eightBit(t, c.page, c.subject), Options{})
		has(t, d, err, c.want)
		if notes := strings.Join(d.Notes, "; "); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("code page %d: the notes are %q", c.page, notes)
		}
	}
	d, err := read(t, "a.msg", eightBit(t, 1252, "\xa3\xf3d\xbc"), Options{Encoding: "iso-8859-2"})
	has(t, d, err, "Subject: Łódź\n")
}

// eightBit returns a message whose subject is in bytes, as the code page has them.
func eightBit(t *testing.T, page uint32, subject string) []byte {
	t.Helper()
	msg, err := os.ReadFile("testdata/message.msg")
	if err != nil {
		t.Fatal(err)
	}
	put := func(old, now []byte) (at int) {
		t.Helper()
		if at = bytes.Index(msg, old); at < 0 {
			t.Fatalf("%q is not there", old)
		}
		copy(msg[at:], now)
		return at
	}
	if page != 0 { // the stream with the text becomes that of the properties
		put(wide("__properties_"), wide("__xroperties_"))
		at := put(wide("__substg1.0_1000001F"), wide("__properties_version1.0"))
		binary.LittleEndian.PutUint16(msg[at+64:], 2*(23+1)) // of the name, in bytes
		entry := make([]byte, 48)
		copy(entry[32:], "\x03\x00\xfd\x3f\x06\x00\x00\x00")
		binary.LittleEndian.PutUint32(entry[40:], page)
		put(wide("Dear Bob,"), entry)
	}
	put(wide("__substg1.0_0037001F"), wide("__substg1.0_0037001E"))
	put(wide("Größe of the order"), append([]byte(subject), make([]byte, 36-len(subject))...))
	return msg
}

// wide returns a text in UTF-16.
func wide(s string) (b []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}
