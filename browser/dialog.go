package browser

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// maxDialogs is how many dialogs a page may open in one action. The script that
// opens more is stopped.
const maxDialogs = 10

// A Dialog is a message or question of the page that blocks the page until it is
// answered. An alert is accepted at once, since it leaves nothing to decide, and
// so is the question whether to leave a page that an action of ours leaves. The
// others wait for [Tab.Answer].
type Dialog struct {
	Kind    string `json:"kind"` // alert, confirm, prompt or beforeunload
	Message string `json:"message"`
	Default string `json:"default,omitempty"` // of a prompt
	Open    bool   `json:"open,omitempty"`    // it waits for an answer

	s *session
}

// dialogOpens handles the event of a dialog that opens: it answers it, or leaves it
// open for Answer. The page and all commands to it stand still until then.
func (t *Tab) dialogOpens(s *session, params jsonv2.Value) {
	var ev page.EventJavascriptDialogOpening
	if decode(params, &ev) != nil {
		return
	}
	d := Dialog{Kind: string(ev.Type), Message: ev.Message, Default: ev.DefaultPrompt, s: s}
	tooMany := false
	t.b.note(func() {
		t.dialogCount++
		tooMany = len(t.dialogs) >= maxDialogs
		d.Open = d.Kind != "alert" && !(d.Kind == "beforeunload" && t.leaving) && !tooMany
		if !tooMany {
			t.dialogs = append(t.dialogs, d)
		}
		if d.Open {
			t.dialog = &d
		}
	})
	if d.Open {
		return
	}
	go func() { // the reader of events must not block on a write
		if tooMany {
			s.send(runtime.CommandTerminateExecution, nil)
		}
		s.send(page.CommandHandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
	}()
}

// Dialog returns the dialog that waits for an answer, or nil.
func (t *Tab) Dialog() *Dialog { return locked(t.b, func() *Dialog { return t.dialog }) }

// Answer answers the open dialog and waits until the effects have settled. text
// is the answer to a prompt. It is no action in the sense of act, which an open
// dialog does not let begin.
func (t *Tab) Answer(ctx context.Context, accept bool, text string) (Outcome, error) {
	d := t.Dialog()
	if d == nil {
		return Outcome{}, errNoDialog
	}
	before := t.snapshot()
	ctx, cancel := context.WithTimeout(ctx, 2*loadTime)
	defer cancel()
	p := page.HandleJavaScriptDialogParams{Accept: accept, PromptText: text}
	if _, err := cdp.Call(ctx, d.s, page.HandleJavaScriptDialog, p); err != nil {
		return Outcome{}, fmt.Errorf("the dialog cannot be answered: %w", err)
	}
	t.b.note(func() {
		if t.dialog != nil && t.dialog.Kind == d.Kind && t.dialog.Message == d.Message {
			t.dialog = nil
		}
	})
	return t.waitSettled(ctx, before, t.drawn)
}

var errNoDialog = errors.New("no dialog is open")
