package browser

import (
	"context"
	"fmt"
	"strings"
)

// acted does something to the page and says what came of it, also if that is
// nothing.
func (r *runner) acted(ctx context.Context, t *Tab, said string, do func() (Outcome, error)) (string, error) {
	before := t.print(ctx)
	out, err := do()
	if err == nil {
		out, err = t.Rest(ctx, out)
	}
	if err != nil {
		return "", err
	}
	same := ""
	if before != "" && before == t.print(ctx) {
		same = "; nothing changed on the page"
	}
	return r.say(ctx, said, out, same)
}

// print is what tells one state of a page from another; "" if it cannot be
// seen.
func (t *Tab) print(ctx context.Context) string {
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

// say adds to said what came of an action. nothing is said if nothing did.
func (r *runner) say(ctx context.Context, said string, out Outcome, nothing string) (string, error) {
	var b strings.Builder
	b.WriteString(said)
	for _, d := range out.Downloads {
		name, err := r.keep(ctx, d, "")
		if err != nil {
			fmt.Fprintf(&b, " - the download failed: %v", err)
		} else {
			fmt.Fprintf(&b, " - Downloaded file to %s", name)
		}
		nothing = ""
	}
	add := func(yes bool, format string, a ...any) {
		if yes {
			fmt.Fprintf(&b, "; "+format, a...)
			nothing = ""
		}
	}
	add(out.URL != "" && !strings.Contains(said, out.URL), "the page went to %s", cut(out.URL, 300))
	add(out.Tab != nil, "it opened a tab, which is active now")
	add(out.Closed, "its tab was closed")
	add(out.Chooser, "it wants a file: upload_file gives it one")
	for i, d := range out.Dialogs {
		if i == maxDialogs-1 {
			add(true, "it opened more dialogs than that, and its script was stopped")
			break
		}
		if d.Open {
			add(true, "it shows a dialog (%s): %q, which handle_dialog answers", d.Kind, cut(d.Message, 300))
		} else {
			add(true, "it showed the dialog (%s) %q, which was accepted", d.Kind, cut(d.Message, 300))
		}
	}
	add(out.Loading, "something is still loading")
	return b.String() + nothing, nil
}

// titles are the titles of the tabs.
func (b *Browser) titles(ctx context.Context) map[*Tab]string {
	var res struct {
		Infos []struct {
			ID    string `json:"targetId"`
			Title string `json:"title"`
		} `json:"targetInfos"`
	}
	titles := make(map[*Tab]string)
	if b.c.root.Call(ctx, "Target.getTargets", nil, &res) != nil {
		return titles // they are a help, no more
	}
	for _, t := range b.Tabs() {
		for _, i := range res.Infos {
			if i.ID == string(t.s.target) {
				titles[t] = i.Title
			}
		}
	}
	return titles
}
