//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// logInPage is a page of another site, which also tries what pages must not do to ours.
const logInPage = `<!doctype html><title>Casa do Rio</title><body style="margin:0;font:16px sans-serif;background:#fffdf8">
<h1 style="margin:20px 40px">Casa do Rio</h1><p style="margin:0 40px">Members see prices for groups.</p>
<form style="margin:20px 40px" onsubmit="event.preventDefault(); who.textContent = 'Welcome, member of ' + a.value.split('@')[1]; top.pwned = 1">
<p><label>E-mail <input id=a style="width:300px;height:30px"></label></p>
<p><label>Password <input id=b type=password style="width:300px;height:30px"></label></p>
<p><button style="height:34px">Sign in</button></p></form><p id=who style="margin:20px 40px">Not signed in</p>`

// A smallPDF has one page with one line.
const smallPDF = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 160]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj
4 0 obj<</Length 44>>stream
BT /F1 20 Tf 30 90 Td (Quarterly report) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
`

// hostilePage is an HTML file that does what it can to the page that shows it.
const hostilePage = `<!doctype html><title>Report</title><style>body{background:#eef}</style><h1 id=h>Sales by month</h1>
<script>h.textContent = "scripts ran"; try { parent.document.body.textContent = "pwned" } catch {}
try { top.location = "about:blank" } catch {} try { fetch("/api/v1/sessions") } catch {} try { new Image().src = "BEACON/x" } catch {}
try { alert("pwned") } catch {} parent.postMessage("pwned", "*")</script>
<img src="BEACON/beacon.png"><form action="BEACON/"><button>Send</button></form><noscript><meta http-equiv=refresh content="0;url=BEACON/"></noscript>`

// TestComputerPage is a person who watches the agent's computer, signs in in its browser and
// reads the files: testdata/computer.mjs.
func TestComputerPage(t *testing.T) {
	var called atomic.Bool // by the page of the agent, which must reach nothing
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/beacon") {
			called.Store(true)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, logInPage)
	}))
	defer site.Close()
	t.Setenv("OPENMANUS_BROWSER_SANDBOX", "false")
	t.Setenv("OPENMANUS_WEB_HOSTS", "127.0.0.1:*")
	call := func(tool string, input map[string]any) string {
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		return "@call " + tool + " " + string(data) + "\n"
	}
	file := func(name, text string) string {
		return call("str_replace_editor", map[string]any{"command": "create", "path": name, "file_text": text})
	}
	notebook := `{"metadata":{"language_info":{"name":"python"}},"cells":[{"cell_type":"markdown","source":"# Months\n<img src=x onerror=pwned=1>"},` +
		`{"cell_type":"code","source":"print(6*7)","outputs":[{"text":"42\n"},{"data":{"text/html":"<script>pwned=1</script>"}}]}]}`
	script := "-- reply --\nI run the tests first.\n" +
		call("bash", map[string]any{"command": `printf '\033[32m✓ totals\033[0m (16 tests)\n\033[31m✗ rounding\033[0m\n'; printf '10%%\r60%%\r100%%\n'; printf '\033]0;evil\007\033[2Ktitle <script>pwned=1</script>\n'; seq 1 200`}) +
		"-- reply --\n" +
		file("months.csv", "month,revenue\n2025-12,302.8\n2025-11,\"271,3\"\n\"<img src=x onerror=pwned=1>\",1\n") + file("data.json", `{"months":[{"name":"June","value":42800}],"<b>x</b>":null}`) +
		file("book.ipynb", notebook) + file("report.html", strings.ReplaceAll(hostilePage, "BEACON", site.URL+"/beacon")) + file("report.pdf", smallPDF) + file("letter.rtf", `{\rtf1 Dear {\b reader}\par}`) +
		file("src/totals.ts", "export const total = (a: number[]) => a.length;\n") +
		"-- reply --\n" +
		call("str_replace_editor", map[string]any{"command": "str_replace", "path": "src/totals.ts", "old_str": "a.length", "new_str": "a.reduce((x, y) => x + y, 0)"}) +
		"-- reply --\n" + call("browser_use", map[string]any{"action": "go_to_url", "url": site.URL}) +
		"-- reply --\n" + call("ask_human", map[string]any{"inquire": "Please sign in at Casa do Rio, then say so."}) +
		"-- reply --\n" + call("browser_use", map[string]any{"action": "get_text"}) +
		"-- reply --\nThe prices for groups are in [months.csv](months.csv).\n"
	visit(t, "computer.mjs", script)
	if called.Load() {
		t.Error("the page in the frame reached a server")
	}
}

// TestWalkPage is a person who does a whole task without a mouse: testdata/walk.mjs.
func TestWalkPage(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, logInPage)
	}))
	defer site.Close()
	t.Setenv("OPENMANUS_BROWSER_SANDBOX", "false")
	t.Setenv("OPENMANUS_WEB_HOSTS", "127.0.0.1:*")
	visit(t, "walk.mjs", `-- reply --
@call browser_use {"action": "go_to_url", "url": "`+site.URL+`"}
-- reply --
@call ask_human {"inquire": "Please sign in at Casa do Rio, then say so."}
-- reply --
@call str_replace_editor {"command": "create", "path": "prices.csv", "file_text": "group,price\n10,40\n"}
-- reply --
@call str_replace_editor {"command": "str_replace", "path": "prices.csv", "old_str": "42", "new_str": "43"}
-- reply --
Groups pay 43. See [prices.csv](prices.csv).
`)
}
