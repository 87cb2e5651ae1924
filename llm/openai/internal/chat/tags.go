package chat

import "strings"

// tags tells thoughts from the reply where a server leaves them in the text,
// as the model writes them: between <think> and </think>, at its beginning.
type tags struct {
	state int    // 0: it may begin with a tag; 1: within; 2: past it
	held  string // what may be the beginning of a tag
}

const opening, closing = "<think>", "</think>"

// split returns what of the next fragment of the text is thought, and what is
// text.
func (t *tags) split(s string) (thought, text string) {
	if s == "" || t.state == 2 {
		return "", s
	}
	s, t.held = t.held+s, ""
	if t.state == 0 {
		begin := strings.TrimLeft(s, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, opening):
			s, t.state = strings.TrimLeft(begin[len(opening):], "\r\n"), 1
		case strings.HasPrefix(opening, begin):
			t.held = s
			return "", ""
		default:
			t.state = 2
			return "", s
		}
	}
	thought, text, ended := strings.Cut(s, closing)
	if ended {
		t.state = 2
		return thought, strings.TrimLeft(text, "\r\n")
	}
	for n := len(closing) - 1; n > 0; n-- {
		if strings.HasSuffix(s, closing[:n]) {
			t.held = closing[:n]
			return s[:len(s)-n], ""
		}
	}
	return s, ""
}

// rest returns what was held to the end: it was no tag after all.
func (t *tags) rest() *message {
	held := prose(t.held)
	t.held = ""
	if t.state == 1 {
		return &message{Thoughts: held}
	}
	t.state = 2
	return &message{Content: held}
}
