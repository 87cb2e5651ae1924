package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) {
	testbed.Main(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// Each engine against the pages in testdata/engines: "results", and the hits
// that it is to find in them; "limited", which it is to know for what they
// are; "failed"; and "asked", the request that it makes.
func TestEngines(t *testing.T) {
	for name, make := range map[string]func(base string) Engine{
		"duckduckgo": DuckDuckGo,
		"bing":       Bing,
		"google":     Google,
		"baidu":      Baidu,
		"searxng":    SearXNG,
		"brave":      func(b string) Engine { return Brave(b, "k") },
		"tavily":     func(b string) Engine { return Tavily(b, "k") },
		"serper":     func(b string) Engine { return Serper(b, "k") },
	} {
		t.Run(name, func(t *testing.T) {
			ar, err := txtar.ParseFile("testdata/engines/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(ar.Comment), "Source: ") {
				t.Error("the file does not name its source")
			}
			var want, got, asked string
			for _, f := range ar.Files {
				kind, code, _ := strings.Cut(f.Name, " ")
				switch kind {
				case "want":
					want = string(f.Data)
					continue
				case "asked":
					if asked != strings.TrimSpace(string(f.Data)) {
						t.Errorf("it asked %s", asked)
					}
					continue
				}
				status, _ := strconv.Atoi(code)
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					asked = strings.TrimSpace(r.Method + " " + r.URL.String() + " " + string(body))
					w.WriteHeader(status)
					w.Write(f.Data)
				}))
				hits, err := make(s.URL).Search(t.Context(), s.Client(), Query{Text: "go docs", Count: 5, Lang: "en", Country: "us"})
				s.Close()
				var l *Limited
				switch {
				case kind == "limited" && !errors.As(err, &l):
					t.Errorf("%s %s: %v, %v", kind, f.Data, hits, err)
				case kind == "failed" && (err == nil || errors.As(err, &l)):
					t.Errorf("%s %s: %v, %v", kind, f.Data, hits, err)
				case kind == "results":
					if err != nil {
						t.Fatal(err)
					}
					for _, h := range tidy(hits, name, 5) {
						got += fmt.Sprintf("%s | %s | %s\n", h.URL, h.Title, h.Description)
					}
				}
			}
			if got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}
