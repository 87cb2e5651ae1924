package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// A decider records what is decided.
type decider struct {
	nowhere
	got     []Decision
	effect  CallEffect
	refuses error
}

func (d *decider) Decide(_ context.Context, dec Decision) error {
	d.got = append(d.got, dec)
	return d.refuses
}

func (d *decider) Choices(context.Context, string, string) (Choices, error) {
	return Choices{Remember: true}, nil
}

func (d *decider) Preview(context.Context, string, string, string) (CallEffect, error) {
	return d.effect, nil
}

// askingOf returns a program in which a call waits for a ruling, and its source.
func askingOf(t *testing.T, asked openmanus.Asked) (*program, *decider) {
	t.Helper()
	src := new(decider)
	p := newProgram(context.Background(), Options{Source: src, Theme: Theme{Name: "none"}})
	p.id, p.width, p.height = "s1", 70, 24
	at := start.Add(100 * time.Second)
	p.now = func() time.Time { return at }
	asked.Call = "c1"
	bodies := []openmanus.Body{userSays("m1", "go"), openmanus.ModelSaid{Turn: 0, Re: 1, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant,
		Parts: llm.Parts{llm.Call{ID: "c1", Name: "bash", Input: `{"command":"rm -r x"}`}}}}}
	if asked.Kind != openmanus.AskRuling { // a tool asks while it runs
		bodies = append(bodies, openmanus.Ruled{Call: "c1", Allow: true, By: openmanus.ByGate}, openmanus.CallStarted{Call: "c1", Attempt: 1})
	}
	for _, ev := range stored(0, append(bodies, asked)...) {
		p.event(ev)
	}
	for _, m := range messages(p.asked()) {
		p.Update(m)
	}
	at = at.Add(unheard)
	p.layout()
	return p, src
}

var ruling = openmanus.Asked{Kind: openmanus.AskRuling, Question: "May bash run this outside the sandbox? It can then read and change everything that you can.", Rule: "reach", Hash: "h",
	Hints:   openmanus.Hints{Reach: openmanus.ReachOutside, Destructive: true},
	Sources: []openmanus.ArgumentSource{{Argument: "command", From: "https://evil.example.org", Text: "rm -r x\x1b[2J"}}}

// A dialog says everything that the page says, and wraps what is long.
func TestADialogSaysWhatAPersonHasToKnow(t *testing.T) {
	p, _ := askingOf(t, ruling)
	text := strings.Join(strings.Fields(shownOf(p)), " ")
	for _, want := range []string{
		"May bash run this outside the sandbox? It can then read and change everything that you can.", "rm -r x",
		"Reaches: everything that you can: it would run outside the sandbox", "Undo: this cannot be taken back", "Asked because of: reach",
		`From: command: “rm -r x\x1b[2J” from https://evil.example.org (not trusted)`, "y allow once", "a always for this exact call",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, shownOf(p))
		}
	}
	p.height = 8
	p.layout()
	if text := shownOf(p); !strings.Contains(text, "more lines below (Down)") {
		t.Errorf("on a low screen:\n%s", text)
	}
}

func TestAnswersOfADialog(t *testing.T) {
	scoped := ruling
	scoped.Scope = "example.org"
	question := openmanus.Asked{Kind: openmanus.AskText, Question: "Which one?"}
	for _, tc := range []struct {
		name  string
		asked openmanus.Asked
		keys  string
		want  Decision // Session, Call and Hash are those of the question
	}{
		{"once", ruling, "y", Decision{Allow: true}},
		{"always", ruling, "a", Decision{Allow: true, Remember: true}},
		{"no scope to allow", ruling, "sy", Decision{Allow: true}},
		{"the scope", scoped, "s", Decision{Allow: true, Scope: "example.org"}},
		{"denied with a reason", ruling, "nuse y<enter>", Decision{Reason: "use y", Text: "use y"}},
		{"denied without", ruling, "n<enter>", Decision{}},
		{"not denied after all", ruling, "nx<esc>y", Decision{Allow: true}},
		{"an answer", question, "<enter>the 世 one<enter>", Decision{Reason: "the 世 one", Text: "the 世 one"}},
	} {
		p, src := askingOf(t, tc.asked)
		messages(typing(p, tc.keys))
		tc.want.Session, tc.want.Call, tc.want.Kind, tc.want.Hash = "s1", "c1", tc.asked.Kind, tc.asked.Hash
		if len(src.got) != 1 || src.got[0].Text != tc.want.Text || src.got[0].Allow != tc.want.Allow || src.got[0].Reason != tc.want.Reason ||
			src.got[0].Scope != tc.want.Scope || src.got[0].Remember != tc.want.Remember || src.got[0].Hash != tc.want.Hash || src.got[0].Call != "c1" {
			t.Errorf("%s: %+v", tc.name, src.got)
		}
	}
}

// Keys that were meant for a message do not answer a question: a dialog does not open
// while something is typed, and decides nothing right after it has opened. An answer
// that was typed by then is kept.
func TestNoQuestionIsAnsweredByAccident(t *testing.T) {
	p, src := askingOf(t, ruling)
	p.stack[0].(*dialog).opened = p.now()
	typing(p, "y")
	if len(src.got) > 0 || len(p.stack) != 1 {
		t.Errorf("it was decided: %+v", src.got)
	}
	typing(p, "<esc>") // not heard either
	p.stack = nil
	p.comp.set("yes")
	if p.asked(); len(p.stack) > 0 {
		t.Error("a dialog opened while something was typed")
	}
	if typing(p, "<back><back><back>"); len(p.stack) != 1 {
		t.Error("it did not open when nothing was typed any more")
	}
	p, src = askingOf(t, openmanus.Asked{Kind: openmanus.AskText, Question: "Which one?"})
	d := p.stack[0].(*dialog)
	d.opened = p.now()
	if typing(p, "blue<enter>"); d.text != "blue" || len(src.got) > 0 {
		t.Errorf("of an answer that was typed at once there is %q, and it was sent: %+v", d.text, src.got)
	}
}

// The call runs with the arguments that a person writes, and they see its effect
// before they allow it. Arguments that cannot work are not allowed.
func TestEditedArgumentsShowTheirEffect(t *testing.T) {
	p, src := askingOf(t, ruling)
	d := p.stack[0].(*dialog)
	d.input = `{"command":"ls"}`
	if text := shownOf(p); strings.Contains(text, "As you have edited") {
		t.Fatal(text)
	}
	d.effect = &CallEffect{Fails: "no such file"}
	p.layout()
	if text := shownOf(p); !strings.Contains(text, "it would fail: no such file") || strings.Contains(text, "always for this") {
		t.Errorf("it shows\n%s", text)
	}
	messages(typing(p, "y"))
	if len(src.got) > 0 {
		t.Errorf("it was allowed: %+v", src.got)
	}
	d.effect = &CallEffect{Shown: "-a\n+b\n"}
	messages(typing(p, "y"))
	if len(src.got) != 1 || src.got[0].Input != d.input || !src.got[0].Allow {
		t.Errorf("it decided %+v", src.got)
	}
}

func TestNotificationsHaveNothingThatATerminalObeys(t *testing.T) {
	for _, terminal := range []string{"ghostty xterm", "iTerm.app xterm", "xterm-256color", "tmux tmux-256color"} {
		got := notification("done\x1b]0;title\a; and\x9b2J more", terminal)
		if strings.Count(got, "\x1b]") > 1 || strings.Contains(got, "2J") && strings.Contains(got, "\x9b") || !strings.HasSuffix(got, "\a") {
			t.Errorf("%s: %q", terminal, got)
		}
	}
	p, _ := askingOf(t, ruling)
	if p.Update(tea.FocusMsg{}); p.notify("x") != nil {
		t.Error("a person who looks is disturbed")
	}
}

// A question that is decided is not put again while the decision is on its way; if it is
// refused, the question comes back with the reason.
func TestADecidedQuestionIsNotPutAgain(t *testing.T) {
	p, src := askingOf(t, ruling)
	src.refuses = errors.New("somebody else drives it")
	cmd := typing(p, "y")
	p.comp.dismissed = "another one, which the person puts off meanwhile"
	if p.asked(); len(p.stack) > 0 {
		t.Error("the question is put again before its decision is refused")
	}
	for _, m := range messages(cmd) {
		p.Update(m)
	}
	if len(p.stack) != 1 || !strings.Contains(shownOf(p), "somebody else drives it") {
		t.Errorf("after the refusal it shows\n%s", shownOf(p))
	}
}
