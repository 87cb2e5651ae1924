package tui

import (
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view"
)

const (
	pageEvents = 400 // events that are read at a time
	pagesKept  = 5   // pages that are held
	drawnKept  = 300 // blocks that keep their lines
)

// A window is the part of a conversation that is held: some pages, of which a screen
// shows a part. Its position is that of the last line on the screen.
type window struct {
	pages []*page
	atEnd bool // the last page has the last event of the session

	pinned bool   // the end is shown, whatever comes
	anchor *block // else: the block of the last line on the screen
	hidden int    // and how many lines of it are below the screen

	top     *block // the block at the top of the screen, as it was drawn last
	reading bool   // a page is being read
	drawn   []*block
	stream  stream
}

// reset shows the end of a session of which page is the last one.
func (w *window) reset(p *page) {
	*w = window{pages: []*page{p}, atEnd: true, pinned: true}
}

// first and last return the numbers of the first and the last event that are held.
func (w *window) first() int64 { return w.pages[0].First }
func (w *window) last() int64  { return w.pages[len(w.pages)-1].Last }

// apply adds an event that has just happened, if the window shows the end of the session.
// Otherwise it is read when the person scrolls there.
func (w *window) apply(ev openmanus.Event) {
	if len(w.pages) == 0 {
		return
	}
	if ev.Seq == 0 {
		w.stream.apply(ev.Body)
		return
	}
	w.stream.stored(ev.Body)
	if !w.atEnd || ev.Seq <= w.last() {
		return
	}
	p := w.pages[len(w.pages)-1]
	if p.Last-p.First >= pageEvents {
		next := newPage(ev.Seq)
		next.Model, next.Tools = p.Model, p.Tools
		w.pages, p = append(w.pages, next), next
		w.trim()
	}
	loose := len(p.Loose)
	p.apply(ev)
	if len(p.Loose) > loose {
		for _, earlier := range w.pages[:len(w.pages)-1] {
			earlier.ApplyToCall(ev)
		}
	}
}

// applyBelow adds an event of a child session to the pages in memory. asks is how many
// questions of the child are open.
func (w *window) applyBelow(child string, ev openmanus.Event, asks int) {
	for _, p := range w.pages {
		p.ApplyBelow(child, ev)
		if at := p.Child(child); at != nil && at.Below.Asks != asks {
			at.Below.Asks = asks
			at.Rev++
		}
	}
}

// trim drops pages that are far from the screen, so that a long session takes no more
// memory than a short one. They are read again on demand.
func (w *window) trim() {
	if len(w.pages) <= pagesKept {
		return
	}
	if w.pinned {
		w.pages = w.pages[len(w.pages)-pagesKept:]
		return
	}
	w.pages, w.atEnd = w.pages[:pagesKept:pagesKept], false
}

// before adds an earlier page. Events of later pages about its calls are applied to it.
func (w *window) before(p *page) {
	for _, later := range w.pages {
		for _, ev := range later.Loose {
			p.ApplyToCall(ev)
		}
	}
	w.pages = append([]*page{p}, w.pages...)
	if len(w.pages) > pagesKept && !w.pinned {
		w.pages, w.atEnd = w.pages[:pagesKept:pagesKept], false
	}
}

// after adds a later page. end says that it has the last event. Its events about calls of
// earlier pages are applied to these.
func (w *window) after(p *page, end bool) {
	for _, ev := range p.Loose {
		for _, earlier := range w.pages {
			earlier.ApplyToCall(ev)
		}
	}
	w.pages = append(w.pages, p)
	w.atEnd = end
	if len(w.pages) > pagesKept {
		w.pages = w.pages[len(w.pages)-pagesKept:]
	}
}

// flat returns the blocks of all pages in memory, in order, without those that a rewind
// has taken back.
func (w *window) flat(s *view.Session) (all []*block) {
	for _, p := range w.pages {
		for _, b := range p.blocks {
			if len(s.Backs) == 0 || !s.Backs.Taken(b.Seq) {
				all = append(all, b)
			}
		}
	}
	return all
}

// A scene is what a window is drawn with.
type scene struct {
	how           drawing
	width, height int
	now           time.Time
	session       *view.Session
	chosen        *block // the one that the person has chosen; nil: none
	beside        bool   // there is a panel beside it
}

// entry returns the lines of block i, with an empty one before it unless it belongs
// to the one before.
func (w *window) entry(all []*block, i int, s scene) []string {
	b := all[i]
	tail := ""
	if b.Call != nil {
		tail = w.stream.tails[b.Call.ID]
	}
	lines := linesOf(b, s.how, s.width, tail, s.now)
	w.drawn = append(w.drawn, b)
	if b == s.chosen && len(lines) > 0 {
		lines = append([]string{s.how.theme.ask("›") + lines[0]}, lines[1:]...)
		lines[0] = fitLine(lines[0], s.width)
	}
	if i > 0 && !(b.Kind == view.Called && all[i-1].Kind == view.Called && len(lines) == 1) && len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

// streamRows is how many rows a stream grows by where something stands beside it, which
// has to be written again each time the rows move.
const streamRows = 5

// streaming returns the lines of the reply that streams, with an empty one before them.
// Beside a panel their number grows in steps, so that the lines above move less often.
func (w *window) streaming(s scene) []string {
	lines := w.stream.lines(s.how, s.width)
	if len(lines) == 0 {
		return nil
	}
	for s.beside && len(lines)%streamRows != 0 {
		lines = append(lines, "")
	}
	return append([]string{""}, lines...)
}

// index returns where a block is; -1: it is not there.
func index(all []*block, b *block) int {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] == b {
			return i
		}
	}
	return -1
}

// draw returns the lines on the screen, at most height. It draws from the bottom up, and
// only the blocks that are visible.
func (w *window) draw(s scene) []string {
	all := w.flat(s.session)
	var parts [][]string
	n, from := 0, len(all)-1
	take := func(lines []string) {
		if len(lines) > s.height-n {
			lines = lines[len(lines)-(s.height-n):]
		}
		parts, n = append(parts, lines), n+len(lines)
	}
	if at := index(all, w.anchor); !w.pinned && at >= 0 {
		lines := w.entry(all, at, s)
		w.hidden = min(w.hidden, max(len(lines)-1, 0))
		take(lines[:len(lines)-w.hidden])
		from = at - 1
		w.top = w.anchor
	} else {
		w.pinned = w.atEnd
		if w.atEnd {
			take(w.streaming(s))
		}
		w.top = nil
	}
	for i := from; i >= 0 && n < s.height; i-- {
		take(w.entry(all, i, s))
		w.top = all[i]
	}
	w.forget()
	var lines []string
	for i := len(parts) - 1; i >= 0; i-- {
		lines = append(lines, parts[i]...)
	}
	return lines
}

// forget drops the drawn lines of blocks that were not on the screen for a while.
func (w *window) forget() {
	if len(w.drawn) < 4*drawnKept {
		return
	}
	keep := make(map[*block]bool)
	for _, b := range w.drawn[len(w.drawn)-drawnKept:] {
		keep[b] = true
	}
	for _, b := range w.drawn {
		if !keep[b] {
			b.drawn = cache{}
		}
	}
	w.drawn = w.drawn[len(w.drawn)-drawnKept:]
}

// scroll moves the screen up by n lines, or down if n is negative. At the end of the
// session the screen follows new lines again.
func (w *window) scroll(n int, s scene) {
	all := w.flat(s.session)
	if len(all) == 0 {
		return
	}
	at := index(all, w.anchor)
	if w.pinned || at < 0 {
		if n <= 0 {
			w.pinned = w.atEnd
			return
		}
		if w.atEnd {
			n -= len(w.stream.lines(s.how, s.width))
		}
		at, w.hidden, w.pinned = len(all)-1, 0, false
	}
	pos := w.hidden + n // lines of block at, and of those before, that are below the screen
	for pos < 0 && at < len(all)-1 {
		at++
		pos += len(w.entry(all, at, s))
	}
	for at > 0 {
		lines := len(w.entry(all, at, s))
		if pos < lines {
			break
		}
		pos, at = pos-lines, at-1
	}
	w.anchor, w.hidden = all[at], max(pos, 0)
	if at == len(all)-1 && pos <= 0 && w.atEnd {
		w.pinned = true
	}
	// The first line of the session does not leave the top of the screen.
	if lines := w.draw(s); len(lines) < s.height && n > 0 {
		w.scrollBack(all, s, s.height-len(lines))
	}
}

// scrollBack moves the screen down by n lines, so that no empty lines stay below the last
// block.
func (w *window) scrollBack(all []*block, s scene, n int) {
	at, pos := index(all, w.anchor), w.hidden-n
	if at < 0 {
		return
	}
	for pos < 0 && at < len(all)-1 {
		at++
		pos += len(w.entry(all, at, s))
	}
	w.anchor, w.hidden = all[at], max(pos, 0)
	if at == len(all)-1 && pos <= 0 && w.atEnd {
		w.pinned = true
	}
}

// wants returns which events are to be read because the screen comes near to them: those
// before the first page (-1) or after the last one (1), or none (0).
func (w *window) wants(s *view.Session) int {
	if len(w.pages) == 0 || w.reading {
		return 0
	}
	all := w.flat(s)
	const near = 40 // blocks
	if i := index(all, w.top); w.first() > 1 && i < near {
		return -1
	}
	if i := index(all, w.anchor); !w.atEnd && (w.pinned || i < 0 || i > len(all)-near) {
		return 1
	}
	return 0
}
