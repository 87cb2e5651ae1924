package lawtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// TestConformance plays the cases of testdata/conformance, each a file that a
// person can write by hand. Its comment says what it shows. Its sections, in
// order, are
//
//	-- limits --     NAME=N, such as steps=6; only at the beginning
//	-- user --       what a person says
//	-- model --      a reply: lines of prose, and lines "call TOOL ARGUMENTS";
//	                 "-- model x5 --" is five such replies; # is their number
//	-- resume --     the person has the session go on
//	-- killed --     the process is killed when the last call before is done
//	-- want --       what happened, as it is printed: see the player
//
// The tools are read, which says "read" and its arguments; do, which is like
// it, but writes; big, whose output is long; and terminate. With UPDATE=1 in
// the environment, what happened is written into the files.
//
// Of the cases of the catalogue that are the core's, the exit codes of 7 and
// 43, and kill -9 of 42, are the command's.
func TestConformance(t *testing.T) {
	files, err := filepath.Glob("testdata/conformance/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := newPlayer(t, ar.Files)
			got, want := p.play(), p.want
			if os.Getenv("UPDATE") != "" {
				update(t, file, ar, got)
			} else if got != want {
				t.Errorf("%s\ngot\n%s\nwant\n%s", ar.Comment, got, want)
			}
			lawful(t, p.model.asked())
		})
	}
}

// update writes what happened into the case.
func update(t *testing.T, file string, ar *txtar.Archive, got string) {
	for i := range ar.Files {
		if ar.Files[i].Name == "want" {
			ar.Files[i].Data = []byte(got)
		}
	}
	if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A player plays a case. It writes down what the model gets and says:
//
//	user: hi                what it gets, line by line
//	c0-1: read {}           the result of a call
//	c0-1! no such file      one that is an error
//	(nudge) …               what is of the moment
//	model: Hello!           what it says
//	model: read {"x":1}     its calls
//	= finished: Hello!      how it ended, and the answer
//	= ran c0-1 c0-2         which calls ran
type player struct {
	t      *testing.T
	script []llm.Message
	acts   []txtar.File // what persons do, in order
	want   string
	limits openmanus.Limits
	model  *actor
	killAt map[int]bool // after the results of this reply, the process dies

	out  strings.Builder
	seen int // messages written down
	ran  []string
}

var modelHeader = regexp.MustCompile(`^model(?: x(\d+))?$`)

func newPlayer(t *testing.T, files []txtar.File) *player {
	p := &player{t: t, killAt: make(map[int]bool)}
	for _, f := range files {
		text := strings.TrimSuffix(string(f.Data), "\n")
		switch header := modelHeader.FindStringSubmatch(f.Name); {
		case header != nil:
			n, _ := strconv.Atoi(header[1])
			for range max(1, n) {
				p.script = append(p.script, reply(strings.ReplaceAll(text, "#", strconv.Itoa(len(p.script)))))
			}
		case f.Name == "limits":
			p.setLimits(text)
		case f.Name == "killed":
			p.killAt[len(p.script)-1] = true
		case f.Name == "want":
			p.want = string(f.Data)
		case f.Name == "user", f.Name == "resume":
			p.acts = append(p.acts, f)
		default:
			t.Fatalf("there is no section %q", f.Name)
		}
	}
	p.model = &actor{play: p.answer}
	return p
}

func (p *player) setLimits(text string) {
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(value)
		field := map[string]*int{"steps": &p.limits.Steps, "stuck": &p.limits.Stuck, "tokens": &p.limits.Tokens}[name]
		if err != nil || field == nil {
			p.t.Fatalf("limit %q", word)
		}
		*field = n
	}
}

// reply reads a reply of the script.
func reply(text string) llm.Message {
	m := llm.Message{Role: llm.Assistant}
	var prose []string
	for _, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, "call "); ok {
			name, input, _ := strings.Cut(rest, " ")
			m.Parts = append(m.Parts, llm.Call{Name: name, Input: input})
		} else {
			prose = append(prose, line)
		}
	}
	if words := strings.Join(prose, "\n"); words != "" {
		m.Parts = append(llm.Parts{llm.Text{Text: words}}, m.Parts...)
	}
	return m
}

// answer is the next reply of the script, by how often the model has spoken.
func (p *player) answer(_ context.Context, _ int, req *llm.Request) take {
	for _, m := range req.Messages[min(p.seen, req.Fixed):req.Fixed] {
		p.hear(m)
	}
	p.seen = req.Fixed
	for _, m := range req.Messages[req.Fixed:] {
		p.line("(nudge) %s", m.Text())
	}
	n := llmtest.Spoken(req)
	if n >= len(p.script) {
		return take{Message: llmtest.Say(fmt.Sprintf("(the script has no reply %d)", n))}
	}
	return take{Message: p.script[n]}
}

func (p *player) line(format string, a ...any) { fmt.Fprintf(&p.out, format+"\n", a...) }

func (p *player) hear(m llm.Message) {
	for _, part := range m.Parts {
		switch part := part.(type) {
		case llm.Text:
			who := "user"
			if m.Role == llm.Assistant {
				who = "model"
			}
			p.line("%s: %s", who, part.Text)
		case llm.Call:
			p.line("model: %s %s", part.Name, part.Input)
		case llm.Result:
			sign := ":"
			if part.IsError {
				sign = "!"
			}
			p.line("%s%s %s", part.ID, sign, short(part.Parts.Text()))
		}
	}
}

// short is a long text without what makes it long.
func short(text string) string {
	if len(text) < 500 {
		return text
	}
	head, rest, _ := strings.Cut(text, "\n\n[")
	marker, tail, _ := strings.Cut(rest, "]\n\n")
	return fmt.Sprintf("(%d bytes) [%s] (%d bytes)", len(head), marker, len(tail))
}

// play does what the persons do, one after the other, and tells what happened.
func (p *player) play() string {
	a := p.agent()
	j := &tamper{Memory: new(journal.Memory)}
	j.after = p.kill
	for i, act := range p.acts {
		text := strings.TrimSuffix(string(act.Data), "\n")
		switch {
		case i == 0:
			if err := openmanus.Open(p.t.Context(), j.Memory, sess, a, ptr(userSays("0", text))); err != nil {
				p.t.Fatal(err)
			}
		case act.Name == "resume":
			put(p.t, j.Memory, openmanus.Resumed{ID: strconv.Itoa(i)})
		default:
			put(p.t, j.Memory, userSays(strconv.Itoa(i), text))
		}
		err := local(j, a).Wake(p.t.Context(), sess)
		for errors.Is(err, errCrash) {
			p.line("(killed)")
			err = local(j, a).Wake(p.t.Context(), sess)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		p.conclude(load(p.t, j, sess))
	}
	return p.out.String()
}

// kill ends the process once the last call of a reply is done, and stored.
func (p *player) kill(_ int64, _ string, bodies []openmanus.Body) error {
	for _, b := range bodies {
		d, ok := b.(openmanus.CallDone)
		if !ok {
			continue
		}
		for n := range p.killAt {
			if calls := len(p.script[n].Calls()); d.Call == fmt.Sprintf("c%d-%d", n, calls) {
				delete(p.killAt, n)
				return errCrash
			}
		}
	}
	return nil
}

// conclude tells how it stands when nobody does anything any more.
func (p *player) conclude(s *openmanus.State) {
	if len(s.Said) > p.seen {
		for _, m := range s.Said[p.seen:] {
			p.hear(m)
		}
		p.seen = len(s.Said)
	}
	switch s.Status() {
	case openmanus.Finished:
		p.line("= finished: %s", s.Answer)
	default:
		p.line("= %s: %s: %s", s.Status(), s.Outcome.Reason, s.Outcome.Error)
	}
	p.line("= asked %d times", s.Steps)
	if len(p.ran) > 0 {
		p.line("= ran %s", strings.Join(p.ran, " "))
	}
	p.ran = nil
}

func (p *player) agent() *openmanus.Agent {
	echo := func(name string, h openmanus.Hints) openmanus.Tool {
		type in struct {
			Path string `json:"path"`
			Mode string `json:"mode,omitempty"`
		}
		spec := openmanus.ToolSpec{Hints: h, ToolSpec: llm.ToolSpec{Name: name, Input: json.RawMessage(
			`{"type":"object","properties":{"path":{"type":"string"},"mode":{"type":"string","enum":["fast","slow"]}},"required":["path"],"additionalProperties":false}`)}}
		return openmanus.Func(spec, func(_ context.Context, call openmanus.Call, in in) (openmanus.Result, error) {
			p.ran = append(p.ran, call.ID)
			if in.Path == "missing" {
				return openmanus.Result{}, errors.New("no such file")
			}
			return openmanus.TextResult("%s", strings.TrimSpace(name+" "+in.Path+" "+in.Mode)), nil
		})
	}
	big := tool("big", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("%s", strings.Repeat("0123456789", 5_000)), nil
	})
	return &openmanus.Agent{Name: "a", Model: p.model, Gate: openmanus.AllowAll, Limits: p.limits, Tools: []openmanus.Tool{
		echo("read", openmanus.Hints{}), echo("do", openmanus.Hints{}), big, terminate()}}
}
