package run

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// A replyStream publishes a reply while it streams, with secrets redacted.
type replyStream struct {
	w       *Worker
	session string
	turn    int
	parts   []*journal.Redactor // by the index of the part
	kinds   []llm.Part          // an empty piece of each part
}

// delta publishes a delta.
func (t *replyStream) delta(d llm.Delta) {
	if t.w.Live == nil || d.Piece == nil && !d.Reset && d.Read == 0 {
		return
	}
	show := openmanus.Typing{Turn: t.turn, Part: d.Part, Reset: d.Reset, Read: d.Read}
	if d.Reset {
		t.parts, t.kinds = nil, nil
	}
	if d.Piece != nil {
		piece, more := t.piece(d.Part, d.Piece)
		if !more && !d.Reset {
			return
		}
		show.Parts = llm.Parts{piece}
	}
	t.w.Live(t.session, show)
}

// piece returns what can be published of p, the next piece of the part at the
// index i, and whether there is anything to publish. The beginning of what may be
// a secret is held back.
func (t *replyStream) piece(i int, p llm.Part) (llm.Part, bool) {
	begins := i >= len(t.parts)
	for i >= len(t.parts) {
		t.parts, t.kinds = append(t.parts, t.w.Secrets.Redactor()), append(t.kinds, nil)
	}
	switch p := p.(type) {
	case llm.Text:
		t.kinds[i] = llm.Text{}
		p.Text, p.Opaque = t.parts[i].Next(p.Text), nil
		return p, begins || p.Text != ""
	case llm.Thinking:
		t.kinds[i] = llm.Thinking{}
		p.Text, p.Opaque = t.parts[i].Next(p.Text), nil
		return p, begins || p.Text != ""
	case llm.Call:
		t.kinds[i] = llm.Call{}
		p.Input, p.Opaque = t.parts[i].Next(p.Input), nil
		return p, begins || p.Input != "" || p.ID != "" || p.Name != ""
	}
	return p, true
}

// end publishes what was held back.
func (t *replyStream) end() {
	for i, r := range t.parts {
		rest := r.Rest()
		if rest == "" {
			continue
		}
		p := t.kinds[i]
		switch k := p.(type) {
		case llm.Text:
			k.Text = rest
			p = k
		case llm.Thinking:
			k.Text = rest
			p = k
		case llm.Call:
			k.Input = rest
			p = k
		}
		t.w.Live(t.session, openmanus.Typing{Turn: t.turn, Part: i, Parts: llm.Parts{p}})
	}
}

// An outputStream publishes what a call prints, with secrets redacted and in whole
// characters. It is safe for concurrent use.
type outputStream struct {
	w       *Worker
	session string
	call    string

	mu    sync.Mutex
	clean *journal.Redactor
	half  []byte
	spool io.WriteCloser // nil: none
	kept  []byte         // the end of what was shown
	at    int64          // how many bytes were shown
}

// maxKept is how much of the output of a call is kept: in case it is interrupted, and
// for those who begin to watch while it runs.
const maxKept = 64 << 10

// printed returns the end of what the call has printed.
func (l *outputStream) printed() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ending(string(l.kept), maxKept)
}

// Write implements [io.Writer]. Secrets are replaced, also if they are split over several
// writes, and a character that is split over two writes is shown with the second. It never
// fails.
func (l *outputStream) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := append(l.half, l.clean.Next(string(p))...)
	cut := len(text)
	for i := max(0, cut-utf8.UTFMax+1); i < cut; i++ {
		if !utf8.FullRune(text[i:]) {
			cut = i
			break
		}
	}
	l.half = bytes.Clone(text[cut:])
	l.show(text[:cut])
	return len(p), nil
}

// end publishes what was held back.
func (l *outputStream) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.show(append(l.half, l.clean.Rest()...))
	l.half = nil
	if l.spool != nil {
		l.spool.Close()
		l.spool = nil
	}
}

// show publishes text. The caller holds l.mu.
func (l *outputStream) show(text []byte) {
	if len(text) == 0 {
		return
	}
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	if l.kept = append(l.kept, text...); len(l.kept) > 2*maxKept {
		l.kept = append(l.kept[:0], l.kept[len(l.kept)-maxKept:]...)
	}
	if l.spool != nil {
		l.spool.Write(text)
	}
	if l.w.Live != nil {
		l.w.Live(l.session, openmanus.Output{Call: l.call, At: l.at, Text: string(text)})
	}
	l.at += int64(len(text))
}
