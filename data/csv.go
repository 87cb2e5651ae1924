package data

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/openmanus-go/openmanus/internal/charset"
)

// readCSV reads text whose delimiter it detects: many programs call files CSV
// that are separated by semicolons or tabs.
func readCSV(ctx context.Context, data []byte, o Options) (*Table, error) {
	text, note, err := decode(data, o)
	if err != nil {
		return nil, err
	}
	text = lineEnds(text)
	if first, rest, ok := bytes.Cut(text, []byte("\n")); ok {
		if d := separatorLine.FindSubmatch(first); d != nil { // Excel's own way to name the delimiter
			return separated(ctx, rest, rune(d[1][0]), note, o)
		}
	}
	return separated(ctx, text, delimiter(text), note, o)
}

var separatorLine = regexp.MustCompile(`^"?sep=([,;|\t:])"?\r?$`)

// lineEnds returns text in which lines end as Unix has it, if they end as the first Macs had it.
func lineEnds(text []byte) []byte {
	if bytes.IndexByte(text, '\n') >= 0 {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
}

// closeQuotes returns text in which a quoted cell ends at its delimiter: what follows its closing quote,
// which many programs write and package csv would read as the rest of the file, becomes a part of it. It
// counts these cells, and reports whether the last quote is never closed.
func closeQuotes(text []byte, comma rune) (fixed []byte, odd int, open bool) {
	var out []byte // nil as long as nothing is odd
	from := 0      // what is not in out yet
	for i, begins, quoted := 0, true, false; i < len(text); i++ {
		c := text[i]
		switch {
		case !quoted:
			quoted = begins && c == '"'
			begins = c == byte(comma) || c == '\n' || begins && c == ' ' && comma != ' '
			open = quoted
		case c != '"':
		case i+1 < len(text) && text[i+1] == '"':
			i++
		default:
			quoted, open = false, false
			end := i + 1
			for end < len(text) && text[end] != byte(comma) && text[end] != '\n' {
				end++
			}
			if after := bytes.TrimSuffix(text[i+1:end], []byte("\r")); len(after) > 0 {
				tail := bytes.TrimRight(after, " \t")
				if len(tail) > 0 {
					odd++
				}
				out = append(append(out, text[from:i]...), bytes.ReplaceAll(tail, []byte(`"`), []byte(`""`))...)
				out = append(out, '"')
				from = end
			}
			i, begins = end-1, false
		}
	}
	if out == nil {
		return text, odd, open
	}
	return append(out, text[from:]...), odd, open
}

// readTSV reads text that is separated by tabs, whatever else is in it.
func readTSV(ctx context.Context, data []byte, o Options) (*Table, error) {
	text, note, err := decode(data, o)
	if err != nil {
		return nil, err
	}
	return separated(ctx, lineEnds(text), '\t', note, o)
}

// decode reads text in its character set: see package charset.
func decode(data []byte, o Options) (text []byte, note string, err error) {
	if charset.IsBinary(data) && o.Encoding == "" {
		return nil, "", errors.New("it is neither text nor one of " + formats)
	}
	t, err := charset.Decode(data, o.Encoding, "")
	if err != nil {
		return nil, "", err
	}
	return t.UTF8, t.Note(), nil
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
	text, odd, open := closeQuotes(text, comma)
	if odd > 0 {
		note = join(note, fmt.Sprintf("%d quoted cells have text after their closing quote, which was kept", odd))
	}
	if open {
		note = join(note, "a quote is never closed: what follows it is one cell")
	}
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
