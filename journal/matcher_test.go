package journal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// The steps of the search grow with the text, not with its square, and hardly with
// the number of secrets: also in texts that are made to be slow.
func TestSearchIsLinear(t *testing.T) {
	values := make(map[string]string)
	for i := range 40 {
		values[fmt.Sprint("K", i)] = fmt.Sprintf("aaaaaaaaaaaaaaaaaaaaaaa%02d", i)
	}
	few := NewSecrets(map[string]string{"K0": values["K0"]}).matcher()
	many := NewSecrets(values).matcher()
	work := func(m *matcher, text []byte) int { return m.find(text, func(match) bool { return true }) }
	for name, piece := range map[string]string{
		"prose":              "The quick brown fox jumps over the lazy dog. ",
		"nearly secrets":     "aaaaaaaaaaaaaaaaaaaaaaaX",
		"one letter":         "a",
		"nearly base64":      "YWFhYWFhYWFhYWFhYWFhYWFhYWFh",
		"nearly hexadecimal": "6161616161616161616161",
	} {
		once := bytes.Repeat([]byte(piece), 4000/len(piece))
		ten := bytes.Repeat(once, 10)
		a, b := work(many, once), work(many, ten)
		if b > 11*a+1000 {
			t.Errorf("%s: %d steps for %d bytes, and %d for ten times as many", name, a, len(once), b)
		}
		if most := 45 * 40 * len(ten); b > most {
			t.Errorf("%s: %d steps for %d bytes", name, b, len(ten))
		}
		if name == "prose" && b > 2*work(few, ten) {
			t.Errorf("%s: %d steps for 40 secrets, and %d for one", name, b, work(few, ten))
		}
	}
}

// A text whose escapes are nested deeply has a bounded number of views.
func TestViewsAreBounded(t *testing.T) {
	m := NewSecrets(map[string]string{"K": `top\secret%1`}).matcher()
	text := []byte("%" + strings.Repeat("25", 1000) + "41")
	views, _ := m.views(text)
	if len(views) > maxEscaped {
		t.Errorf("%d views", len(views))
	}
	size := 0
	for _, v := range views {
		size += len(v.text)
	}
	if size > maxEscaped*len(text) {
		t.Errorf("%d bytes of views for %d", size, len(text))
	}
}
