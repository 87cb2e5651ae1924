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

// maxDialogs is how many dialogs a page may open in one action. After that its
// script is stopped.
const maxDialogs = 10

// A Dialog is a question or message that a page puts before everything else.
// An alert is accepted at once, since there is nothing to decide; so is the
// question whether to leave a page that we were told to leave. Others wait for
// [Tab.Answer].
type Dialog struct {
	Kind    string `json:"kind"` // alert, confirm, prompt, beforeunload
	Message string `json:"message"`
	Default string `json:"default,omitempty"` // of a prompt
	Open    bool   `json:"open,omitempty"`    // it waits for an answer

	s *session
}

func (t *Tab) dialogEvent(s *session, method string, params jsonv2.Value) {
	if method == "Page.javascriptDialogClosed" {
		t.b.note(func() { t.dialog = nil })
		return
	}
	var ev page.EventJavascriptDialogOpening
	if decode(params, &ev) != nil {
		return
	}
	d := Dialog{Kind: string(ev.Type), Message: ev.Message, Default: ev.DefaultPrompt, s: s}
	accept, many := false, false
	t.b.note(func() {
		t.shown++
		many = len(t.said) >= maxDialogs
		accept = d.Kind == "alert" || d.Kind == "beforeunload" && t.leaving || many
		d.Open = !accept
		if !many {
			t.said = append(t.said, d)
		}
		if d.Open {
			t.dialog = &d
		}
	})
	if !accept {
		return
	}
	go func() { // the reader of events must not wait to write
		if many {
			s.send(runtime.CommandTerminateExecution, nil)
		}
		s.send(page.CommandHandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
	}()
}

// Dialog returns the dialog that waits for an answer, or nil.
func (t *Tab) Dialog() *Dialog {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	return t.dialog
}

// Answer answers the dialog that is open, with text if it is a prompt, and
// waits until what it set off has come to rest.
func (t *Tab) Answer(ctx context.Context, accept bool, text string) (Outcome, error) {
	d := t.Dialog()
	if d == nil {
		return Outcome{}, errors.New("no dialog is open")
	}
	before := t.before()
	ctx, cancel := context.WithTimeout(ctx, 2*loadTime)
	defer cancel()
	_, err := cdp.Call(ctx, d.s, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: accept, PromptText: text})
	if err != nil {
		return Outcome{}, fmt.Errorf("the dialog cannot be answered: %w", err)
	}
	t.b.note(func() {
		if t.dialog != nil && t.dialog.Kind == d.Kind && t.dialog.Message == d.Message {
			t.dialog = nil
		}
	})
	return t.after(ctx, before, t.drawn)
}
