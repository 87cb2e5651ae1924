package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// optionTime is how long a list may take to show an option after its name was typed:
// many ask a server, and wait before they do.
const optionTime = 2 * time.Second

// chooseListed chooses an option of a field that is no <select>, as a person does: it
// opens the list, types the name if the field takes text, and clicks the option. has is
// what the field holds. A text for which there is no option stays if the field keeps it;
// else the error names the options.
func (t *Tab) chooseListed(ctx context.Context, el *Element, want string, has fieldValue) (out Outcome, err error) {
	if !has.Open && has.holds(want) {
		return out, nil
	}
	known := make(map[int]bool) // the elements that are no options
	if !has.Open && el.Role != "listbox" {
		page, err := t.State(ctx)
		if err != nil {
			return out, err
		}
		for _, e := range page.Elements {
			known[e.Index] = true
		}
		if out, err = t.Click(ctx, el, Button{}); err != nil {
			return out, err
		}
	}
	known[el.Index] = true
	option, names, err := t.findOption(ctx, known, want, has.Types)
	if err == nil && option == nil && has.Types {
		more, terr := t.Type(ctx, el, want)
		if terr == nil {
			out = out.and(more)
			var shown []string
			if option, shown, err = t.findOption(ctx, known, want, false); len(shown) > 0 {
				names = shown
			}
		}
	}
	if err != nil {
		return out, err
	}
	if option == nil {
		return t.withoutOption(ctx, el, want, names, out)
	}
	more, err := t.Click(ctx, option, Button{})
	if err != nil {
		return out, fmt.Errorf("its option %q: %w", cut(option.Name, 60), err)
	}
	out, err = t.Rest(ctx, out.and(more))
	if err != nil {
		return out, err
	}
	switch v, err := t.fieldValue(ctx, el); {
	case errors.Is(err, errStale):
	case err != nil:
		return out, err
	case !v.holds(want) && !v.holds(option.Name):
		return out, fmt.Errorf("its option %q was clicked, and it shows %s", cut(option.Name, 60), v.say())
	}
	return out, nil
}

// withoutOption ends a choice that found no option: the list is closed by taking the focus
// away, and what the field then holds decides.
func (t *Tab) withoutOption(ctx context.Context, el *Element, want string, names []string, out Outcome) (Outcome, error) {
	more, err := t.do(ctx, el, func(ctx context.Context) error {
		return t.call(ctx, el.ref, "function () { this.blur() }", nil)
	})
	if err != nil {
		return out, err
	}
	out = out.and(more)
	v, err := t.fieldValue(ctx, el)
	if err != nil || len(v.Values) > 0 && bare(v.Values[0]) == bare(want) && el.Tag == "input" {
		return out, err
	}
	options := "it showed no options: click it, and look at what appears"
	if len(names) > 0 {
		options = "there are: " + strings.Join(names[:min(len(names), 20)], ", ")
		if len(names) > 20 {
			options += fmt.Sprintf(", and %d more", len(names)-20)
		}
	}
	return out, fmt.Errorf("there is no option %q; %s", cut(want, 60), options)
}

// findOption looks for an option by its name among the elements that are not known, for
// optionTime, or with first only until there is any. names are those of all that it saw.
func (t *Tab) findOption(ctx context.Context, known map[int]bool, want string, first bool) (*Element, []string, error) {
	end := time.After(optionTime)
	for {
		changed := locked(t.b, func() chan struct{} { return t.b.changed })
		page, err := t.State(ctx)
		if err != nil {
			return nil, nil, err
		}
		var options []*Element
		for _, e := range page.Elements {
			if !known[e.Index] {
				options = append(options, e)
			}
		}
		option, names := namedOption(options, want)
		if option != nil || first && len(names) > 0 {
			return option, names, nil
		}
		select {
		case <-end:
			return nil, names, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-t.b.Dead():
			return nil, nil, errDead
		case <-changed:
		case <-time.After(lookAgain):
		}
	}
}

// namedOption returns the element that is called so, or else the only one whose name has
// the text. Some lists have a second one for screen readers, which has no size: it comes last.
func namedOption(options []*Element, want string) (option *Element, names []string) {
	fold := func(s string) string { return strings.ToLower(clip.OneLine(s)) }
	var same, like []*Element
	for _, e := range options {
		if name := cut(clip.OneLine(e.Name), 60); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		switch {
		case fold(e.Name) == fold(want):
			same = append(same, e)
		case strings.Contains(fold(e.Name), fold(want)):
			like = append(like, e)
		}
	}
	slices.SortStableFunc(same, func(a, b *Element) int { return int(min(b.Box.H, 1)) - int(min(a.Box.H, 1)) })
	switch {
	case len(same) > 0:
		return same[0], names
	case len(like) == 1:
		return like[0], names
	}
	return nil, names
}
