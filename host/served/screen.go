package served

import (
	"context"
	"errors"
	"time"

	"github.com/openmanus-go/openmanus/browser"
	"github.com/openmanus-go/openmanus/server"
)

// Watch implements [server.Viewer].
func (h Host) Watch(ctx context.Context, session string, marks bool, show func(any) error) error {
	return h.WatchBrowser(ctx, session, marks, func(s browser.Screen) error { return show(s) })
}

// TakeOver implements [server.Viewer].
func (h Host) TakeOver(ctx context.Context, session string) error {
	t := h.Browser(session)
	if t == nil {
		return server.ErrNoScreen
	}
	return screenError(t.TakeOver(ctx, session))
}

// HandBack implements [server.Viewer].
func (h Host) HandBack(ctx context.Context, session string) (time.Duration, error) {
	t := h.Browser(session)
	if t == nil {
		return 0, server.ErrNoScreen
	}
	lasted, err := t.HandBack(ctx, session)
	return lasted, screenError(err)
}

// Input implements [server.Viewer]. The inputs go to the browser in their order. Each call
// also says that the person is still there.
func (h Host) Input(ctx context.Context, session string, ins []server.ScreenInput) error {
	t := h.Browser(session)
	if t == nil {
		return server.ErrNoScreen
	}
	if err := t.Hold(session); err != nil {
		return screenError(err)
	}
	var all []browser.Input
	for _, in := range ins {
		if in.Kind != "hold" {
			all = append(all, browser.Input(in))
		}
	}
	return screenError(t.Input(ctx, session, all))
}

// screenError returns the error of a [server.Viewer] for one of a browser. Others, such as
// those of a page that does not answer, are the person's to see.
func screenError(err error) error {
	switch {
	case errors.Is(err, browser.ErrNotOpen):
		return server.ErrNoScreen
	case errors.Is(err, browser.ErrTaken):
		return server.ErrScreenTaken
	case errors.Is(err, browser.ErrNotTaken):
		return server.ErrScreenFree
	}
	return err
}
