package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/sandbox/egress"
	"github.com/openmanus-go/openmanus/workspace"
)

const (
	actionTime  = 60 * time.Second // for one call
	maxDownload = 200 << 20        // bytes of a file that is downloaded or uploaded
)

// A Config says what a [Tool] is made with. The zero value makes a tool without
// files, search and Markdown.
type Config struct {
	// Start starts a browser; nil means [Start] with no options. It is called
	// when a session first uses its browser, and again when that has died.
	Start func(ctx context.Context) (*Browser, error)

	// Install, if not nil, is called when a call finds that there is no Chromium. If it
	// returns nil, there should be one now; its error is that of the call, and may be
	// an [openmanus.Ask].
	Install func(ctx context.Context, call openmanus.Call) error

	// Files receive downloads, screenshots and PDFs, and provide uploads; Dir is
	// the absolute path of their root. Without them, these actions fail.
	Files workspace.Files
	Dir   string

	// Check, if not nil, can refuse an address before it is opened, such as
	// [egress.Dialer.CheckURL]. It does not see what pages connect to: that is up
	// to [Options].Dialer.
	Check func(context.Context, *url.URL) error

	// Local, if not nil, reports whether an address is one that the user must allow,
	// such as [egress.Dialer.Local].
	Local func(ctx context.Context, address string) (egress.Local, bool)

	// Search, if not nil, searches the web.
	Search func(ctx context.Context, query string) (Found, error)

	// Private says that pages may show what only the user may read, since the
	// browser has log-ins of the user's.
	Private bool

	// Markdown, if not nil, converts a page to Markdown for extract_content.
	Markdown func(html []byte, base string) (string, error)

	// Vision adds a screenshot of the view to every result, for the model. People get a
	// small one in any case.
	Vision bool
}

// A Found is what a search found.
type Found struct {
	Text    string             // as a model reads it
	First   string             // the address of the first result, or ""
	Sources []openmanus.Source // of Text; also after an error
}

// A Tool is the tool browser_use. It has a browser for each session, which it
// starts when the session first uses it. It is safe for concurrent use; the calls
// of a session run one after the other.
type Tool struct {
	cfg  Config
	spec openmanus.ToolSpec

	mu     sync.Mutex
	slots  map[string]*slot // by session; nil when the tool is closed
	closed bool

	shown    map[string]*Browser // by session: what a person can watch
	onChange func()              // see OnChange; or nil
}

// A slot holds the browser of a session. Only the goroutine that has put a value
// into turn may use the rest.
type slot struct {
	turn    chan struct{}
	b       *Browser        // nil before the first call
	typed   map[string]bool // the hosts into whose pages the session has typed: what they show may be private
	removed bool            // the tool has another slot for the session, or none
	hold    hold            // while a person has it, they have put the value into turn
}

// NewTool returns the tool. It starts no browser yet: each session gets one with its first
// call. The caller closes the tool.
func NewTool(cfg Config) *Tool {
	if cfg.Start == nil {
		cfg.Start = func(ctx context.Context) (*Browser, error) { return Start(ctx, Options{}) }
	}
	spec := toolspec.Headed("browser_use", description, schema, openmanus.Hints{Ordered: true}, arguments...)
	return &Tool{cfg: cfg, slots: make(map[string]*slot), shown: make(map[string]*Browser), spec: spec}
}

// OnChange makes the tool call f when a session has got a browser that can be watched, or has
// lost it. f must not call the tool. It is set before the tool is used.
func (t *Tool) OnChange(f func()) { t.onChange = f }

// Spec implements [openmanus.Tool].
func (t *Tool) Spec() openmanus.ToolSpec { return t.spec }

// Hints implements [openmanus.CallHinter]: the hints depend on the action. Arguments that
// cannot be read have the strictest ones.
func (t *Tool) Hints(call openmanus.Call) openmanus.Hints {
	var in params
	if json.Unmarshal([]byte(call.Input), &in) != nil {
		return openmanus.Hints{}
	}
	if in.Action == "screenshot" && in.FilePath != "" {
		return writes
	}
	return actions[in.Action].hints
}

// Close ends the browsers of all sessions, each after the call that runs in it. Later
// calls are errors. It returns the errors of the browsers, joined.
func (t *Tool) Close() error {
	t.mu.Lock()
	slots := t.slots
	t.slots, t.closed = nil, true
	clear(t.shown)
	t.mu.Unlock()
	var errs []error
	for session, s := range slots {
		t.handBack(context.Background(), session, s) // an error says that no person has it
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// CloseSession implements [openmanus.SessionCloser]. It ends the session's browser
// after the call that runs. If the session calls again, it gets a new browser,
// and the result says so.
func (t *Tool) CloseSession(session string) error {
	t.mu.Lock()
	s := t.slots[session]
	t.mu.Unlock()
	if s == nil {
		return nil
	}
	t.handBack(context.Background(), session, s) // an error says that no person has it
	t.mu.Lock()
	if t.slots[session] == s {
		delete(t.slots, session)
	}
	b := t.shown[session]
	t.mu.Unlock()
	t.present(session, b, nil)
	return s.close()
}

// close ends the browser of the slot after the call that runs. A call that waits for
// its turn then gets another slot.
func (s *slot) close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.removed = true
	if s.b == nil {
		return nil
	}
	return s.b.Close()
}

// enter returns the slot of a session when it is the turn of the caller, who
// takes the value out of turn when its call ends.
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
		if !s.removed {
			return s, nil
		}
		<-s.turn
	}
}

// slot returns the slot of a session, and makes one if there is none.
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

// A Detail is the Detail of browser_use's results. The one of a session's last call
// tells a new browser what was open before.
type Detail struct {
	URL       string    `json:"url"`
	Title     string    `json:"title,omitempty"`
	Tabs      []TabInfo `json:"tabs,omitempty"`
	Files     []string  `json:"files,omitempty"` // that the call wrote into the workspace
	PageState string    `json:"page,omitempty"`  // the page as the model read it
}

// A TabInfo describes a tab.
type TabInfo struct {
	ID     int    `json:"id"`
	URL    string `json:"url"`
	Title  string `json:"title,omitempty"`
	Active bool   `json:"active,omitempty"`
}

// Run implements [openmanus.Tool]. A result describes the page after the action. If
// the action fails, there are both an error and a result with the page.
func (t *Tool) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	c := &runner{tool: t, ctx: ctx}
	if err := json.Unmarshal([]byte(call.Input), &c.in); err != nil {
		return own, fmt.Errorf("arguments: %w", err)
	}
	a, ok := actions[c.in.Action]
	if !ok {
		return own, refuse("Unknown action: %s", c.in.Action)
	}
	if err := a.check(c.in); err != nil {
		return own, err
	}
	s, err := t.enter(ctx, call.Session)
	if err != nil {
		return own, err
	}
	defer func() { <-s.turn }()
	if c.note, err = t.ensureBrowser(ctx, s, call); err != nil {
		return own, err
	}
	c.b, c.slot = s.b, s
	if _, shown := t.open(call.Session); shown != s.b {
		t.present(call.Session, shown, s.b)
	}
	c.name(call.Scope)
	res, err := c.run(a)
	return res, s.afterHold(&res, err)
}

// own is the result of a call that has seen no page.
var own = openmanus.Result{Sources: []openmanus.Source{}}

// ensureBrowser starts a browser if the slot has none, or one that has died. note
// tells the model what it has lost.
func (t *Tool) ensureBrowser(ctx context.Context, s *slot, call openmanus.Call) (note string, err error) {
	died, last := false, call.Last
	if s.b != nil {
		select {
		case <-s.b.Dead():
			s.b.Close() // best effort: there is nothing left to end
			s.b, s.typed, died = nil, nil, true
		default:
			return "", nil
		}
	}
	s.b, err = t.cfg.Start(ctx)
	if errors.Is(err, ErrNoBrowser) && t.cfg.Install != nil {
		if err := t.cfg.Install(ctx, call); err != nil {
			return "", err
		}
		s.b, err = t.cfg.Start(ctx)
	}
	if err != nil {
		return "", err
	}
	switch {
	case died:
		note = "The browser had died and was started again: its tabs and what was typed there are lost."
	case len(last) > 0:
		note = "This is a new browser: the previous one was closed while the session was idle. Its pages are" +
			" not open any more, and log-ins are lost unless a profile is configured."
	default:
		return "", nil
	}
	var d Detail
	json.Unmarshal(last, &d) // without one, there is no address to name
	if d.URL != "" && d.URL != "about:blank" {
		note += " The last page was " + d.URL + "."
	}
	return "(" + note + ")\n", nil
}

// refuse returns an error in the words of OpenManus, which begin with a capital
// letter and which models know.
func refuse(format string, a ...any) error { return fmt.Errorf(format, a...) }
