package browser

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/net/html"
)

var update = flag.Bool("update", false, "write what comes out as what is wanted")

// A layouter makes a document of HTML as a capture would, without a browser: it
// lays the elements out below each other, 20 pixels apart. Attributes say what a
// browser would know:
//
//	test-box="X Y W H"   where it is
//	test-none            it has no place in the layout
//	test-visibility=, test-display=, test-cursor=   its computed style
//	test-listens         it listens for clicks
//	test-field=          what is typed into it; test-checked
//	test-ax="ROLE NAME"  what the accessibility tree says; test-ax-value=,
//	test-ax-state="NAME=VALUE …"
//	test-shadow          what is in it is its shadow root
//
// srcdoc is the document of a frame.
type layouter struct {
	ids cdp.BackendNodeID
	y   float64
}

func newTestDocument(t *testing.T, l *layouter, source string) *document {
	t.Helper()
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{s: &session{id: "S"}, frame: "F", url: "https://example.org/"}
	l.node(t, d, nil, root, false)
	return d
}

func (l *layouter) node(t *testing.T, d *document, parent *node, from *html.Node, none bool) {
	l.ids++
	n := &node{doc: d, id: l.ids, parent: parent, laid: !none}
	d.nodes = append(d.nodes, n)
	if parent != nil {
		parent.children = append(parent.children, n)
	}
	shadow := false
	switch from.Type {
	case html.DocumentNode:
		n.kind = 9
	case html.TextNode:
		n.kind, n.source, n.shown = textNode, from.Data, from.Data
		n.visibility = cmp.Or(parent.visibility, "visible")
		n.box = Rect{parent.box.X, parent.box.Y, 8 * float64(len(from.Data)), 18}
	case html.ElementNode:
		n.kind, n.tag = elementNode, from.Data
		n.display = testDisplay(n.tag)
		n.box = Rect{0, l.y, 100, 18}
		l.y += 20
		for _, a := range from.Attr {
			if name, ok := strings.CutPrefix(a.Key, "test-"); ok {
				l.attribute(t, n, name, a.Val)
				shadow = shadow || name == "shadow"
			} else if a.Key == "srcdoc" {
				n.inner = newTestDocument(t, &layouter{ids: 1000}, a.Val)
			} else {
				n.attrs = append(n.attrs, attr{a.Key, a.Val})
			}
		}
	}
	if shadow {
		l.ids++
		root := &node{doc: d, id: l.ids, parent: n, kind: fragmentNode}
		n.children = append(n.children, root)
		d.nodes = append(d.nodes, root)
		n = root
	}
	for k := from.FirstChild; k != nil; k = k.NextSibling {
		l.node(t, d, n, k, none || !n.laid && n.kind == elementNode)
	}
}

func (l *layouter) attribute(t *testing.T, n *node, name, value string) {
	if n.ax == nil && strings.HasPrefix(name, "ax") {
		n.ax = new(axNode)
	}
	switch name {
	case "box":
		if _, err := fmt.Sscan(value, &n.box.X, &n.box.Y, &n.box.W, &n.box.H); err != nil {
			t.Fatalf("test-box=%q: %v", value, err)
		}
	case "none":
		n.laid = false
	case "visibility":
		n.visibility = value
	case "display":
		n.display = value
	case "cursor":
		n.cursor = value
	case "listens":
		n.listens = true
	case "field":
		n.field = &value
	case "checked":
		n.checked = true
	case "ax":
		role, name, _ := strings.Cut(value, " ")
		n.ax.Role, n.ax.Name = axValue(role), axValue(name)
	case "ax-value":
		n.ax.Value = axValue(value)
	case "ax-state":
		for _, p := range strings.Fields(value) {
			k, v, _ := strings.Cut(p, "=")
			n.ax.Properties = append(n.ax.Properties, axProp{Name: k, Value: axValue(v)})
		}
	case "shadow":
	default:
		t.Fatalf("what is test-%s?", name)
	}
}

func testDisplay(tag string) string {
	switch tag {
	case "a", "b", "i", "small", "span", "u", "button", "input", "select", "label", "img":
		return "inline"
	case "tr":
		return "table-row"
	case "td", "th":
		return "table-cell"
	}
	return "block"
}

// testPage is a page of a view of 1280 by 900 pixels.
func testPage(t *testing.T, source string, idx *index) *Page {
	t.Helper()
	m := new(metrics)
	m.View.ClientWidth, m.View.ClientHeight = 1280, 900
	m.Device.ClientWidth = 1280
	p := &Page{URL: "https://example.org/", Title: "T", Width: 1280, Height: 900}
	p.items = build(newTestDocument(t, new(layouter), source), m, idx)
	for _, it := range p.items {
		if it.el != nil {
			p.Elements = append(p.Elements, it.el)
		}
	}
	return p
}

// TestTrees reads testdata/trees.txtar: each page, NAME.html, as the model reads
// it, NAME.page, and as the HTML that extract_content converts, NAME.out.
func TestTrees(t *testing.T) {
	a, err := txtar.ParseFile("testdata/trees.txtar")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, f := range a.Files {
		if name, ok := strings.CutSuffix(f.Name, ".html"); ok {
			got[name+".page"] = strings.Join(testPage(t, string(f.Data), newIndex()).lines(), "")
			var w htmlWriter
			w.document(newTestDocument(t, new(layouter), string(f.Data)))
			got[name+".out"] = strings.TrimSpace(w.out.String()) + "\n"
		}
	}
	for i, f := range a.Files {
		if want, ok := got[f.Name]; ok && want != string(f.Data) {
			if a.Files[i].Data = []byte(want); !*update {
				t.Errorf("%s: got\n%s\nwant\n%s", f.Name, want, f.Data)
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/trees.txtar", txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// An element keeps its index while it is in the document, and no other element
// gets it; those that were not there when the page was seen are new.
func TestIndexes(t *testing.T) {
	idx := newIndex()
	m := new(metrics)
	m.View.ClientWidth, m.View.ClientHeight = 1280, 900
	d := newTestDocument(t, new(layouter), "<button>A</button><button>B</button>")
	look := func() string {
		var all []string
		clear(idx.at)
		for _, it := range build(d, m, idx) {
			if it.el != nil {
				all = append(all, fmt.Sprintf("%s=%d new=%v", it.el.Name, it.el.Index, it.el.New))
			}
		}
		return strings.Join(all, ", ")
	}
	if got := look(); got != "A=0 new=false, B=1 new=false" {
		t.Errorf("at first: %s", got)
	}
	idx.shown, idx.seen = len(idx.number), true
	body := d.nodes[slices.IndexFunc(d.nodes, func(n *node) bool { return n.tag == "body" })]
	extra := newTestDocument(t, &layouter{ids: 100}, "<button>C</button>")
	c := extra.nodes[slices.IndexFunc(extra.nodes, func(n *node) bool { return n.tag == "button" })]
	c.doc.s, c.doc.frame = d.s, d.frame
	body.children = []*node{c, body.children[1]} // A is gone, C is there
	if got := look(); got != "C=2 new=true, B=1 new=false" {
		t.Errorf("after a change: %s", got)
	}
	if idx.at[0] != nil || idx.at[2] == nil {
		t.Error("the index has elements that are not there, or lacks one that is")
	}
}

// The accessibility tree is asked about everything but links and buttons that are
// one line of text.
func TestUnknown(t *testing.T) {
	for source, want := range map[string]string{
		"<button>OK</button>":                            "",
		"<a href=/>link</a>":                             "",
		"<a href=/ data-x=1 class=c>link</a>":            "",
		"<a href=/><span>one</span></a>":                 "",
		"<a href=/ aria-label=L>link</a>":                "a",
		"<a>no address</a>":                              "a",
		"<button title=T>OK</button>":                    "button",
		"<button>one <b>two</b></button>":                "button",
		"<button>two\nlines</button>":                    "button",
		"<button><div>block</div></button>":              "button",
		"<button><img src=x></button>":                   "button",
		"<button></button>":                              "button",
		"<label>Name <input><button>OK</button></label>": "input button",
		"<fieldset><button>OK</button></fieldset>":       "button",
		"<label for=b>L</label><button id=b>OK</button>": "button",
		"<div test-shadow><button>OK</button></div>":     "button",
		"<p>text</p>":                                    "",
		"<div test-listens>clickable</div>":              "div",
		"<span test-cursor=pointer>clickable</span>":     "span",
		"<div tabindex=0>focusable</div>":                "div",
		"<x-button>custom</x-button>":                    "x-button",
	} {
		var tags []string
		for _, n := range unknown([]*document{newTestDocument(t, new(layouter), source)}, 0) {
			tags = append(tags, n.tag)
		}
		if got := strings.Join(tags, " "); got != want {
			t.Errorf("%s: asks about %q, want %q", source, got, want)
		}
	}
	d := newTestDocument(t, new(layouter), "<button>OK</button>")
	button := d.nodes[len(d.nodes)-2]
	if ask := unknown([]*document{d}, 0); len(ask) != 0 || button.ax.Role != "button" || button.ax.Name != "OK" {
		t.Errorf("asks about %d elements, and notes %+v", len(ask), button.ax)
	}
	if ask := unknown([]*document{d}, button.id); len(ask) != 1 {
		t.Error("it does not ask about the element that has the focus")
	}
	if ask := unknown([]*document{newTestDocument(t, new(layouter), ""), d}, 0); len(ask) != 1 {
		t.Error("it does not ask about an element in a frame, which may have the focus")
	}
}

func TestFindText(t *testing.T) {
	d := newTestDocument(t, new(layouter), `<h1>The Title</h1><p>one <b>two</b> three</p>
		<p test-none>secret</p><div><p>Zwei   Wörter</p></div>`)
	for text, want := range map[string]string{
		"the title":       "text in h1",
		"zwei wörter":     "text in p",
		"two":             "text in b",
		"One two  THREE":  "p",
		"secret":          "",
		"no such words":   "",
		"title one":       "body", // what lies next to each other in two blocks
		"three zwei wört": "body",
	} {
		got := ""
		if n := findText([]*document{d}, text); n != nil {
			if got = n.tag; n.kind == textNode {
				got = "text in " + n.parent.tag
			}
		}
		if got != want {
			t.Errorf("%q is in %q, want %q", text, got, want)
		}
	}
}

// Elements that do not fit are left out, the most useful ones last, and
// counted.
func TestRender(t *testing.T) {
	var b bytes.Buffer
	for i := range 100 { // the view ends after 45 of them
		fmt.Fprintf(&b, "<p>text %d</p><button>button %d</button>", i, i)
	}
	p := testPage(t, b.String(), newIndex())
	full := p.Render(1 << 20)
	for _, want := range []string{
		"URL: https://example.org/\nTitle: T\nView: 1280x900", "[0]<button> button 0\n",
		"text 99\n", "v[99]<button> button 99\n",
	} {
		if !strings.Contains(full, want) {
			t.Errorf("there is no %q in:\n%s", want, full)
		}
	}
	if strings.Contains(full, "more elements") {
		t.Error("something was left out")
	}
	small := p.Render(1500)
	if len(small) > 1500 {
		t.Errorf("it has %d bytes", len(small))
	}
	if !strings.Contains(small, "[0]<button> button 0\n") ||
		strings.Contains(small, "[99]") || strings.Contains(small, "text 99") {
		t.Errorf("the wrong lines are left out:\n%s", small)
	}
	kept := strings.Count(small, "]<button>")
	if !strings.Contains(small, fmt.Sprintf("(%d more elements and ", 100-kept)) {
		t.Errorf("%d elements are there, and it does not count the others:\n%s", kept, small)
	}
	p = &Page{URL: "u", Dialog: &Dialog{Kind: "confirm", Message: "Sure?"}}
	if s := p.String(); !strings.Contains(s, "Dialog (confirm): Sure?") || strings.Contains(s, "Elements") {
		t.Errorf("a dialog:\n%s", s)
	}
	s := (&Page{Loading: true}).String()
	if !strings.Contains(s, "still loading") || !strings.Contains(s, "(the page is empty)") {
		t.Errorf("an empty page:\n%s", s)
	}
}

func TestElementString(t *testing.T) {
	for want, e := range map[string]Element{
		"<button>":               {Tag: "button"},
		"<button> OK":            {Tag: "button", Name: "OK"},
		"<div checkbox checked>": {Tag: "div", Role: "checkbox", State: []string{"checked"}},
		`<input email value="a@b.example" required> E-mail`: {
			Tag: "input", Kind: "email", Name: "E-mail", Value: "a@b.example", State: []string{"required"}},
		"<a> several words": {Tag: "a", Name: " several\n words "},
		"<option> same":     {Tag: "option", Name: "same", Value: "same"},
	} {
		if got := e.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	long := Element{Tag: "a", Name: strings.Repeat("é", 200)}
	if s := long.String(); !strings.HasSuffix(s, "é…") || len(s) > 110 {
		t.Errorf("a long name: %s", s)
	}
}

// The accessibility tree has values of several types.
func TestAXNode(t *testing.T) {
	var n axNode
	err := decode([]byte(`{"role": {"type": "role", "value": "button"}, "name": {"value": "a \"b\""},
		"value": {"value": 3.5}, "properties": [{"name": "disabled", "value": {"value": true}}, {"name": "unheard-of", "value": {}}]}`), &n)
	if err != nil || n.Role != "button" || n.Name != `a "b"` || n.Value != "3.5" ||
		n.Properties[0].Value != "true" || n.Properties[1].Value != "" {
		t.Errorf("%+v, %v", n, err)
	}
}
