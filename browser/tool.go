package browser

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

const (
	actionTime  = 60 * time.Second // for one call
	maxDownload = 200 << 20        // bytes of a file that comes or goes
)

// A Config says what a [Tool] is made with.
type Config struct {
	// Start starts a browser; nil is [Start] with no options. It is called
	// when a session first uses its browser, and when that has died.
	Start func(ctx context.Context) (*Browser, error)

	// Files are where downloads, screenshots and PDFs are put and uploads
	// taken from; Dir is their root. Nil: there are none of these.
	Files workspace.Files
	Dir   string

	// Check, if not nil, refuses addresses before they are opened. What the
	// browser itself connects to is the business of its proxy.
	Check func(*url.URL) error

	// Search, if not nil, searches the web: the result as the model reads
	// it, and the address of the first hit.
	Search func(ctx context.Context, query string) (text, first string, err error)

	// Markdown, if not nil, makes Markdown of a page for extract_content.
	Markdown func(html []byte, base string) (string, error)

	// Vision gives the model a screenshot of the view with every result.
	Vision bool
}

// A Tool is the tool browser_use: a browser for each session, started when it
// is first used. It is safe for concurrent use; the calls of a session run one
// after the other.
type Tool struct {
	cfg  Config
	spec openmanus.ToolSpec

	mu     sync.Mutex
	slots  map[string]*slot
	closed bool
}

// slot is the place of a session's browser.
type slot struct {
	turn chan struct{} // held by the call that runs; what follows is its
	b    *Browser      // nil: there is none yet
	gone bool          // it was ended: there is another, or none
}

// NewTool returns the tool. The caller closes it.
func NewTool(cfg Config) *Tool {
	if cfg.Start == nil {
		cfg.Start = func(ctx context.Context) (*Browser, error) { return Start(ctx, Options{}) }
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(schema)); err != nil {
		panic("browser: the schema of browser_use: " + err.Error())
	}
	spec := openmanus.ToolSpec{
		ToolSpec:  llm.ToolSpec{Name: "browser_use", Description: strings.TrimSpace(description), Input: b.Bytes()},
		Arguments: arguments,
	}
	return &Tool{cfg: cfg, spec: spec, slots: make(map[string]*slot)}
}

// Spec implements [openmanus.Tool].
func (t *Tool) Spec() openmanus.ToolSpec { return t.spec }

// Hints implements [openmanus.CallHinter]. What only looks, or goes to a page,
// changes nothing but the session's own browser; it is not ReadOnly, since
// such calls would run at once, and the order of these matters.
func (t *Tool) Hints(call openmanus.Call) openmanus.Hints {
	var in params
	if json.Unmarshal([]byte(call.Input), &in) != nil {
		return openmanus.Hints{}
	}
	a, ok := actions[in.Action]
	switch {
	case !ok:
		return openmanus.Hints{}
	case in.Action == "screenshot" && in.FilePath != "":
		return openmanus.Hints{Edits: true, Idempotent: true}
	}
	return a.hints
}

// Close ends the browsers of all sessions.
func (t *Tool) Close() error {
	t.mu.Lock()
	slots := t.slots
	t.slots, t.closed = nil, true
	t.mu.Unlock()
	var errs []error
	for _, s := range slots {
		errs = append(errs, s.end())
	}
	return errors.Join(errs...)
}

// end ends the browser of a slot, after the call that runs.
func (s *slot) end() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.gone = true
	if s.b == nil {
		return nil
	}
	return s.b.Close()
}

// CloseSession implements [openmanus.SessionCloser]: it ends the session's
// browser, after the call that runs, and lets go of all that is kept for it.
// The session may use a browser again: it is a new one, and the model is told
// so.
func (t *Tool) CloseSession(session string) error {
	t.mu.Lock()
	s := t.slots[session]
	delete(t.slots, session)
	t.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.end()
}

// enter waits for the turn of a call in the slot of its session.
func (t *Tool) enter(ctx context.Context, session string) (*slot, error) {
	for {
		s, err := t.slot(session)
		if err != nil {
			return nil, err
		}
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !s.gone {
			return s, nil
		}
		<-s.turn // it was ended meanwhile
	}
}

func (t *Tool) slot(session string) (*slot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errors.New("the browser tool is closed")
	}
	s := t.slots[session]
	if s == nil {
		s = &slot{turn: make(chan struct{}, 1)}
		t.slots[session] = s
	}
	return s, nil
}

// A Detail is the Detail of browser_use's results.
type Detail struct {
	URL       string    `json:"url"`
	Title     string    `json:"title,omitempty"`
	Tabs      []TabInfo `json:"tabs,omitempty"`
	Files     []string  `json:"files,omitempty"` // that were made in the workspace
	PageState string    `json:"page,omitempty"`
}

// A TabInfo is one of the tabs.
type TabInfo struct {
	ID     int    `json:"id"`
	URL    string `json:"url"`
	Title  string `json:"title,omitempty"`
	Active bool   `json:"active,omitempty"`
}

// Run implements [openmanus.Tool].
func (t *Tool) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	var in params
	if err := json.Unmarshal([]byte(call.Input), &in); err != nil {
		return openmanus.Result{}, fmt.Errorf("arguments: %w", err)
	}
	a, ok := actions[in.Action]
	if !ok {
		return openmanus.Result{}, refuse("Unknown action: %s", in.Action)
	}
	if err := a.check(in); err != nil {
		return openmanus.Result{}, err
	}
	s, err := t.enter(ctx, call.Session)
	if err != nil {
		return openmanus.Result{}, err
	}
	defer func() { <-s.turn }()
	r := &runner{tool: t, in: in, call: call}
	if r.note, err = t.browser(ctx, s, call); err != nil {
		return openmanus.Result{}, err
	}
	r.b = s.b
	return r.run(ctx, a)
}

// browser sees to it that the slot has a browser that lives. note says what
// the model does not know of it.
func (t *Tool) browser(ctx context.Context, s *slot, call openmanus.Call) (note string, err error) {
	died := false
	if s.b != nil {
		select {
		case <-s.b.Dead():
			s.b.Close() // it is dead
			s.b, died = nil, true
		default:
			return "", nil
		}
	}
	if s.b, err = t.cfg.Start(ctx); err != nil {
		return "", err
	}
	var last Detail
	json.Unmarshal(call.Last, &last) // none: it is the first time
	at := ""
	if last.URL != "" && last.URL != "about:blank" {
		at = " The last page was " + last.URL + "."
	}
	switch {
	case died:
		return "(The browser had died and was started again: its tabs and what was typed there are lost." + at + ")\n", nil
	case len(call.Last) > 0:
		return "(This is a new browser: the one of before was ended while the session rested. No page of then is open, and log-ins are lost unless a profile is configured." + at + ")\n", nil
	}
	return "", nil
}

// A runner is one call under way.
type runner struct {
	tool  *Tool
	b     *Browser
	in    params
	call  openmanus.Call
	note  string
	files []string
	quiet bool // the result is long, or is no page: leave out how the page is
	image []llm.Part
}

// run carries out the action, and says how the page is then.
func (r *runner) run(ctx context.Context, a action) (openmanus.Result, error) {
	limited, cancel := context.WithTimeout(ctx, actionTime)
	defer cancel()
	tab, err := r.tab(limited)
	if err != nil {
		return openmanus.Result{}, err
	}
	text, err := a.run(r, limited, tab)
	if err != nil {
		err = r.explain(ctx, limited, err)
	}
	if ctx.Err() != nil {
		return openmanus.Result{}, ctx.Err()
	}
	res, serr := r.result(ctx, text)
	if err == nil {
		return res, serr
	}
	return res, err
}

// tab is the active tab. There always is one.
func (r *runner) tab(ctx context.Context) (*Tab, error) {
	if tab := r.b.Active(); tab != nil {
		return tab, nil
	}
	return r.b.New(ctx)
}

// explain says what an error means, and what to try.
func (r *runner) explain(ctx, limited context.Context, err error) error {
	select {
	case <-r.b.Dead():
		return errors.New("the browser died; the next call starts it again")
	default:
	}
	var b blocked
	switch {
	case errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil && ctx.Err() == nil:
		return refuse("Browser action '%s' failed: it was not done within %v", r.in.Action, actionTime)
	case r.in.Index != nil && (errors.Is(err, errStale) || errors.As(err, &b)):
		return refuse("Browser action '%s' failed: element %d: %w", r.in.Action, *r.in.Index, err)
	case errors.Is(err, errDialog):
		return refuse("Browser action '%s' failed: %w (handle_dialog)", r.in.Action, err)
	}
	return refuse("Browser action '%s' failed: %w", r.in.Action, err)
}

// result is text and the page as it is now.
func (r *runner) result(ctx context.Context, text string) (openmanus.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, actionTime)
	defer cancel()
	tab, err := r.tab(ctx)
	if err != nil {
		return openmanus.Result{Parts: llm.Parts{llm.Text{Text: r.note + text}}}, nil // it is dead, and the next call says so
	}
	page, err := tab.State(ctx)
	if err != nil {
		page = &Page{URL: tab.URL()}
		text += "\n(The page cannot be shown: " + err.Error() + ")"
	}
	detail := Detail{URL: page.URL, Title: page.Title, Files: r.files, Tabs: r.tabs(ctx)}
	var out strings.Builder
	out.WriteString(r.note + text)
	if !r.quiet && err == nil {
		state := r.render(page, detail.Tabs)
		detail.PageState = state
		out.WriteString("\n\n" + state)
		tab.Seen()
	}
	res := openmanus.Result{Parts: llm.Parts{llm.Text{Text: out.String()}}, Detail: detail, Source: page.URL}
	if len(r.image) == 0 && r.tool.cfg.Vision && !r.quiet && page.Dialog == nil && err == nil {
		if img, err := tab.Marked(ctx, page); err == nil {
			r.image = append(r.image, llm.Blob{MIME: "image/jpeg", Name: "view.jpg", Data: img})
		} // the page is described in words as well
	}
	res.Parts = append(res.Parts, r.image...)
	return res, nil
}

// render is the page as the model reads it, with the tabs if there are
// several. What a page says is set apart from what we say.
func (r *runner) render(page *Page, tabs []TabInfo) string {
	var b strings.Builder
	if len(tabs) > 1 {
		b.WriteString("Tabs:\n")
		for _, t := range tabs {
			fmt.Fprintf(&b, "  %d: %s %s", t.ID, cut(cmp.Or(t.Title, "(no title)"), 60), cut(t.URL, 100))
			if t.Active {
				b.WriteString(" (active)")
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString(page.Render(8500 - b.Len() - min(len(r.note), 1000)))
	return b.String()
}

func (r *runner) tabs(ctx context.Context) []TabInfo {
	titles := r.b.titles(ctx)
	active := r.b.Active()
	var all []TabInfo
	for _, t := range r.b.Tabs() {
		all = append(all, TabInfo{ID: t.ID, URL: t.URL(), Title: titles[t], Active: t == active})
	}
	return all
}
