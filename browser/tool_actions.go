package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
)

// An action is one of browser_use.
type action struct {
	needs []string // the arguments it cannot do without
	hints openmanus.Hints
	run   func(r *runner, ctx context.Context, t *Tab) (string, error)
}

var (
	looks  = openmanus.Hints{Internal: true, Idempotent: true}
	moves  = openmanus.Hints{Internal: true}
	makes  = openmanus.Hints{Edits: true, Idempotent: true}
	unsure = openmanus.Hints{} // what a click does, nobody knows
)

// actions are what browser_use can do. It is never changed.
var actions = map[string]action{
	"go_to_url":              {[]string{"url"}, looks, (*runner).goTo},
	"open_tab":               {[]string{"url"}, moves, (*runner).openTab},
	"close_tab":              {nil, moves, (*runner).closeTab},
	"switch_tab":             {[]string{"tab_id"}, looks, (*runner).switchTab},
	"go_back":                {nil, moves, (*runner).goBack},
	"refresh":                {nil, moves, (*runner).refresh},
	"web_search":             {[]string{"query"}, looks, (*runner).webSearch},
	"wait":                   {nil, looks, (*runner).wait},
	"scroll_down":            {nil, moves, func(r *runner, ctx context.Context, t *Tab) (string, error) { return r.scroll(ctx, t, false) }},
	"scroll_up":              {nil, moves, func(r *runner, ctx context.Context, t *Tab) (string, error) { return r.scroll(ctx, t, true) }},
	"scroll_to_text":         {[]string{"some text"}, looks, (*runner).scrollTo},
	"hover":                  {[]string{"index"}, moves, (*runner).hover},
	"get_dropdown_options":   {[]string{"index"}, looks, (*runner).options},
	"get_text":               {nil, looks, (*runner).text},
	"extract_content":        {[]string{"goal"}, looks, (*runner).extract},
	"screenshot":             {nil, looks, (*runner).screenshot},
	"save_pdf":               {[]string{"file_path"}, makes, (*runner).savePDF},
	"click_element":          {[]string{"index or x and y"}, unsure, (*runner).click},
	"input_text":             {[]string{"index", "text"}, unsure, (*runner).input},
	"send_keys":              {[]string{"keys"}, unsure, (*runner).keys},
	"select_dropdown_option": {[]string{"index", "text"}, unsure, (*runner).choose},
	"drag":                   {[]string{"index", "to_index or x and y"}, unsure, (*runner).drag},
	"upload_file":            {[]string{"file_path"}, unsure, (*runner).upload},
	"download":               {[]string{"index or url"}, unsure, (*runner).download},
	"handle_dialog":          {[]string{"accept"}, unsure, (*runner).dialog},
}

// element returns the element that the call names, as it was last seen or is
// now.
func (r *runner) element(ctx context.Context, t *Tab, index *int) (*Element, error) {
	if index == nil {
		return nil, nil
	}
	if err := t.stopped(); err != nil {
		return nil, err
	}
	var el *Element
	known := false
	t.b.note(func() {
		if t.index.loader == t.loader {
			el = t.index.at[*index]
			known = *index >= 0 && *index < len(t.index.number)
		}
	})
	if el != nil {
		return el, nil
	}
	page, err := t.State(ctx)
	if err != nil {
		return nil, err
	}
	if el = page.Element(*index); el != nil {
		return el, nil
	}
	if known {
		return nil, refuse("Element with index %d not found: it is no longer on the page", *index)
	}
	return nil, refuse("Element with index %d not found", *index)
}

// address makes a URL of what a model wrote, and refuses what is none of the
// web's.
func (r *runner) address() (string, error) {
	raw := strings.TrimSpace(r.in.URL)
	if raw == "about:blank" {
		return raw, nil
	}
	if !strings.Contains(raw, "://") {
		if scheme, _, ok := strings.Cut(raw, ":"); ok && (!strings.Contains(scheme, ".") && scheme != "localhost") {
			return "", fmt.Errorf("%s: only http and https addresses are opened", raw)
		}
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s is no address", raw)
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%s: only http and https addresses are opened", raw)
	case u.Host == "":
		return "", fmt.Errorf("%s is no address", raw)
	}
	if r.tool.cfg.Check != nil {
		if err := r.tool.cfg.Check(u); err != nil {
			return "", err
		}
	}
	return u.String(), nil
}

func (r *runner) goTo(ctx context.Context, t *Tab) (string, error) {
	to, err := r.address()
	if err != nil {
		return "", err
	}
	if d := t.Dialog(); d != nil { // going elsewhere answers it
		if _, err := t.Answer(ctx, d.Kind == "beforeunload", ""); err != nil {
			return "", err
		}
	}
	out, err := t.Go(ctx, to)
	if err != nil {
		return "", err
	}
	return r.say(ctx, "Navigated to "+to, out, "")
}

func (r *runner) openTab(ctx context.Context, _ *Tab) (string, error) {
	to, err := r.address()
	if err != nil {
		return "", err
	}
	t, err := r.b.New(ctx)
	if err != nil {
		return "", err
	}
	out, err := t.Go(ctx, to)
	if err != nil {
		return "", err
	}
	out.Tab = nil
	return r.say(ctx, "Opened new tab with "+to, out, "")
}

func (r *runner) tabNamed(id int) (*Tab, error) {
	var ids []string
	for _, t := range r.b.Tabs() {
		if t.ID == id {
			return t, nil
		}
		ids = append(ids, fmt.Sprint(t.ID))
	}
	return nil, fmt.Errorf("there is no tab %d; there are %s", id, strings.Join(ids, ", "))
}

func (r *runner) switchTab(ctx context.Context, _ *Tab) (string, error) {
	t, err := r.tabNamed(*r.in.TabID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Switched to tab %d", t.ID), t.Activate(ctx)
}

func (r *runner) closeTab(ctx context.Context, t *Tab) (string, error) {
	said := "Closed current tab"
	if r.in.TabID != nil {
		var err error
		if t, err = r.tabNamed(*r.in.TabID); err != nil {
			return "", err
		}
		said = fmt.Sprintf("Closed tab %d", t.ID)
	}
	if len(r.b.Tabs()) == 1 { // a browser without a tab may end itself
		if _, err := r.b.New(ctx); err != nil {
			return "", err
		}
	}
	return said, t.Close(ctx)
}

func (r *runner) goBack(ctx context.Context, t *Tab) (string, error) {
	out, err := t.Back(ctx)
	if err != nil {
		return "", err
	}
	return r.say(ctx, "Navigated back", out, "")
}

func (r *runner) refresh(ctx context.Context, t *Tab) (string, error) {
	out, err := t.Reload(ctx)
	if err != nil {
		return "", err
	}
	out.URL = ""
	return r.say(ctx, "Refreshed current page", out, "")
}

func (r *runner) webSearch(ctx context.Context, t *Tab) (string, error) {
	if r.tool.cfg.Search == nil {
		return "", errors.New("there is no web search here")
	}
	text, first, err := r.tool.cfg.Search(ctx, r.in.Query)
	if err != nil {
		return "", err
	}
	if first == "" {
		return text, nil
	}
	r.in.URL = first
	said, err := r.goTo(ctx, t)
	if err != nil {
		return text + "\nThe first result cannot be opened: " + err.Error(), nil
	}
	return text + "\n" + said, nil
}

// wait waits for a text, or for some seconds.
func (r *runner) wait(ctx context.Context, t *Tab) (string, error) {
	seconds := 3
	if r.in.Seconds != nil {
		seconds = *r.in.Seconds
	} else if r.in.Text != nil {
		seconds = 30
	}
	end := time.NewTimer(time.Duration(seconds) * time.Second)
	defer end.Stop()
	for {
		t.b.mu.Lock()
		changed := t.b.changed
		t.b.mu.Unlock()
		if r.in.Text != nil {
			page, err := t.State(ctx)
			if err != nil {
				return "", err
			}
			if strings.Contains(page.Text(), *r.in.Text) {
				return fmt.Sprintf("The page has %q", *r.in.Text), nil
			}
		}
		again := time.NewTimer(250 * time.Millisecond)
		select {
		case <-end.C:
			again.Stop()
			if r.in.Text != nil {
				return "", fmt.Errorf("the page did not have %q within %d seconds", *r.in.Text, seconds)
			}
			return fmt.Sprintf("Waited for %d seconds", seconds), nil
		case <-t.b.Dead():
			again.Stop()
			return "", errDead
		case <-ctx.Done():
			again.Stop()
			return "", ctx.Err()
		case <-again.C:
		case <-changed:
			again.Stop()
		}
	}
}

func (r *runner) scroll(ctx context.Context, t *Tab, up bool) (string, error) {
	el, err := r.element(ctx, t, r.in.Index)
	if err != nil {
		return "", err
	}
	if r.in.ScrollAmount < 0 {
		return "", errors.New("scroll_amount is negative: use scroll_up and scroll_down")
	}
	moved, out, err := t.Scroll(ctx, el, r.in.ScrollAmount, up)
	if err != nil {
		return "", err
	}
	way := "down"
	if up {
		way = "up"
	}
	if moved == 0 {
		return fmt.Sprintf("It cannot be scrolled %s any further", way), nil
	}
	return r.say(ctx, fmt.Sprintf("Scrolled %s by %d pixels", way, moved), out, "")
}

func (r *runner) scrollTo(ctx context.Context, t *Tab) (string, error) {
	if _, err := t.ScrollTo(ctx, *r.in.Text); err != nil {
		return "", refuse("Failed to scroll to text: %s: %w", *r.in.Text, err)
	}
	return fmt.Sprintf("Scrolled to text: '%s'", *r.in.Text), nil
}

func (r *runner) hover(ctx context.Context, t *Tab) (string, error) {
	el, err := r.element(ctx, t, r.in.Index)
	if err != nil {
		return "", err
	}
	out, err := t.Hover(ctx, el)
	if err != nil {
		return "", err
	}
	return r.say(ctx, fmt.Sprintf("Hovered over element at index %d", el.Index), out, "")
}

func (r *runner) options(ctx context.Context, t *Tab) (string, error) {
	el, err := r.element(ctx, t, r.in.Index)
	if err != nil {
		return "", err
	}
	all, err := t.Options(ctx, el)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(all)
	return "Dropdown options: " + string(data), err
}

func (r *runner) choose(ctx context.Context, t *Tab) (string, error) {
	el, err := r.element(ctx, t, r.in.Index)
	if err != nil {
		return "", err
	}
	return r.acted(ctx, t, fmt.Sprintf("Selected option '%s' from dropdown at index %d", *r.in.Text, el.Index),
		func() (Outcome, error) { return t.Select(ctx, el, *r.in.Text) })
}

func (r *runner) input(ctx context.Context, t *Tab) (string, error) {
	el, err := r.element(ctx, t, r.in.Index)
	if err != nil {
		return "", err
	}
	said := fmt.Sprintf("Input '%s' into element at index %d", cut(*r.in.Text, 500), el.Index)
	if el.Kind == "password" {
		said = fmt.Sprintf("Input the password into element at index %d", el.Index)
	}
	return r.acted(ctx, t, said, func() (Outcome, error) { return t.Type(ctx, el, *r.in.Text) })
}

func (r *runner) keys(ctx context.Context, t *Tab) (string, error) {
	return r.acted(ctx, t, "Sent keys: "+r.in.Keys, func() (Outcome, error) { return t.Keys(ctx, r.in.Keys) })
}

func (r *runner) click(ctx context.Context, t *Tab) (string, error) {
	el, err := r.element(ctx, t, r.in.Index)
	if err != nil {
		return "", err
	}
	how := Button{Right: r.in.Button == "right"}
	if r.in.Button == "double" {
		how.Count = 2
	}
	if el == nil {
		p := Point{*r.in.X, *r.in.Y}
		return r.acted(ctx, t, fmt.Sprintf("Clicked at %g, %g", p.X, p.Y), func() (Outcome, error) { return t.ClickAt(ctx, p, how) })
	}
	if r.in.X != nil && r.in.Y != nil {
		how.At = &Point{*r.in.X, *r.in.Y}
	}
	if el.Tag == "select" {
		return "", fmt.Errorf("element %d is a drop-down: choose with select_dropdown_option", el.Index)
	}
	return r.acted(ctx, t, fmt.Sprintf("Clicked element at index %d", el.Index), func() (Outcome, error) { return t.Click(ctx, el, how) })
}

func (r *runner) drag(ctx context.Context, t *Tab) (string, error) {
	el, err := r.element(ctx, t, r.in.Index)
	if err != nil {
		return "", err
	}
	to, err := r.element(ctx, t, r.in.ToIndex)
	if err != nil {
		return "", err
	}
	said := fmt.Sprintf("Dragged element at index %d", el.Index)
	if to != nil {
		said += fmt.Sprintf(" to element at index %d", to.Index)
	}
	var at *Point
	if r.in.X != nil && r.in.Y != nil {
		at = &Point{*r.in.X, *r.in.Y}
	}
	return r.acted(ctx, t, said, func() (Outcome, error) { return t.Drag(ctx, el, to, at) })
}

func (r *runner) dialog(ctx context.Context, t *Tab) (string, error) {
	d := t.Dialog()
	if d == nil {
		return "", errors.New("no dialog is open")
	}
	text := d.Default
	if r.in.Text != nil {
		text = *r.in.Text
	}
	out, err := t.Answer(ctx, *r.in.Accept, text)
	if err != nil {
		return "", err
	}
	verb := "Dismissed"
	if *r.in.Accept {
		verb = "Accepted"
	}
	return r.say(ctx, fmt.Sprintf("%s the %s dialog %q", verb, d.Kind, cut(d.Message, 300)), out, "")
}
