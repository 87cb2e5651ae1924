package tui

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// asked opens the dialog of a question that waits, or of a plan that waits for approval,
// if nothing else has the focus and nothing is typed: keys that were meant for a message
// must not answer a question. Dialogs of questions that wait no more are closed.
func (p *program) asked() tea.Cmd {
	qs := p.questions()
	maps.DeleteFunc(p.deciding, func(key string, _ bool) bool {
		return !slices.ContainsFunc(qs, func(q question) bool { return q.key() == key })
	})
	for _, w := range p.stack {
		if d, ok := w.(*dialog); ok && !d.waits(qs) {
			p.pop(d)
		}
	}
	if len(p.stack) > 0 || !p.comp.empty() {
		return nil
	}
	for _, q := range qs {
		if q.key() == p.comp.dismissed || p.deciding[q.key()] {
			continue
		}
		d := &dialog{question: q, textBuffer: newBuffer(""), opened: p.now()}
		p.push(d)
		return tea.Batch(d.choicesOf(p), p.notify("it waits for you: "+clip.OneLine(q.asked.Question)))
	}
	if len(qs) > 0 {
		return nil
	}
	return p.proposed()
}

// key names a question among all of them.
func (q question) key() string { return q.session + " " + q.call.ID + " " + q.asked.Key() }

// A dialog puts a question to the person: exactly what would happen, where it reaches,
// why it is asked, and where the words came from.
type dialog struct {
	question
	textBuffer             // the answer, or why not
	opened     time.Time   // keys that come right after it decide nothing: see unheard
	choices    Choices     // until they are known: the fewest
	known      bool        // they are
	denying    bool        // the person writes why not
	input      string      // the arguments as the person has edited them; "": as they are
	effect     *CallEffect // of these; nil: not known yet
	scrolled   int         // lines of the text above
	rest       int         // lines below what is shown
	width      int
}

// unheard is how long a dialog ignores keys after it has opened that would decide
// something. A typed answer is kept: only Enter sends it.
const unheard = 400 * time.Millisecond

// waits reports whether the question is among those that wait.
func (d *dialog) waits(qs []question) bool {
	for _, q := range qs {
		if q.key() == d.key() {
			return true
		}
	}
	return false
}

// choicesOf asks which answers there are beyond yes and no. Until they are known, or if
// they cannot be read, only these two are offered.
func (d *dialog) choicesOf(p *program) tea.Cmd {
	if d.asked.Kind != openmanus.AskRuling {
		return nil
	}
	q := d.question
	return p.do(func(ctx context.Context) tea.Msg {
		c, err := p.src.Choices(ctx, q.session, q.call.ID)
		if err != nil {
			return nil // the fewest are offered
		}
		return then(func(*program) tea.Cmd {
			d.choices, d.known = c, true
			return nil
		})
	})
}

// update implements widget. Keys that come right after the dialog opened are dropped: they
// were meant for something else.
func (d *dialog) update(p *program, msg tea.Msg) (bool, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		if d.writes() {
			d.insert(strings.ReplaceAll(msg.Content, "\r", "\n"))
		}
	case tea.KeyPressMsg:
		soon := p.now().Sub(d.opened) < unheard
		if soon && (!d.writes() || msg.Text == "") {
			return false, nil
		}
		return d.press(p, msg)
	}
	return false, nil
}

// writes reports whether the person writes a text: an answer, or why not.
func (d *dialog) writes() bool { return d.denying || d.asked.Kind != openmanus.AskRuling }

// press handles a key. It returns true if the dialog closes. Esc puts the question off; it
// stays open in the session.
func (d *dialog) press(p *program, k tea.KeyPressMsg) (bool, tea.Cmd) {
	name := k.String()
	switch name {
	case "up", "down":
		d.scrolled = max(0, min(d.scrolled+map[string]int{"up": -1, "down": 1}[name], d.scrolled+d.rest))
		return false, nil
	case "esc":
		if d.denying && d.asked.Kind == openmanus.AskRuling {
			d.denying = false
			d.set("")
			return false, nil
		}
		p.comp.dismissed = d.key()
		return true, p.notice(false, "the question waits: press Enter to see it again, or say what to do instead")
	}
	if d.writes() {
		switch name {
		case "enter":
			if strings.TrimSpace(d.text) == "" && !d.denying {
				return false, nil
			}
			return d.decide(p, Decision{Reason: strings.TrimSpace(d.text), Text: d.text})
		case "shift+enter", "alt+enter", "ctrl+j":
			d.insert("\n")
		default:
			c := composer{textBuffer: d.textBuffer}
			if !c.edit(name) && k.Text != "" {
				c.insert(k.Text)
			}
			d.textBuffer = c.textBuffer
		}
		return false, nil
	}
	switch name {
	case "y":
		if d.effect != nil && d.effect.Fails != "" {
			return false, p.notice(true, "these arguments do not work: %s", d.effect.Fails)
		}
		return d.decide(p, Decision{Allow: true, Input: d.input})
	case "s":
		if d.asked.Scope != "" && d.input == "" {
			return d.decide(p, Decision{Allow: true, Scope: d.asked.Scope})
		}
	case "a":
		if d.choices.Remember && d.input == "" {
			return d.decide(p, Decision{Allow: true, Remember: true})
		}
	case "n":
		d.denying = true
	case "e":
		return false, d.edit(p)
	}
	return false, nil
}

// decide sends a decision and closes the dialog. The question is not put again until the
// journal has the decision, or refuses it.
func (d *dialog) decide(p *program, dec Decision) (bool, tea.Cmd) {
	dec.Session, dec.Call, dec.Kind, dec.Hash, dec.N = d.session, d.call.ID, d.asked.Kind, d.asked.Hash, d.asked.N
	key := d.key()
	p.deciding[key] = true
	return true, p.do(func(ctx context.Context) tea.Msg {
		if err := p.src.Decide(ctx, dec); err != nil {
			return then(func(p *program) tea.Cmd {
				delete(p.deciding, key)
				return tea.Batch(p.notice(true, "%v", err), p.asked())
			})
		}
		return nil
	})
}

// arguments returns the arguments that the call would run with: the person's, those that a
// hook has changed, or the model's.
func (d *dialog) arguments() string {
	switch {
	case d.input != "":
		return d.input
	case d.asked.Input != "":
		return d.asked.Input
	}
	return d.call.Input
}

// edit has the person edit the arguments. The effect of the edited call is shown
// before they allow it.
func (d *dialog) edit(p *program) tea.Cmd {
	var v any
	text := d.arguments()
	if json.Unmarshal([]byte(text), &v) == nil {
		if data, err := json.MarshalIndent(v, "", "  "); err == nil {
			text = string(data)
		}
	}
	return edit("arguments-*.json", text, func(p *program, edited string) tea.Cmd {
		edited = strings.TrimSpace(edited)
		if !json.Valid([]byte(edited)) {
			return p.notice(true, "that is no JSON, so nothing was changed")
		}
		if edited == strings.TrimSpace(text) {
			return nil
		}
		d.input, d.effect, d.opened = edited, nil, p.now()
		src, ok := p.src.(Previewer)
		if !ok {
			return nil
		}
		q := d.question
		return p.do(func(ctx context.Context) tea.Msg {
			e, err := src.Preview(ctx, q.session, q.call.ID, edited)
			if err != nil {
				e.Fails = err.Error()
			}
			return then(func(*program) tea.Cmd {
				if d.input == edited {
					d.effect = &e
				}
				return nil
			})
		})
	})
}
