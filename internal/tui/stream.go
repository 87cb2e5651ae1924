package tui

import (
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/llm"
)

const (
	tailKept  = 4 << 10 // bytes of the output of a running call
	thinkKept = 4 << 10 // bytes of what it thinks
)

// A stream is what provisional events say: the reply on its way, and what running calls
// print. Stored events take its place.
type stream struct {
	turn  int
	think string
	reply typed
	read  int               // per cent of the prompt that the model has read; 0: unknown, or it writes
	tails map[string]string // by call
	ends  map[string]int64  // how many bytes of the output of a call have come
}

// apply adds a provisional event. A reset, or another turn, replaces what has streamed
// before.
func (s *stream) apply(b openmanus.Body) {
	switch b := b.(type) {
	case openmanus.Typing:
		if b.Reset || b.Turn != s.turn {
			s.drop()
			s.turn = b.Turn
		}
		s.read = b.Read
		for _, part := range b.Parts {
			switch p := part.(type) {
			case llm.Text:
				s.reply.text += p.Text
			case llm.Thinking:
				s.think = end(s.think+p.Text, thinkKept)
			}
		}
	case openmanus.Output:
		if s.tails == nil {
			s.tails = make(map[string]string)
		}
		if s.ends == nil {
			s.ends = make(map[string]int64)
		}
		b, s.ends[b.Call] = b.Rest(s.ends[b.Call])
		s.tails[b.Call] = end(s.tails[b.Call]+b.Text, tailKept)
	case openmanus.Reading:
		if s.tails == nil {
			s.tails = make(map[string]string)
		}
		s.tails[b.Call] = linemode.ReadingFolder(b.Files)
	}
}

// stored drops the provisional text that a stored event replaces.
func (s *stream) stored(b openmanus.Body) {
	if _, ends := openmanus.TurnOf(b); ends {
		s.drop()
	}
	switch b := b.(type) {
	case openmanus.Interrupted:
		s.drop()
	case openmanus.CallStarted:
		delete(s.ends, b.Call)
	case openmanus.CallDone:
		delete(s.tails, b.Call)
		delete(s.ends, b.Call)
	}
}

// drop drops the reply.
func (s *stream) drop() { s.think, s.reply, s.read = "", typed{}, 0 }

// end returns the last n bytes of a text, or a few less: it begins at a character.
func end(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// lines returns the lines of the reply that streams, at a width. While there is only
// thinking, it is the end of that, on one line.
func (s *stream) lines(how drawing, width int) []string {
	var lines []string
	if text := strings.TrimSpace(s.think); text != "" && strings.TrimSpace(s.reply.text) == "" {
		text = clip.OneLine(clip.Visible(text))
		text = fitEnd(text, width-2) // its end is what is new
		lines = append(lines, how.theme.dim("✻ "+text))
	}
	return append(lines, s.reply.lines(how, width)...)
}

// fenceLines is after how many lines of a block of code on its way those that are there
// are drawn, never to be drawn again.
const fenceLines = 40

// A typed is a reply on its way. Its beginning, which what follows cannot change, is
// drawn once.
type typed struct {
	text string

	drawn int      // how many bytes of text are in head
	head  []string // their lines
	fence string   // the line that opened the block of code in which head ends
	width int
	how   drawing
}

// lines returns the lines of the reply.
func (t *typed) lines(how drawing, width int) []string {
	if t.width != width || t.how != how {
		t.drawn, t.head, t.fence, t.width, t.how = 0, nil, "", width, how
	}
	for t.commit() {
	}
	return append(t.head[:len(t.head):len(t.head)], t.draw(t.text[t.drawn:])...)
}

// commit draws the next part of the text that cannot change any more. It returns false
// if there is none.
func (t *typed) commit() bool {
	rest := t.text[t.drawn:]
	whole, _ := termtext.Whole(t.fence + rest)
	if n := len(whole) - len(t.fence); n > 0 {
		t.put(rest[:n], "")
		return true
	}
	// An open block of code: its first line, and lines that are complete.
	open := t.fence
	if open == "" {
		line, _, more := strings.Cut(rest, "\n")
		if mark := strings.TrimLeft(line, " "); !more || !strings.HasPrefix(mark, "```") && !strings.HasPrefix(mark, "~~~") {
			return false
		}
		open = line + "\n"
	}
	if strings.Count(rest, "\n") <= fenceLines {
		return false
	}
	n := 0
	for range fenceLines {
		n += strings.IndexByte(rest[n:], '\n') + 1
	}
	t.put(rest[:n], open)
	return true
}

// put adds a part to head. fence is the line that opened the block of code that goes on
// after it, or "".
func (t *typed) put(part, fence string) {
	lines := t.draw(part)
	if len(t.head) > 0 && t.fence == "" && len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	t.head = append(t.head, lines...)
	t.drawn += len(part)
	t.fence = fence
}

// draw returns the lines of a part of the text. If the part lies within a fenced block of
// code, the fence is put before it.
func (t *typed) draw(part string) []string {
	if strings.TrimSpace(part) == "" && t.fence == "" {
		return nil
	}
	if t.fence != "" && part == "" {
		return nil
	}
	lines := t.how.theme.style().Markdown(t.fence+part, min(t.width-2, textColumns))
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return lines
}
