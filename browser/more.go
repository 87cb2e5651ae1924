package browser

import (
	"context"
	"encoding/base64"
	"errors"
	"html"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
)

// Drag drags an element to another, or to a place: at is within the other, or
// from the element's own place if to is nil.
func (t *Tab) Drag(ctx context.Context, el, to *Element, at *Point) (Outcome, error) {
	return t.do(ctx, el, func(ctx context.Context) error {
		from, err := t.point(ctx, el, nil)
		if err != nil {
			return err
		}
		end := from
		if to != nil {
			if end, err = t.point(ctx, to, at); err != nil {
				return err
			}
			// Getting there may have scrolled.
			if from, err = t.point(ctx, el, nil); err != nil {
				return err
			}
		} else if at != nil {
			end = Point{from.X + at.X, from.Y + at.Y}
		}
		return t.dragged(ctx, from, end)
	})
}

// dragged drags with the mouse. A drag of HTML's own kind would wait for the
// system's drag and drop: it is taken over and carried out.
func (t *Tab) dragged(ctx context.Context, from, to Point) error {
	if err := t.s.Call(ctx, "Input.setInterceptDrags", map[string]bool{"enabled": true}, nil); err != nil {
		return err
	}
	defer t.s.send("Input.setInterceptDrags", map[string]bool{"enabled": false})
	t.b.note(func() { t.drag = nil })
	down := mouse(input.DispatchMouseEventTypeMousePressed, from)
	down.Button, down.Buttons, down.ClickCount = input.MouseButtonLeft, 1, 1
	if err := t.mouse(ctx, mouse(input.DispatchMouseEventTypeMouseMoved, from), down); err != nil {
		return err
	}
	var drag *input.DragData
	for i := 1; i <= 6; i++ {
		f := float64(i) / 6
		p := Point{from.X + (to.X-from.X)*f, from.Y + (to.Y-from.Y)*f}
		if drag == nil {
			move := mouse(input.DispatchMouseEventTypeMouseMoved, p)
			move.Button, move.Buttons = input.MouseButtonLeft, 1
			if err := t.mouse(ctx, move); err != nil {
				return err
			}
			t.b.note(func() { drag = t.drag })
			if drag == nil || t.dropEvent(ctx, "dragEnter", p, drag) == nil {
				continue
			}
		}
		if err := t.dropEvent(ctx, "dragOver", p, drag); err != nil {
			return err
		}
	}
	if err := t.dropped(ctx, to, drag); err != nil {
		return err
	}
	up := mouse(input.DispatchMouseEventTypeMouseReleased, to)
	up.Button, up.ClickCount = input.MouseButtonLeft, 1
	return t.mouse(ctx, up)
}

// dropped drops what is dragged. That it is dragged, the browser may say only
// now.
func (t *Tab) dropped(ctx context.Context, to Point, drag *input.DragData) error {
	kinds := []string{"drop"}
	if drag == nil {
		kinds = []string{"dragEnter", "dragOver", "drop"}
		if err := t.drawn(ctx); err != nil {
			return err
		}
		if t.b.note(func() { drag = t.drag }); drag == nil {
			return nil
		}
	}
	for _, kind := range kinds {
		if err := t.dropEvent(ctx, kind, to, drag); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tab) dropEvent(ctx context.Context, kind string, p Point, d *input.DragData) error {
	return t.s.Call(ctx, "Input.dispatchDragEvent", map[string]any{"type": kind, "x": p.X, "y": p.Y, "data": d}, nil)
}

// Upload gives files to a field, or, if el is nil, to the chooser that the
// page opened.
func (t *Tab) Upload(ctx context.Context, el *Element, files ...string) (Outcome, error) {
	t.b.mu.Lock()
	open := t.chooser
	t.b.mu.Unlock()
	return t.do(ctx, el, func(ctx context.Context) error {
		s, node := t.s, cdp.BackendNodeID(0)
		switch {
		case el != nil && el.Kind != "file":
			// A button that opens a chooser: that has the field.
			p, err := t.point(ctx, el, nil)
			if err != nil {
				return err
			}
			if err := t.press(ctx, p, Button{}); err != nil {
				return err
			}
			short, cancel := context.WithTimeout(ctx, frameTime)
			defer cancel()
			if t.b.wait(short, func() bool { return t.chooser != nil }) != nil {
				return errors.New("it is no field for files, and opened no file chooser: click what does, or name the <input file>")
			}
			t.b.note(func() { s, node = t.chooser.s, t.chooser.node })
		case el != nil:
			s, node = el.s, el.node
		case open != nil:
			s, node = open.s, open.node
		default:
			return errors.New("the page has not asked for a file: give the index of the <input file>")
		}
		_, err := cdp.Call(ctx, s, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: files, BackendNodeID: node})
		return staleOr(err)
	})
}

// Screenshot returns a picture of the view, as PNG or JPEG.
func (t *Tab) Screenshot(ctx context.Context, png bool) ([]byte, error) {
	ctx, done, err := t.view(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	p := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatJpeg, Quality: ptr(int64(70))}
	if png {
		p = page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
	}
	res, err := cdp.Call(ctx, t.s, page.CaptureScreenshot, p)
	return res.Data, cause(ctx, err)
}

// PDF returns the page as it would be printed.
func (t *Tab) PDF(ctx context.Context) ([]byte, error) {
	ctx, done, err := t.view(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var res struct {
		Data string `json:"data"`
	}
	if err := t.s.Call(ctx, "Page.printToPDF", map[string]any{"printBackground": true, "preferCSSPageSize": true}, &res); err != nil {
		return nil, cause(ctx, err)
	}
	return base64.StdEncoding.DecodeString(res.Data)
}

// HTML is the page as it is now, with what is in its frames and shadow roots
// in place, and without scripts, styles and what is hidden.
func (t *Tab) HTML(ctx context.Context) (string, error) {
	ctx, done, err := t.view(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	captures, _, err := t.capture(ctx)
	if err != nil {
		return "", cause(ctx, err)
	}
	b := &builder{captures: captures}
	var out strings.Builder
	b.html(0, 0, &out, 0)
	return out.String(), nil
}

// html writes a document.
func (b *builder) html(ci, di int, out *strings.Builder, depth int) {
	c := b.captures[ci]
	d := c.docs[di]
	children := make([][]int, len(d.Nodes.NodeType))
	for i, p := range d.Nodes.ParentIndex {
		if p >= 0 {
			children[p] = append(children[p], i)
		}
	}
	var write func(i, level int)
	write = func(i, level int) {
		if level > 400 {
			return
		}
		tag := c.tag(d, i)
		inner := func() {
			for _, k := range children[i] {
				write(k, level+1)
			}
		}
		switch {
		case d.Nodes.NodeType[i] == 3:
			out.WriteString(html.EscapeString(at(c.strings, int64(d.Nodes.NodeValue[i]))))
		case tag == "":
			if d.Nodes.NodeType[i] != 8 && d.Nodes.NodeType[i] != 10 {
				inner()
			}
		case tag == "script", tag == "style", tag == "noscript", tag == "template", tag == "svg":
		case d.layout[i] < 0 && tag != "html" && tag != "head" && tag != "title" && tag != "meta" && tag != "base" && c.style(d, i, styleDisplay) != "contents" && !b.boxless(tag):
		case tag == "iframe" || tag == "frame":
			to, doc := ci, -1
			if n, ok := d.contents[int64(i)]; ok {
				doc = int(n)
			} else if to = b.frameOf(c, d.Nodes.BackendNodeID[i]); to >= 0 {
				doc = 0
			}
			if doc >= 0 && depth < 8 {
				out.WriteString("<div>")
				b.html(to, doc, out, depth+1)
				out.WriteString("</div>")
			}
		case depth > 0 && (tag == "html" || tag == "body"):
			inner()
		case depth > 0 && tag == "head":
		default:
			out.WriteString("<" + tag)
			for k, attrs := 0, d.Nodes.Attributes[i]; k+1 < len(attrs); k += 2 {
				switch name := at(c.strings, int64(attrs[k])); name {
				case "href", "src", "alt", "title", "colspan", "rowspan", "lang", "datetime", "name", "content", "property", "start", "id", "class", "role":
					out.WriteString(" " + name + `="` + html.EscapeString(at(c.strings, int64(attrs[k+1]))) + `"`)
				}
			}
			out.WriteString(">")
			inner()
			out.WriteString("</" + tag + ">")
		}
	}
	write(0, 0)
}

// boxless reports whether elements of a tag are shown without a box of their
// own.
func (b *builder) boxless(tag string) bool {
	return tag == "br" || tag == "wbr" || tag == "col" || tag == "colgroup" || tag == "slot" || tag == "area" || tag == "map" || tag == "source"
}
