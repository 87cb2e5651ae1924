package openmanus

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/llm"
)

// A Redactor replaces secrets in a text that comes in pieces, also where a
// secret is cut in two. It is for one text and one goroutine at a time.
type Redactor struct {
	secrets *Secrets
	held    []byte // may be the beginning of a secret
}

// Redactor returns one for a text that begins now.
func (s *Secrets) Redactor() *Redactor { return &Redactor{secrets: s} }

// Next returns what can be shown now that piece has come. What may be the
// beginning of a secret is held back until it is known.
func (r *Redactor) Next(piece string) string {
	forms := r.secrets.all()
	if len(forms) == 0 {
		return piece
	}
	text := append(r.held, piece...)
	begin := 0
	if !r.secrets.in(text) { // then all that matters is whether one begins at the end
		begin = max(0, len(text)-len(forms[0].value)+1)
	}
	shown := bytes.Clone(text[:begin])
	for i := begin; i < len(text); i++ {
		found, begins := at(text[i:], forms)
		switch {
		case begins:
			r.held = bytes.Clone(text[i:])
			return string(shown)
		case found != nil:
			shown = append(shown, found.placeholder...)
			i += len(found.value) - 1
		default:
			shown = append(shown, text[i])
		}
	}
	r.held = nil
	return string(shown)
}

// at returns the longest form that text begins with, and whether text may be
// the beginning of a longer one.
func at(text []byte, forms []form) (found *form, begins bool) {
	for i := range forms {
		v := forms[i].value
		switch {
		case v[0] != text[0]:
		case len(v) > len(text) && bytes.HasPrefix(v, text):
			return nil, true
		case bytes.HasPrefix(text, v):
			return &forms[i], false
		}
	}
	return nil, false
}

// Rest returns what was held back, at the end of the text.
func (r *Redactor) Rest() string {
	rest := r.secrets.Replace(string(r.held)) // a shorter secret may be within
	r.held = nil
	return rest
}

// Writer returns a writer that replaces secrets in each piece that is written,
// before it goes on to w. A secret that is cut in two is not found: see
// [Redactor].
func (s *Secrets) Writer(w io.Writer) io.Writer { return cleanWriter{w, s} }

type cleanWriter struct {
	w       io.Writer
	secrets *Secrets
}

func (c cleanWriter) Write(p []byte) (int, error) {
	if !c.secrets.in(p) {
		return c.w.Write(p)
	}
	if _, err := c.w.Write(c.secrets.replace(bytes.Clone(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap returns the writer behind.
func (c cleanWriter) Unwrap() io.Writer { return c.w }

// A typist shows a reply as it is typed, without secrets.
type typist struct {
	w       *Worker
	session string
	turn    int
	parts   []*Redactor // by part
	kinds   []llm.Part  // an empty piece of the same part
}

// delta shows what d adds.
func (t *typist) delta(d llm.Delta) {
	if t.w.Live == nil || d.Piece == nil && !d.Reset {
		return
	}
	show := Typing{Turn: t.turn, Part: d.Part, Reset: d.Reset}
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

// piece returns what can be shown of p, the next piece of the part with the
// index i, and whether there is anything to show.
func (t *typist) piece(i int, p llm.Part) (llm.Part, bool) {
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

// end shows what was held back.
func (t *typist) end() {
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
		t.w.Live(t.session, Typing{Turn: t.turn, Part: i, Parts: llm.Parts{p}})
	}
}

// A liveWriter shows what a call prints, without secrets. It shows no half
// characters.
type liveWriter struct {
	w       *Worker
	session string
	call    string

	mu    sync.Mutex
	clean *Redactor
	half  []byte
}

// Write implements [io.Writer].
func (l *liveWriter) Write(p []byte) (int, error) {
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

// end shows what was held back.
func (l *liveWriter) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.show(append(l.half, l.clean.Rest()...))
	l.half = nil
}

func (l *liveWriter) show(text []byte) {
	if len(text) > 0 {
		l.w.Live(l.session, Output{l.call, string(bytes.ToValidUTF8(text, []byte("\uFFFD")))})
	}
}
