package termtext

import (
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// A Style colours text for a terminal. The zero Style leaves it plain.
type Style struct{ On bool }

// Paint returns text with the attributes of the escape sequence SGR that code has.
func (s Style) Paint(code, text string) string {
	if !s.On || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Dim is for what matters less.
func (s Style) Dim(text string) string { return s.Paint("2", text) }

// Bold is for names and questions.
func (s Style) Bold(text string) string { return s.Paint("1", text) }

// Red is for problems.
func (s Style) Red(text string) string { return s.Paint("31", text) }

// Green is for what was added.
func (s Style) Green(text string) string { return s.Paint("32", text) }

// Mark is for the signs at the beginning of lines.
func (s Style) Mark(text string) string { return s.Paint("36", text) }

// OneLine returns foreign text as one line of at most n characters, without control
// characters.
func OneLine(text string, n int) string {
	return shorten(strings.Join(strings.Fields(clip.Plain(text)), " "), n)
}

// shorten returns text cut to n characters.
func shorten(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
