package browser

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// startShared starts the browser of all tests that do not break theirs.
var startShared = sync.OnceValues(func() (*Browser, error) {
	b, err := Start(context.Background(), testOptions())
	if err == nil {
		b.patience = 1500 * time.Millisecond // the number of looks stays
		started = b
	}
	return b, err
})

var started *Browser // nil if no test has needed one

// shared returns the browser that tests share.
func shared(t testing.TB) *Browser {
	testbed.Need(t, "chromium")
	t.Helper()
	b, err := startShared()
	if err != nil {
		t.Fatalf("%v\nThis test needs a Chromium: make deps installs it.", err)
	}
	return b
}

func TestMain(m *testing.M) { testbed.Main(testbed.Func(func() int { return run(m) })) }

func run(m *testing.M) int {
	code := m.Run()
	if started != nil {
		if err := started.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return code
}

// testOptions let the tests run as root, as they do in a container.
func testOptions() Options { return Options{NoSandbox: !canSandbox()} }

// site is a local site of these pages.
func site(t testing.TB, pages map[string]http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range pages {
		if strings.HasSuffix(path, "/") {
			path += "{$}"
		}
		mux.HandleFunc(path, h)
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// elsewhere is the same site under another name, which is another origin.
func elsewhere(t testing.TB, url string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(url[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	return "http://localhost:" + port
}

// open opens a page in a tab that is closed with the test.
func open(t testing.TB, url string) (context.Context, *Tab) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	tab, err := shared(t).Open(ctx, url)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tab.Close(ctx)
		cancel()
	})
	return ctx, tab
}

// look returns the page as it is now.
func look(t testing.TB, ctx context.Context, tab *Tab) *Page {
	t.Helper()
	p, err := tab.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// find returns the element whose line has the words.
func find(t testing.TB, p *Page, words ...string) *Element {
	t.Helper()
	e := p.Find(words...)
	if e == nil {
		t.Fatalf("there is no element with %q:\n%s", words, p)
	}
	return e
}

func serve(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html>", body)
	}
}

// eval evaluates a JavaScript expression in the page's own world and decodes its
// value into result, which may be nil.
func (t *Tab) eval(ctx context.Context, expression string, result any) error {
	p := runtime.EvaluateParams{Expression: expression, ReturnByValue: ptr(true), AwaitPromise: ptr(true)}
	res, err := cdp.Call(ctx, t.s, runtime.Evaluate, p)
	if err != nil {
		return err
	}
	if res.ExceptionDetails != nil {
		return fmt.Errorf("the page's script failed: %s", res.ExceptionDetails.Text)
	}
	if result == nil || len(res.Result.Value) == 0 {
		return nil
	}
	return decode(res.Result.Value, result)
}
