package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// A runner carries out one call.
type runner struct {
	tool *Tool
	in   params
	slot *slot
	b    *Browser
	ctx  context.Context // of the call

	at    string    // the address of its page when the call began
	tab   *Tab      // the active one when the call began
	el    *Element  // that index names, or nil
	to    *Element  // that to_index names, or nil
	note  string    // what the result begins with
	files []string  // that were written
	image *llm.Blob // for the model, or nil
	quiet bool      // the result leaves out the page: it is long, or about another page

	filled []*Element // by fill_form
	before string     // a fingerprint of the page before the act, or before fill_form clicks; see action.compare

	found []openmanus.Source // of what a search found
	from  []string           // addresses of what is in the result besides the present page
}

// An action is one of those that browser_use offers. The runner does for all of
// them what they have in common: it checks what they need, resolves elements,
// limits the time, describes the outcome and the page, and explains errors.
type action struct {
	needs []need
	hints openmanus.Hints

	// run carries it out. did says what was done; the Outcome completes it.
	run func(c *runner, ctx context.Context) (did string, out Outcome, err error)

	// element means that index and to_index, if they are given, are looked up
	// before run is called.
	element bool

	// compare makes the result say so if the action changed nothing on the page.
	compare bool
}

// run carries out the action and then describes the page, also
// after an error.
func (c *runner) run(a action) (openmanus.Result, error) {
	limited, cancel := context.WithTimeout(c.ctx, actionTime)
	defer cancel()
	text, err := c.act(limited, a)
	refused := ""
	if c.b.gate != nil {
		refused = c.b.gate.refusals(err != nil)
	}
	switch {
	case err != nil:
		err = c.explain(limited, err)
		if refused != "" && !strings.Contains(err.Error(), refused) {
			err = fmt.Errorf("%w (%s)", err, refused)
		}
	case refused != "":
		text += "; " + refused
	}
	if c.ctx.Err() != nil {
		return openmanus.Result{}, c.ctx.Err()
	}
	return c.result(text, err != nil), err
}

// name tells the gateway of the browser which host the call names, and makes the
// context of the call tell it to [Config].Check. local is HOST:PORT of the server on
// this machine or in a private network that the user allowed the call to go to, or "":
// what that shows is private.
func (c *runner) name(local string) {
	named := ""
	if u, err := parseAddress(c.in.URL); err == nil && slices.Contains(c.in.uses(), requests) {
		named = strings.ToLower(u.Hostname())
	} else {
		local = "" // it is the scope of an act on a page
	}
	if local != "" {
		c.ctx = egress.WithLocal(c.ctx, func(target string) bool { return target == local })
		c.slot.noteTyped(named)
	}
	if tab := c.b.Active(); tab != nil {
		c.at = tab.URL()
	}
	c.ctx = egress.WithNamed(c.ctx, func(host string) bool { return host == named })
	if c.b.gate == nil {
		return
	}
	var open, targets []string
	for _, t := range c.b.Tabs() {
		open, targets = append(open, hostOf(t.URL())), append(targets, targetOf(t.URL()))
	}
	c.b.gate.name(named, open)
	c.b.gate.allow(local, targets)
}

// act carries out the action and returns what the result says of it.
func (c *runner) act(ctx context.Context, a action) (string, error) {
	var err error
	if c.tab, err = c.activeTab(ctx); err != nil {
		return "", err
	}
	if err = c.tab.judge(ctx); err != nil {
		return "", err
	}
	if a.element {
		if c.el, err = c.element(ctx, c.in.Index); err != nil {
			return "", err
		}
		if c.to, err = c.element(ctx, c.in.ToIndex); err != nil {
			return "", err
		}
	}
	if a.compare {
		c.before = c.tab.fingerprint(ctx)
	}
	did, out, err := a.run(c, ctx)
	if len(out.Dialogs)+len(out.Downloads) > 0 || err != nil {
		c.from = append(c.from, c.at) // what a dialog or an error says
	}
	if err == nil && a.compare {
		out, err = c.tab.Rest(ctx, out)
	}
	if err != nil {
		return "", err
	}
	effects := c.effects(ctx, did, out)
	if effects == "" && c.before != "" && c.before == c.tab.fingerprint(ctx) {
		effects = "; nothing changed on the page" + c.invalid(ctx)
	}
	return did + effects, nil
}

// invalid names the fields that keep a form from being sent, if the call has clicked
// something: ": element 3 (Terms) is invalid", at most five.
func (c *runner) invalid(ctx context.Context) string {
	if c.in.Action != "click_element" && c.in.Submit == nil {
		return ""
	}
	page, err := c.tab.State(ctx)
	if err != nil {
		return ""
	}
	var all []string
	for _, e := range page.Elements {
		if slices.Contains(e.State, "invalid") && len(all) < 5 {
			all = append(all, fmt.Sprintf("element %d (%s) is invalid", e.Index, cut(clip.OneLine(e.Name), 60)))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}

// activeTab returns the active tab, and opens one if there is none.
func (c *runner) activeTab(ctx context.Context) (*Tab, error) {
	if tab := c.b.Active(); tab != nil {
		return tab, nil
	}
	return c.b.New(ctx)
}

// element returns the element with an index: as it was last seen, or as a new
// look finds it. Without an index it returns nil. It does not look again at an
// element that it knows: the action itself waits for one that is hidden now.
func (c *runner) element(ctx context.Context, index *int) (*Element, error) {
	if index == nil {
		return nil, nil
	}
	t := c.tab
	if err := t.obstacle(); err != nil {
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

// fingerprint returns a text that differs between two states of a page that
// differ for its user, or "" if the page cannot be seen. Focus does not count.
func (t *Tab) fingerprint(ctx context.Context) string {
	p, err := t.State(ctx)
	if err != nil || p.Dialog != nil {
		return ""
	}
	lines := p.lines()
	for i, it := range p.items {
		if it.el != nil {
			lines[i] = strings.ReplaceAll(it.el.String(), " focused", "")
		}
	}
	return fmt.Sprint(p.URL, p.Title, p.Above, lines)
}

// effects describes an outcome, as the continuation of did: "; the page went to
// …". It puts downloads into the workspace.
func (c *runner) effects(ctx context.Context, did string, out Outcome) string {
	var b strings.Builder
	for _, d := range out.Downloads {
		if name, err := c.keep(ctx, d, ""); err != nil {
			fmt.Fprintf(&b, " - the download failed: %v", err)
		} else {
			fmt.Fprintf(&b, " - Downloaded file to %s", name)
		}
	}
	add := func(yes bool, format string, a ...any) {
		if yes {
			fmt.Fprintf(&b, "; "+format, a...)
		}
	}
	add(out.Status >= 400, "it answers with HTTP %d (%s)", out.Status, cmp.Or(http.StatusText(out.Status), "an error"))
	add(out.URL != "" && !strings.Contains(did, out.URL), "the page went to %s", cut(out.URL, 300))
	add(out.Tab != nil, "it opened a tab, which is active now")
	add(out.Closed, "its tab was closed")
	add(out.Chooser, "it asks for a file: upload_file provides one")
	for i, d := range out.Dialogs {
		if i == maxDialogs-1 {
			add(true, "it opened more dialogs than that, and its script was stopped")
			break
		}
		add(d.Open, "it shows a dialog (%s): %q, which handle_dialog answers", d.Kind, cut(d.Message, 300))
		add(!d.Open, "it showed the dialog (%s) %q, which was accepted", d.Kind, cut(d.Message, 300))
	}
	if host := c.refusedHosts(); host != "" {
		add(true, "a page of the workspace is shown without a network: it did not get what it wants from %s, so put that beside it", host)
	}
	add(out.Loading, "something is still loading")
	return b.String()
}

// refusedHosts names the hosts from which a page of the workspace wanted something since
// the last call, three at most.
func (c *runner) refusedHosts() string {
	var hosts []string
	if c.b == nil {
		return ""
	}
	c.b.note(func() {
		for _, t := range c.b.tabs {
			if t.shelf != nil {
				hosts = slices.AppendSeq(hosts, maps.Keys(t.shelf.refused))
				clear(t.shelf.refused)
			}
		}
	})
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	return strings.Join(hosts[:min(len(hosts), 3)], ", ")
}

// explain says what an error means for the model, and what to try. limited is the
// context whose end is the time limit of the call. The texts begin as OpenManus'
// do.
func (c *runner) explain(limited context.Context, err error) error {
	select {
	case <-c.b.Dead():
		return errors.New("the browser died; the next call starts it again")
	default:
	}
	var b blocked
	name := c.in.Action
	switch {
	case errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil && c.ctx.Err() == nil:
		return refuse("Browser action '%s' failed: it was not done within %v", name, actionTime)
	case c.in.Index != nil && (errors.Is(err, errStale) || errors.As(err, &b)):
		return refuse("Browser action '%s' failed: element %d: %w", name, *c.in.Index, err)
	case errors.Is(err, errDialog):
		return refuse("Browser action '%s' failed: %w (handle_dialog)", name, err)
	}
	return refuse("Browser action '%s' failed: %w", name, err)
}

const (
	pageBytes   = 8500 // of a page in a result
	failedBytes = 3500 // of a page after an action that failed, which has changed little
)

// result returns text and, as a view, the page as it is now. The page's text comes
// after our own, which does not repeat it. An empty page is not shown. After a
// failure text is empty: the error takes its place.
func (c *runner) result(text string, failed bool) openmanus.Result {
	ctx, cancel := context.WithTimeout(c.ctx, actionTime)
	defer cancel()
	tab, err := c.activeTab(ctx)
	if err != nil { // the browser died, as the next call will say
		res := openmanus.TextResult("%s", c.note+text)
		res.Sources = append([]openmanus.Source{{From: c.at}}, c.found...)
		return res
	}
	page, err := tab.State(ctx)
	if err != nil {
		page = &Page{URL: tab.URL()}
		text += "\n(The page cannot be shown: " + err.Error() + ")"
	}
	d := Detail{URL: page.URL, Title: page.Title, Files: c.files, Tabs: c.b.tabInfos(ctx)}
	c.noteTyped(page)
	res := openmanus.Result{Source: page.URL, Sources: c.sources(page, d.Tabs), Reading: c.quiet && !failed}
	if text = c.note + text; text != "" {
		res.Parts = llm.Parts{llm.Text{Text: text}}
	}
	if !c.quiet && err == nil {
		list := listTabs(d.Tabs)
		limit := pageBytes - len(list) - min(len(c.note), 1000)
		if failed {
			limit = failedBytes
		}
		if d.PageState = list; !page.empty() {
			d.PageState += page.Render(limit)
		}
		tab.Seen()
		if d.PageState != "" {
			res.Parts = append(res.Parts, llm.Text{Text: "\n" + d.PageState, View: true})
		}
		if page.Dialog == nil {
			c.takePictures(ctx, tab, page, &res)
		}
	}
	if c.image != nil {
		res.Parts = append(res.Parts, *c.image)
	}
	res.Detail = d
	return res
}

// takePictures adds the picture for people to a result, and, if the model sees, makes
// the one for the model. Without them there is the text.
func (c *runner) takePictures(ctx context.Context, tab *Tab, page *Page, res *openmanus.Result) {
	ctx, cancel := context.WithTimeout(ctx, c.b.hang) // a page that does not end its scripts draws nothing
	defer cancel()
	pic, err := tab.picture(ctx, page)
	if err != nil || pic == nil {
		return
	}
	res.Picture = pic.small()
	if c.image == nil && c.tool.cfg.Vision {
		pic.mark(page, page.Elements)
		if data, err := pic.encode(viewQuality); err == nil {
			c.image = &llm.Blob{MIME: "image/jpeg", Name: "view.jpg", Data: data, View: true}
		}
	}
}

// noteTyped notes the site of the page, and that of the element's frame, if the
// call has given them something: what they show from then on may be private, as
// after a log-in.
func (c *runner) noteTyped(page *Page) {
	if !slices.ContainsFunc(c.in.uses(), func(a openmanus.Argument) bool {
		return a == types || a == pressed || a == uploads || a == fills || a == scripts
	}) {
		return
	}
	c.slot.noteTyped(hostOf(c.at))
	for _, el := range append(c.filled, c.el) {
		if el != nil {
			c.slot.noteTyped(hostOf(page.frames[el.frame]))
		}
	}
}

// noteTyped notes that what a host shows from now on may be private.
func (s *slot) noteTyped(host string) {
	if s.typed == nil {
		s.typed = make(map[string]bool)
	}
	s.typed[host] = true
}

// sources returns who wrote what the result says: the page, its frames, the pages
// whose titles the other tabs have, those whose dialogs it repeats, and what a
// search found. None is trusted.
func (c *runner) sources(page *Page, tabs []TabInfo) []openmanus.Source {
	urls := append([]string{page.URL}, c.from...)
	urls = append(urls, slices.Sorted(maps.Values(page.frames))...)
	all := append([]openmanus.Source{}, c.found...)
	seen := make(map[string]bool)
	add := func(address string, words ...string) {
		host := hostOf(address)
		if host == "" || host == filesHost || seen[address] {
			return
		}
		seen[address] = true
		all = append(all, openmanus.Source{From: address, Private: c.tool.cfg.Private || c.slot.typed[host], Words: words})
	}
	for _, u := range urls {
		add(u)
	}
	c.b.note(func() { // a page of the workspace is made of files
		for _, t := range c.b.tabs {
			if t.shelf != nil && shelved(page.URL) != "" {
				for _, name := range slices.Sorted(maps.Keys(t.shelf.served)) {
					all = append(all, openmanus.FileSource(name))
				}
			}
		}
	})
	for _, t := range tabs {
		add(t.URL, t.URL, cmp.Or(t.Title, t.URL))
	}
	return all
}

// hostOf returns the host of an address in lower case, or "".
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// targetOf returns where the page at an address came from, as HOST:PORT.
func targetOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(egress.TargetOf(u))
}

// listTabs lists the tabs if there are several.
func listTabs(tabs []TabInfo) string {
	if len(tabs) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Tabs:\n")
	for _, t := range tabs {
		fmt.Fprintf(&b, "  %d: %s %s", t.ID, cut(cmp.Or(t.Title, "(no title)"), 60), cut(t.URL, 100))
		if t.Active {
			b.WriteString(" (active)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// tabInfos describes the tabs. Titles are left out if the browser does not tell
// them.
func (b *Browser) tabInfos(ctx context.Context) []TabInfo {
	titles := make(map[target.ID]string)
	if res, err := cdp.Call(ctx, b.c.root, target.GetTargets, target.GetTargetsParams{}); err == nil {
		for _, i := range res.TargetInfos {
			titles[i.TargetID] = i.Title
		}
	}
	active := b.Active()
	var all []TabInfo
	for _, t := range b.Tabs() {
		all = append(all, TabInfo{ID: t.ID, URL: t.URL(), Title: titles[t.s.target], Active: t == active})
	}
	return all
}
