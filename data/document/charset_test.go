package document

import (
	"strings"
	"testing"
)

// Texts are read in the character set that they declare, or that they are in: whatever kind of document
// they are, and wherever in it they stand.
func TestCharacterSets(t *testing.T) {
	mail := "From: a@example.org\r\nSubject: "
	for _, c := range []struct{ what, name, content, told, want, note string }{
		{"XML that declares Latin-1", "a.xml", "<?xml version='1.0' encoding='ISO-8859-1'?>\n<n>J\xfcrgen</n>", "", "<n>Jürgen</n>", ""},
		{"a text in Latin-1", "a.txt", "Gr\xfc\xdfe aus K\xf6ln, o\xf9 \xe7a?\n", "", "Grüße aus Köln, où ça?", "windows-1252, a guess"},
		{"a text in Shift JIS", "a.txt", "\x82\xb1\x82\xea\x82\xcd\x83e\x83X\x83g\x82\xc5\x82\xb7\x81B", "", "これはテストです。", "shift_jis, a guess"},
		{"subtitles in Windows-1250", "a.srt", "1\n00:00:01,000 --> 00:00:02,000\n\x8elu\x9dou\xe8k\xfd k\xf9\xf2\n", "", "Žluťoučký kůň", "a guess"},
		{"UTF-16 with a mark", "a.txt", "\xff\xfeA\x00\xf6\x00\n\x00", "", "Aö", ""},
		{"UTF-16 without one", "a.txt", "N\x00a\x00m\x00e\x00\n\x00O\x00r\x00t\x00", "", "Name\nOrt", "utf-16le, a guess"},
		{"a guess that is wrong, and told better", "a.txt", "\xc8\xec\xff", "windows-1250", "Čě˙", ""},
		{"a page that is ASCII for long", "a.html", "<p>" + strings.Repeat("plain ", 300) + "</p><p>Привет</p>", "", "Привет", ""},
		{"a page that declares its set late", "a.html", "<script>" + strings.Repeat("x();", 400) + "</script><meta charset=koi8-r><p>\xf0\xd2\xc9\xd7\xc5\xd4</p>", "", "Привет", ""},
		{"a page that declares nothing", "a.html", "<p>\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0. \xca\xe0\xea \xe4\xe5\xeb\xe0?</p>", "", "Привет, мир. Как дела?", "windows-1251, a guess"},
		{"a header of mail that is not encoded", "a.eml", mail + "Gr\xfc\xdfe aus K\xf6ln\r\n\r\nx\r\n", "", "Subject: Grüße aus Köln", ""},
		{"a header in Shift JIS", "a.eml", mail + "=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=\r\n\r\nx\r\n", "", "Subject: 日本", ""},
		{"mail that declares nothing", "a.eml", mail + "x\r\nContent-Type: text/plain\r\n\r\n\xc8\xe2\xe0\xed, \xef\xf0\xe8\xe2\xe5\xf2! \xca\xe0\xea \xe4\xe5\xeb\xe0?\r\n", "", "Иван, привет! Как дела?", "windows-1251, a guess"},
		{"mail whose set is unknown", "a.eml", mail + "x\r\nContent-Type: text/plain; charset=x-unknown\r\n\r\nGr\xfc\xdfe aus K\xf6ln\r\n", "", "Grüße aus Köln", `"x-unknown", which is unknown`},
		{"a file in an archive", "a.zip", string(zipped(t, "\x83e\x83X\x83g.txt", "Gr\xfc\xdfe aus K\xf6ln\n")), "", "Grüße aus Köln", "windows-1252, a guess"},
		{"its name", "a.zip", string(zipped(t, "\x83e\x83X\x83g\x81B\x82\xb1\x82\xea.txt", "x\n")), "", "テスト。これ.txt", ""},
		{"a format with a set of its own", "a.zip", string(zipped(t, "a.png", "\x89PNG")), "koi8-r", "a.png", "encoding was not used"},
	} {
		d, err := read(t, c.name, []byte(c.content), Options{Encoding: c.told})
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if got := whole(d); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is missing in\n%s", c.what, c.want, got)
		}
		if notes := strings.Join(d.Notes, "; "); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s: the notes are %q", c.what, notes)
		}
	}
	if _, err := read(t, "a.txt", []byte("a"), Options{Encoding: "klingon"}); err == nil || !strings.Contains(err.Error(), "no character set") {
		t.Errorf("a set that nobody knows: %v", err)
	}
}
