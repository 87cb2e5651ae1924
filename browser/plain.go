package browser

import (
	"encoding/json"
	"strings"

	"github.com/chromedp/cdproto/cdp"
)

// The accessibility tree of a page is dear: it takes the browser several times
// as long as everything else that it is asked for. Of most links and buttons it
// says nothing but the one line of text that is in them; these are not asked
// for.

// unknown returns the elements that may be listed, and of which only the
// accessibility tree knows what they are; of the others it notes that. Those in
// frames and shadow roots are among them, since who has the focus there is not
// known otherwise.
func (c *capture) unknown(focus cdp.BackendNodeID) []cdp.BackendNodeID {
	var ask []cdp.BackendNodeID
	for di, d := range c.docs {
		labelled := c.labelled(d)
		apart := make([]bool, len(d.Nodes.NodeType)) // in a shadow root, a label or what may be disabled
		for i, kind := range d.Nodes.NodeType {
			tag := c.tag(d, i)
			if p := d.Nodes.ParentIndex[i]; p >= 0 {
				apart[i] = apart[p]
			}
			apart[i] = apart[i] || kind == 11 || tag == "label" || tag == "fieldset"
			if kind != 1 || !c.candidate(d, i, tag) {
				continue
			}
			node := d.Nodes.BackendNodeID[i]
			name, ok := c.plain(d, i, tag)
			id, _ := c.attr(d, i, "id")
			if !ok || di > 0 || apart[i] || node == focus || id != "" && labelled[id] {
				ask = append(ask, node)
				continue
			}
			c.ax[node] = plainNode(tag, name)
		}
	}
	return ask
}

func plainNode(tag, name string) *axNode {
	role := `"button"`
	if tag == "a" {
		role = `"link"`
	}
	text, err := json.Marshal(name)
	if err != nil {
		panic(err) // a string
	}
	return &axNode{Role: axValue{[]byte(role)}, Name: axValue{text}}
}

// labelled are the ids that labels name.
func (c *capture) labelled(d *document) map[string]bool {
	ids := make(map[string]bool)
	for i := range d.Nodes.NodeType {
		if c.tag(d, i) == "label" {
			if id, ok := c.attr(d, i, "for"); ok {
				ids[id] = true
			}
		}
	}
	return ids
}

// candidate reports whether an element may be listed, or may be by what the
// accessibility tree knows of it.
func (c *capture) candidate(d *document, i int, tag string) bool {
	switch tag {
	case "a", "area", "audio", "button", "canvas", "embed", "input", "object", "select", "summary", "textarea", "video":
		return true
	case "html", "body", "label", "option", "script", "style", "noscript", "template", "head", "meta", "link":
		return false
	}
	if strings.Contains(tag, "-") || d.clicks[int64(i)] || c.style(d, i, styleCursor) == "pointer" {
		return true
	}
	attrs := d.Nodes.Attributes[i]
	for k := 0; k+1 < len(attrs); k += 2 {
		switch at(c.strings, int64(attrs[k])) {
		case "role", "contenteditable", "draggable", "tabindex":
			return true
		}
	}
	return false
}

// plain returns the name of a link or button that is nothing but a line of
// text.
func (c *capture) plain(d *document, i int, tag string) (name string, ok bool) {
	if tag != "button" && tag != "a" || !c.unadorned(d, i) {
		return "", false
	}
	if _, href := c.attr(d, i, "href"); tag == "a" && !href {
		return "", false
	}
	within := map[int64]bool{int64(i): true}
	for n := i + 1; n < len(d.Nodes.NodeType) && within[d.Nodes.ParentIndex[n]]; n++ {
		switch tag := c.tag(d, n); {
		case d.Nodes.NodeType[n] == 3:
			text, ok := c.line(d, n)
			if !ok || text != "" && name != "" {
				return "", false
			}
			name += text
		case !inlines[tag] || !c.unadorned(d, n) || !strings.HasPrefix(c.style(d, n, styleDisplay), "inline"):
			return "", false
		}
		within[int64(n)] = true
	}
	return name, name != ""
}

// line is the text of a node, if that is in one line as it stands.
func (c *capture) line(d *document, n int) (string, bool) {
	l := d.layout[n]
	if l < 0 {
		return "", strings.TrimSpace(at(c.strings, int64(d.Nodes.NodeValue[n]))) == ""
	}
	text := strings.TrimSpace(at(c.strings, int64(d.Layout.Text[l])))
	return text, text == strings.Join(strings.Fields(text), " ") && c.style(d, n, styleVisibility) != "hidden"
}

// inlines are elements that mean nothing to who only hears a page.
var inlines = map[string]bool{"b": true, "i": true, "small": true, "span": true, "u": true}

// unadorned reports whether no attribute of an element changes what it is or
// is called.
func (c *capture) unadorned(d *document, i int) bool {
	attrs := d.Nodes.Attributes[i]
	for k := 0; k+1 < len(attrs); k += 2 {
		switch name := at(c.strings, int64(attrs[k])); name {
		case "class", "download", "draggable", "href", "hreflang", "id", "onclick", "referrerpolicy", "rel", "style", "tabindex", "target", "type", "value":
		default:
			if !strings.HasPrefix(name, "data-") {
				return false
			}
		}
	}
	return true
}
