package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
)

// The claims of the actions: which hints their calls have. An action that only
// looks, or goes to another page, changes nothing but the session's own browser.
// One that clicks or types may do anything. For all of them the order matters.
var (
	looks  = openmanus.Hints{ReadOnly: true, Idempotent: true, Ordered: true}
	moves  = openmanus.Hints{ReadOnly: true, Ordered: true}
	writes = openmanus.Hints{Edits: true, Idempotent: true, Ordered: true}
	acts   = openmanus.Hints{Ordered: true}
)

// actions are what browser_use offers, by name. It is never changed.
var actions = map[string]action{
	"go_to_url":  {hints: looks, run: (*runner).goTo, needs: []need{needURL}},
	"go_back":    {hints: moves, run: (*runner).goBack},
	"refresh":    {hints: moves, run: (*runner).refresh},
	"open_tab":   {hints: moves, run: (*runner).openTab, needs: []need{needURL}},
	"switch_tab": {hints: looks, run: (*runner).switchTab, needs: []need{needTab}},
	"close_tab":  {hints: moves, run: (*runner).closeTab},
	"web_search": {hints: looks, run: (*runner).webSearch, needs: []need{needQuery}},
	"wait":       {hints: looks, run: (*runner).wait},

	"scroll_down":          {hints: moves, run: (*runner).scroll, element: true},
	"scroll_up":            {hints: moves, run: (*runner).scroll, element: true},
	"scroll_to_text":       {hints: looks, run: (*runner).scrollTo, needs: []need{needWords}},
	"hover":                {hints: moves, run: (*runner).hover, needs: []need{needIndex}, element: true},
	"get_dropdown_options": {hints: looks, run: (*runner).options, needs: []need{needIndex}, element: true},

	"get_text":        {hints: looks, run: (*runner).text},
	"get_html":        {hints: looks, run: (*runner).html, element: true},
	"read_links":      {hints: looks, run: (*runner).links},
	"extract_content": {hints: looks, run: (*runner).extract, needs: []need{needGoal}},
	"screenshot":      {hints: looks, run: (*runner).screenshot}, // with a file, it writes: see Tool.Hints
	"save_pdf":        {hints: writes, run: (*runner).savePDF, needs: []need{needFile}},

	"click_element": {
		hints: acts, run: (*runner).click, needs: []need{needPlace}, element: true, compare: true},
	"input_text": {
		hints: acts, run: (*runner).input, needs: []need{needIndex, needText}, element: true, compare: true},
	"fill_form": {
		hints: acts, run: (*runner).fillForm, needs: []need{needForm}, compare: true},
	"execute_js": {
		hints: acts, run: (*runner).execute, needs: []need{needCode}, compare: true},
	"select_dropdown_option": {
		hints: acts, run: (*runner).choose, needs: []need{needIndex, needText}, element: true, compare: true},
	"send_keys": {
		hints: acts, run: (*runner).keys, needs: []need{needKeys}, compare: true},
	"drag": {
		hints: acts, run: (*runner).drag, needs: []need{needIndex, needEnd}, element: true, compare: true},
	"upload_file": {
		hints: acts, run: (*runner).upload, needs: []need{needFile}, element: true, compare: true},
	"download": {
		hints: acts, run: (*runner).download, needs: []need{needLink}, element: true},
	"handle_dialog": {
		hints: acts, run: (*runner).dialog, needs: []need{needReply}},
}

// address returns the address that the call names, if the configuration allows
// it.
func (c *runner) address(ctx context.Context) (string, error) {
	u, err := parseAddress(c.in.URL)
	if err == nil && u.Host != "" && c.tool.cfg.Check != nil {
		err = c.tool.cfg.Check(ctx, u)
	}
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// pages makes the tab that shows files the active one, if the call names a file, or else
// one that shows pages of the web, and returns the address that it is to open.
func (c *runner) pages(ctx context.Context) (string, error) {
	name := ""
	if blank(c.in.URL) {
		var err error
		if name, err = c.workspaceName(ctx); err != nil {
			return "", err
		}
		if _, err := fs.Stat(c.tool.cfg.Files.FS(), name); err != nil {
			return "", fmt.Errorf("%s cannot be shown: %w", name, err)
		}
	} else if _, err := c.address(ctx); err != nil {
		return "", err
	}
	onShelf := func(t *Tab) bool { return locked(c.b, func() bool { return t.shelf != nil }) }
	if onShelf(c.tab) != (name != "") {
		tabs := slices.DeleteFunc(c.b.Tabs(), func(t *Tab) bool { return onShelf(t) != (name != "") })
		var err error
		switch {
		case len(tabs) > 0:
			c.tab = tabs[len(tabs)-1]
			err = c.tab.Activate(ctx)
		case name != "":
			c.tab, err = c.b.newShelf(ctx, c.tool.cfg.Files.FS())
		default:
			c.tab, err = c.b.New(ctx)
		}
		if err != nil {
			return "", err
		}
	}
	if name != "" {
		return fileAddress(name), nil
	}
	return c.address(ctx)
}

// goTo opens a page in the active tab. It answers an open dialog first, and
// dismisses it unless it asks whether to leave the page.
func (c *runner) goTo(ctx context.Context) (string, Outcome, error) {
	to, err := c.pages(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	if d := c.tab.Dialog(); d != nil { // it would hold up the navigation
		if _, err := c.tab.Answer(ctx, d.Kind == "beforeunload", ""); err != nil {
			return "", Outcome{}, err
		}
	}
	out, err := c.tab.Go(ctx, to)
	return "Navigated to " + to, out, err
}

func (c *runner) goBack(ctx context.Context) (string, Outcome, error) {
	out, err := c.tab.Back(ctx)
	return "Navigated back", out, err
}

// refresh loads the page again. A page that answers a form is requested by its
// address, since to reload it would send the form again, and no one was asked about
// that. Its address is left out of the outcome, since it is the same.
func (c *runner) refresh(ctx context.Context) (string, Outcome, error) {
	again := c.tab.Reload
	if c.tab.answersForm(ctx) {
		again = func(ctx context.Context) (Outcome, error) { return c.tab.Go(ctx, c.tab.URL()) }
	}
	out, err := again(ctx)
	out.URL = ""
	return "Refreshed current page", out, err
}

// openTab opens a page in a new tab. After an error the tab stays open.
func (c *runner) openTab(ctx context.Context) (string, Outcome, error) {
	if blank(c.in.URL) {
		return c.goTo(ctx) // files have one tab
	}
	to, err := c.address(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	t, err := c.b.New(ctx)
	if err != nil {
		return "", Outcome{}, err
	}
	out, err := t.Go(ctx, to)
	out.Tab = nil
	return "Opened new tab with " + to, out, err
}

// tabWithID returns the tab that the call names, or the active one.
func (c *runner) tabWithID() (*Tab, error) {
	if c.in.TabID == nil {
		return c.tab, nil
	}
	var ids []string
	for _, t := range c.b.Tabs() {
		if t.ID == *c.in.TabID {
			return t, nil
		}
		ids = append(ids, fmt.Sprint(t.ID))
	}
	return nil, fmt.Errorf("there is no tab %d; there are %s", *c.in.TabID, strings.Join(ids, ", "))
}

func (c *runner) switchTab(ctx context.Context) (string, Outcome, error) {
	t, err := c.tabWithID()
	if err != nil {
		return "", Outcome{}, err
	}
	return fmt.Sprintf("Switched to tab %d", t.ID), Outcome{}, t.Activate(ctx)
}

// closeTab closes the tab with the ID of the call, or the active one.
func (c *runner) closeTab(ctx context.Context) (string, Outcome, error) {
	t, err := c.tabWithID()
	if err != nil {
		return "", Outcome{}, err
	}
	if len(c.b.Tabs()) == 1 { // a browser without tabs may exit
		if _, err := c.b.New(ctx); err != nil {
			return "", Outcome{}, err
		}
	}
	did := "Closed current tab"
	if c.in.TabID != nil {
		did = fmt.Sprintf("Closed tab %d", t.ID)
	}
	return did, Outcome{}, t.Close(ctx)
}

// webSearch searches the web and opens the first result.
func (c *runner) webSearch(ctx context.Context) (string, Outcome, error) {
	if c.tool.cfg.Search == nil {
		return "", Outcome{}, errors.New("web search is not configured")
	}
	found, err := c.tool.cfg.Search(ctx, c.in.Query)
	c.found = found.Sources
	text := found.Text
	if err != nil || found.First == "" {
		return text, Outcome{}, err
	}
	c.in.URL = found.First
	did, out, err := c.goTo(ctx)
	if err != nil {
		return text + "\nThe first result cannot be opened: " + err.Error(), Outcome{}, nil
	}
	return text + "\n" + did, out, nil
}

// lookAgain is how often wait looks at a page that causes no events: a script may
// change it all the same.
const lookAgain = 250 * time.Millisecond

// wait waits until the page shows a text, 30 seconds if the call does not say how
// long, or simply for some seconds. It looks at the page after each event of the
// browser, and every lookAgain.
func (c *runner) wait(ctx context.Context) (string, Outcome, error) {
	seconds := 3
	if c.in.Seconds != nil {
		seconds = min(max(*c.in.Seconds, 0), 50) // a call has actionTime
	} else if c.in.Text != nil {
		seconds = 30
	}
	end := time.After(time.Duration(seconds) * time.Second)
	for {
		changed := locked(c.b, func() chan struct{} { return c.b.changed })
		if c.in.Text != nil {
			page, err := c.tab.State(ctx)
			if err != nil {
				return "", Outcome{}, err
			}
			if strings.Contains(page.Text(), *c.in.Text) {
				return fmt.Sprintf("The page has %q", *c.in.Text), Outcome{}, nil
			}
		}
		select {
		case <-end:
			if c.in.Text != nil {
				return "", Outcome{}, fmt.Errorf("the page did not have %q within %d seconds", *c.in.Text, seconds)
			}
			return fmt.Sprintf("Waited for %d seconds", seconds), Outcome{}, nil
		case <-c.b.Dead():
			return "", Outcome{}, errDead
		case <-ctx.Done():
			return "", Outcome{}, ctx.Err()
		case <-time.After(lookAgain):
		case <-changed:
		}
	}
}

// scroll scrolls the page, or what the element is in, down or up.
func (c *runner) scroll(ctx context.Context) (string, Outcome, error) {
	if c.in.ScrollAmount < 0 {
		return "", Outcome{}, errors.New("scroll_amount is negative: use scroll_up and scroll_down")
	}
	way := strings.TrimPrefix(c.in.Action, "scroll_")
	was := c.height(ctx)
	moved, out, err := c.tab.Scroll(ctx, c.el, c.in.ScrollAmount, way == "up")
	did := fmt.Sprintf("Scrolled %s by %d pixels", way, moved)
	if moved == 0 {
		did, out = fmt.Sprintf("It cannot be scrolled %s any further", way), Outcome{}
	}
	if now := c.height(ctx); err == nil && now > was {
		did += fmt.Sprintf("; the page loaded more and is %.0f pixels longer", now-was)
	}
	return did, out, err
}

// height returns how tall the page is, or 0 if it cannot be seen.
func (c *runner) height(ctx context.Context) float64 {
	page, err := c.tab.State(ctx)
	if err != nil || page.Dialog != nil {
		return 0
	}
	return page.Above + page.Height + page.Below
}

// scrollTo scrolls to a text. The error is the one of OpenManus.
func (c *runner) scrollTo(ctx context.Context) (string, Outcome, error) {
	if _, err := c.tab.ScrollTo(ctx, *c.in.Text); err != nil {
		return "", Outcome{}, refuse("Failed to scroll to text: %s: %w", *c.in.Text, err)
	}
	return fmt.Sprintf("Scrolled to text: '%s'", *c.in.Text), Outcome{}, nil
}

func (c *runner) hover(ctx context.Context) (string, Outcome, error) {
	out, err := c.tab.Hover(ctx, c.el)
	return fmt.Sprintf("Hovered over element at index %d", c.el.Index), out, err
}

// options lists the options of a drop-down as JSON.
func (c *runner) options(ctx context.Context) (string, Outcome, error) {
	all, err := c.tab.Options(ctx, c.el)
	if err != nil {
		return "", Outcome{}, err
	}
	data, err := json.Marshal(all)
	return "Dropdown options: " + string(data), Outcome{}, err
}

func (c *runner) choose(ctx context.Context) (string, Outcome, error) {
	did := fmt.Sprintf("Selected option '%s' from dropdown at index %d", *c.in.Text, c.el.Index)
	if c.el.Tag != "select" {
		has, err := c.tab.fieldValue(ctx, c.el)
		if err != nil {
			return "", Outcome{}, err
		}
		out, err := c.tab.chooseListed(ctx, c.el, *c.in.Text, has)
		return did, out, err
	}
	out, err := c.tab.Select(ctx, c.el, *c.in.Text)
	if err != nil {
		return "", out, err
	}
	return did + c.now(ctx, c.el, *c.in.Text), out, nil
}

// now reads a field back after it was set, and says what it holds if that is something
// else: pages cut, change and complete what is typed. It says nothing of a field that is gone.
func (c *runner) now(ctx context.Context, el *Element, set string) string {
	v, err := c.tab.fieldValue(ctx, el)
	switch {
	case err != nil || v.Kind == "":
		return ""
	case v.Kind == secretField && !v.holds(set):
		return "; the page has not taken the password as it was typed"
	case v.Kind == comboField && v.Open:
		return "; nothing is chosen yet: choose with select_dropdown_option, or click an option"
	case v.Kind == secretField, v.holds(set), slices.Contains(v.Values, set):
		return ""
	}
	return "; the field has " + v.say() + " now"
}

// input types into a field. The result does not repeat a password.
func (c *runner) input(ctx context.Context) (string, Outcome, error) {
	did := fmt.Sprintf("Input '%s' into element at index %d", cut(*c.in.Text, 500), c.el.Index)
	if c.el.Kind == "password" {
		did = fmt.Sprintf("Input the password into element at index %d", c.el.Index)
	}
	out, err := c.tab.Type(ctx, c.el, *c.in.Text)
	if err != nil || out.Moved || out.Tab != nil {
		return did, out, err
	}
	return did + c.now(ctx, c.el, *c.in.Text), out, nil
}

// keys presses keys, or types a text, where the focus is.
func (c *runner) keys(ctx context.Context) (string, Outcome, error) {
	out, err := c.tab.Keys(ctx, c.in.Keys)
	return "Sent keys: " + c.in.Keys, out, err
}

// click clicks an element, or a place in it or in the view. A native drop-down is
// refused: the list that it opens is not part of the page.
func (c *runner) click(ctx context.Context) (string, Outcome, error) {
	how, at := Button{Right: c.in.Button == "right"}, c.in.point()
	if c.in.Button == "double" {
		how.Count = 2
	}
	if c.el == nil {
		out, err := c.tab.ClickAt(ctx, *at, how)
		return fmt.Sprintf("Clicked at %g, %g", at.X, at.Y), out, err
	}
	if c.el.Tag == "select" {
		return "", Outcome{}, fmt.Errorf(
			"element %d is a drop-down: choose with select_dropdown_option", c.el.Index)
	}
	how.At = at
	did := fmt.Sprintf("Clicked element at index %d", c.el.Index)
	out, err := c.tab.Click(ctx, c.el, how)
	if err == nil && (c.el.Kind == checkbox || c.el.Kind == radio || c.el.Role == "switch") {
		if out, err = c.tab.Rest(ctx, out); err == nil && !out.Moved {
			did += c.state(ctx, c.el)
		}
	}
	return did, out, err
}

// state says whether a box is checked now, or "" for what is no box any more.
func (c *runner) state(ctx context.Context, el *Element) string {
	v, err := c.tab.fieldValue(ctx, el)
	switch {
	case err != nil || v.Kind != checkField && v.Kind != radioField:
		return ""
	case v.holds("true"):
		return ", which is checked now"
	}
	return ", which is not checked now"
}

// drag drags an element to another one or to a place.
func (c *runner) drag(ctx context.Context) (string, Outcome, error) {
	did := fmt.Sprintf("Dragged element at index %d", c.el.Index)
	if c.to != nil {
		did += fmt.Sprintf(" to element at index %d", c.to.Index)
	}
	was := c.place(ctx)
	out, err := c.tab.Drag(ctx, c.el, c.to, c.in.point())
	if err != nil || out.Moved {
		return did, out, err
	}
	switch now := c.place(ctx); {
	case was == nil || len(out.Dialogs) > 0:
	case now == nil:
		did += ", which is gone"
	case *now == *was:
		did += ", which is where it was"
	default:
		did += fmt.Sprintf(", which is at %.0f, %.0f of the page now", now.X, now.Y)
	}
	return did, out, nil
}

// place returns where the call's element is on the page, or nil if it is not there.
func (c *runner) place(ctx context.Context) *Rect {
	page, err := c.tab.State(ctx)
	if err != nil {
		return nil
	}
	el := page.Element(c.el.Index)
	if el == nil {
		return nil
	}
	at := el.Box
	at.Y += page.Above
	return &at
}

// dialog answers the open dialog; a prompt without text gets its default.
func (c *runner) dialog(ctx context.Context) (string, Outcome, error) {
	d := c.tab.Dialog()
	if d == nil {
		return "", Outcome{}, errNoDialog
	}
	verb, text := "Dismissed", d.Default
	if *c.in.Accept {
		verb = "Accepted"
	}
	if c.in.Text != nil {
		text = *c.in.Text
	}
	out, err := c.tab.Answer(ctx, *c.in.Accept, text)
	return fmt.Sprintf("%s the %s dialog %q", verb, d.Kind, cut(d.Message, 300)), out, err
}
