package chat

import (
	"bytes"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// userHead begins an encoded message of the user's.
var userHead = []byte(`,{"role":"user","content":`)

// Join implements [wire.Joiner]. Messages of the user's that follow one another, as after
// an interruption or a summary, become one: templates of many open models refuse two.
func (m *Encoder) Join(_ *llm.Request, b wire.Body) (wire.Segments, error) {
	j := &joiner{out: wire.Segments{b.Head}}
	j.add(b.Fixed, b.Ends)
	j.add(b.Fresh, b.Last)
	j.put(j.last)
	j.flush()
	if bytes.HasSuffix(b.Head, []byte("[")) && len(j.out) > 1 {
		j.out[1] = j.out[1][1:] // the comma
	}
	return append(j.out, b.Tail), nil
}

// A joiner puts messages together. It copies no texts.
type joiner struct {
	out  wire.Segments
	last []byte   // the last message, which may end with one of the user's
	run  [][]byte // the contents of the user's messages since then, if there are several
}

// add adds messages that end at ends in text. A message may be empty, or several of them.
func (j *joiner) add(text []byte, ends []int) {
	begin, from := 0, 0 // from is what is not in j yet
	for _, end := range ends {
		span := text[begin:end:end]
		switch joins := bytes.HasPrefix(span, userHead); {
		case len(span) == 0:
		case joins && len(j.run) > 0:
			j.run = append(j.run, inner(span))
			from = end
		case joins && j.split(text[from:begin:begin]):
			j.run = append(j.run, inner(span))
			from = end
		default:
			if from == begin { // the beginning of what goes in one piece
				j.put(j.last)
				j.flush()
			}
			j.last = span
		}
		begin = end
	}
	if from < begin {
		j.put(text[from : begin-len(j.last) : begin-len(j.last)])
	}
}

// split reports whether the last message is one of the user's. If it is, its content
// begins a run, and what is before it is out; before is what comes before the next message
// and is not out, and ends with the last.
func (j *joiner) split(before []byte) bool {
	at := bytes.LastIndex(j.last, userHead) // strings hold no such quotes
	if at < 0 || bytes.Contains(j.last[at+1:], []byte(`,{"role":"`)) {
		return false
	}
	j.run = append(j.run, inner(j.last[at:]))
	if n := len(before) - len(j.last); n > 0 {
		j.put(before[:n:n])
	}
	j.put(j.last[:at:at])
	j.last = nil
	return true
}

// put adds text that is not empty.
func (j *joiner) put(text []byte) {
	if len(text) > 0 {
		j.out = append(j.out, text)
	}
}

// inner returns the content of a message of the user's: a string or a list.
func inner(span []byte) []byte { return span[len(userHead) : len(span)-1 : len(span)-1] }

// flush ends a run.
func (j *joiner) flush() {
	j.last = nil
	if len(j.run) == 0 {
		return
	}
	some := false // of the contents is a list
	for _, c := range j.run {
		some = some || c[0] == '['
	}
	open, between, end := `"`, `\n\n`, `"}`
	if some {
		open, between, end = `[`, `,`, `]}`
	}
	j.out = append(j.out, userHead, []byte(open))
	for i, c := range j.run {
		if i > 0 {
			j.out = append(j.out, []byte(between))
		}
		text := c[1 : len(c)-1 : len(c)-1]
		if some && c[0] == '"' {
			j.out = append(j.out, []byte(`{"type":"text","text":"`), text, []byte(`"}`))
		} else {
			j.out = append(j.out, text)
		}
	}
	j.out = append(j.out, []byte(end))
	j.run = nil
}
