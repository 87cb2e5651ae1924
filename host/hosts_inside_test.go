package host

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// ruled is a site that leads to hosts about which there are rules, by redirects
// and by parts of its pages.
var ruled = map[string]string{
	"/parts": `<img src="http://denied.example:PORT/hit"><script src="http://denied.example:PORT/hit"></script>
		<iframe src="http://asked.example:PORT/hit"></iframe><link rel=stylesheet href="http://asked.example:PORT/hit">
		<script>fetch("http://127.0.0.3:PORT/hit", {mode: "no-cors"}).finally(() => document.body.append("Tried."))</script>`,
	"/link":     `<a href="http://denied.example:PORT/hit">denied</a> <a href="http://asked.example:PORT/hit">asked</a>`,
	"/location": `<script>location = "http://denied.example:PORT/hit"</script>`,
}

// The rules of [approval] about hosts hold for every hop of every web tool, and
// the errors name the rule. A host that a rule asks about is reached by the call
// that names it, since the gate has ruled on that call.
func TestHostRulesHoldForEveryHop(t *testing.T) {
	testbed.Need(t, "chromium")
	var port string
	var denied, asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch host, _, _ := net.SplitHostPort(r.Host); host {
		case "good.example":
		case "asked.example":
			asked.Add(1)
		default:
			denied.Add(1)
		}
		if to := r.FormValue("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>A page</title><body>%s", strings.ReplaceAll(ruled[r.URL.Path], "PORT", port))
	}))
	t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(s.Listener.Addr().String())
	cfg := &config.Config{}
	cfg.Web = config.Web{Network: "allow", Hosts: []string{"127.0.0.0/8:*", "good.example:*", "denied.example:*", "asked.example:*"}}
	cfg.Browser.Headless = true
	rules, err := gate.New(gate.Options{Rules: gate.Rules{Deny: []string{"host:denied.example", "host:127.0.0.3"}, Ask: []string{"host:asked.example"}}})
	if err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	w, err := newWebTools(cfg, ws, rules.CheckHost, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	here := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	w.dialer.Resolver = told{"good.example": here, "denied.example": here, "asked.example": here}
	last := make(map[string]json.RawMessage)
	call := func(name string, input map[string]any) string {
		t.Helper()
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range w.tools {
			if tool.Spec().Name == name {
				res, err := tool.Run(t.Context(), openmanus.Call{Call: llm.Call{ID: "c", Name: name, Input: string(data)}, Session: "s", Last: last[name], Blobs: new(journal.Memory), Live: io.Discard})
				if err == nil {
					last[name], _ = json.Marshal(res.Detail)
				}
				return fmt.Sprint(res.Parts, err)
			}
		}
		t.Fatalf("there is no tool %s", name)
		return ""
	}
	good, deny, ask := "http://good.example:"+port, "http://denied.example:"+port, "http://asked.example:"+port
	type args = map[string]any
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"web_fetch", args{"url": deny + "/hit"}, `the rule "deny host:denied.example" denies it`},
		{"web_fetch", args{"url": " " + deny + "/hit"}, `the rule "deny host:denied.example"`},
		{"web_fetch", args{"url": good + "/?to=" + deny + "/hit"}, `the rule "deny host:denied.example"`},
		{"web_fetch", args{"url": good + "/?to=" + ask + "/hit"}, "who cannot be asked in the middle of a request: request an address of asked.example itself"},
		{"crawl", args{"urls": []any{good + "/?to=" + ask + "/hit"}}, `the rule "ask host:asked.example"`},
		{"research", args{"command": "plan", "questions": []any{"q"}}, ""},
		{"research", args{"command": "read", "urls": []any{good + "/?to=" + deny + "/hit"}}, `the rule "deny host:denied.example"`},

		{"browser_use", args{"action": "go_to_url", "url": deny + "/hit"}, `the rule "deny host:denied.example"`},
		{"browser_use", args{"action": "open_tab", "url": "HTTP://DENIED.example.:" + port}, "no connection to"},
		{"browser_use", args{"action": "go_to_url", "url": good + "/?to=" + deny + "/hit"}, `the rule "deny host:denied.example"`},
		{"browser_use", args{"action": "go_to_url", "url": good + "/?to=" + ask + "/hit"}, `the rule "ask host:asked.example"`},
		{"browser_use", args{"action": "go_to_url", "url": good + "/parts"}, ""},
		{"browser_use", args{"action": "wait", "text": "Tried.", "seconds": 30}, `The page has "Tried."`},
		{"browser_use", args{"action": "go_to_url", "url": good + "/location"}, `the rule "deny host:denied.example"`},
		{"browser_use", args{"action": "go_to_url", "url": good + "/link"}, ""},
		{"browser_use", args{"action": "click_element", "index": 0}, `the rule "deny host:denied.example"`},
		{"browser_use", args{"action": "go_to_url", "url": good + "/link"}, ""},
		{"browser_use", args{"action": "click_element", "index": 1}, `the rule "ask host:asked.example"`},
		{"browser_use", args{"action": "download", "url": deny + "/hit"}, `the rule "deny host:denied.example"`},
	} {
		if said := call(c.tool, c.args); !strings.Contains(said, c.want) {
			t.Errorf("%s %v: %.600s\nwant %s", c.tool, c.args, said, c.want)
		}
	}
	if n, m := denied.Load(), asked.Load(); n+m > 0 {
		t.Fatalf("%d requests reached the host that a rule denies, %d the one that a rule asks about", n, m)
	}
	if said := call("web_fetch", args{"url": ask + "/hit"}); asked.Load() != 1 {
		t.Errorf("web_fetch names the host: %.300s", said)
	}
	if said := call("browser_use", args{"action": "go_to_url", "url": ask + "/link"}); asked.Load() < 2 {
		t.Errorf("go_to_url names the host: %.300s", said)
	}
	n := asked.Load()
	if said := call("browser_use", args{"action": "click_element", "index": 1}); asked.Load() <= n {
		t.Errorf("a link within the site that the tab shows: %.300s", said)
	}
	call("browser_use", args{"action": "go_to_url", "url": good + "/link"})
	n = asked.Load()
	if said := call("browser_use", args{"action": "click_element", "index": 1}); asked.Load() != n || !strings.Contains(said, "ask host:asked.example") {
		t.Errorf("a link from another site, when the tab has left: %.300s", said)
	}
}
