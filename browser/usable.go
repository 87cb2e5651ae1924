package browser

import (
	"slices"
	"strings"
)

// rolesInUse are the roles of what people use.
var rolesInUse = map[string]bool{
	"button": true, "link": true, "textbox": true, "searchbox": true, "combobox": true, "checkbox": true, "radio": true,
	"switch": true, "slider": true, "spinbutton": true, "menuitem": true, "menuitemcheckbox": true, "menuitemradio": true,
	"option": true, "tab": true, "treeitem": true, "listbox": true, "ComboBoxGrouping": true, "gridcell": false,
	"DisclosureTriangle": true, "PopUpButton": true, "ToggleButton": true, "Date": true, "DateTime": true, "ColorWell": true, "InputTime": true,
}

// usable reports whether a node is listed. in is the listed element that it is
// in. listens says that nothing but a listener for clicks speaks for it.
func (c *capture) usable(d *document, i int, tag string, in *Element, view, box Rect) (usable, listens bool) {
	has := func(name string) bool { _, ok := c.attr(d, i, name); return ok }
	switch tag {
	case "button", "select", "textarea", "summary", "input", "canvas", "embed", "object":
		kind, _ := c.attr(d, i, "type")
		return !strings.EqualFold(kind, "hidden"), false
	case "a", "area":
		if has("href") {
			return true, false
		}
	case "video", "audio":
		return has("controls"), false
	case "html", "body", "label":
		// A label stands for its field, which is listed.
		return false, false
	}
	if v, ok := c.attr(d, i, "contenteditable"); ok && !strings.EqualFold(v, "false") {
		return true, false
	}
	if ax := c.ax[d.Nodes.BackendNodeID[i]]; ax != nil && !ax.Ignored && rolesInUse[ax.Role.text()] {
		return true, false
	}
	if role, ok := c.attr(d, i, "role"); ok && rolesInUse[role] {
		return true, false
	}
	if v, _ := c.attr(d, i, "draggable"); v == "true" {
		return true, false
	}
	if v, ok := c.attr(d, i, "tabindex"); ok && !strings.HasPrefix(v, "-") && in == nil {
		return true, false
	}
	return c.listens(d, i, in, view, box)
}

// listens reports whether a node that is nothing by itself looks as if it
// could be clicked: it has a hand for a pointer, or listens. What handles the
// clicks of half the page does not.
func (c *capture) listens(d *document, i int, in *Element, view, box Rect) (usable, listens bool) {
	pointer := c.style(d, i, styleCursor) == "pointer"
	if p := d.Nodes.ParentIndex[i]; pointer && p >= 0 && c.style(d, int(p), styleCursor) == "pointer" {
		pointer = false // it has it from its parent
	}
	if d.clicks[int64(i)] {
		return pointer || box.W*box.H < view.W*view.H/2, !pointer
	}
	return pointer && in == nil, false
}

// describe says what an element is.
func (c *capture) describe(d *document, i int, tag string) *Element {
	el := &Element{Tag: tag}
	if tag == "input" {
		kind, _ := c.attr(d, i, "type")
		el.Kind = strings.ToLower(kind)
	}
	ax := c.ax[d.Nodes.BackendNodeID[i]]
	if ax != nil && !ax.Ignored {
		el.Role, el.Name, el.Value = role(ax.Role.text(), tag, el.Kind), ax.Name.text(), ax.Value.text()
		el.State = states(ax)
	} else if role, ok := c.attr(d, i, "role"); ok {
		el.Role = role
	}
	if v, ok := d.values[int64(i)]; ok && el.Kind != "password" && el.Kind != "checkbox" && el.Kind != "radio" && el.Kind != "submit" && el.Kind != "button" && el.Kind != "reset" {
		el.Value = v
	}
	if d.checked[int64(i)] && !slices.Contains(el.State, "checked") {
		el.State = append(el.State, "checked")
	}
	if el.Name == "" {
		el.Name = c.called(d, i)
	}
	if placeholder, ok := c.attr(d, i, "placeholder"); ok && el.Value == "" && placeholder != el.Name && placeholder != "" {
		el.State = append(el.State, "placeholder="+quote(placeholder, 40))
	}
	if tag == "canvas" || tag == "embed" || tag == "object" {
		if el.Name == "" {
			el.Name = "(a picture: click with x and y)"
		}
	}
	if v, ok := c.attr(d, i, "draggable"); ok && v == "true" {
		el.State = append(el.State, "draggable")
	}
	if _, ok := c.attr(d, i, "multiple"); ok {
		el.State = append(el.State, "multiple")
	}
	if tag == "select" {
		el.State = append(el.State, c.options(d, i))
	}
	return el
}

// role is the role of an element, unless its tag says it.
func role(role, tag, kind string) string {
	same := map[string]string{"a": "link", "button": "button", "textarea": "textbox", "select": "combobox", "canvas": "Canvas", "summary": "DisclosureTriangle", "option": "option"}
	switch {
	case role == same[tag], tag == "input" && kind != "", tag == "input" && role == "textbox",
		role == "generic", role == "none", role == "", role == "InlineTextBox", role == "MenuListPopup":
		return ""
	case tag == "select" && role == "ComboBoxSelect", tag == "select" && role == "listbox":
		return ""
	}
	return role
}

// states are what the accessibility tree says of an element's state.
func states(ax *axNode) []string {
	var all []string
	for _, p := range ax.Properties {
		v := p.Value.text()
		switch p.Name {
		case "checked", "pressed", "disabled", "required", "readonly", "selected", "modal":
			if v == "true" {
				all = append(all, p.Name)
			} else if v == "mixed" {
				all = append(all, p.Name+"=mixed")
			}
		case "focused":
			if v == "true" {
				all = append(all, "focused")
			}
		case "expanded":
			all = append(all, map[string]string{"true": "expanded", "false": "collapsed"}[v])
		case "invalid":
			if v != "false" && v != "" {
				all = append(all, "invalid")
			}
		case "valuemin":
			all = append(all, "min="+v)
		case "valuemax":
			all = append(all, "max="+v)
		case "url":
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" || s == "min=0" || strings.HasSuffix(s, "=") })
}

// called is a name for an element that has none.
func (c *capture) called(d *document, i int) string {
	for _, name := range []string{"aria-label", "title", "alt", "placeholder", "name"} {
		if v, ok := c.attr(d, i, name); ok && v != "" {
			return v
		}
	}
	var text strings.Builder
	c.textIn(d, i, &text)
	if s := strings.Join(strings.Fields(text.String()), " "); s != "" {
		return s
	}
	if v, ok := c.attr(d, i, "id"); ok {
		return "#" + v
	}
	if v, ok := c.attr(d, i, "class"); ok && v != "" {
		return "." + strings.Join(strings.Fields(v), ".")
	}
	return ""
}

// textIn writes the text that is shown in a node.
func (c *capture) textIn(d *document, i int, to *strings.Builder) {
	inside := map[int64]bool{int64(i): true}
	for n := i + 1; n < len(d.Nodes.NodeType) && to.Len() < 300; n++ {
		if !inside[d.Nodes.ParentIndex[n]] {
			if d.Nodes.ParentIndex[n] < int64(i) {
				return // the nodes of a tree follow each other
			}
			continue
		}
		inside[int64(n)] = true
		if l := d.layout[n]; l >= 0 && d.Nodes.NodeType[n] == 3 {
			to.WriteString(at(c.strings, int64(d.Layout.Text[l])))
			to.WriteByte(' ')
		}
	}
}

// options says how many options a select has, and the first of them.
func (c *capture) options(d *document, i int) string {
	inside := map[int64]bool{int64(i): true}
	var names []string
	count := 0
	for n := i + 1; n < len(d.Nodes.NodeType) && d.Nodes.ParentIndex[n] >= int64(i); n++ {
		if !inside[d.Nodes.ParentIndex[n]] {
			continue
		}
		inside[int64(n)] = true
		if c.tag(d, n) == "option" {
			count++
			if len(names) < 6 {
				names = append(names, c.optionText(d, n))
			}
		}
	}
	s := "options=" + strings.Join(names, "|")
	if count > len(names) {
		s += "|…"
	}
	return s
}

func (c *capture) optionText(d *document, option int) string {
	if label, ok := c.attr(d, option, "label"); ok && label != "" {
		return cut(label, 30)
	}
	var b strings.Builder
	for n := option + 1; n < len(d.Nodes.NodeType) && d.Nodes.ParentIndex[n] >= int64(option); n++ {
		if d.Nodes.NodeType[n] == 3 {
			b.WriteString(at(c.strings, int64(d.Nodes.NodeValue[n])))
		}
	}
	return cut(strings.Join(strings.Fields(b.String()), " "), 30)
}
