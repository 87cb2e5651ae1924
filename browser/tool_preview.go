package browser

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
)

//go:embed js/act.js
var actJS string

// Preview implements [openmanus.Previewer] for the actions that act on a page. It
// says what is done to which element, by its role and name; on which page, by title
// and address; where a link leads; and where a form goes and what it sends. It is
// the same text as long as these are the same. For other actions it is "".
//
// It fails if there is no page or no such element, and it starts no browser.
func (t *Tool) Preview(ctx context.Context, call openmanus.Call) (string, error) {
	p, err := t.prospect(ctx, call, false)
	if err != nil || p == nil {
		return "", err
	}
	return p.String(), nil
}

// Depict implements [openmanus.Depicter] for the actions that have a preview: it
// shows the elements that the call names, framed, with their surroundings, or the
// view if it names none. It scrolls them into view.
func (t *Tool) Depict(ctx context.Context, call openmanus.Call) ([]byte, error) {
	p, err := t.prospect(ctx, call, true)
	if err != nil || p == nil {
		return nil, err
	}
	return p.picture, nil
}

// Scope implements [openmanus.Scoper]: acts on a page act within its site, such as
// https://shop.example; in a frame of another site, within both. There is no scope
// for uploads, for forms that go to another site, and where no element is named, as
// the user cannot foresee what these do. The scope of a call that opens an address of
// this machine or of a private network is its HOST:PORT.
func (t *Tool) Scope(ctx context.Context, call openmanus.Call) (string, error) {
	p, err := t.prospect(ctx, call, false)
	if err != nil {
		return "", err
	}
	if p == nil {
		return t.local(ctx, call), nil
	}
	return p.scope(), nil
}

// local returns HOST:PORT of the server on this machine or in a private network to which
// a call goes, or "".
func (t *Tool) local(ctx context.Context, call openmanus.Call) string {
	var in params
	if json.Unmarshal([]byte(call.Input), &in) != nil || t.cfg.Local == nil || !slices.Contains(in.uses(), requests) {
		return ""
	}
	l, _ := t.cfg.Local(ctx, in.URL)
	return l.Target
}

// A prospect is what a call would do.
type prospect struct {
	elements   []*Element // that it acts on
	filled     []string   // the names in the form of the fields that are filled in; nil: the call fills in no form
	picture    []byte     // of the elements, if it was asked for
	act        string     // the first line
	title, url string     // of the page
	within     within     // the element's surroundings
	known      bool       // within is known
	sends      bool       // the act submits the form: what it sends matters
	upload     bool
}

// within is what act.js returns.
type within struct {
	Origin string // of the element's document; "null" if it has none
	Name   string // of the element in its form, or ""
	Link   string // where a link around the element leads, or ""
	Form   *struct {
		Action, Method string
		Submits        bool
		Fields         []formField
	}
}

// A formField is what a form sends of one of its fields.
type formField struct{ Name, Value string }

// prospect finds out what a call would do; nil if it does not act on a page. It
// looks at the page anew, and does nothing to it. depict says that the picture is
// wanted.
func (t *Tool) prospect(ctx context.Context, call openmanus.Call, depict bool) (*prospect, error) {
	c := &runner{tool: t}
	if err := json.Unmarshal([]byte(call.Input), &c.in); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	a, ok := actions[c.in.Action]
	if !ok || a.hints != acts || c.in.Action == "download" && c.in.Index == nil {
		return nil, nil
	}
	if err := a.check(c.in); err != nil {
		return nil, err
	}
	s, err := t.enter(ctx, call.Session)
	if err != nil {
		return nil, err
	}
	defer func() { <-s.turn }()
	limited, cancel := context.WithTimeout(ctx, actionTime)
	defer cancel()
	c.b, c.ctx = s.b, ctx
	if c.b == nil || c.b.Active() == nil {
		return nil, errNoPage
	}
	select {
	case <-c.b.Dead():
		return nil, errNoPage
	default:
	}
	c.tab = c.b.Active()
	p, err := c.foresee(limited)
	if err != nil {
		return nil, c.explain(limited, err)
	}
	if depict && c.tab.Dialog() == nil {
		short, cancel := context.WithTimeout(limited, c.b.hang)
		defer cancel()
		p.picture, err = c.tab.surroundings(short, p.elements)
	}
	return p, err
}

var errNoPage = refuse("There is no page to act on: the session's browser is not running. Open the page first")

// foresee describes what the call would do.
func (c *runner) foresee(ctx context.Context) (*prospect, error) {
	p := &prospect{upload: c.in.Action == "upload_file"}
	if c.in.Action == "handle_dialog" {
		d := c.tab.Dialog()
		if d == nil {
			return nil, errNoDialog
		}
		p.url, p.act = c.tab.URL(), c.answering(d)
		if u, err := url.Parse(p.url); err == nil {
			p.within.Origin, p.known = u.Scheme+"://"+u.Host, u.Host != ""
		}
		return p, nil
	}
	return viewing(ctx, c.tab, func(ctx context.Context) (*prospect, error) {
		page, err := c.tab.state(ctx)
		if err != nil {
			return nil, err
		}
		p.url, p.title = page.URL, page.Title
		switch c.in.Action {
		case "fill_form":
			return p, c.foreseeForm(ctx, page, p)
		case "execute_js":
			p.act = "Run this script in the page:\n" + c.in.Script
			return p, nil
		}
		if c.el, err = c.onPage(page, c.in.Index); err != nil {
			return nil, err
		}
		if c.to, err = c.onPage(page, c.in.ToIndex); err != nil {
			return nil, err
		}
		at := c.el
		switch {
		case c.in.Action == "send_keys":
			at = page.focused()
		case at == nil && c.in.point() != nil:
			at = page.under(*c.in.point())
		}
		for _, el := range []*Element{at, c.to} {
			if el != nil {
				p.elements = append(p.elements, el)
			}
		}
		if p.act, err = c.phrase(ctx, at); err != nil || at == nil {
			return p, err
		}
		defer c.tab.release(at.s)
		p.known = true
		if err := c.tab.call(ctx, at.ref, actJS, &p.within); err != nil {
			return nil, err
		}
		if f := p.within.Form; f != nil {
			p.sends = f.Submits && c.in.Action == "click_element" ||
				c.in.Action == "send_keys" && strings.Contains(strings.ToLower(c.in.Keys), "enter")
		}
		return p, nil
	})
}

// onPage returns the element with an index on a page that was just looked at; nil
// without an index.
func (c *runner) onPage(page *Page, index *int) (*Element, error) {
	if index == nil {
		return nil, nil
	}
	if el := page.Element(*index); el != nil {
		return el, nil
	}
	return nil, refuse("Element with index %d not found: it is not on the page now", *index)
}

// focused returns the element that has the focus, or nil.
func (p *Page) focused() *Element {
	i := slices.IndexFunc(p.Elements, func(e *Element) bool { return slices.Contains(e.State, "focused") })
	if i < 0 {
		return nil
	}
	return p.Elements[i]
}

// under returns the smallest element at a place in the view, or nil.
func (p *Page) under(at Point) (el *Element) {
	for _, e := range p.Elements {
		b := e.Box
		if at.X >= b.X && at.X < b.X+b.W && at.Y >= b.Y && at.Y < b.Y+b.H && (el == nil || b.W*b.H < el.Box.W*el.Box.H) {
			el = e
		}
	}
	return el
}

// phrase says what the call does to the element at, which may be nil: the
// imperative form, such as: Click the button "Send".
func (c *runner) phrase(ctx context.Context, at *Element) (string, error) {
	where := ""
	if p := c.in.point(); p != nil {
		where = fmt.Sprintf(" at %g, %g", p.X, p.Y)
	}
	switch c.in.Action {
	case "click_element":
		verb := map[string]string{"right": "Right-click ", "double": "Double-click "}[c.in.Button]
		verb = cmp.Or(verb, "Click ")
		switch {
		case at == nil:
			return strings.TrimSpace(verb) + where + " in the view", nil
		case c.el == nil:
			return verb + at.called() + ", which is" + where + " in the view", nil
		}
		return verb + at.called() + where, nil
	case "download":
		return "Click " + at.called() + " and save what it leads to in the workspace", nil
	case "input_text":
		if at.Kind == "password" {
			return fmt.Sprintf("Type a password of %d characters into %s", len([]rune(*c.in.Text)), at.called()), nil
		}
		return fmt.Sprintf("Type %q into %s", *c.in.Text, at.called()), nil
	case "select_dropdown_option":
		return fmt.Sprintf("Choose %q in %s", *c.in.Text, at.called()), nil
	case "send_keys":
		if at == nil {
			return fmt.Sprintf("Press or type %q on the page", c.in.Keys), nil
		}
		return fmt.Sprintf("Press or type %q in %s", c.in.Keys, at.called()), nil
	case "drag":
		if c.to != nil {
			return "Drag " + at.called() + " onto " + c.to.called(), nil
		}
		return "Drag " + at.called() + " to" + strings.TrimPrefix(where, " at") + " from its upper left corner", nil
	case "upload_file":
		file, err := c.uploaded(ctx)
		if at == nil {
			return "Upload " + file + " where the page asks for a file", err
		}
		return "Upload " + file + " into " + at.called(), err
	}
	return c.in.Action, nil
}

// answering says how the call answers a dialog.
func (c *runner) answering(d *Dialog) string {
	with := "Cancel"
	if *c.in.Accept {
		with = "OK"
		if c.in.Text != nil {
			with = strconv.Quote(*c.in.Text)
		}
	}
	return fmt.Sprintf("Answer the dialog (%s) %q with %s", d.Kind, cut(d.Message, 1000), with)
}

// uploaded names the file of an upload, with its size and a checksum, so that
// another file under the same name is not what the user allowed.
func (c *runner) uploaded(ctx context.Context) (string, error) {
	name, err := c.workspaceName(ctx)
	if err != nil {
		return "", err
	}
	data, err := fs.ReadFile(c.tool.cfg.Files.FS(), name)
	if err != nil {
		return "", fmt.Errorf("%s cannot be uploaded: %w", name, err)
	}
	return fmt.Sprintf("the file %s (%d bytes, SHA-256 %.6x…)", name, len(data), sha256.Sum256(data)), nil
}

// called names an element for people: the button "Send".
func (e *Element) called() string {
	kind := e.Role
	switch {
	case kind != "" && kind != "generic":
	case e.Tag == "a" || e.Tag == "area":
		kind = "link"
	case e.Kind == "submit" || e.Kind == "image" || e.Kind == "reset":
		kind = "button"
	case e.Kind == "checkbox", e.Kind == "button":
		kind = e.Kind
	case e.Kind == "radio":
		kind = "radio button"
	case e.Tag == "input" || e.Tag == "textarea":
		kind = "field"
	case e.Tag == "select":
		kind = "drop-down"
	case e.Tag == "button":
		kind = "button"
	default:
		kind = "element <" + e.Tag + ">"
	}
	if e.Name == "" {
		return "a " + kind + " without a name"
	}
	return "the " + kind + " " + quote(e.Name, 200)
}

// scope returns the site in which the act stays, or "".
func (p *prospect) scope() string {
	origin := func(address string) string {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return ""
		}
		return u.Scheme + "://" + strings.ToLower(u.Host)
	}
	site, inner := origin(p.url), origin(p.within.Origin)
	switch f := p.within.Form; {
	case site == "" || inner == "" || !p.known || p.upload:
		return ""
	case f != nil && origin(f.Action) != inner:
		return ""
	case inner != site:
		return site + ", in a frame of " + inner
	}
	return site
}

// maxFields is how many fields of a form a preview lists.
const maxFields = 20

// String returns the preview.
func (p *prospect) String() string {
	var b strings.Builder
	b.WriteString(p.act + "\n")
	if p.title != "" {
		fmt.Fprintf(&b, "on the page %s at %s\n", quote(p.title, 200), cut(p.url, 500))
	} else {
		fmt.Fprintf(&b, "on the page %s\n", cut(p.url, 500))
	}
	u, err := url.Parse(p.url)
	if o := p.within.Origin; p.known && (err != nil || o != u.Scheme+"://"+u.Host) {
		fmt.Fprintf(&b, "in a frame of %s\n", clip.OneLine(o))
	}
	if p.within.Link != "" {
		fmt.Fprintf(&b, "It is a link to %s\n", cut(clip.OneLine(p.within.Link), 500))
	}
	f := p.within.Form
	switch {
	case f == nil:
		return b.String()
	case !p.sends:
		fmt.Fprintf(&b, "Its form goes to %s (%s)\n", cut(clip.OneLine(f.Action), 500), f.Method)
		return b.String()
	}
	rest := slices.Clone(f.Fields)
	if p.filled != nil {
		rest = slices.DeleteFunc(rest, func(f formField) bool { return slices.Contains(p.filled, f.Name) })
	}
	fmt.Fprintf(&b, "It sends a form to %s (%s)", cut(clip.OneLine(f.Action), 500), f.Method)
	switch {
	case p.filled == nil:
		b.WriteString(":\n")
	case len(rest) == 0:
		b.WriteString("\n")
	default:
		b.WriteString(", which also has:\n")
	}
	for i, field := range rest {
		if i == maxFields {
			// The checksum makes the preview differ if one of these does.
			more := fmt.Sprint(rest[i:])
			fmt.Fprintf(&b, "  and %d more (checksum %.4x)\n", len(rest)-i, sha256.Sum256([]byte(more)))
			break
		}
		value := quote(field.Value, 200)
		if len(field.Value) > 200 {
			value += fmt.Sprintf(" (%d bytes, checksum %.4x)", len(field.Value), sha256.Sum256([]byte(field.Value)))
		}
		fmt.Fprintf(&b, "  %s: %s\n", cut(clip.OneLine(field.Name), 100), value)
	}
	return b.String()
}
