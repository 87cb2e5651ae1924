package ooxml

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

// A part of a few megabytes with millions of elements in each other, or with one
// endless text, is refused before it takes memory.
func TestPartsThatCostTooMuch(t *testing.T) {
	for name, c := range map[string]struct {
		part io.Reader
		want string
	}{
		"deep":           {strings.NewReader(head + strings.Repeat("<w:p>", 3_000_000)), "in each other"},
		"a long text":    {io.MultiReader(strings.NewReader(head+"<w:t>"), &endless{64 << 20, 'x'}), "a text in it"},
		"a long name":    {io.MultiReader(strings.NewReader(head+"<"), &endless{64 << 20, 'x'}), "a text in it"},
		"many in a deep": {strings.NewReader(head + strings.Repeat("<w:p>", maxDeep-2) + strings.Repeat("</w:p>", maxDeep-2)), "unexpected EOF"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Word(c.part, 1, func(int, string) {})
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 100 {
			t.Errorf("%s: it took %d MiB", name, took)
		}
	}
}

// endless is n bytes c.
type endless struct {
	n int
	c byte
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	for i := range n {
		p[i] = e.c
	}
	e.n -= n
	return n, nil
}
