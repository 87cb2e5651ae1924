package host_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/testbed"
)

// A command reaches a server on localhost that the user named: after a question, in the
// sandbox, and no other server. The answer can be for the session.
func TestACommandReachesAServerOfTheUser(t *testing.T) {
	testbed.Need(t, "curl")
	mine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "this is mine") }))
	defer mine.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "SECRET") }))
	defer other.Close()
	script := strings.NewReplacer("MINE", mine.URL, "OTHER", other.URL, "PORT", other.URL[strings.LastIndex(other.URL, ":")+1:]).Replace(`
-- 1 --
@call bash {"command": "x=kept; curl -sS OTHER"}
-- 2 --
@call bash {"command": "echo $x; curl -sS MINE; h=127.0.0.1; curl -sS http://$h:PORT/"}
-- 3 --
@call bash {"command": "echo $x; curl -sS MINE/again"}
-- 4 --
@call bash {"command": "y=MINE; curl -sS $y; curl -sS OTHER"}
-- 5 --
@call bash {"command": "curl -sS $y"}
-- any --
Done.
`)
	for _, kind := range []string{"bubblewrap", "landlock"} {
		if kind == "bubblewrap" && !testbed.Has(t, "bwrap") {
			continue
		}
		p := newPlace(t, script)
		h, db, _ := p.open("sandbox="+kind, "approve=ask")
		if _, err := h.Open(t.Context(), "a", host.Opening{Spec: p.spec(h, nil), Said: says("1", "My site runs on "+mine.URL+", look at it.")}); err != nil {
			t.Fatal(err)
		}
		if err := h.Local.Wake(t.Context(), "a"); err != nil {
			if os.Getenv("CI") != "" || !strings.Contains(err.Error(), "no sandbox") {
				t.Fatal(err)
			}
			t.Log(err)
			continue
		}
		s := p.load(db, "a")
		var asked []*openmanus.CallState
		for _, c := range s.Pending() {
			if c.Ruling != nil {
				asked = append(asked, c)
			}
		}
		if len(asked) != 1 || !strings.Contains(asked[0].Ruling.Question, "is a server on this machine. May bash connect to it?") ||
			asked[0].Ruling.Scope != strings.TrimPrefix(mine.URL, "http://") {
			t.Fatalf("%s: it is %s, and asks %+v\n%s", kind, s.Status(), asked, results(t.Context(), db, "a"))
		}
		answer := openmanus.Ruled{Call: asked[0].ID, Allow: true, By: "ann", Scope: asked[0].Ruling.Scope, Hash: asked[0].Ruling.Hash}
		if _, err := db.Append(t.Context(), "a", answer); err != nil {
			t.Fatal(err)
		}
		s = p.wake(h, db, "a")
		out := results(t.Context(), db, "a")
		if s.Status() != openmanus.Finished || strings.Count(out, "this is mine") != 2 || strings.Contains(out, "SECRET") || strings.Count(out, "kept\n") != 2 {
			t.Errorf("%s: it is %s:\n%s", kind, s.Status(), out)
		}
		if read := s.Read(); !slices.ContainsFunc(read, func(o openmanus.Source) bool { return o.From == mine.URL && o.Private }) {
			t.Errorf("%s: it has read %+v", kind, read)
		}
	}
}
