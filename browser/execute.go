package browser

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

//go:embed js/html.js
var htmlJS string

// Execute runs a script in the page, with the rights of the page's own scripts, and
// waits until its effects have settled. It returns the script's value: a string
// unchanged, anything else as JSON. A promise is awaited, and a function is called.
// The script may be an expression, statements of which the last one has the value,
// or the body of a function with return.
func (t *Tab) Execute(ctx context.Context, script string) (text string, out Outcome, err error) {
	out, err = t.do(ctx, nil, func(ctx context.Context) error {
		ctx, done := t.hanging(ctx)
		defer done()
		value := "(" + strings.TrimRight(strings.TrimSpace(script), "; \n") + "\n)"
		block, body := "{\n"+script+"\n}", "(async () => {\n"+script+"\n})()"
		var res runtime.EvaluateResult
		var err error
		switch {
		case t.compiles(ctx, value):
			res, err = t.evaluate(ctx, value, false)
		case t.compiles(ctx, block): // what it declares is its own
			res, err = t.evaluate(ctx, block, false)
		case strings.Contains(script, "return") && t.compiles(ctx, body):
			res, err = t.evaluate(ctx, body, false)
		default: // await without a function around it, or no script at all
			res, err = t.evaluate(ctx, script, true)
		}
		if err == nil && res.ExceptionDetails == nil && res.Result != nil && res.Result.Type == runtime.RemoteObjectTypeFunction {
			res, err = t.evaluate(ctx, value+"()", false)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("its value cannot be shown: %w", staleOr(err))
		case res.ExceptionDetails != nil:
			return errors.New("the script failed: " + exceptionText(res.ExceptionDetails))
		}
		text = valueText(res.Result)
		return nil
	})
	return text, out, err
}

// evaluate evaluates a script in the main frame. console says that it may await like
// one that is typed into the browser's console.
func (t *Tab) evaluate(ctx context.Context, script string, console bool) (runtime.EvaluateResult, error) {
	p := runtime.EvaluateParams{
		Expression: script, ReturnByValue: ptr(true), AwaitPromise: ptr(true), UserGesture: ptr(true), ReplMode: ptr(console),
	}
	return cdp.Call(ctx, t.s, runtime.Evaluate, p)
}

// compiles reports whether a script is one, without running any of it.
func (t *Tab) compiles(ctx context.Context, script string) bool {
	p := runtime.EvaluateParams{Expression: "if (0) {\n" + script + "\n}"}
	res, err := cdp.Call(ctx, t.s, runtime.Evaluate, p)
	return err == nil && res.ExceptionDetails == nil
}

// exceptionText returns what an exception says, without the stack.
func exceptionText(e *runtime.ExceptionDetails) string {
	text := e.Text
	switch {
	case e.Exception == nil:
	case e.Exception.Description != "":
		text, _, _ = strings.Cut(e.Exception.Description, "\n    at ")
	case len(e.Exception.Value) > 0: // what was thrown is no Error
		text += " " + string(e.Exception.Value)
	}
	return text
}

// valueText returns a value for a model.
func valueText(v *runtime.RemoteObject) string {
	switch {
	case v == nil:
		return "undefined"
	case len(v.Value) == 0 && v.UnserializableValue != "":
		return string(v.UnserializableValue) // such as NaN
	case len(v.Value) == 0:
		return string(v.Type)
	}
	var s string
	if json.Unmarshal(v.Value, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, v.Value) != nil {
		return string(v.Value)
	}
	return b.String()
}

// refOf returns where an element is, or the document of the page if el is nil.
func (t *Tab) refOf(ctx context.Context, el *Element) (ref, error) {
	if el != nil {
		return el.ref, nil
	}
	doc, err := cdp.Call(ctx, t.s, dom.GetDocument, dom.GetDocumentParams{Depth: ptr(int64(0))})
	if err != nil {
		return ref{}, err
	}
	return ref{s: t.s, frame: cdp.FrameID(t.s.target), node: doc.Root.BackendNodeID}, nil
}

// Source returns the HTML of the page as it is now, or of an element if el is not
// nil, without scripts, styles and comments.
func (t *Tab) Source(ctx context.Context, el *Element) (string, error) {
	return viewing(ctx, t, func(ctx context.Context) (source string, err error) {
		r, err := t.refOf(ctx, el)
		if err != nil {
			return "", err
		}
		defer t.release(r.s)
		err = t.call(ctx, r, htmlJS, &source)
		return source, err
	})
}

// A Link is a link of a page.
type Link struct{ Text, URL string }

// Links returns the links of the page, those of its frames and shadow roots included,
// in the order of the page: each once, with its whole address. Links that lead
// nowhere but to a script are left out.
func (t *Tab) Links(ctx context.Context) ([]Link, error) {
	return viewing(ctx, t, func(ctx context.Context) ([]Link, error) {
		docs, _, err := t.capture(ctx)
		if err != nil {
			return nil, err
		}
		var all []Link
		seen := make(map[Link]bool)
		for _, d := range docs {
			base, err := url.Parse(d.baseURL())
			if err != nil {
				continue
			}
			for _, n := range d.nodes {
				if n.tag != "a" && n.tag != "area" || !n.has("href") {
					continue
				}
				to, err := base.Parse(strings.TrimSpace(n.value("href")))
				if err != nil || to.Scheme == "javascript" {
					continue
				}
				l := Link{n.linkText(), to.String()}
				if !seen[l] {
					seen[l] = true
					all = append(all, l)
				}
			}
		}
		return all, nil
	})
}

// baseURL returns the address to which the links of a document are relative.
func (d *document) baseURL() string {
	for _, n := range d.nodes {
		if n.tag != "base" || !n.has("href") {
			continue
		}
		at, err := url.Parse(d.url)
		if err != nil {
			break
		}
		if base, err := at.Parse(n.value("href")); err == nil {
			return base.String()
		}
		break
	}
	return d.url
}

// linkText returns the text in a link, or else what names it.
func (n *node) linkText() string {
	var b strings.Builder
	for k := range n.below() {
		switch {
		case k.kind == textNode:
			b.WriteString(k.source + " ")
		case k.tag == "img" && k.value("alt") != "":
			b.WriteString(k.value("alt") + " ")
		}
	}
	if text := strings.Join(strings.Fields(b.String()), " "); text != "" {
		return text
	}
	return n.name()
}
