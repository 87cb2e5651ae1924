package chat

import "strings"

// A tags separates thinking from text for servers that leave both in the text, as
// the model writes them: thinking stands between <think> and </think>, first.
type tags struct {
	state int    // 0: it may begin with a tag; 1: within; 2: past it
	held  string // text that may be the beginning of a tag
}

const opening, closing = "<think>", "</think>"

// split returns which part of the next fragment is thinking, and which is text.
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

// rest returns the text that is still held at the end: it was no tag.
func (t *tags) rest() *message {
	held := prose(t.held)
	t.held = ""
	if t.state == 1 {
		return &message{thought: string(held)}
	}
	t.state = 2
	return &message{Content: content{text: held}}
}
