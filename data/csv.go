package data

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// readCSV reads text whose delimiter it detects: many programs call files CSV
// that are separated by semicolons or tabs.
func readCSV(ctx context.Context, data []byte, o Options) (*Table, error) {
	text, note, err := decode(data)
	if err != nil {
		return nil, err
	}
	return separated(ctx, text, delimiter(text), note, o)
}

// readTSV reads text that is separated by tabs, whatever else is in it.
func readTSV(ctx context.Context, data []byte, o Options) (*Table, error) {
	text, note, err := decode(data)
	if err != nil {
		return nil, err
	}
	return separated(ctx, text, '\t', note, o)
}

// decode converts text as spreadsheets write it to UTF-8: from UTF-16 by its
// byte order mark, else from GB18030 if it reads as Chinese, else from
// Windows-1252 or Latin-1. The note names the encoding that it guessed.
func decode(data []byte) (text []byte, note string, err error) {
	switch {
	case bytes.HasPrefix(data, []byte("\ufeff")):
		data = data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		text, err = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(data)
		return text, "", err
	}
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
		return nil, "", errors.New("it is neither text nor one of " + formats)
	}
	if utf8.Valid(data) {
		return data, "", nil
	}
	for _, c := range []struct {
		name string
		enc  encoding.Encoding
		fits func(text []byte) bool
	}{
		{"GB18030", simplifiedchinese.GB18030, isChinese},
		{"Windows-1252", charmap.Windows1252, func([]byte) bool { return true }},
	} {
		text, err = c.enc.NewDecoder().Bytes(data)
		if err == nil && !bytes.ContainsRune(text, utf8.RuneError) && c.fits(text) {
			return text, "the file is not UTF-8 and was read as " + c.name, nil
		}
	}
	text, err = charmap.ISO8859_1.NewDecoder().Bytes(data)
	return text, "the file is not UTF-8 and was read as Latin-1", err
}

// isChinese reports whether most of what is not ASCII is Chinese. Text in
// European encodings often decodes as GB18030 without an error.
func isChinese(text []byte) bool {
	chinese, other := 0, 0
	for _, r := range string(text[:min(len(text), 64<<10)]) {
		switch {
		case r < 0x80:
		case r >= 0x4e00 && r < 0xa000, r >= 0x3000 && r < 0x3040, r >= 0xff00 && r < 0xfff0:
			chinese++
		default:
			other++
		}
	}
	return chinese > 4*other && chinese > 1
}

// delimiter returns the one of comma, semicolon, tab and bar that occurs equally
// often in most of the first 20 lines.
func delimiter(text []byte) rune {
	best, most := ',', 0
	lines := strings.SplitN(string(text[:min(len(text), 64<<10)]), "\n", 21)
	if len(lines) > 20 {
		lines = lines[:20]
	}
	for _, d := range []rune{',', ';', '\t', '|'} {
		counts := make(map[int]int)
		for _, l := range lines {
			if n := unquoted(l, d); n > 0 {
				counts[n]++
			}
		}
		for n, lines := range counts {
			if score := lines*1000 + min(n, 999); score > most {
				best, most = d, score
			}
		}
	}
	return best
}

// unquoted counts d outside of quotation marks.
func unquoted(line string, d rune) int {
	n, quoted := 0, false
	for _, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case r == d && !quoted:
			n++
		}
	}
	return n
}

// separated reads delimited text. Rows may have fewer or more fields than the
// first line, which names the columns unless it is data itself.
func separated(ctx context.Context, text []byte, comma rune, note string, o Options) (*Table, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = comma, -1, true, true
	head, err := r.Read()
	if err == io.EOF {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	c := cells{max: o.MaxCells}
	ragged := 0
	if headless(head) {
		note = join(note, "the first line is data, so the columns are numbered")
		c.add(head)
	} else {
		for _, name := range head {
			c.widen(strings.TrimSpace(name))
		}
	}
	width := len(head)
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(row) != width {
			ragged++
		}
		if len(row) > width+maxExtra {
			return nil, fmt.Errorf("row %d has %d fields, the first line has %d", n+2, len(row), width)
		}
		if !c.add(row) {
			break
		}
	}
	t, err := c.table(ctx)
	if err != nil {
		return nil, err
	}
	if ragged > 0 {
		note = join(note, fmt.Sprintf("%d rows have more or fewer fields than the first line", ragged))
	}
	if note != "" {
		t.Notes = append([]string{note}, t.Notes...)
	}
	return t, nil
}

// maxExtra is how many fields more than the first line a row may have: each
// becomes a column.
const maxExtra = 1000

// headless reports whether the first line is data rather than names: whether
// all its fields are numbers, which are not ascending years.
func headless(head []string) bool {
	filled := 0
	for _, s := range head {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		filled++
		if _, _, ok := number(s, false); !ok {
			return false
		}
	}
	return filled > 0 && len(head) > 1 && !yearsAcross(head)
}

// yearsAcross reports whether numbers name columns: 2019, 2020, …
func yearsAcross(head []string) bool {
	last := 0.0
	for _, s := range head {
		s = strings.TrimSpace(s)
		if s == "" {
			return false
		}
		v, _, ok := number(s, false)
		if !ok || v < 1000 || v > 2300 || v != float64(int(v)) || v <= last {
			return false
		}
		last = v
	}
	return true
}

// join appends a note to another.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
