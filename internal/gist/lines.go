package gist

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// Lines are how many lines were added to something, and how many were removed from it.
type Lines struct{ Added, Removed int }

// String returns the lines as "+9 −6".
func (n Lines) String() string { return fmt.Sprintf("+%d −%d", n.Added, n.Removed) }

// Plus returns the sum.
func (n Lines) Plus(m Lines) Lines { return Lines{n.Added + m.Added, n.Removed + m.Removed} }

// LinesOf returns the lines that a call added to each file and removed from it, by the
// file's name, as far as its result has a diff.
func LinesOf(d openmanus.CallDone) map[string]Lines {
	var in detail
	if d.IsError || len(d.Detail) == 0 || json.Unmarshal(d.Detail, &in) != nil || in.Diff == "" {
		return nil
	}
	return linesIn(strings.Split(in.Diff, "\n"))
}

// linesIn counts the lines that a unified diff adds to files and removes from them.
func linesIn(diff []string) map[string]Lines {
	all := make(map[string]Lines)
	for _, h := range Hunks(diff) {
		n := all[h.Name()]
		for _, l := range h.Lines {
			switch l[0] {
			case '+':
				n.Added++
			case '-':
				n.Removed++
			}
		}
		all[h.Name()] = n
	}
	return all
}
