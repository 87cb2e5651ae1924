package browser

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// usedRoles are the roles of elements that people use: those of ARIA in lower case,
// and those that only Chromium has.
var usedRoles = strings.Fields(`
	button link textbox searchbox combobox checkbox radio switch slider spinbutton
	menuitem menuitemcheckbox menuitemradio option tab treeitem listbox
	ComboBoxGrouping DisclosureTriangle PopUpButton ToggleButton Date DateTime ColorWell InputTime`)

// usable reports whether a node is listed. within is the listed element around
// it, or nil; view and box are the view and the node's place. byListener means
// that the only reason to list it is that it listens for clicks: such an element
// is often a container, and gives way to the elements in it.
//
// What the tag says comes first, then what attributes and the accessibility tree
// say, then how the node looks and behaves.
func (n *node) usable(within *Element, view, box Rect) (usable, byListener bool) {
	switch n.tag {
	case "button", "select", "textarea", "summary", "input", "canvas", "embed", "object":
		return n.inputKind() != "hidden", false
	case "a", "area":
		if n.has("href") {
			return true, false
		}
	case "video", "audio":
		return n.has("controls"), false
	case "body": // the text of an editor is often the body of a frame
		return n.editable, false
	case "html", "label": // a label stands for its field, which is listed
		return false, false
	}
	editable, hasEditable := n.attr("contenteditable")
	tabindex, hasTabindex := n.attr("tabindex")
	switch {
	case hasEditable && !strings.EqualFold(editable, "false"),
		n.ax != nil && !n.ax.Ignored && slices.Contains(usedRoles, string(n.ax.Role)),
		slices.Contains(usedRoles, n.value("role")),
		n.value("draggable") == "true",
		hasTabindex && !strings.HasPrefix(tabindex, "-") && within == nil:
		return true, false
	}
	if n.dragged() {
		return true, false
	}
	// Nothing names it a control, but it may look or behave like one: it has a
	// pointer of its own, or listens for clicks without covering half the view.
	pointer := n.cursor == "pointer" && (n.parent == nil || n.parent.cursor != "pointer")
	if n.listens {
		return pointer || box.W*box.H < view.W*view.H/2, !pointer
	}
	return pointer && within == nil, false
}

// describe returns the node as an element, without index and place. Role, name and
// state are those of the accessibility tree, as a screen reader says them; the
// value is what the field holds now, and never that of a password.
func (n *node) describe() *Element {
	el := &Element{Tag: n.tag}
	if n.tag == "input" {
		el.Kind = n.inputKind()
	}
	if n.ax != nil && !n.ax.Ignored {
		el.Role = shownRole(string(n.ax.Role), n.tag, el.Kind)
		el.Name, el.Value, el.State = string(n.ax.Name), string(n.ax.Value), states(n.ax)
	} else {
		el.Role = n.value("role")
	}
	switch el.Kind {
	case "password", "checkbox", "radio", "submit", "button", "reset": // their value is not what was typed
	default:
		if n.field != nil {
			el.Value = *n.field
		}
	}
	add := func(yes bool, state string) {
		if yes {
			el.State = append(el.State, state)
		}
	}
	add(n.checked && !slices.Contains(el.State, "checked"), "checked")
	if el.Name == "" {
		el.Name = n.name()
	}
	if l := n.labelled(); l != nil {
		el.label = l.id
		if n.ax == nil || n.ax.Ignored || el.Name == "" {
			el.Name = cmp.Or(clip.OneLine(l.text()), el.Name)
		}
	}
	placeholder := n.value("placeholder")
	add(placeholder != "" && el.Value == "" && placeholder != el.Name, "placeholder="+quote(placeholder, 40))
	if el.Name == "" && (n.tag == "canvas" || n.tag == "embed" || n.tag == "object") {
		el.Name = "(a picture: click with x and y)"
	}
	add(n.value("draggable") == "true" || n.dragged(), "draggable")
	add(n.has("multiple"), "multiple")
	add(n.has("required") && !slices.Contains(el.State, "required"), "required")
	if n.tag == "select" {
		add(true, n.options())
	}
	return el
}

// The types of inputs that are checked.
const checkbox, radio = "checkbox", "radio"

// dragged reports whether n is to be dragged, by its pointer or by the list that it is in.
func (n *node) dragged() bool {
	own := n.parent == nil || n.parent.cursor != n.cursor
	return n.sorted() || own && (n.cursor == "grab" || n.cursor == "move")
}

// sorted reports whether n is one of several alike in a list that listens for presses:
// pages sort such lists by dragging.
func (n *node) sorted() bool {
	list := n.parent
	if list == nil || !list.presses || !list.laid || list.tag == "body" || n.value("role") == "option" || clip.OneLine(n.text()) == "" {
		return false
	}
	alike, others := 0, 0
	for _, k := range list.children {
		switch {
		case k.kind != elementNode || !k.laid:
		case k.tag == n.tag:
			alike++
		default:
			others++
		}
	}
	return alike > 1 && others == 0
}

// labelled returns the label that a click can hit in place of a checkbox or a radio button,
// which pages hide to draw their own; nil for other elements.
func (n *node) labelled() *node {
	if n.tag == "input" && (n.inputKind() == checkbox || n.inputKind() == radio) {
		return n.label()
	}
	return nil
}

// shownRole returns the role of an element, or "" if its tag or its type already
// says it, or if it has no meaning.
func shownRole(role, tag, kind string) string {
	switch role {
	case "generic", "none", "InlineTextBox", "MenuListPopup":
		return ""
	}
	implied := map[string]string{
		"a": "link", "button": "button", "canvas": "Canvas", "input": "textbox", "option": "option",
		"select": "combobox listbox ComboBoxSelect", "summary": "DisclosureTriangle", "textarea": "textbox",
	}
	if tag == "input" && kind != "" || slices.Contains(strings.Fields(implied[tag]), role) {
		return ""
	}
	return role
}

// states returns the state of an element by the accessibility tree, such as
// "checked", "collapsed" and "max=9".
func states(ax *axNode) []string {
	var all []string
	for _, p := range ax.Properties {
		switch v := string(p.Value); p.Name {
		case "checked", "pressed", "disabled", "required", "readonly", "selected", "modal", "focused":
			switch v {
			case "true":
				all = append(all, p.Name)
			case "mixed":
				all = append(all, p.Name+"=mixed")
			}
		case "expanded":
			switch v {
			case "true":
				all = append(all, "expanded")
			case "false":
				all = append(all, "collapsed")
			}
		case "invalid":
			if v != "false" && v != "" {
				all = append(all, "invalid")
			}
		case "valuemin":
			if v != "" && v != "0" {
				all = append(all, "min="+v)
			}
		case "valuemax":
			if v != "" {
				all = append(all, "max="+v)
			}
		}
	}
	return all
}
