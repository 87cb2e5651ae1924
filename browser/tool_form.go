package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

//go:embed js/value.js
var valueJS string

// A fieldValue is what a field holds, as value.js says.
type fieldValue struct {
	Kind   string
	Values []string // several ways to write the same, or several options
	Open   bool     // its list is shown
	Types  bool     // it takes text to find a choice
}

// The kinds of fields.
const (
	textField   = "text"
	secretField = "secret" // its text is not repeated
	selectField = "select"
	comboField  = "combo" // typed or not, only a choice counts
	fileField   = "file"
	checkField  = "check"
	radioField  = "radio"
)

// fieldValue returns what a field holds now.
func (t *Tab) fieldValue(ctx context.Context, el *Element) (fieldValue, error) {
	return viewing(ctx, t, func(ctx context.Context) (v fieldValue, err error) {
		defer t.release(el.s)
		return v, t.call(ctx, el.ref, valueJS, &v)
	})
}

// fillForm fills in fields, one after the other, checks that the page has taken all
// values, and then clicks what submits them. It stops at the first field that fails;
// the error says which were filled in. It also stops when the page leads elsewhere
// before all is filled in.
func (c *runner) fillForm(ctx context.Context) (did string, out Outcome, err error) {
	filled := 0
	fail := func(index int, err error) error {
		done := "no field was filled in"
		if filled > 0 {
			done = "filled in before: " + indexes(c.in.Fields[:filled])
		}
		if c.in.Submit != nil {
			done += "; not submitted"
		}
		return fmt.Errorf("element %d: %w (%s)", index, err, done)
	}
	els := make([]*Element, len(c.in.Fields))
	for i, f := range c.in.Fields {
		if els[i], err = c.element(ctx, &f.Index); err != nil {
			return "", out, fail(f.Index, err)
		}
	}
	var submit *Element
	if submit, err = c.element(ctx, c.in.Submit); err != nil {
		return "", out, fail(*c.in.Submit, err)
	}
	c.filled = els
	for i, f := range c.in.Fields {
		more, err := c.fillField(ctx, els[i], f.Text)
		if err == nil {
			out = out.and(more)
			err = diverted(more)
		}
		if err == nil {
			err = c.checkField(ctx, els[i], f.Text)
		}
		if err != nil {
			return "", out, fail(f.Index, err)
		}
		filled++
	}
	did = "Filled in " + indexes(c.in.Fields)
	if submit == nil {
		return did, out, nil
	}
	for i, f := range c.in.Fields { // a field may change another one
		if err := c.checkField(ctx, els[i], f.Text); err != nil {
			return "", out, fail(f.Index, err)
		}
	}
	c.before = c.tab.fingerprint(ctx) // whether the click changes something is the question
	more, err := c.tab.Click(ctx, submit, Button{})
	if err != nil {
		return "", out, fail(submit.Index, err)
	}
	return did + fmt.Sprintf(" and clicked element at index %d", submit.Index), out.and(more), nil
}

// indexes names the elements of fields: "element 3", "elements 3 and 4".
func indexes(fields []field) string {
	var all []string
	for _, f := range fields {
		all = append(all, strconv.Itoa(f.Index))
	}
	if len(all) == 1 {
		return "element " + all[0]
	}
	last := len(all) - 1
	return "elements " + strings.Join(all[:last], ", ") + " and " + all[last]
}

// and returns the effects of two actions that follow one another.
func (o Outcome) and(later Outcome) Outcome {
	if !later.Moved && later.URL == "" {
		later.URL, later.Moved, later.Status = o.URL, o.Moved, o.Status
	}
	if later.Tab == nil {
		later.Tab = o.Tab
	}
	later.Downloads = slices.Concat(o.Downloads, later.Downloads)
	later.Dialogs = slices.Concat(o.Dialogs, later.Dialogs)
	return later
}

// diverted returns an error if what a field caused keeps the next one from being
// filled in.
func diverted(o Outcome) error {
	switch {
	case o.Moved:
		return fmt.Errorf("when it was filled in, the page went to %s", cut(o.URL, 300))
	case o.Tab != nil, o.Closed:
		return errors.New("when it was filled in, another tab became the active one")
	case slices.ContainsFunc(o.Dialogs, func(d Dialog) bool { return d.Open }):
		return fmt.Errorf("when it was filled in, the page showed a dialog: %q (handle_dialog)",
			cut(o.Dialogs[len(o.Dialogs)-1].Message, 300))
	}
	return nil
}

// fillField puts a text into a field, chooses an option, or checks a box.
func (c *runner) fillField(ctx context.Context, el *Element, text string) (Outcome, error) {
	v, err := c.tab.fieldValue(ctx, el)
	if err != nil {
		return Outcome{}, err
	}
	switch v.Kind {
	case selectField:
		return c.tab.Select(ctx, el, text)
	case comboField:
		return c.tab.chooseListed(ctx, el, text, v)
	case checkField, radioField:
		want, err := checked(text)
		switch {
		case err != nil:
			return Outcome{}, err
		case slices.Contains(v.Values, strconv.FormatBool(want)):
			return Outcome{}, nil
		case v.Kind == radioField && !want:
			return Outcome{}, errors.New("a radio button is not unchecked: check another one")
		}
		out, err := c.tab.Click(ctx, el, Button{})
		if err != nil {
			return out, err
		}
		return c.tab.Rest(ctx, out)
	case textField, secretField:
		if el.Tag == "input" && strings.ContainsAny(text, "\r\n") {
			return Outcome{}, errors.New("it takes one line, and a line break would send the form")
		}
		return c.tab.Type(ctx, el, text)
	}
	return Outcome{}, fmt.Errorf("%s is no field that can be filled in: %s", el.called(), otherAction(el))
}

// otherAction says what an element is used with that is no field.
func otherAction(el *Element) string {
	if el.Kind == "file" {
		return "use upload_file"
	}
	return "use click_element, or name it as submit"
}

// checked reads whether a box is to be checked.
func checked(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "on", "yes", "1", "checked":
		return true, nil
	case "false", "off", "no", "0", "unchecked", "":
		return false, nil
	}
	return false, fmt.Errorf("it can be checked: give true or false as its text, not %q", cut(text, 60))
}

// checkField returns an error if a field does not hold a text: pages cut, change and
// complete what is typed. Signs that a page puts between letters and digits do not
// matter, as in telephone numbers.
func (c *runner) checkField(ctx context.Context, el *Element, text string) error {
	v, err := c.tab.fieldValue(ctx, el)
	if err != nil {
		return err
	}
	if v.holds(text) {
		return nil
	}
	if v.Kind == secretField {
		return errors.New("the page has not taken the password as it was typed")
	}
	return fmt.Errorf("the page has %s there, not %q", v.say(), cut(text, 100))
}

// say says what a field holds.
func (v fieldValue) say() string {
	if len(v.Values) == 0 {
		return "nothing"
	}
	if v.Kind == comboField || v.Kind == fileField {
		return quote(strings.Join(slices.DeleteFunc(slices.Clone(v.Values), blank), ", "), 100)
	}
	return quote(v.Values[0], 100)
}

// holds reports whether a field has the value that text stands for.
func (v fieldValue) holds(text string) bool {
	switch v.Kind {
	case checkField, radioField:
		want, err := checked(text)
		return err == nil && slices.Contains(v.Values, strconv.FormatBool(want))
	case secretField:
		return slices.Contains(v.Values, text)
	}
	return slices.ContainsFunc(v.Values, func(has string) bool { return bare(has) == bare(text) })
}

// bare returns the letters and digits of a text in lower case, or, if there are none,
// the text without space around it.
func bare(text string) string {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
	if letters == "" {
		return strings.TrimSpace(text)
	}
	return letters
}

// foreseeForm describes what fill_form would do on a page: every field by its role
// and name, what it gets, and where it is submitted.
func (c *runner) foreseeForm(ctx context.Context, page *Page, p *prospect) error {
	p.filled, p.known = []string{}, true
	var b strings.Builder
	fmt.Fprintf(&b, "Fill in %d fields", len(c.in.Fields))
	if len(c.in.Fields) == 1 {
		b.Reset()
		b.WriteString("Fill in a field")
	}
	around := func(index int) (*Element, error) {
		el, err := c.onPage(page, &index)
		if err != nil {
			return nil, err
		}
		defer c.tab.release(el.s)
		var w within
		if err := c.tab.call(ctx, el.ref, actJS, &w); err != nil {
			return nil, err
		}
		p.known = p.known && (len(p.elements) == 0 || w.sameSite(p.within))
		p.elements, p.within = append(p.elements, el), w
		return el, nil
	}
	for _, f := range c.in.Fields {
		el, err := around(f.Index)
		if err != nil {
			return err
		}
		var v fieldValue
		if err := c.tab.call(ctx, el.ref, valueJS, &v); err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n  %s: %s", el.called(), v.shown(f.Text))
		p.filled = append(p.filled, p.within.Name)
	}
	if c.in.Submit == nil {
		b.WriteString("\nand submit nothing")
	} else {
		el, err := around(*c.in.Submit)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "\nand click %s", el.called())
		p.sends = p.within.Form != nil && p.within.Form.Submits
	}
	p.act = b.String()
	return nil
}

// shown says what a field would get.
func (v fieldValue) shown(text string) string {
	switch want, err := checked(text); {
	case v.Kind == secretField:
		return fmt.Sprintf("a password of %d characters", len([]rune(text)))
	case v.Kind != checkField && v.Kind != radioField || err != nil:
		return strconv.Quote(text)
	case want:
		return "checked"
	}
	return "not checked"
}

// sameSite reports whether two elements are in documents of the same origin, whose
// forms go to the same address.
func (w within) sameSite(o within) bool {
	if w.Origin != o.Origin || (w.Form == nil) != (o.Form == nil) {
		return false
	}
	return w.Form == nil || w.Form.Action == o.Form.Action
}
