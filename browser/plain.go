package browser

import (
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// The accessibility tree of a page is expensive: it takes the browser several
// times as long as the snapshot. About most links and buttons it says nothing but
// the line of text that is in them. This file finds those, so that the tree is
// asked only about the others.

// unknown returns the elements of a process that may be listed and about which only the
// accessibility tree knows enough. To the other candidates it gives the axNode
// that the tree would have. Elements in frames and shadow roots are always
// unknown, since focus covers only the first document.
func unknown(docs []*document, focus cdp.BackendNodeID) []*node {
	var ask []*node
	for i, d := range docs {
		labelled := make(map[string]bool) // the ids that a <label> names
		for _, n := range d.nodes {
			if n.tag == "label" && n.has("for") {
				labelled[n.value("for")] = true
			}
		}
		for _, n := range d.nodes {
			if n.kind != elementNode || !n.candidate() {
				continue
			}
			name, plain := n.plainName()
			if plain && i == 0 && n.id != focus && !labelled[n.value("id")] && !n.inside(affectsContent) {
				n.ax = plainAX(n.tag, name)
			} else {
				ask = append(ask, n)
			}
		}
	}
	return ask
}

// affectsContent reports whether n can name, disable or hide the focus of what
// is in it.
func affectsContent(n *node) bool {
	return n.kind == fragmentNode || n.tag == "label" || n.tag == "fieldset"
}

// plainAX returns what the accessibility tree says of a plain link or button.
func plainAX(tag, name string) *axNode {
	if tag == "a" {
		return &axNode{Role: "link", Name: axValue(name)}
	}
	return &axNode{Role: "button", Name: axValue(name)}
}

// candidate reports whether an element may be listed, by itself or by what the
// accessibility tree says of it.
func (n *node) candidate() bool {
	switch n.tag {
	case "a", "area", "audio", "button", "canvas", "embed", "input", "object", "select", "summary", "textarea",
		"video":
		return true
	case "body":
		return n.editable
	case "html", "label", "option", "script", "style", "noscript", "template", "head", "meta", "link":
		return false
	}
	return strings.Contains(n.tag, "-") || n.listens || n.cursor == "pointer" || n.dragged() ||
		n.has("role") || n.has("contenteditable") || n.has("draggable") || n.has("tabindex")
}

// plainName returns the name of a link or button that contains nothing but one
// line of text.
func (n *node) plainName() (name string, ok bool) {
	if n.tag != "button" && !(n.tag == "a" && n.has("href")) || !n.plainAttributes() {
		return "", false
	}
	for k := range n.below() {
		switch {
		case k.kind == textNode:
			text, ok := k.singleLine()
			if !ok || text != "" && name != "" {
				return "", false
			}
			name += text
		case !slices.Contains(inlineTags, k.tag), !k.plainAttributes(), !strings.HasPrefix(k.display, "inline"):
			return "", false
		}
	}
	return name, name != ""
}

// inlineTags are the elements that change how text looks and not what it says.
var inlineTags = []string{"b", "i", "small", "span", "u"}

// singleLine returns the text of a text node, if the page displays it unchanged and it
// fits in one line.
func (n *node) singleLine() (string, bool) {
	if !n.laid {
		return "", strings.TrimSpace(n.source) == ""
	}
	text := strings.TrimSpace(n.shown)
	return text, text == clip.OneLine(text) && n.visibility != "hidden"
}

// plainAttributes reports whether no attribute of an element changes its role or
// its name.
func (n *node) plainAttributes() bool {
	for _, a := range n.attrs {
		switch a.name {
		case "class", "download", "draggable", "href", "hreflang", "id", "onclick", "referrerpolicy", "rel",
			"style", "tabindex", "target", "type", "value":
		default:
			if !strings.HasPrefix(a.name, "data-") {
				return false
			}
		}
	}
	return true
}
