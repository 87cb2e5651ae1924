package browser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// TestSources: a result names every page whose words are in it, frames and the
// titles of tabs included, and none as trusted; what is shown after something was
// typed into a site may be private.
func TestSources(t *testing.T) {
	var other string
	url := site(t, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, r *http.Request) {
			serve(fmt.Sprintf(`<title>Outer</title><iframe src="%s/inner"></iframe><input aria-label=Name>`, other))(w, r)
		},
		"/inner": serve(`<p>Inner</p>`),
		"/asks":  serve(`<title>Asks</title><button onclick="confirm('Sure?')">Go</button>`),
		"/to":    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/plain", http.StatusFound) },
		"/plain": serve(`<title>Plain</title>`),
	})
	other = elsewhere(t, url)
	found := []openmanus.Source{{From: "https://engine.example/"}}
	p := newPlayer(t, Config{Search: func(context.Context, string) (Found, error) {
		return Found{Text: "results", First: other + "/plain", Sources: found}, nil
	}})
	for _, c := range []struct{ input, want string }{
		{`{"action":"go_to_url","url":"` + url + `/to"}`, "URL/plain"},
		{`{"action":"go_to_url","url":"` + url + `/"}`, "OTHER/inner URL/"},
		{`{"action":"get_text"}`, "OTHER/inner URL/"},
		{`{"action":"web_search","query":"q"}`, "OTHER/plain https://engine.example/"},
		{`{"action":"go_to_url","url":"` + url + `/asks"}`, "URL/asks"},
		{`{"action":"click_element","index":0}`, "URL/asks"},
		{`{"action":"handle_dialog","accept":true}`, "URL/asks private"}, // an answer is given to the site
		{`{"action":"go_to_url","url":"` + other + `/plain"}`, "OTHER/plain"},
		{`{"action":"go_to_url","url":"` + url + `/"}`, "OTHER/inner URL/ private"},
		{`{"action":"input_text","index":99,"text":"x"}`, "OTHER/inner URL/ private"}, // an error with the page
		{`{"action":"fly"}`, ""},
	} {
		call := openmanus.Call{Call: llm.Call{ID: "c", Name: "browser_use", Input: c.input}, Session: "s", Blobs: new(journal.Memory), Live: io.Discard}
		res, _ := p.tool.Run(t.Context(), call)
		var got []string
		for _, s := range res.Sources {
			text := strings.NewReplacer(url, "URL", other, "OTHER").Replace(s.From)
			if s.Private {
				text += " private"
			}
			if s.Trusted {
				t.Errorf("%s: %s is trusted", c.input, text)
			}
			if len(s.Words) == 0 { // with words it is the title of a tab
				got = append(got, text)
			}
		}
		slices.Sort(got)
		if res.Sources == nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", c.input, got, c.want)
		}
	}
}

// To refresh the answer to a form does not send the form again.
func TestRefreshSendsNoForm(t *testing.T) {
	var sent atomic.Int32
	url := site(t, map[string]http.HandlerFunc{
		"/": serve(`<title>Pay</title><form method=post action=/pay><button>Pay</button></form>`),
		"/pay": func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				sent.Add(1)
			}
			serve("<title>Paid</title>"+r.Method)(w, r)
		},
	})
	p := newPlayer(t, Config{})
	p.line("go_to_url url=" + url + "/")
	p.line(`click_element index="button Pay"`)
	p.line("want Title: Paid")
	p.line("refresh")
	p.line("want GET")
	p.line("refresh")
	p.settled()
	if n := sent.Load(); n != 1 {
		t.Errorf("the form was sent %d times", n)
	}
}
