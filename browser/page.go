package browser

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Page is how a page is at a moment.
type Page struct {
	URL, Title   string
	Width        float64 // of the view
	Height       float64
	Above, Below float64 // pixels of the page that are not in view
	Loading      bool
	Dialog       *Dialog // it stands before the page, which cannot be read
	Elements     []*Element

	items []item
}

// State looks at the page. It is not marked as looked at by being looked at:
// see [Tab.Seen].
func (t *Tab) State(ctx context.Context) (*Page, error) {
	if d := t.Dialog(); d != nil {
		return &Page{URL: t.URL(), Dialog: d}, nil
	}
	ctx, done, err := t.view(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	captures, m, err := t.capture(ctx)
	if err != nil {
		if err = cause(ctx, err); err == errDialog {
			return &Page{URL: t.URL(), Dialog: t.Dialog()}, nil
		}
		return nil, err
	}
	c, d := captures[0], captures[0].docs[0]
	p := &Page{URL: at(c.strings, int64(d.DocumentURL)), Title: at(c.strings, int64(d.Title)), Width: m.View.ClientWidth, Height: m.View.ClientHeight,
		Above: max(0, m.View.PageY), Below: max(0, m.Content.Height-m.View.PageY-m.View.ClientHeight)}
	t.b.note(func() {
		if t.index.loader != t.loader {
			t.index = newIndex()
			t.index.loader = t.loader
		}
		p.Loading = len(t.loading) > 0
		clear(t.index.at)
		p.items = build(captures, m, t.index)
	})
	for _, it := range p.items {
		if it.el != nil {
			p.Elements = append(p.Elements, it.el)
		}
	}
	return p, nil
}

// Seen notes that the page was shown as it is now: what comes later is new.
func (t *Tab) Seen() {
	t.b.note(func() { t.index.shown, t.index.again = len(t.index.number), true })
}

// Element returns the element with an index, or nil.
func (p *Page) Element(index int) *Element {
	i := slices.IndexFunc(p.Elements, func(e *Element) bool { return e.Index == index })
	if i < 0 {
		return nil
	}
	return p.Elements[i]
}

// Find returns the first element whose line, without its index, contains all
// of the words; nil if there is none.
func (p *Page) Find(words ...string) *Element {
	for _, e := range p.Elements {
		line := e.String()
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			return e
		}
	}
	return nil
}

// String is the element as the model reads it, without its index.
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
		b.WriteString(" " + cut(strings.Join(strings.Fields(e.Name), " "), 100))
	}
	return b.String()
}

// Text is what can be read on the page: its texts and its elements' names, in
// its order, one a line.
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

// String is the page as the model reads it, in some 2,000 tokens.
func (p *Page) String() string { return p.Render(8000) }

// Render is the page as the model reads it, in no more than so many bytes,
// unless what has to be said takes more: the elements in view first, then the
// text in view, then what is nearest to the view.
func (p *Page) Render(limit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "URL: %s\nTitle: %s\n", cut(p.URL, 500), cut(p.Title, 200))
	if p.Dialog != nil {
		fmt.Fprintf(&b, "Dialog (%s): %s\nThe page cannot be seen or used until handle_dialog answers it.\n", p.Dialog.Kind, cut(p.Dialog.Message, 2000))
		return b.String()
	}
	fmt.Fprintf(&b, "View: %.0fx%.0f, %.0f pixels above, %.0f pixels below", p.Width, p.Height, p.Above, p.Below)
	if p.Loading {
		b.WriteString(", still loading")
	}
	b.WriteString("\nElements and text (* is new, ^ is above the view, v below it):\n")
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
	if len(p.items) == 0 {
		b.WriteString("(the page is empty)\n")
	}
	if elements+texts > 0 {
		fmt.Fprintf(&b, "(%d more elements and %d more lines of text: scroll, or read the page with get_text or extract_content)\n", elements, texts)
	}
	return b.String()
}

// lines are the items as lines.
func (p *Page) lines() []string {
	lines := make([]string, len(p.items))
	for i, it := range p.items {
		indent := strings.Repeat("  ", min(it.inner, 5))
		if it.el == nil {
			lines[i] = indent + cut(it.text, 300) + "\n"
			continue
		}
		mark := ""
		switch {
		case it.see || it.box.W == 0:
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

// choose says which lines are shown.
func choose(items []item, lines []string, limit int) []bool {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	rank := func(it item) float64 { // less is more useful
		switch {
		case it.el != nil && it.see:
			return 0
		case it.see:
			return 1
		}
		far := max(-it.box.Y, it.box.Y) + 2
		if it.el == nil {
			far *= 2
		}
		return far
	}
	slices.SortStableFunc(order, func(a, b int) int {
		ra, rb := rank(items[a]), rank(items[b])
		switch {
		case ra < rb:
			return -1
		case ra > rb:
			return 1
		}
		return 0
	})
	kept := make([]bool, len(items))
	for _, i := range order {
		if limit -= len(lines[i]); limit < 0 {
			break
		}
		kept[i] = true
	}
	return kept
}

// cut is at most n bytes of s, and a mark if that is not all.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func quote(s string, n int) string {
	return strconv.Quote(cut(strings.Join(strings.Fields(s), " "), n))
}
