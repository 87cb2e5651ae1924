package host

import (
	"context"
	"sync"

	"github.com/openmanus-go/openmanus/browser"
)

// screens tells those who watch browsers that a session has got one, or has lost it.
type screens struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced by change; nil as long as no one waits
}

// change wakes those who wait.
func (s *screens) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// next returns a channel that the next change closes.
func (s *screens) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Browser returns the browser tool in which the session has a browser, or nil if it has none
// in this process.
func (h *Host) Browser(session string) *browser.Tool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.agents {
		if m.browser != nil && m.browser.Has(session) {
			return m.browser
		}
	}
	return nil
}

// WatchBrowser calls show with what the session's browser shows, as [browser.Tool.Watch] does,
// until ctx ends or show fails. While the session has no browser, the [browser.Screen] is the
// zero value.
func (h *Host) WatchBrowser(ctx context.Context, session string, marks bool, show func(browser.Screen) error) error {
	for {
		changed := h.screens.next()
		if t := h.Browser(session); t != nil {
			if err := t.Watch(ctx, session, marks, show); err != nil || ctx.Err() != nil {
				return err
			}
			continue
		}
		if err := show(browser.Screen{}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}
