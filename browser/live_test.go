package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/jpeg"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/openmanus-go/openmanus"
)

const logIn = `<title>Shop</title><body style="margin:0"><form onsubmit="event.preventDefault();
	document.title='Hello ' + n.value; out.textContent = 'Signed in as ' + n.value">
	<input id=n aria-label=Name style="position:absolute;left:10px;top:10px;width:200px;height:30px">
	<input id=p type=password aria-label=Password style="position:absolute;left:10px;top:60px;width:200px;height:30px">
	<button style="position:absolute;left:10px;top:110px;width:200px;height:30px">Sign in</button></form>
	<p id=out style="position:absolute;top:160px">Nobody</p>`

// TestTakeOver: a person sees the page, signs in while the agent's call waits, and hands the
// browser back; the agent learns that, and not what was typed.
func TestTakeOver(t *testing.T) {
	url := site(t, map[string]http.HandlerFunc{"/": serve(logIn)})
	p := newPlayer(t, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.tool.TakeOver(ctx, "s"); !errors.Is(err, ErrNotOpen) {
		t.Errorf("before there is a browser: %v", err)
	}
	run := func(input string) (openmanus.Result, error) { return p.tool.Run(ctx, callOf(input)) }
	if _, err := run(`{"action":"go_to_url","url":"` + url + `"}`); err != nil {
		t.Fatal(err)
	}
	screens := watch(t, ctx, p.tool)
	first := screens.until(t, "a frame", func(s Screen) bool { return len(s.Image) > 0 && len(s.Marks) == 3 })
	if img, err := jpeg.Decode(bytes.NewReader(first.Image)); err != nil || img.Bounds().Dx() < 600 {
		t.Errorf("the frame is %v, %v", img, err)
	}
	if err := p.tool.Input(ctx, "s", []Input{{Kind: "text", Text: "x"}}); !errors.Is(err, ErrNotTaken) {
		t.Errorf("input without taking over: %v", err)
	}
	if err := p.tool.TakeOver(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	if err := p.tool.TakeOver(ctx, "s"); !errors.Is(err, ErrTaken) {
		t.Errorf("a second person: %v", err)
	}
	screens.until(t, "taken", func(s Screen) bool { return s.Taken })
	waiting := make(chan openmanus.Result, 1)
	go func() {
		res, _ := run(`{"action":"get_text"}`)
		waiting <- res
	}()
	click := func(y float64) []Input {
		return []Input{{Kind: "move", X: 50, Y: y}, {Kind: "down", X: 50, Y: y}, {Kind: "up", X: 50, Y: y}}
	}
	for _, ins := range [][]Input{
		click(25), {{Kind: "text", Text: "ada.love"}, {Kind: "text", Text: "l"}, {Kind: "key", Key: "Backspace"}, {Kind: "text", Text: "lace"}},
		{{Kind: "key", Key: "Tab"}}, {{Kind: "text", Text: "correct horse"}}, click(125),
	} {
		if err := p.tool.Input(ctx, "s", ins); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.tool.Hold("s"); err != nil {
		t.Error(err)
	}
	select {
	case res := <-waiting:
		t.Fatalf("the agent's call did not wait: %v", res.Parts)
	default:
	}
	if _, err := p.tool.HandBack(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	screens.until(t, "handed back", func(s Screen) bool { return s.Open && !s.Taken })
	if _, err := p.tool.HandBack(ctx, "s"); !errors.Is(err, ErrNotTaken) {
		t.Errorf("handed back twice: %v", err)
	}
	results := []openmanus.Result{<-waiting}
	for _, in := range []string{`{"action":"get_text"}`, `{"action":"execute_js","script":"n.value + encodeURIComponent(p.value) + getComputedStyle(n).webkitTextSecurity"}`} {
		res, err := run(in)
		if err != nil {
			t.Error(err)
		}
		results = append(results, res)
	}
	said := 0
	for _, res := range results {
		data, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		all := string(data)
		if strings.Contains(all, "lovelace") || strings.Contains(all, "correct") {
			t.Errorf("the agent reads what was typed: %s", all)
		}
		said += strings.Count(all, "The user took over the browser for")
	}
	text, _ := json.Marshal(results)
	if said != 1 || !strings.Contains(string(text), "Signed in as "+concealed) || !strings.Contains(string(text), "disc") {
		t.Errorf("said %d times, %s", said, text)
	}
	for _, s := range results[2].Sources {
		if strings.HasPrefix(s.From, url) && (!s.Private || s.Trusted) {
			t.Errorf("what the page shows now is %+v", s)
		}
	}
}

// TestHoldEnds: a person who has gone away does not keep the browser, nor the tool from closing.
func TestHoldEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := NewTool(Config{})
		s, _ := tool.slot("s")
		s.turn <- struct{}{}
		s.hold.since = time.Now()
		s.hold.held.Store(true)
		s.hold.timer = time.AfterFunc(holdTime, func() { tool.handBack(context.Background(), "s", s) })
		time.Sleep(holdTime - time.Second)
		if err := tool.Hold("s"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(holdTime - time.Second)
		if !tool.taken("s") {
			t.Error("it was handed back although the person is there")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if tool.taken("s") || tool.Hold("s") == nil || len(s.turn) != 0 {
			t.Error("it is still taken over")
		}
		if err := tool.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestHides: what was typed in a row is removed from results, plain or encoded as in addresses.
func TestHides(t *testing.T) {
	h := new(hold)
	for _, in := range []Input{
		{Kind: "text", Text: "geheim"}, {Kind: "text", Text: "nis 7"}, {Kind: "down"}, {Kind: "text", Text: "short"},
		{Kind: "key", Key: "Enter"}, {Kind: "key", Key: "Backspace"}, {Kind: "dialog", Text: "a prompt's answer"},
	} {
		h.note(in)
	}
	h.endRun()
	if got := h.hider().Replace("geheimnis 7, geheimnis+7, geheimnis%207, short, a prompt's answer"); got !=
		"(typed by the user), (typed by the user), (typed by the user), short, (typed by the user)" {
		t.Error(got)
	}
	if new(hold).hider() != nil {
		t.Error("there is nothing to hide")
	}
}

// watched are the screens that a person was shown.
type watched chan Screen

// watch watches the session "s" until the test ends.
func watch(t *testing.T, ctx context.Context, tool *Tool) watched {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	screens, done := make(watched), make(chan error, 1)
	go func() {
		done <- tool.Watch(ctx, "s", true, func(s Screen) error {
			select {
			case screens <- s:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return screens
}

// until returns the first screen that fits.
func (w watched) until(t *testing.T, what string, fits func(Screen) bool) Screen {
	t.Helper()
	for {
		select {
		case s := <-w:
			if fits(s) {
				return s
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no screen with %s", what)
		}
	}
}

// TestLookersComeAndGo is two people who look at a page at rest, again and again: each time
// the page shows.
func TestLookersComeAndGo(t *testing.T) {
	url := site(t, map[string]http.HandlerFunc{"/": serve(`<h1>At rest</h1>`)})
	p := newPlayer(t, Config{})
	if _, err := p.tool.Run(t.Context(), callOf(`{"action":"go_to_url","url":"`+url+`/"}`)); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for n := range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				err := p.tool.Watch(ctx, "s", false, func(s Screen) error {
					if len(s.Image) > 0 {
						cancel()
					}
					return nil
				})
				if err != nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
					t.Errorf("look %d: no picture came: %v", n, err)
				}
				cancel()
			}
		})
	}
	all.Wait()
}

// TestNoFrameComes is a browser that forgets, once, that it was asked for frames: it is asked
// for a single picture, and then for frames again.
func TestNoFrameComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTransport()
		b := &Browser{changed: make(chan struct{})}
		b.c = newConn(f, func(s *session, method string, params jsonv2.Value) { s.tab.event(s, method, params) })
		defer func() { close(f.received); <-b.c.done }()
		s := &session{c: b.c, id: "page", target: "main"}
		b.c.mu.Lock()
		b.c.sessions[s.id] = s
		b.c.mu.Unlock()
		tab := newTab(b, s, new(target.Info))
		close(tab.ready)
		asked := func(wanted, result string) {
			t.Helper()
			m := <-f.sent
			if string(m.Method) != wanted {
				t.Fatalf("%s was asked, and not %s", m.Method, wanted)
			}
			f.received <- &cdproto.Message{ID: m.ID, SessionID: m.SessionID, Result: []byte(result)}
			synctest.Wait()
		}
		shows := func(want string) {
			t.Helper()
			if got := locked(b, func() string { return string(tab.cast.frame) }); got != want {
				t.Errorf("there is %q, and not %q", got, want)
			}
		}
		begun := time.Now()
		done, err := tab.startCast(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		asked(page.CommandStartScreencast, `{}`)
		asked(page.CommandGetLayoutMetrics, `{"cssVisualViewport":{"clientWidth":800,"clientHeight":600}}`)
		asked(page.CommandCaptureScreenshot, `{"data":"c3RpbGw="}`)
		shows("still")
		if time.Since(begun) != framePause {
			t.Errorf("it took %v", time.Since(begun))
		}
		asked(page.CommandStopScreencast, `{}`)
		asked(page.CommandStartScreencast, `{}`)
		f.event("page", "Page.screencastFrame", `{"data":"bGl2ZQ==","sessionId":1,"metadata":{"deviceWidth":800,"deviceHeight":600}}`)
		asked(page.CommandScreencastFrameAck, `{}`)
		shows("live")
		time.Sleep(time.Hour) // of the bubble: nothing more is asked
		done()
		asked(page.CommandStopScreencast, `{}`)
		shows("")
	})
}
