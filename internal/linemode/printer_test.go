package linemode_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/llm"
)

// A call that needs an approval is shown whole: nothing is dropped without a sign,
// and no line of it looks like one of the program or like another argument.
func TestApprovalsShowEverything(t *testing.T) {
	var b strings.Builder
	p := linemode.New(&b, linemode.Options{Quiet: true})
	p.Question("May file_saver write %s?", ".vscode/x\n? May it read safe.txt\u202e")
	p.Block(gist.Arguments(`{"path":"a\npath: b\r","command":"\u001b[2Jrm\u200b -rf\t/"}`))
	want := `? May file_saver write .vscode/x
  │ ? May it read safe.txt\u202e?
  │ path: 
  │   a
  │   path: b\r
  │ command: \x1b[2Jrm\u200b -rf	/
`
	if b.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", b.String(), want)
	}
}

// play shows bodies as stored events, one second after the other.
func play(p *linemode.Printer, bodies ...openmanus.Body) {
	for i, b := range bodies {
		p.Event(openmanus.Event{Seq: int64(i + 1), Time: time.Unix(int64(i), 0), Body: b})
	}
}

func said(text string, calls ...llm.Call) openmanus.ModelSaid {
	m := openmanus.ModelSaid{Message: llm.Message{Role: llm.Assistant}}
	if text != "" {
		m.Message.Parts = append(m.Message.Parts, llm.Text{Text: text})
	}
	for _, c := range calls {
		m.Message.Parts = append(m.Message.Parts, c)
	}
	return m
}

func done(id, text string, change ...func(*openmanus.CallDone)) openmanus.CallDone {
	d := openmanus.CallDone{Call: id, Parts: llm.Parts{llm.Text{Text: text}}}
	for _, c := range change {
		c(&d)
	}
	return d
}

// A session as a person reads it: the end of a long result and its exit code, results
// that say whose they are, a diff in place of what the model reads of an edit, and
// everything once.
func TestLines(t *testing.T) {
	run := func(id, command string) llm.Call {
		input, _ := json.Marshal(map[string]string{"command": command})
		return llm.Call{ID: id, Name: "bash", Input: string(input)}
	}
	exit := func(detail string) func(*openmanus.CallDone) {
		return func(d *openmanus.CallDone) {
			d.Detail = json.RawMessage(detail)
			d.Failed = !strings.Contains(detail, ":0")
		}
	}
	for name, tt := range map[string]struct {
		bodies []openmanus.Body
		want   string
	}{
		"the end of a result": {
			[]openmanus.Body{
				said("I test.", run("a", "make")),
				openmanus.CallStarted{Call: "a"},
				openmanus.Output{Call: "a", Text: "1\n2\n"},
				done("a", "1\n2\n3\n4\n5\n6\n7\n10%\r20%\n\x1b[31mFAILED\x1b[0m\n[exit code 2]", exit(`{"exit_code":2}`)),
			}, `
I test.
● Running  make
  │ 1
  │ 2
  │ … 1 line …
  │ 4
  │ 5
  │ 6
  │ 7
  │ 20%
  │ FAILED
  └ exit 2 · 2.0s
`},
		"at once": {
			[]openmanus.Body{
				said("", run("a", "slow"), run("b", "quick")),
				openmanus.CallStarted{Call: "a"}, openmanus.CallStarted{Call: "b"},
				done("b", "B", exit(`{"exit_code":0}`)), done("a", "A", exit(`{"exit_code":0}`)),
			}, `
● Running  slow
● Running  quick
  │ B
  └ done · 1.0s
○ Ran  slow
  │ A
  └ done · 3.0s
`},
		"an edit": {
			[]openmanus.Body{
				said("", llm.Call{ID: "a", Name: "str_replace_editor", Input: `{"command":"str_replace","path":"x.go"}`}),
				openmanus.CallStarted{Call: "a"},
				done("a", "The file was edited. Here is a part of it …",
					exit(`{"path":"x.go","diff":"--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n a\u202e\n-\tb\n+c\n","n":0}`),
					func(d *openmanus.CallDone) { d.Failed = false }),
			}, `
● Editing  x.go
  │ @@ -1,2 +1,2 @@
  │  a\u202e
  │ -    b
  │ +c
  └ +1 −1 · 1.0s
`},
		"a look": {
			[]openmanus.Body{
				said("", llm.Call{ID: "a", Name: "str_replace_editor", Input: `{"command":"view","path":"x.go"}`}),
				openmanus.CallStarted{Call: "a"},
				done("a", "1\ta\n2\tb\n3\tc"),
			}, `
● Reading  x.go
  └ 3 lines · 1.0s
`},
		"a refusal names its call": {
			[]openmanus.Body{
				said("", run("a", "rm x"), run("b", "ls")),
				openmanus.CallStarted{Call: "b"},
				openmanus.Ruled{Call: "a", Reason: "no\x1b[2J", By: "person"},
			}, `
● Running  ls
! Wanted to run  rm x: not allowed: no[2J (person)
`},
		"a question and its answer are said once": {
			[]openmanus.Body{
				said("", llm.Call{ID: "a", Name: "ask_human", Input: `{"inquire":"Which?"}`}),
				openmanus.Asked{Call: "a", Kind: openmanus.AskText, Question: "Which?"},
				openmanus.Answered{Call: "a", Text: "blue"},
				openmanus.CallStarted{Call: "a"},
				done("a", "blue"),
			}, ""},
		"a child says its own answer": {
			[]openmanus.Body{
				openmanus.ChildOpened{Child: "x.c0-1"},
				openmanus.ChildDone{Child: "x.c0-1", Status: openmanus.Finished, Text: "long"},
				openmanus.ChildDone{Child: "x.c0-2", Status: openmanus.Failed, Text: "it broke"},
			}, `
· delegated to x.c0-1
· x.c0-1 is finished
· x.c0-2 is failed: it broke
`},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			play(linemode.New(&b, linemode.Options{}), tt.bodies...)
			if got := b.String(); got != strings.TrimPrefix(tt.want, "\n") {
				t.Errorf("shown:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

// While something runs, one line says what and for how long. It is taken away before
// anything is printed, and nothing is left of it at the end.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := new(screen)
		p := linemode.New(screen, linemode.Options{Width: func() int { return 46 }})
		seq := int64(0)
		show := func(b openmanus.Body) {
			seq++
			p.Event(openmanus.Event{Seq: seq, Time: time.Now(), Body: b})
		}
		look := func(want string) {
			t.Helper()
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if got := screen.text(); !strings.HasSuffix(got, want) {
				t.Fatalf("the screen is\n%s\nwant at its end: %q", got, want)
			}
		}
		show(openmanus.Configured{Spec: openmanus.Spec{Model: "openai/gpt-5"}})
		p.Request("1")
		show(openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "make it")})
		stop := p.Working()
		defer stop()
		look(" openai/gpt-5 · 5 s · Ctrl-C interrupts")
		p.Event(openmanus.Event{Body: openmanus.Typing{Turn: 0, Read: 44}})
		look(" openai/gpt-5 is reading the prompt, 44 % ·…")
		show(said("I look.", llm.Call{ID: "a", Name: "bash", Input: `{"command":"make"}`}))
		show(openmanus.CallStarted{Call: "a"})
		p.Event(openmanus.Event{Body: openmanus.Reading{Call: "a", Files: 1200}})
		look(" Running make · 5 s │ reading the folder so…")
		p.Event(openmanus.Event{Body: openmanus.Reading{Call: "a"}})
		look(" Running make · 10 s · Ctrl-C interrupts")
		p.Event(openmanus.Event{Body: openmanus.Output{Call: "a", Text: "one\ntwo \x1b[31mand a line that is longer than the screen"}})
		look(" Running make · 15 s │ two and a line that …")
		p.Hold()
		look("● Running  make\n")
		p.Release()
		show(done("a", "end"))
		show(openmanus.Ended{Turn: 1, Re: 9, Status: openmanus.Finished})
		look("  └ done · 20.0s\n")
		stop()
		if got := screen.text(); got != "I look.\n● Running  make\n  │ end\n  └ done · 20.0s\n" {
			t.Errorf("left on the screen:\n%s", got)
		}
	})
}

// On a terminal Markdown is formatted, paragraph by paragraph as it streams, and what
// was interrupted is shown as far as it came.
func TestMarkdown(t *testing.T) {
	screen := new(screen)
	p := linemode.New(screen, linemode.Options{Width: func() int { return 40 }})
	types := func(text string) {
		p.Event(openmanus.Event{Body: openmanus.Typing{Turn: 1, Parts: llm.Parts{llm.Text{Text: text}}}})
	}
	look := func(want string) {
		t.Helper()
		if got := screen.text(); got != want {
			t.Fatalf("the screen is\n%s\nwant\n%s", got, want)
		}
	}
	types("It is **do")
	look("")
	types("ne**.\n\n| a | b |\n|---|")
	look("It is done.\n")
	types("---|\n| 1 | 2 |")
	play(p, said("It is **done**.\n\n| a | b |\n|---|---|\n| 1 | 2 |"))
	look("It is done.\n\na  b\n────\n1  2\n")
	types("And `th")
	play(p, openmanus.Interrupted{})
	look("It is done.\n\na  b\n────\n1  2\nAnd `th\n! interrupted\n")
}

// A screen does what a terminal does with a carriage return and the erasing of a line.
type screen struct{ lines, line string }

func (s *screen) Write(data []byte) (int, error) {
	for _, piece := range strings.SplitAfter(string(data), "\n") {
		if at := strings.LastIndex(piece, "\r"); at >= 0 {
			s.line, piece = "", piece[at+1:]
		}
		s.line += strings.ReplaceAll(piece, "\x1b[K", "")
		if strings.HasSuffix(piece, "\n") {
			s.lines, s.line = s.lines+s.line, ""
		}
	}
	return len(data), nil
}

func (s *screen) text() string { return s.lines + s.line }

// A session that goes on has the words of its own tools.
func TestAResumedSessionHasTheWordsOfItsTools(t *testing.T) {
	var s openmanus.State
	says := []openmanus.Saying{{Kind: openmanus.ToolRuns, Words: map[string]string{"en": "weigh, weighing, weighed"}, On: []string{"item"}}}
	for i, b := range []openmanus.Body{
		openmanus.Opened{Flow: "manus", Version: openmanus.FormatVersion},
		openmanus.Configured{Tools: []openmanus.ToolSpec{{ToolSpec: llm.ToolSpec{Name: "scales"}, Says: says}}},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "how heavy is it?")},
		openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c0-1", Name: "scales", Input: `{"item":"apple"}`}}}},
	} {
		s.Apply(openmanus.Event{Seq: int64(i + 1), Body: b})
	}
	screen := new(screen)
	p := linemode.New(screen, linemode.Options{})
	p.GoOn(&s)
	p.Event(openmanus.Event{Seq: 5, Body: openmanus.Ruled{Call: "c0-1", Allow: true, By: openmanus.ByGate}})
	p.Event(openmanus.Event{Seq: 6, Body: openmanus.CallStarted{Call: "c0-1", Attempt: 1}})
	p.Event(openmanus.Event{Seq: 7, Body: done("c0-1", "7 g")})
	if got := screen.text(); !strings.Contains(got, "eigh") || !strings.Contains(got, "apple") || strings.Contains(got, "scales") {
		t.Errorf("it shows\n%s", got)
	}
}
