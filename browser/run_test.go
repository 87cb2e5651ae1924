package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// TestRuns plays the scripts in testdata/runs: what an agent does on a page
// with browser_use, and what it must read then. A file is a txtar archive.
// Its files "page PATH" are served; "file NAME" lies in the workspace; "do" is
// the script, one thing a line:
//
//	ACTION KEY=VALUE …   a call. index="button Send" is the index of the first
//	                     element, as the agent last read them, whose line has
//	                     these words in this order; so are those in fields=[{…}]
//	preview ACTION …     what the user is shown before they allow the call, and
//	                     its scope, as a result
//	want TEXT            the last result has the text
//	never TEXT           it has not
//	error TEXT           the last call failed, with this text
//	saved NAME TEXT      the file in the workspace has the text
//	person JAVASCRIPT    somebody else does something in the same browser
//	# REMARK             is for the reader
//
// A call that fails without a line "error" after it fails the test. $SITE is
// the address of the site, $OTHER the same site under another origin.
func TestRuns(t *testing.T)    { eachScript(t, "testdata/runs/*.txtar", playAlone) }
func TestMiniWoB(t *testing.T) { eachScript(t, "testdata/miniwob/*.txtar", playAlone) }

func playAlone(t *testing.T, a *txtar.Archive) { play(t, a, nil) }

func eachScript(t *testing.T, pattern string, play func(*testing.T, *txtar.Archive)) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			play(t, a)
		})
	}
}

// play plays a script on a site that also has more pages.
func play(t *testing.T, a *txtar.Archive, more map[string]http.HandlerFunc) {
	pages := map[string]http.HandlerFunc{"/slow": slow, "/loop": loop, "/file/{name}": file, "/big": big, "/upload": upload, "/login": login, "/hang.js": slow, "/failing": failing}
	maps.Copy(pages, more)
	dir := t.TempDir()
	script, files := "", make(map[string]string)
	var site_, other string
	for _, f := range a.Files {
		kind, name, _ := strings.Cut(f.Name, " ")
		switch kind {
		case "page":
			data := string(f.Data)
			pages[name] = func(w http.ResponseWriter, r *http.Request) {
				serve(strings.NewReplacer("$SITE", site_, "$OTHER", other).Replace(data))(w, r)
			}
		case "file":
			files[name] = string(f.Data)
		case "do":
			script = string(f.Data)
		default:
			t.Fatalf("what is %q?", f.Name)
		}
	}
	site_ = site(t, pages)
	other = elsewhere(t, site_)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(data, "$SITE", site_)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	p := newPlayer(t, Config{Files: ws, Dir: dir})
	p.dir = dir
	if err := shared(t).c.root.Call(t.Context(), "Storage.clearCookies", nil, nil); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(script) {
		line = strings.NewReplacer("$SITE", site_, "$OTHER", other, "$WORK", dir).Replace(strings.TrimSpace(line))
		if line != "" && line[0] != '#' {
			p.line(line)
		}
	}
	p.settled()
}

// A player is an agent that follows a script.
type player struct {
	t    *testing.T
	tool *Tool
	dir  string
	last json.RawMessage
	said string // the last result
	err  error
	page string // how the page was when last read
	at   string // the line that is played
	call int
}

// newPlayer returns a player whose sessions use the tests' browser, each with
// a tab of its own.
func newPlayer(t *testing.T, cfg Config) *player {
	t.Helper()
	cfg.Start = func(ctx context.Context) (*Browser, error) { return shared(t), nil }
	tool := NewTool(cfg)
	tab, err := shared(t).New(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	mine := map[*Tab]bool{}
	for _, o := range shared(t).Tabs() {
		mine[o] = o != tab
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		for _, o := range shared(t).Tabs() {
			if !mine[o] && len(shared(t).Tabs()) > 1 {
				o.Close(ctx)
			}
		}
	})
	return &player{t: t, tool: tool}
}

func (p *player) fail(format string, a ...any) {
	p.t.Helper()
	p.t.Fatalf("%s: %s\nthe last result:\n%s\nerror: %v", p.at, fmt.Sprintf(format, a...), p.said, p.err)
}

// settled fails if a call failed and nobody said that it would.
func (p *player) settled() {
	p.t.Helper()
	if p.err != nil {
		p.fail("it failed")
	}
}

func (p *player) line(line string) {
	p.t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	if verb != "error" {
		p.settled()
	}
	p.at = line
	switch verb {
	case "want":
		if !strings.Contains(p.said, rest) {
			p.fail("it does not say that")
		}
	case "never":
		if strings.Contains(p.said, rest) {
			p.fail("it says that")
		}
	case "error":
		if p.err == nil || !strings.Contains(p.err.Error(), rest) {
			p.fail("it did not fail so")
		}
		p.err = nil
	case "saved":
		name, text, _ := strings.Cut(rest, " ")
		data, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil || !strings.Contains(string(data), text) {
			p.fail("%s has %.200q, %v", name, data, err)
		}
	case "person":
		if err := shared(p.t).Active().eval(p.t.Context(), rest, nil); err != nil {
			p.fail("%v", err)
		}
	case "preview":
		action, rest, _ := strings.Cut(rest, " ")
		call := p.made(p.arguments(action, rest))
		if p.said, p.err = p.tool.Preview(p.t.Context(), call); p.err == nil {
			scope, err := p.tool.Scope(p.t.Context(), call)
			p.said += "scope " + scope
			if again, _ := p.tool.Preview(p.t.Context(), call); err != nil || again+"scope "+scope != p.said {
				p.fail("again it is: %s, %v", again, err)
			}
		}
	default:
		p.run(p.arguments(verb, rest))
	}
}

var pair = regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*"|\[\{.*\}\]|\S+)`)

// arguments returns the arguments of a call.
func (p *player) arguments(action, rest string) string {
	p.t.Helper()
	in := map[string]any{"action": action}
	for _, m := range pair.FindAllStringSubmatch(rest, -1) {
		v := m[2]
		if s, err := strconv.Unquote(v); err == nil {
			in[m[1]] = s
			if strings.HasSuffix(m[1], "index") || m[1] == "submit" {
				in[m[1]] = p.find(s)
			}
			continue
		}
		var any any
		if json.Unmarshal([]byte(v), &any) != nil {
			any = v
		}
		if m[1] == "fields" {
			p.named(any)
		}
		in[m[1]] = any
	}
	input, err := json.Marshal(in)
	if err != nil {
		p.fail("%v", err)
	}
	return string(input)
}

// named replaces the words in place of the indexes of fields.
func (p *player) named(fields any) {
	p.t.Helper()
	list, _ := fields.([]any)
	for _, f := range list {
		if f, ok := f.(map[string]any); ok {
			if words, ok := f["index"].(string); ok {
				f["index"] = p.find(words)
			}
		}
	}
}

// made returns the next call, as the core makes it: with arguments that fit the
// schema.
func (p *player) made(input string) openmanus.Call {
	p.t.Helper()
	schema, err := args.Compile(p.tool.Spec().Input)
	if err != nil {
		p.fail("%v", err)
	}
	p.call++
	input, p.err = schema.Check(input)
	return openmanus.Call{Call: llm.Call{ID: fmt.Sprintf("c%d", p.call), Name: "browser_use", Input: input}, Session: "s", Last: p.last, Blobs: new(journal.Memory), Live: io.Discard}
}

// run makes a call.
func (p *player) run(input string) {
	p.t.Helper()
	p.said = ""
	call := p.made(input)
	if p.err != nil {
		return
	}
	res, err := p.tool.Run(p.t.Context(), call)
	p.err = err
	for _, part := range res.Parts {
		if text, ok := part.(llm.Text); ok {
			p.said += text.Text
		}
	}
	if d, ok := res.Detail.(Detail); ok {
		if d.PageState != "" && !strings.Contains(d.PageState, "\nDialog (") {
			p.page = d.PageState
		}
		p.last, _ = json.Marshal(d)
	}
}

var indexed = regexp.MustCompile(`^\s*[v^]?\*?\[(\d+)\](.*)$`)

// find returns the index of the first element whose line has the words in
// their order.
func (p *player) find(words string) int {
	p.t.Helper()
	for line := range strings.Lines(p.page) {
		m := indexed.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		rest, all := m[2], true
		for _, w := range strings.Fields(words) {
			_, after, ok := strings.Cut(rest, w)
			rest, all = after, all && ok
		}
		if all {
			n, _ := strconv.Atoi(m[1])
			return n
		}
	}
	p.t.Fatalf("%s: there is no element %q in:\n%s", p.at, words, p.page)
	return -1
}

// The parts of the site that need a program.

// slow never answers.
func slow(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func loop(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/loop?"+r.URL.RawQuery+"x", http.StatusFound)
}

func file(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/csv")
	w.Header().Set("Content-Disposition", "attachment; filename="+r.PathValue("name"))
	fmt.Fprint(w, "month,sum\nMay,12\n")
}

// big is a download that would not end soon.
func big(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment; filename=big.bin")
	w.Header().Set("Content-Length", strconv.Itoa(4*maxDownload))
	io.WriteString(w, strings.Repeat("x", 1<<16))
}

func failing(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusInternalServerError)
	io.WriteString(w, "it is broken")
}

func upload(w http.ResponseWriter, r *http.Request) {
	f, h, err := r.FormFile("doc")
	if err != nil {
		serve("<p>No file: "+err.Error())(w, r)
		return
	}
	defer f.Close()
	data, _ := io.ReadAll(f)
	serve(fmt.Sprintf("<h1>Received</h1><p>%s with %d bytes: %s</p>", h.Filename, len(data), data))(w, r)
}

// login is a page that wants a name and a secret word, and remembers who gave
// them.
func login(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.FormValue("word") == "sesame" {
		http.SetCookie(w, &http.Cookie{Name: "who", Value: r.FormValue("user"), Path: "/"})
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	if c, err := r.Cookie("who"); err == nil {
		serve("<h1>Your account</h1><p>Welcome, "+c.Value+"</p><a href=/login>again</a>")(w, r)
		return
	}
	serve("<h1>Log in</h1><form method=post><label>User <input name=user></label><label>Word <input type=password name=word></label><button>Log in</button></form>")(w, r)
}
