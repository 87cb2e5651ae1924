package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/surface"
)

// A keeping is a source with settings.
type keeping struct {
	nowhere
	surface.ServerKeeper // what is not called
	servers              []surface.ServerSetting
	file                 string
	did                  []string
	fails                error
}

func (k *keeping) Servers(context.Context) ([]surface.ServerSetting, error) {
	return k.servers, k.fails
}

func (k *keeping) TestServer(_ context.Context, name string) (surface.ServerTested, error) {
	k.did = append(k.did, "try "+name)
	return surface.ServerTested{Software: "notes 1", Protocol: "2026", Hash: "t1", Tools: []surface.ServerTool{
		{Name: "read", Description: "reads\x1b[2J"}, {Name: "write", Description: "writes", Held: "it is new"},
	}}, k.fails
}

func (k *keeping) ApproveServer(_ context.Context, name, hash, tools string) error {
	k.did = append(k.did, "approve "+name+" "+hash+tools)
	return k.fails
}

func (k *keeping) Settings(context.Context) (Settings, error) {
	return Settings{File: k.file, Set: []Value{{"run.model", "x/y", "the file"}, {"run.approve", "ask", "default"}}}, k.fails
}

func (k *keeping) Edited(context.Context) (string, error) {
	data, err := os.ReadFile(k.file)
	return "now " + strings.TrimSpace(string(data)), errors.Join(err, k.fails)
}

// doing presses keys, carries out what follows from the last one, and returns the screen.
func doing(p *program, keys string) string {
	for _, m := range messages(typing(p, keys)) {
		p.Update(m)
	}
	return shownOf(p)
}

// A server that was found in a workspace is shown as what it is before it is approved, its
// tools before they are; one of the person's own can be switched off.
func TestServers(t *testing.T) {
	k := &keeping{servers: []surface.ServerSetting{
		{Name: "mine", Shown: "https://example.org", Source: "mcp.json", Hash: "h2", Own: true, Approved: true, Remote: true},
		{Name: "found", Shown: "run \x1b[2J this", Source: "/work/mcp.json", Hash: "h1", Found: true},
	}}
	p := newProgram(t.Context(), Options{Source: k, Theme: Theme{Name: "none"}})
	see := func(got string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Fatalf("no %q:\n%s", want, got)
			}
		}
	}
	see(doing(p, "/mcp<enter>"), "› found", "not approved · /work/mcp.json", "  mine")
	see(doing(p, "<enter>"), `run \x1b[2J this`, "› leave it out", "approve it", "it runs with your rights")
	if typing(p, "<enter>"); len(k.did) > 0 {
		t.Fatalf("it did %q", k.did)
	}
	doing(p, "/mcp<enter>")
	see(doing(p, "<enter><down><enter>"), "It is approved.")
	doing(p, "<esc>/mcp<enter>")
	see(doing(p, "<down><enter>"), "› connect to it", "sign in", "switch it off", "remove it")
	see(doing(p, "<enter>"), "notes 1, MCP 2026: 2 tools", `read: reads\x1b[2J`, "write is held back: it is new. Now: writes", "approve its tools as they are now")
	doing(p, "<down><enter>")
	if got := strings.Join(k.did, ","); got != "approve found h1,try mine,approve mine h2t1" {
		t.Errorf("it did %s", got)
	}
	k.fails = errors.New("only for administrators")
	see(doing(p, "<esc>/mcp<enter>"), "! only for administrators")
}

// The settings say where each is set, and the file is edited in the person's editor.
func TestSettings(t *testing.T) {
	k := &keeping{file: filepath.Join(t.TempDir(), "config.toml")}
	p := newProgram(t.Context(), Options{Source: k, Theme: Theme{Name: "none"}})
	if got := doing(p, "/settings<enter>"); !strings.Contains(got, "› edit "+k.file) || !strings.Contains(got, "run.model = x/y") || !strings.Contains(got, "the file") {
		t.Errorf("it shows\n%s", got)
	}
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "")
	if got := doing(p, "<enter>"); !strings.Contains(got, "no editor is known") || !strings.Contains(got, k.file) {
		t.Errorf("without an editor it shows\n%s", got)
	}
	if p = composing(t, ""); !strings.Contains(doing(p, "/settings<enter>"), "cannot be seen from here") {
		t.Error("a source without settings has some")
	}
}

// A person in a directory in which no agent works is told so before they type, and offered
// another one.
func TestAPersonInTheWrongDirectoryIsLedToAnother(t *testing.T) {
	p := composing(t, "")
	at := "/home/ann"
	p.o.Begin = &Beginning{
		Missing: func(context.Context) error { return nil },
		Refused: func() (string, error) {
			if at == "/home/ann" {
				return "/home/ann/work", errors.New("it is your home directory")
			}
			return "", nil
		},
		Move: func(dir string) error { at = dir; return nil },
	}
	shows := func(cmd tea.Cmd) string {
		for _, m := range messages(cmd) {
			p.Update(m)
		}
		return shownOf(p)
	}
	if got := shows(p.begin(false)); !strings.Contains(got, "No agent works in this directory") || !strings.Contains(got, "› work in a new directory") ||
		!strings.Contains(got, "/home/ann/work") || !strings.Contains(got, "it is your home directory") {
		t.Errorf("it shows\n%s", got)
	}
	typing(p, "<esc>hello")
	if got := shows(p.failed(Message{ID: "m", Text: "do it"}, errors.New("no"))); !strings.Contains(got, "› work in a new directory") {
		t.Errorf("after a task that was refused it shows\n%s", got)
	}
	if got := doing(p, "<enter>"); at != "/home/ann/work" || !strings.Contains(got, "the agent works in /home/ann/work") || p.comp.text != "do it\nhello" {
		t.Errorf("in %s with %q typed it shows\n%s", at, p.comp.text, got)
	}
}

// A person without a model is led to one; what they had typed stays.
func TestAPersonWithoutAModelIsLedToOne(t *testing.T) {
	missing := errors.New("no model is configured\nLooked for: this and that")
	p := composing(t, "")
	p.o.Begin = &Beginning{Missing: func(context.Context) error { return missing }}
	for _, m := range messages(p.begin(false)) {
		p.Update(m)
	}
	got := shownOf(p)
	at := func(text string) int { return strings.Index(got, text) }
	if at("There is no model yet") < 0 || at("› set one up now") < at("There is no model") || at("Looked for") < at("watch the demo") {
		t.Errorf("it shows\n%s", got)
	}
	typing(p, "<esc>hello")
	for _, m := range messages(p.failed(Message{ID: "m", Text: "do it"}, errors.New("no"))) {
		p.Update(m)
	}
	if got := shownOf(p); !strings.Contains(got, "set one up now") || p.comp.text != "do it\nhello" {
		t.Errorf("with %q typed it shows\n%s", p.comp.text, got)
	}
	missing = nil
	p.stack = nil
	for _, m := range messages(p.begin(true)) {
		p.Update(m)
	}
	if got := shownOf(p); len(p.stack) > 0 || !strings.Contains(got, "ready: write what you want done") {
		t.Errorf("after the setup it shows\n%s", got)
	}
}

// A plan that is longer than the screen can be read whole before it is approved.
func TestALongPlanIsShownWhole(t *testing.T) {
	p := composing(t, "")
	var plan []string
	for i := range 200 {
		plan = append(plan, fmt.Sprintf("step %d.", i))
	}
	p.push(planList(nil, "s1", strings.Join(plan, "\n"), strings.Join(plan, "\n")))
	p.layout()
	seen := make(map[string]bool)
	for range 40 {
		got := shownOf(p)
		for _, step := range plan {
			seen[step] = seen[step] || strings.Contains(got, "  "+step)
		}
		if !strings.Contains(got, "carry it out, and ask me") || !strings.Contains(got, "edit the plan first") {
			t.Fatalf("the answers are gone:\n%s", got)
		}
		p.Update(tea.KeyPressMsg{Code: tea.KeyPgDown})
	}
	if got := shownOf(p); len(seen) != 200 || !seen["step 199."] || !strings.Contains(got, "the end (PgUp shows what is above)") {
		t.Errorf("%d of 200 steps were shown, at last\n%s", len(seen), got)
	}
	for _, step := range plan {
		if !seen[step] {
			t.Errorf("%q was never shown", step)
		}
	}
	p.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	if got := shownOf(p); strings.Contains(got, "step 199.") {
		t.Error("the wheel does not scroll it")
	}
}

// The panel counts the lines that edits added and removed.
func TestThePanelCountsLines(t *testing.T) {
	p := newProgram(t.Context(), Options{Theme: Theme{Name: "none"}})
	p.id, p.width, p.height = "s1", 120, 20
	edit := func(id string) []openmanus.Body {
		return []openmanus.Body{openmanus.CallDone{Call: id, Files: []openmanus.FileChange{{Path: "a.go", Change: openmanus.FileModified}},
			Detail: []byte(`{"diff":"--- a/a.go\n+++ b/a.go\n@@ -1,2 +1 @@\n-x\n-y\n+z\n"}`)}}
	}
	bodies := slices.Concat([]openmanus.Body{userSays("m1", "edit")}, edit("c1"), edit("c2"))
	for _, ev := range stored(0, append(bodies, openmanus.CallDone{Call: "c3", Files: []openmanus.FileChange{{Path: "new", Change: openmanus.FileCreated}}})...) {
		p.event(ev)
	}
	p.panel.sessions = []Session{{ID: "s1", Title: "this one", Status: BrokenOff}, {ID: "s2", Title: "another", Status: BrokenOff}}
	p.layout()
	if got := shownOf(p); !strings.Contains(got, "◐ this one") || !strings.Contains(got, "× another") {
		t.Errorf("the session on the screen runs, and it shows\n%s", got)
	}
	if got := shownOf(p); !strings.Contains(got, "~ a.go                      +2 −4") || !strings.Contains(got, "+ new") {
		t.Errorf("it shows\n%s", got)
	}
}

// A picture is pasted from the clipboard by Ctrl-V, and where a terminal pastes nothing
// because there is no text; it is gone when the program ends.
func TestAPictureIsPasted(t *testing.T) {
	data, fails := []byte("\x89PNG\r\n\x1a\nx"), error(nil)
	p := composing(t, "")
	p.o.Clipboard = func(context.Context) ([]byte, error) { return data, fails }
	paste := func(msg tea.Msg) {
		_, cmd := p.Update(msg)
		for _, m := range messages(cmd) {
			p.Update(m)
		}
	}
	paste(tea.KeyPressMsg{Code: 'v', Mod: tea.ModCtrl})
	paste(tea.PasteMsg{})
	if p.comp.text != "[picture 1][picture 2]" {
		t.Fatalf("there is %q", p.comp.text)
	}
	data = []byte("GIF")
	paste(tea.PasteMsg{})
	if got := shownOf(p); strings.Contains(got, "! the") {
		t.Errorf("nothing was asked for, and it says\n%s", got)
	}
	paste(tea.KeyPressMsg{Code: 'v', Mod: tea.ModCtrl})
	if got := shownOf(p); !strings.Contains(got, "! the clipboard has no picture") {
		t.Errorf("it shows\n%s", got)
	}
	typing(p, "<enter>")
	if len(p.sent) != 1 || len(p.sent[0].Attach) != 2 {
		t.Fatalf("it sends %+v", p.sent)
	}
	file := p.sent[0].Attach[1]
	if got, err := os.ReadFile(file); err != nil || !strings.HasSuffix(string(got), "x") {
		t.Errorf("the file has %q, %v", got, err)
	}
	p.close(func() {})
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}
