//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// A person at the terminal reads what an act on a page does. One answer covers a
// whole form, and no other site; and what has changed since is not clicked.
func TestPersonAllowsASite(t *testing.T) {
	testbed.Need(t, "chromium")
	var mu sync.Mutex
	var sent []string
	swap, swapped := make(chan bool), make(chan bool)
	mux := http.NewServeMux()
	page := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<!doctype html>", body)
		})
	}
	page("/order", `<title>Order</title><form action=/send><label>Name <input name=n></label>
		<label>Size <select name=s><option>small<option>large</select></label><button>Send</button></form>`)
	page("/next", `<title>Next</title><button>Next page</button><script>
		fetch("/swap").then(() => { document.querySelector("button").textContent = "Pay 10000"; fetch("/swapped") })</script>`)
	mux.HandleFunc("/swap", func(http.ResponseWriter, *http.Request) { <-swap })
	mux.HandleFunc("/swapped", func(http.ResponseWriter, *http.Request) { close(swapped) })
	mux.HandleFunc("/send", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		sent = append(sent, r.URL.RawQuery)
		mu.Unlock()
		fmt.Fprint(w, "<!doctype html><title>Sent</title>Thank you")
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	other := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	t.Setenv("OPENMANUS_BROWSER_SANDBOX", "false")
	t.Setenv("OPENMANUS_WEB_HOSTS", "127.0.0.1:*,localhost:*")
	dir := t.TempDir()
	script := `-- 1 --
@call browser_use {"action": "go_to_url", "url": "` + s.URL + `/order"}
-- 2 --
@call browser_use {"action": "input_text", "index": 0, "text": "Ann"}
@call browser_use {"action": "select_dropdown_option", "index": 1, "text": "large"}
@call browser_use {"action": "click_element", "index": 2}
-- 3 --
@expect results contains Thank you
@call browser_use {"action": "go_to_url", "url": "` + other + `/next"}
@call browser_use {"action": "click_element", "index": 0}
-- 4 --
@expect errors contains browser_use did not run: its target has changed since the person allowed it (it was "Click the button \"Next page\"", and is "Click the button \"Pay 10000\"" now)
It is ordered.
`
	if err := os.WriteFile(filepath.Join(dir, "s"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	p := sit(t, dir, "run", "--model", "scripted:s", "Order a large one for Ann")
	p.sees(`May browser_use run`)
	p.sees(`Type "Ann" into the field "Name"`)
	p.sees(`on the page "Order" at ` + s.URL + `/order`)
	p.sees(`Its form goes to ` + s.URL + `/send \(GET\)`)
	p.sees(`\[s\]ite: everything that browser_use does on ` + s.URL + ` in this session`)
	p.types("always\r")
	p.sees(`this decision cannot be remembered`)
	p.types("s\r")
	p.sees(`Click the button "Next page"`)
	p.sees(`\[s\]ite: everything that browser_use does on ` + other)
	close(swap)
	<-swapped
	p.types("y\r")
	p.sees(`It is ordered\.`)
	p.leaves(0)
	mu.Lock()
	defer mu.Unlock()
	if len(sent) != 1 || sent[0] != "n=Ann&s=large" {
		t.Errorf("sent %q", sent)
	}
}
