package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// typing sends keys to a program: names in <>, everything else as text.
func typing(p *program, keys string) (last tea.Cmd) {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "esc": {Code: tea.KeyEscape},
		"left": {Code: tea.KeyLeft}, "back": {Code: tea.KeyBackspace}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+j": {Code: 'j', Mod: tea.ModCtrl},
		"ctrl+_": {Code: '_', Mod: tea.ModCtrl}, "s+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
	}
	for len(keys) > 0 {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(keys, "<"), ">"); ok && keys[0] == '<' {
			_, last = p.Update(special[name])
			keys = rest
			continue
		}
		r := []rune(keys)[0]
		_, last = p.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		keys = keys[len(string(r)):]
	}
	return last
}

// composing returns a program in a directory, with nothing typed.
func composing(t *testing.T, dir string) *program {
	t.Helper()
	return newProgram(context.Background(), Options{Source: nowhere{}, Theme: Theme{Name: "none"}, Dir: dir, DataDir: dir})
}

// nowhere is a source without sessions.
type nowhere struct{ Source }

func (nowhere) Name() string { return "nowhere" }

// Typed text is never lost: Ctrl-C moves it into the history, which the next program
// reads too, and a message that could not be sent comes back beside text that was typed
// meanwhile.
func TestNothingThatWasTypedIsLost(t *testing.T) {
	dir := t.TempDir()
	p := composing(t, dir)
	typing(p, "first<ctrl+j>line<ctrl+c>")
	if !p.comp.empty() {
		t.Fatalf("there is %q", p.comp.text)
	}
	typing(p, "dra<up>")
	if p.comp.text != "first\nline" {
		t.Errorf("Up shows %q", p.comp.text)
	}
	if typing(p, "<down>"); p.comp.text != "dra" {
		t.Errorf("Down shows %q", p.comp.text)
	}
	p.comp.restore("not sent")
	if p.comp.text != "not sent\ndra" {
		t.Errorf("there is %q", p.comp.text)
	}
	if typing(p, "x<ctrl+_>"); p.comp.text != "not sent\ndra" {
		t.Errorf("undone: %q", p.comp.text)
	}
	q := composing(t, dir)
	if typing(q, "<up>"); q.comp.text != "first\nline" {
		t.Errorf("the next program shows %q", q.comp.text)
	}
}

// A long paste is one chip on the screen, and is sent whole.
func TestPastes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a b.png"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := composing(t, dir)
	long := strings.Repeat("line\r\n", 40)
	typing(p, "see ")
	p.Update(tea.PasteMsg{Content: long})
	p.Update(tea.PasteMsg{Content: "short"})
	if p.comp.text != "see [pasted 1: 40 lines]short" {
		t.Fatalf("there is %q", p.comp.text)
	}
	if got := p.comp.full(); got != "see "+strings.Repeat("line\n", 40)+"short" {
		t.Errorf("it sends %q", got)
	}
	typing(p, "<back><back><back><back><back><back>")
	if p.comp.text != "see " {
		t.Errorf("after backspace on the chip there is %q", p.comp.text)
	}
	p.Update(tea.PasteMsg{Content: filepath.Join(dir, `a\ b.png`)})
	if n := len(p.comp.pastes); p.comp.pastes[n-1].file != filepath.Join(dir, "a b.png") {
		t.Errorf("the picture is %+v", p.comp.pastes[n-1])
	}
	if typing(p, "<enter>"); len(p.sent) != 1 || len(p.sent[0].Attach) != 1 || !strings.HasPrefix(p.sent[0].Text, "see [picture") {
		t.Errorf("it sends %+v", p.sent)
	}
}

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"docs/guide.md", "docs/gone.md", "data b.csv", ".hidden"} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for keys, want := range map[string]string{
		"/mod<down><tab>":          "/mode ",
		"/mode":                    "/mode",
		"read @do<tab>":            "read @docs/",
		"read @docs/gu<tab>and":    "read @docs/guide.md and",
		"@docs/g<down><tab>":       "@docs/guide.md ",
		"@da<tab>":                 "[file 1: data b.csv] ",
		"@.h<tab>":                 "@.hidden ",
		"@nothing<tab>":            "@nothing",
		"mail me@exam<tab>":        "mail me@exam",
		"/help is a path/x<enter>": "",
	} {
		p := composing(t, dir)
		typing(p, keys)
		if p.comp.text != want {
			t.Errorf("%s: %q, want %q", keys, p.comp.text, want)
		}
	}
}

// A command of the person runs in their shell. Its output is theirs until they give it
// to the agent.
func TestACommandOfThePersonsOwn(t *testing.T) {
	p := composing(t, t.TempDir())
	cmd := typing(p, "!printf 'a\\nb\\n'; exit 3<enter>")
	for _, m := range messages(cmd) {
		p.Update(m)
	}
	if text := shownOf(p); !strings.Contains(text, "exit status 3") || !strings.Contains(text, "  b") {
		t.Fatalf("it shows\n%s", text)
	}
	typing(p, "<down><enter>")
	if len(p.sent) != 1 || !strings.Contains(p.sent[0].Text, "$ printf 'a\\nb\\n'; exit 3\na\nb\n[exit status 3]") {
		t.Errorf("it sends %+v", p.sent)
	}
	if p = composing(t, ""); typing(p, "!true<enter>") == nil || len(p.sent) != 1 {
		t.Error("where there is no directory of the person, ! is a text")
	}
}

// messages runs a command and those in it, and returns their messages. It leaves out
// what needs a source of sessions.
func messages(cmd tea.Cmd) (all []tea.Msg) {
	if cmd == nil {
		return nil
	}
	switch m := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range m {
			all = append(all, messages(c)...)
		}
	default:
		all = append(all, m)
	}
	return all
}

// Commands of the person stand beside those of the program, and what they stand for is
// said unchanged, also if it looks like a command.
func TestCommandsOfThePerson(t *testing.T) {
	p := composing(t, "")
	p.custom = []Custom{
		{Name: "again", Arguments: "WORDS", Help: "say it again", Expand: func(a string) string { return "/again " + a }},
		{Name: "quit", Expand: func(string) string { return "never" }},
	}
	typing(p, "/aga<tab>two words<enter>")
	if len(p.sent) != 1 || p.sent[0].Text != "/again two words" {
		t.Errorf("it says %+v", p.sent)
	}
	if typing(p, "/quit<enter>"); !p.quitting || len(p.sent) != 1 {
		t.Error("/quit is not the program's own any more")
	}
}
