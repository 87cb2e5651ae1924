// Package charset reads the texts of others as UTF-8, whatever character set they are in.
//
// What a text declares comes first, then a byte order mark, then UTF-8 if the whole text is
// valid in it, then a guess, which [Text.Note] tells. Names of sets are those of the WHATWG
// (https://encoding.spec.whatwg.org), which are the names that MIME, HTML and XML use.
package charset

import (
	"bytes"
	"fmt"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// A Text is a text and what is known of its character set.
type Text struct {
	UTF8    []byte // valid UTF-8, without a byte order mark
	Set     string // the name of the character set
	Guessed bool   // nothing declares the set
	Lost    int    // so many places are no characters of the set; UTF8 has U+FFFD there
	Unknown string // a set that the text declares, and that has no decoder here; "": there is none
}

// Note says in one sentence what a reader must know of the text: that its set is a guess, or
// that something was lost. It is "" if there is nothing to say.
func (t Text) Note() string {
	var s []string
	if t.Unknown != "" {
		s = append(s, fmt.Sprintf("the text declares the character set %q, which is unknown", t.Unknown))
	}
	if t.Guessed {
		s = append(s, fmt.Sprintf("the text is not UTF-8 and was read as %s, a guess", t.Set))
	}
	if t.Lost > 0 {
		s = append(s, fmt.Sprintf("%d places of the text are no characters of %s, and stand as U+FFFD", t.Lost, t.Set))
	}
	return strings.Join(s, "; ")
}

// Decode reads data. told is the set that the caller knows, declared the one that the text
// itself names; each may be "". An error says that told is no character set.
func Decode(data []byte, told, declared string) (Text, error) {
	if told != "" {
		set, err := find(told)
		if err != nil {
			return Text{}, err
		}
		return set.read(data), nil
	}
	var unknown string
	if declared != "" {
		set, err := find(declared)
		if err != nil {
			unknown = declared
		} else if set.name != "utf-8" || valid(data) {
			return set.read(data), nil
		}
	}
	t := guess(data)
	t.Unknown = unknown
	return t, nil
}

// String reads text that is a part of something else, such as the name of a file in an
// archive, as [Decode] does.
func String(s, declared string) string {
	t, _ := Decode([]byte(s), "", declared) // told is empty
	return string(t.UTF8)
}

// IsBinary reports whether data is no text in any set: it has a zero byte, and is not
// UTF-16 or UTF-32.
func IsBinary(data []byte) bool {
	head := data[:min(len(data), 8000)]
	return bytes.IndexByte(head, 0) >= 0 && marked(data) == "" && wide(head) == ""
}

// A set is a character set.
type set struct {
	name string
	enc  encoding.Encoding
}

// aliases are names that the WHATWG does not list, and that programs and detectors use.
var aliases = map[string]string{
	"gb-18030": "gb18030", "gb2312": "gb18030", "gbk": "gb18030", "iso-8859-8-i": "windows-1255", "iso-8859-8": "windows-1255",
	"tis-620": "windows-874", "maccyrillic": "x-mac-cyrillic", "koi8-r": "koi8-u", "cp932": "shift_jis", "utf-16": "utf-16le",
	"cp949": "euc-kr", "uhc": "euc-kr", "cp936": "gb18030", "cp950": "big5", "cp1250": "windows-1250", "iso-8859-1": "windows-1252",
	"us-ascii": "utf-8", "ascii": "utf-8", "utf8": "utf-8", "utf-32": "utf-32le", "latin1": "windows-1252", "latin-1": "windows-1252",
}

// find returns the set with a name.
func find(name string) (set, error) {
	name = strings.ToLower(strings.Trim(strings.TrimSpace(name), `"'`))
	if a, ok := aliases[strings.ReplaceAll(name, "_", "-")]; ok {
		name = a
	}
	switch name {
	case "utf-8":
		return set{"utf-8", unicode.UTF8}, nil
	case "utf-32le":
		return set{"utf-32le", utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)}, nil
	case "utf-32be":
		return set{"utf-32be", utf32.UTF32(utf32.BigEndian, utf32.UseBOM)}, nil
	}
	e, err := htmlindex.Get(name)
	if err != nil && strings.HasPrefix(name, "cp") {
		e, err = htmlindex.Get("windows-" + name[2:])
	}
	if err != nil {
		return set{}, fmt.Errorf("%q is no character set that is known: such as utf-8, utf-16le, windows-1252, windows-1251, iso-8859-2, shift_jis, gb18030, big5, euc-kr", name)
	}
	if canonical, err := htmlindex.Name(e); err == nil {
		name = canonical
	}
	return set{name, e}, nil
}

// read reads data in the set, or in the one that its byte order mark says.
func (s set) read(data []byte) Text {
	if name := marked(data); name != "" {
		s, _ = find(name) // marks name sets that are known
	}
	if s.name == "utf-8" {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		return Text{UTF8: bytes.ToValidUTF8(data, []byte("\ufffd")), Set: s.name, Lost: broken(data)}
	}
	text, err := s.enc.NewDecoder().Bytes(data)
	if err != nil { // the decoders write U+FFFD instead of an error
		text = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return Text{UTF8: text, Set: s.name, Lost: bytes.Count(text, []byte("\ufffd"))}
}

// marked returns the set that the byte order mark of data names, or "".
func marked(data []byte) string {
	for _, m := range []struct{ mark, name string }{
		{"\xef\xbb\xbf", "utf-8"}, {"\xff\xfe\x00\x00", "utf-32le"}, {"\x00\x00\xfe\xff", "utf-32be"},
		{"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"},
	} {
		if bytes.HasPrefix(data, []byte(m.mark)) {
			return m.name
		}
	}
	return ""
}

// wide returns the set of a text of two bytes a character that has no mark, or "": of many
// characters, most of which are ASCII, one byte is zero.
func wide(head []byte) string {
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	most := len(head) / 2
	switch {
	case most >= 4 && zeros[1]*10 >= most*7 && zeros[0]*20 <= most:
		return "utf-16le"
	case most >= 4 && zeros[0]*10 >= most*7 && zeros[1]*20 <= most:
		return "utf-16be"
	}
	return ""
}

// valid reports whether data is UTF-8, but for a character that is cut off at its end.
func valid(data []byte) bool {
	for n := 0; n < utf8.UTFMax && n < len(data); n++ {
		if end := data[len(data)-1-n]; utf8.RuneStart(end) {
			if !utf8.FullRune(data[len(data)-1-n:]) {
				data = data[:len(data)-1-n]
			}
			break
		}
	}
	return utf8.Valid(data)
}

// broken counts the places where data is not UTF-8.
func broken(data []byte) (n int) {
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		if c == utf8.RuneError && size == 1 {
			n++
		}
		data = data[size:]
	}
	return n
}

// declaration is that of XML: https://www.w3.org/TR/xml/#sec-TextDecl.
var declaration = regexp.MustCompile(`^<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`)

// OfXML returns the set that a text of XML declares, or "".
func OfXML(data []byte) string {
	head := bytes.TrimPrefix(data[:min(len(data), 400)], []byte("\ufeff"))
	if m := declaration.FindSubmatch(head); m != nil {
		return string(m[1])
	}
	return ""
}

// maxHead is how much of a page is searched for what it declares. Browsers look at 1024 bytes; many
// pages have their scripts before it.
const maxHead = 16 << 10

// OfPage returns the set that a page of HTML declares, by the Content-Type that it came with, which may be
// "", or by its head: https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding.
func OfPage(data []byte, contentType string) string {
	if name := OfType(contentType); name != "" {
		return name
	}
	if name := OfXML(data); name != "" {
		return name
	}
	tags := html.NewTokenizer(bytes.NewReader(data[:min(len(data), maxHead)]))
	for kind := tags.Next(); kind != html.ErrorToken; kind = tags.Next() {
		tag := tags.Token()
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken || tag.Data != "meta" {
			continue
		}
		for _, a := range tag.Attr {
			if a.Key == "charset" {
				return ofMeta(a.Val)
			} else if name := OfType(a.Val); a.Key == "content" && name != "" {
				return ofMeta(name)
			}
		}
	}
	return ""
}

// ofMeta returns the set that a page means which declares a name in its own text: that of two bytes a
// character cannot be, since the declaration was read as ASCII.
func ofMeta(name string) string {
	if strings.HasPrefix(strings.ToLower(name), "utf-16") {
		return "utf-8"
	}
	return name
}

// OfType returns the set that a Content-Type names, or "".
func OfType(contentType string) string {
	_, param, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return param["charset"]
}
