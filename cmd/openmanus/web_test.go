//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// runIn runs the binary in a directory of its own, with the settings of the
// tests: root has no sandbox in the browser, and this machine may be reached.
func runIn(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("openmanus", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=",
		"OPENMANUS_BROWSER_SANDBOX=false", "OPENMANUS_WEB_HOSTS=127.0.0.1:*,localhost:*")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	t.Logf("%s", said.String())
	return string(out), err
}

// A form in a closed shadow root in a frame of another origin is filled in by
// openmanus run, and what the page then says is reported.
func TestRunFillsInAForm(t *testing.T) {
	testbed.Need(t, "bwrap", "chromium")
	var url, other string
	mux := http.NewServeMux()
	page := func(path string, body func() string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<!doctype html>", body())
		})
	}
	page("/order", func() string {
		return `<title>Order</title><h1>Order here</h1><iframe src="` + other + `/form" width=600 height=300></iframe>`
	})
	page("/form", func() string {
		return `<div id=host></div><script>
			const root = host.attachShadow({mode: "closed"});
			root.innerHTML = "<form><label>Name <input name=n></label><label>Size <select><option>small<option>large</select></label><button>Send</button></form><p></p>";
			root.querySelector("form").onsubmit = e => { e.preventDefault(); root.querySelector("p").textContent = "Order 4711 for " + root.querySelector("input").value + ", " + root.querySelector("select").value; };
		</script>`
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	url = s.URL
	other = strings.Replace(url, "127.0.0.1", "localhost", 1)
	dir := t.TempDir()
	script := `Fills in a form.

-- 1 --
@call browser_use {"action": "go_to_url", "url": "` + url + `/order"}
-- 2 --
@expect results contains [0]<input> Name
@expect results contains [2]<button> Send
@call browser_use {"action": "input_text", "index": 0, "text": "Ann"}
@call browser_use {"action": "select_dropdown_option", "index": 1, "text": "large"}
@call browser_use {"action": "click_element", "index": 2}
-- 3 --
@expect results contains Order 4711 for Ann, large
The page says: Order 4711 for Ann, large.
`
	if err := os.WriteFile(filepath.Join(dir, "form.txt"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := runIn(t, dir, "run", "--model", "scripted:form.txt", "--approve", "all", "Order a large one for Ann")
	if err != nil || out != "The page says: Order 4711 for Ann, large.\n" {
		t.Fatalf("%q, %v", out, err)
	}
}

// An address of this machine is not opened unless the configuration allows it.
func TestRunReachesNoPrivateAddress(t *testing.T) {
	testbed.Need(t, "bwrap", "chromium")
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer s.Close()
	dir := t.TempDir()
	script := `Tries.

-- 1 --
@call browser_use {"action": "go_to_url", "url": "` + s.URL + `/"}
-- 2 --
@expect errors contains [web]
It is refused.
`
	if err := os.WriteFile(filepath.Join(dir, "try.txt"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPENMANUS_WEB_NETWORK", "allow")
	cmd := exec.Command("openmanus", "run", "--model", "scripted:try.txt", "--approve", "all", "Try")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "OPENMANUS_BROWSER_SANDBOX=false")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "It is refused.") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// OpenManus' proxy for the browser is refused by name, not passed over: traffic
// that was meant to go through it does not go out otherwise.
func TestRunRefusesAProxy(t *testing.T) {
	testbed.Need(t, "bwrap", "chromium")
	dir := t.TempDir()
	script := `Tries.

-- 1 --
@call browser_use {"action": "go_to_url", "url": "http://127.0.0.1:1/"}
-- 2 --
@expect errors contains [browser.proxy] server is not supported
It is refused.
`
	if err := os.WriteFile(filepath.Join(dir, "try.txt"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPENMANUS_BROWSER_PROXY_SERVER", "http://proxy.example:3128")
	if out, err := runIn(t, dir, "run", "--model", "scripted:try.txt", "--approve", "all", "Try"); err != nil || out != "It is refused.\n" {
		t.Fatalf("%q, %v", out, err)
	}
}

// PDF and Office files of the web are read, and quotations from them checked.
func TestWebDocuments(t *testing.T) {
	testbed.Need(t, "bwrap", "chromium")
	s := httptest.NewServer(http.FileServer(http.Dir("../../data/document/testdata")))
	defer s.Close()
	dir := t.TempDir()
	script := `Reads documents.

-- 1 --
@call web_fetch {"url": "` + s.URL + `/report.pdf"}
@call web_fetch {"url": "` + s.URL + `/report.docx"}
@call web_fetch {"url": "` + s.URL + `/encrypted.pdf"}
@call research {"command": "plan", "questions": ["What was filed?"]}
-- 2 --
@expect results contains (PDF, 3 pages)
@expect results contains Café – naïve – Größe
@expect results contains (DOCX
@expect errors contains encrypted with a password
@call research {"command": "read", "urls": ["` + s.URL + `/report.pdf"]}
-- 3 --
@call research {"command": "note", "question": 1, "page": "p1", "claim": "It filed figures.", "quote": "filed its first efficient figures"}
@call research {"command": "note", "question": 1, "page": "p1", "claim": "It filed none.", "quote": "filed no figures"}
-- 4 --
@expect results contains Note 1: checked word for word
@expect errors contains not on the page p1
All read.
`
	if err := os.WriteFile(filepath.Join(dir, "s.txt"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := runIn(t, dir, "research", "--model", "scripted:s.txt", "What was filed?")
	if err != nil || out != "All read.\n" {
		t.Fatalf("%q, %v", out, err)
	}
}

// A piece of research writes a report; a false quotation is caught on the way.
func TestResearch(t *testing.T) {
	testbed.Need(t, "bwrap", "chromium")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>The tower</title><p>The tower is 330 metres high.</p>")
	}))
	defer s.Close()
	dir := t.TempDir()
	script := `Finds out how high a tower is.

-- 1 --
@expect task contains max_depth 1, time_limit_seconds 60
@call research {"command": "plan", "questions": ["How high?"], "max_depth": 1, "time_limit_seconds": 60}
-- 2 --
@call research {"command": "read", "urls": ["` + s.URL + `/tower"]}
-- 3 --
@expect results contains The tower is 330 metres high.
@call research {"command": "note", "question": 1, "page": "p1", "claim": "It is 331 m high.", "quote": "The tower is 331 metres high."}
-- 4 --
@expect errors contains not on the page p1
@call research {"command": "note", "question": 1, "page": "p1", "claim": "It is 330 m high.", "quote": "The tower is 330 metres high."}
-- 5 --
@call research {"command": "report", "title": "The tower", "summary": "330 m.", "sections": [{"heading": "Height", "claims": [{"text": "It is 330 m high.", "notes": [1]}, {"text": "It is green."}]}]}
-- 6 --
@expect results contains 1 claims with checked quotations, 1 marked as unsupported
It is 330 m high: see report.md.
`
	if err := os.WriteFile(filepath.Join(dir, "s.txt"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := runIn(t, dir, "research", "--model", "scripted:s.txt", "--depth", "1", "--time", "60s", "How high is the tower?")
	if err != nil || out != "It is 330 m high: see report.md.\n" {
		t.Fatalf("%q, %v", out, err)
	}
	for _, name := range []string{"report.md", "report.html"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(data), "The tower is 330 metres high.") || strings.Contains(string(data), "331 m") || !strings.Contains(string(data), "[unsupported]") {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
	}
}

// A server on this machine that the person named is asked about, once or for the
// session, also in a browser and in a child session; one that they did not name is
// refused.
func TestRunReachesTheServersOfThePerson(t *testing.T) {
	testbed.Need(t, "chromium")
	serve := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!doctype html><title>%s</title><h1>%[1]s</h1>", text)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	mine, other := serve("My own shop"), serve("Another shop")
	i := newIncident(t, `-- 1 --
@when task contains Child:
@call web_fetch {"url": "`+mine+`/"}
-- 1 --
@call web_fetch {"url": "`+mine+`/"}
-- 2 --
@when task contains Child:
@expect last contains My own shop
It says: My own shop.
-- 2 --
@expect last contains My own shop
@call web_fetch {"url": "`+mine+`/again"}
-- 3 --
@expect last contains My own shop
@call web_fetch {"url": "`+other+`/"}
-- 4 --
@expect last contains is a loopback address; to allow it: [web] hosts =
@call browser_use {"action": "go_to_url", "url": "`+mine+`/"}
-- 5 --
@expect last contains My own shop
@call delegate {"agent": "manus", "task": "Child: read `+mine+`/"}
-- 6 --
@expect last contains It says: My own shop.
The shop is there.
`)
	i.env = append(i.env, "OPENMANUS_BROWSER_SANDBOX=false", "OPENMANUS_WEB_HOSTS=")
	host := strings.TrimPrefix(mine, "http://")
	asks := func(out string, code int, tool string) {
		t.Helper()
		if want := host + " is a server on this machine. May " + tool + " connect to it?"; code != 4 || !strings.Contains(out, want) {
			t.Fatalf("exit code %d, no %q:\n%s", code, want, out)
		}
	}
	out, code := i.run("run", "--delegate", "manus", "--model", "scripted:s", "Test my shop at "+host)
	asks(out, code, "web_fetch")
	if out, code := i.run("sessions", "approve", "last", "--always"); code == 0 {
		t.Fatalf("it was remembered: %s", out)
	}
	i.must("sessions", "approve", "last", "--site")
	out, code = i.run("sessions", "resume", "last")
	asks(out, code, "browser_use") // web_fetch was not asked about again
	i.must("sessions", "approve", "last")
	out, code = i.run("sessions", "resume", "last")
	asks(out, code, "web_fetch") // of the child
	i.must("sessions", "approve", "last")
	if out, code = i.run("sessions", "resume", "last"); code != 0 || !strings.Contains(out, "The shop is there.") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	audit := i.must("sessions", "audit", "last")
	if want := "by gate · allowed in this session on " + host; !strings.Contains(audit, want) {
		t.Errorf("no %q:\n%s", want, audit)
	}
}

// must runs the program, which must succeed, and returns what it printed.
func (i *incident) must(args ...string) string {
	i.t.Helper()
	out, code := i.run(args...)
	if code != 0 {
		i.t.Fatalf("%v: exit code %d:\n%s", args, code, out)
	}
	return out
}
