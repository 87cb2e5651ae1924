package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/bench/stats"
)

// A table prints as Markdown whose columns line up.
type table struct {
	head []string
	rows [][]string
}

func (t *table) row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

func (t *table) print(w io.Writer, title string) {
	width := make([]int, len(t.head))
	for _, r := range append([][]string{t.head}, t.rows...) {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = strings.Repeat("-", width[i])
	}
	fmt.Fprintf(w, "\n### %s\n\n", title)
	for _, r := range append([][]string{t.head, rule}, t.rows...) {
		for i, c := range r {
			fmt.Fprintf(w, "| %s%s ", c, strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)))
		}
		fmt.Fprintln(w, "|")
	}
}

// interval prints an estimate as "1.02 [0.98, 1.05]".
func interval(e stats.Estimate, format string) string {
	return fmt.Sprintf(format+" ["+format+", "+format+"]", e.Mid, e.Lo, e.Hi)
}
