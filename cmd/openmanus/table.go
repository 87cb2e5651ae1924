package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"golang.org/x/term"
)

// listing is the flag of every command that lists something.
type listing struct {
	JSON bool `name:"json" help:"Print JSON instead of a table."`
}

// A table is what a listing prints for people. The last column is cut to the
// width of the terminal, so the longest texts belong there.
type table struct {
	head []string
	rows [][]string
}

// add appends a row. A cell is printed as one line without control characters,
// an empty one as a dash.
func (tb *table) add(cells ...string) {
	for i, c := range cells {
		if cells[i] = termtext.OneLine(c, 300); cells[i] == "" {
			cells[i] = "-"
		}
	}
	tb.rows = append(tb.rows, cells)
}

// print writes the table to standard output.
func (tb *table) print(t *terminal, g *globals) error {
	widths := make([]int, len(tb.head))
	for _, row := range append([][]string{tb.head}, tb.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], clip.Width(c))
		}
	}
	last := len(widths) - 1
	if room := columns(t.out); room > 0 {
		for _, w := range widths[:last] {
			room -= w + 2
		}
		widths[last] = min(widths[last], max(room, 10))
	}
	var b strings.Builder
	s := t.style(g)
	for n, row := range append([][]string{tb.head}, tb.rows...) {
		line := ""
		for i, c := range row {
			c = clip.Fit(c, widths[i])
			if i < last {
				c += strings.Repeat(" ", widths[i]-clip.Width(c)+2)
			}
			line += c
		}
		if n == 0 {
			line = s.Bold(line)
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(t.out, b.String())
	return err
}

// print prints v as JSON if --json was given, and otherwise the table. empty is
// printed in place of a table without rows.
func (l listing) print(t *terminal, g *globals, v any, tb *table, empty string) error {
	switch {
	case l.JSON:
		return t.printJSON(v)
	case len(tb.rows) == 0:
		_, err := fmt.Fprintln(t.out, empty)
		return err
	}
	return tb.print(t, g)
}

// printJSON writes v to standard output, indented.
func (t *terminal) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return t.writeJSON(b.Bytes())
}

// writeJSON writes encoded JSON to standard output. On a terminal, control
// characters that JSON need not escape are escaped, which does not change the
// value.
func (t *terminal) writeJSON(data []byte) error {
	if isTerminal(t.out) {
		data = escapeControls(data)
	}
	_, err := t.out.Write(data)
	return err
}

func escapeControls(data []byte) []byte {
	var b bytes.Buffer
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r >= 0x7f && (unicode.IsControl(r) || clip.Plain(string(r)) == "") {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.Write(data[:n])
		}
		data = data[n:]
	}
	return b.Bytes()
}

// style returns the style of standard output.
func (t *terminal) style(g *globals) termtext.Style {
	return t.styleOf(t.out, g)
}

// styleOf returns the style of what is written to w.
func (t *terminal) styleOf(w any, g *globals) termtext.Style {
	none, _ := t.env("NO_COLOR")
	return termtext.Style{On: isTerminal(w) && none == "" && !g.NoColor && !t.dumb()}
}

// dumb reports whether the terminal obeys no escape sequences.
func (t *terminal) dumb() bool {
	kind, _ := t.env("TERM")
	return kind == "dumb"
}

// statusWidth returns how wide the terminal of standard error is, or nil if lines
// cannot be taken back there.
func (t *terminal) statusWidth() func() int {
	if !isTerminal(t.err) || t.dumb() {
		return nil
	}
	return func() int { return columns(t.err) }
}

// columns returns the width of the terminal w, or 0 if it is none.
func columns(w any) int {
	f, ok := bare(w).(*os.File)
	if !ok || !isTerminal(f) {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// short formats a number briefly: 950, 12k, 3.4M.
func short(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
