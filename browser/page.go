package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// A Page is what a tab shows at one moment. Its elements can be acted on as long
// as they are in the document, also after the page has changed.
type Page struct {
	URL, Title   string
	Width        float64 // of the view
	Height       float64
	Above, Below float64 // pixels of the page beyond the view
	Loading      bool
	Dialog       *Dialog // if one is open; the page cannot be read then
	Elements     []*Element

	items  []item
	frames map[cdp.FrameID]string // the addresses of the documents in frames
}

// State looks at the page: at all of it, also beyond the view, with its frames and
// shadow roots. If a dialog is open, the Page has the dialog and nothing else.
// What State finds does not count as seen: call [Tab.Seen] when the page has been
// shown.
func (t *Tab) State(ctx context.Context) (*Page, error) {
	p, err := viewing(ctx, t, t.state)
	if errors.Is(err, errDialog) {
		return &Page{URL: t.URL(), Dialog: t.Dialog()}, nil
	}
	return p, err
}

// state is State within an action. It renumbers the elements: those of an earlier
// Page stay usable, and keep their indexes.
func (t *Tab) state(ctx context.Context) (*Page, error) {
	docs, m, err := t.capture(ctx)
	if err != nil {
		return nil, err
	}
	p := &Page{
		URL:    docs[0].url,
		Title:  docs[0].title,
		Width:  m.View.ClientWidth,
		Height: m.View.ClientHeight,
		Above:  max(0, m.View.PageY),
		Below:  max(0, m.Content.Height-m.View.PageY-m.View.ClientHeight),
	}
	p.frames = make(map[cdp.FrameID]string)
	for _, d := range docs[1:] {
		p.frames[d.frame] = d.url
	}
	t.b.note(func() {
		if t.index.loader != t.loader {
			t.index = newIndex()
			t.index.loader = t.loader
		}
		p.Loading = len(t.loading) > 0
		clear(t.index.at)
		p.items = build(docs[0], m, t.index)
	})
	for _, it := range p.items {
		if it.el != nil {
			p.Elements = append(p.Elements, it.el)
		}
	}
	return p, nil
}

// empty reports whether a tab shows nothing because it has not gone anywhere.
func (p *Page) empty() bool { return len(p.items) == 0 && p.Dialog == nil && p.URL == "about:blank" }

// Seen notes that the last [Tab.State] was shown: elements that come later are
// marked as new.
func (t *Tab) Seen() {
	t.b.note(func() { t.index.shown, t.index.seen = len(t.index.number), true })
}

// Element returns the element with an index, or nil. Indices are those that the page's
// text shows; they need not be consecutive.
func (p *Page) Element(index int) *Element {
	i := slices.IndexFunc(p.Elements, func(e *Element) bool { return e.Index == index })
	if i < 0 {
		return nil
	}
	return p.Elements[i]
}

// Find returns the first element whose line, as [Element.String] returns it,
// contains all of the words; nil if there is none.
func (p *Page) Find(words ...string) *Element {
	for _, e := range p.Elements {
		line := e.String()
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			return e
		}
	}
	return nil
}

// String returns the element as a model reads it, without its index:
//
//	<input email value="a@b.example" required> E-mail
func (e *Element) String() string {
	var b strings.Builder
	b.WriteString("<" + e.Tag)
	if e.Kind != "" {
		b.WriteString(" " + e.Kind)
	}
	if e.Role != "" {
		b.WriteString(" " + e.Role)
	}
	if e.Value != "" && e.Value != e.Name {
		b.WriteString(" value=" + quote(e.Value, 80))
	}
	for _, s := range e.State {
		b.WriteString(" " + s)
	}
	b.WriteString(">")
	if e.Name != "" {
		b.WriteString(" " + cut(clip.OneLine(e.Name), 100))
	}
	return b.String()
}

// Text returns the text of the page: its texts and the names and values of its
// elements, one a line, in the order of the page.
func (p *Page) Text() string {
	var b strings.Builder
	for _, it := range p.items {
		switch {
		case it.el == nil:
			b.WriteString(it.text)
		case it.el.Value != "" && it.el.Value != it.el.Name:
			fmt.Fprintf(&b, "%s: %s", it.el.Name, it.el.Value)
		default:
			b.WriteString(it.el.Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// String returns the page as a model reads it, in about 2,000 tokens.
func (p *Page) String() string { return p.Render(8000) }

// Render returns the page as a model reads it, in about limit bytes. Elements in
// view come first, then text in view, then what is nearest to the view; what does
// not fit is counted.
func (p *Page) Render(limit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "URL: %s\nTitle: %s\n", cut(p.URL, 500), cut(p.Title, 200))
	if p.Dialog != nil {
		fmt.Fprintf(&b, "Dialog (%s): %s\nThe page cannot be seen or used until handle_dialog answers it.\n",
			p.Dialog.Kind, cut(p.Dialog.Message, 2000))
		return b.String()
	}
	fmt.Fprintf(&b, "View: %.0fx%.0f, %.0f pixels above, %.0f pixels below", p.Width, p.Height, p.Above, p.Below)
	if p.Loading {
		b.WriteString(", still loading")
	}
	b.WriteString("\nElements and text (* is new, ^ is above the view, v below it):\n")
	if len(p.items) == 0 {
		b.WriteString("(the page is empty)\n")
	}
	lines := p.lines()
	kept := choose(p.items, lines, limit-b.Len()-200)
	elements, texts := 0, 0
	for i, it := range p.items {
		switch {
		case kept[i]:
			b.WriteString(lines[i])
		case it.el != nil:
			elements++
		default:
			texts++
		}
	}
	if elements+texts > 0 {
		fmt.Fprintf(&b, "(%d more elements and %d more lines of text: scroll, or read the page with get_text"+
			" or extract_content)\n", elements, texts)
	}
	return b.String()
}

// lines returns a line for each item, indented by the frames that it is in. The
// line of an element has its index, and marks that say where it is and whether it
// is new.
func (p *Page) lines() []string {
	lines := make([]string, len(p.items))
	for i, it := range p.items {
		indent := strings.Repeat("  ", min(it.depth, 5))
		if it.el == nil {
			lines[i] = indent + cut(it.text, 300) + "\n"
			continue
		}
		mark := ""
		switch {
		case it.inView || it.box.W == 0:
		case it.box.Y+it.box.H <= 0:
			mark = "^"
		case it.box.Y >= p.Height:
			mark = "v"
		}
		if it.el.New {
			mark += "*"
		}
		lines[i] = indent + mark + "[" + strconv.Itoa(it.el.Index) + "]" + it.el.String() + "\n"
	}
	return lines
}

// choose reports for each item whether its line is shown, so that the lines have
// limit bytes at most. It takes items by rank until one does not fit.
func choose(items []item, lines []string, limit int) []bool {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(items[a].rank(), items[b].rank()) })
	kept := make([]bool, len(items))
	for _, i := range order {
		if limit -= len(lines[i]); limit < 0 {
			break
		}
		kept[i] = true
	}
	return kept
}

// rank orders items by their use: those with a lower rank are shown first.
func (it item) rank() float64 {
	distance := max(-it.box.Y, it.box.Y) + 2
	switch {
	case it.el != nil && it.inView:
		return 0
	case it.inView:
		return 1
	case it.el == nil:
		return 2 * distance
	}
	return distance
}

// cut returns s, or its first n bytes and an ellipsis. It does not cut a
// character apart.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// quote returns s in quotation marks, on one line, cut to n bytes.
func quote(s string, n int) string { return strconv.Quote(cut(clip.OneLine(s), n)) }
