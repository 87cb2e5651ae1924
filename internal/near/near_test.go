package near

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"sessions", "sandbox", "serve", "Max-Steps"}
	for word, want := range map[string]string{
		"sesions":   "sessions",
		"sessinos":  "sessions", // two letters swapped are one mistake
		"srve":      "serve",
		"max-stepz": "Max-Steps",
		"":          "",
		"nothing":   "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := Nearest("x", nil); got != "" {
		t.Error(got)
	}
}
