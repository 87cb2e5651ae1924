package tui

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// An output is a terminal to which only what it needs of what the renderer writes gets
// through. The visible result is the same.
type output struct {
	*os.File
	mu  sync.Mutex
	has repaints
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, height, err := term.GetSize(int(o.Fd()))
	if err != nil {
		height = 0
	}
	if _, err := o.File.Write(o.has.frame(data, height)); err != nil {
		o.has.forget()
		return 0, err
	}
	return len(data), nil
}

// A repaints knows what some rows of a screen show, and leaves out what would write them
// again.
//
// The renderer writes a row with wide characters whole in each frame, because terminals
// differ in how many columns these take: it turns wrapping off, erases the row, writes
// it, turns wrapping on again, and goes to a position by its numbers. In a stream that is
// most of what it writes. The known content of a row is the last whole row that was
// written there; it moves with the row, and any other output there invalidates it.
//
// The renderer also scrolls a part of the screen between two settings of the margins, of
// which the second names the height that it knows. If the terminal has become taller
// meanwhile, its lower part would stay outside of the margins, and what is drawn there
// next would scroll. So the second setting becomes the one without numbers, which means
// the whole screen, however tall.
type repaints struct {
	rows        map[int]string // how rows were painted, by number from 1
	row         int            // of the cursor; 0: not known
	pen         string         // the sequences that set the colours since they were reset
	top, bottom int            // the margins; bottom 0: there are none
	height      int            // of the screen; 0: not known
	goTo        []byte         // where the cursor has to go after rows that were left out
}

// forget is for a screen of which nothing is known.
func (r *repaints) forget() { *r = repaints{height: r.height} }

const (
	wrapOff = "\x1b[?7l"
	wrapOn  = "\x1b[?7h"
	eraseTo = "\x1b[K"
)

// frame returns what has to be written of what the renderer writes at a time.
func (r *repaints) frame(data []byte, height int) []byte {
	r.height = height
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		if n := r.repaint(data, &out); n > 0 {
			data = data[n:]
			continue
		}
		n := next(data)
		if seq := csi(data[:n]); seq.final != 'H' { // else: it would go elsewhere at once
			out = append(out, r.goTo...)
		}
		r.goTo = nil
		out = append(out, r.apply(data[:n])...)
		data = data[n:]
	}
	out, r.goTo = append(out, r.goTo...), nil
	return out
}

// repaint handles a row that is painted whole, with which data begins. It returns its
// length; 0: data begins otherwise.
func (r *repaints) repaint(data []byte, out *[]byte) int {
	if !bytes.HasPrefix(data, []byte(wrapOff)) {
		return 0
	}
	end := bytes.Index(data, []byte(wrapOn))
	if end < 0 {
		return 0
	}
	head, content, ok := bytes.Cut(data[len(wrapOff):end], []byte(eraseTo))
	rest := data[end+len(wrapOn):]
	n := next(rest)
	to := csi(rest[:n])
	if !ok || to.final != 'H' {
		return 0
	}
	sets, pen := colourOf(head, r.pen)
	more, after := colourOf(content, pen)
	how, row := pen+"\x00"+string(content), to.number(0)
	length := end + len(wrapOn) + n
	if r.rows[row] != how {
		*out = append(append(*out, r.goTo...), data[:length-len(rest[:n])-len(wrapOn)-len(content)]...)
		*out = append(append(append(*out, leap(content, pen)...), wrapOn...), rest[:n]...)
		r.goTo = nil
		if r.rows == nil {
			r.rows = make(map[int]string)
		}
		r.rows[row] = how
	} else {
		if after != r.pen {
			*out = append(*out, sets+more...)
		}
		r.goTo = rest[:n]
	}
	r.row, r.pen = row, after
	return length
}

// colourOf returns the sequences in data that set colours, and the pen after them.
func colourOf(data []byte, pen string) (sets, after string) {
	for len(data) > 0 {
		n := next(data)
		if seq := csi(data[:n]); seq.final == 'm' {
			sets += string(data[:n])
			pen = seq.pen(pen)
		}
		data = data[n:]
	}
	return sets, pen
}

// leap returns what is written in a row that was erased, with leaps over its spaces.
func leap(content []byte, pen string) (out []byte) {
	for len(content) > 0 {
		n := next(content)
		piece := content[:n]
		if seq := csi(piece); seq.final == 'm' {
			pen = seq.pen(pen)
		}
		if pen == "" && piece[0] >= ' ' {
			piece = spaces.ReplaceAllFunc(piece, func(run []byte) []byte { return fmt.Appendf(nil, "\x1b[%dC", len(run)) })
		}
		out = append(out, piece...)
		content = content[n:]
	}
	return out
}

// spaces are as many that a leap over them is shorter.
var spaces = regexp.MustCompile(" {7,}")

// apply notices what a piece of the renderer's writing does to rows, and returns what is
// to be written in its place.
func (r *repaints) apply(piece []byte) []byte {
	switch c := piece[0]; {
	case c == '\n':
		r.down()
	case c == '\r', c == '\b', c == '\a', c == '\t':
	case c != 0x1b:
		r.changed()
	case bytes.Equal(piece, []byte("\x1bM")):
		r.up()
	case len(piece) > 1 && piece[1] == ']': // a title
	default:
		return r.sequence(piece, csi(piece))
	}
	return piece
}

// sequence is apply for a control sequence.
func (r *repaints) sequence(piece []byte, seq control) []byte {
	n := seq.number(0)
	switch seq.final {
	case 'm':
		r.pen = seq.pen(r.pen)
	case 'H':
		r.row = n
	case 'd':
		r.row = n
	case 'A':
		r.row = max(r.row-n, 0)
	case 'B':
		if r.row > 0 {
			r.row += n
		}
	case 'C', 'D', 'G', '`', 'a', 'I', 'Z', 'q':
	case 'K', 'X', 'P', '@', 'b':
		r.changed()
	case 'S':
		r.shift(max(r.top, 1), r.limit(), n)
	case 'T':
		r.shift(max(r.top, 1), r.limit(), -n)
	case 'M':
		r.shift(r.row, r.limit(), n)
	case 'L':
		r.shift(r.row, r.limit(), -n)
	case 'r':
		if r.bottom == 0 && seq.params != "" {
			r.top, r.bottom, r.row = n, seq.number(1), 1
			break
		}
		r.top, r.bottom, r.row = 0, 0, 1
		return []byte("\x1b[r")
	case 'h', 'l':
		switch seq.params {
		case "?2026", "?25", "?7":
		default:
			r.forget()
		}
	default:
		r.forget()
	}
	return piece
}

// limit returns the last row that scrolls; 0: it is not known.
func (r *repaints) limit() int {
	if r.bottom > 0 {
		return r.bottom
	}
	return r.height
}

// changed notices that something is written in the row of the cursor.
func (r *repaints) changed() {
	if r.row == 0 {
		r.rows = nil
	}
	delete(r.rows, r.row)
}

// down notices a line feed.
func (r *repaints) down() {
	switch limit := r.limit(); {
	case r.row == 0 || limit == 0:
		r.rows, r.row = nil, 0
	case r.row == limit:
		r.shift(max(r.top, 1), limit, 1)
	default:
		r.row++
	}
}

// up notices a line feed in the other direction.
func (r *repaints) up() {
	switch top := max(r.top, 1); {
	case r.row == 0:
		r.rows = nil
	case r.row == top:
		r.shift(top, r.limit(), -1)
	default:
		r.row--
	}
}

// shift notices that the rows from top to bottom move up by n, or down by -n.
func (r *repaints) shift(top, bottom, n int) {
	if top == 0 || bottom == 0 {
		r.rows = nil
		return
	}
	was := r.rows
	r.rows = make(map[int]string, len(was))
	for y, how := range was {
		if y < top || y > bottom {
			r.rows[y] = how
		} else if to := y - n; to >= top && to <= bottom {
			r.rows[to] = how
		}
	}
}

// next returns the length of the first piece of data: a control sequence, a control
// character, or text up to the next of them.
func next(data []byte) int {
	if len(data) < 2 || data[0] != 0x1b {
		n := bytes.IndexFunc(data, func(c rune) bool { return c < ' ' })
		switch {
		case n < 0:
			return len(data)
		case n == 0:
			return 1
		}
		return n
	}
	_, _, n, _ := ansi.DecodeSequence(data, ansi.NormalState, nil)
	return n
}

// A control is a control sequence; final is 0 for what is none.
type control struct {
	params string
	final  byte
}

// csi returns the control sequence that a piece is.
func csi(piece []byte) control {
	if len(piece) < 3 || piece[0] != 0x1b || piece[1] != '[' {
		return control{}
	}
	return control{string(piece[2 : len(piece)-1]), piece[len(piece)-1]}
}

// number returns a parameter, which is 1 if it is left out.
func (c control) number(i int) int {
	if all := strings.Split(c.params, ";"); i < len(all) {
		if n, err := strconv.Atoi(all[i]); err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// pen returns the pen after a sequence that sets colours.
func (c control) pen(before string) string {
	if c.params == "" || c.params == "0" {
		return ""
	}
	return before + c.params + "m"
}
