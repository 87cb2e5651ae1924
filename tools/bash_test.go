package tools

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// hang is how long a test waits for what happens at once, before it takes it
// for not happening.
const hang = 30 * time.Second

// patience is how long a process has to give up a call: more than outside of
// tests, as the machine may be busy.
const patience = 10 * time.Second

// TestBash plays the sessions in testdata/bash, see playProcs.
func TestBash(t *testing.T) {
	playProcs(t, "testdata/bash", func(t *testing.T, ws workspace.Workspace) openmanus.Tool { return newBash(t, ws) })
}

func newBash(t testing.TB, ws workspace.Workspace) *Bash {
	b := NewBash(ws)
	b.patience = patience
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// playProcs plays sessions with a tool that runs processes. A session is a
// txtar archive of
//
//	run [ARG=VALUE ...]   a command or a piece of code, and other arguments
//	result                its outcome,
//	error                 and its error, if it had one
//	file NAME             a file to write
//
// in this order. In what is expected, a line "..." stands for any lines, "..."
// within a line for anything in it, and $WORK for the workspace.
func playProcs(t *testing.T, dir string, open func(*testing.T, workspace.Workspace) openmanus.Tool) {
	files, err := filepath.Glob(dir + "/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ws := newProcWorkspace(t)
			p := &procSession{t: t, ws: ws, tool: open(t, ws)}
			for _, f := range a.Files {
				p.play(f.Name, string(f.Data))
			}
			p.settle()
		})
	}
}

func newProcWorkspace(t testing.TB) *workspace.Dir {
	t.Helper()
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return ws
}

// A procSession is a row of calls to one tool.
type procSession struct {
	t    *testing.T
	ws   workspace.Workspace
	tool openmanus.Tool

	name            string // of the last call
	text, fault     string // the outcome
	result, isError bool   // what was said of it
}

func (p *procSession) play(section, body string) {
	p.t.Helper()
	verb, rest, _ := strings.Cut(section, " ")
	switch verb {
	case "run":
		p.settle()
		p.call(rest, body)
	case "result":
		p.result = true
		p.match("result", p.text, body)
	case "error":
		p.isError = true
		p.match("error", p.fault, body)
	case "file":
		if err := p.ws.WriteFile(p.t.Context(), rest, []byte(body)); err != nil {
			p.t.Fatal(err)
		}
	default:
		p.t.Fatalf("unknown section %q", section)
	}
}

// settle fails if nothing was said of the outcome of the last call.
func (p *procSession) settle() {
	p.t.Helper()
	if !p.result && p.text != "" {
		p.t.Errorf("%s: the result was\n%s", p.name, p.text)
	}
	if !p.isError && p.fault != "" {
		p.t.Errorf("%s: the error was: %s", p.name, p.fault)
	}
}

func (p *procSession) call(options, body string) {
	p.t.Helper()
	text := strings.TrimSuffix(body, "\n")
	field := map[string]string{"bash": "command", "python_execute": "code"}[p.tool.Spec().Name]
	in := map[string]any{field: text}
	for _, o := range strings.Fields(options) {
		key, value, _ := strings.Cut(o, "=")
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			p.t.Fatalf("%s: %v", o, err)
		}
		in[key] = v
	}
	p.name = strings.Join(strings.Fields(options+" "+text), " ")
	if text == "" {
		delete(in, field)
	}
	began := time.Now()
	res, err := runProc(p.t, p.tool, in, nil)
	p.t.Logf("%v %s", time.Since(began), p.name)
	p.text, p.fault, p.result, p.isError = res.Parts.Text(), "", false, false
	if err != nil {
		p.fault = err.Error()
	}
}

func (p *procSession) match(what, got, want string) {
	p.t.Helper()
	want = strings.ReplaceAll(strings.TrimSuffix(want, "\n"), "$WORK", p.ws.Dir())
	var pattern strings.Builder
	for i, line := range strings.Split(want, "\n") {
		if line == "..." && i == 0 {
			pattern.WriteString(`(?s:.*)`)
			continue
		}
		if line == "..." {
			pattern.WriteString(`(?s:\n.*)?`)
			continue
		}
		if i > 0 {
			pattern.WriteString("\n")
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, ".*"))
	}
	if ok, err := regexp.MatchString(`\A`+pattern.String()+`\z`, got); err != nil || !ok {
		p.t.Errorf("%s: the %s is\n%s\nwant\n%s", p.name, what, got, want)
	}
}

// runProc calls a tool as the core does, and fails if it hangs.
func runProc(t testing.TB, tool openmanus.Tool, in map[string]any, live io.Writer) (openmanus.Result, error) {
	t.Helper()
	return runProcIn(t, tool, t.Context(), "s", in, live)
}

func runProcIn(t testing.TB, tool openmanus.Tool, ctx context.Context, session string, in map[string]any, live io.Writer) (openmanus.Result, error) {
	t.Helper()
	input, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := args.Compile(tool.Spec().Input)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Check(string(input)); err != nil {
		t.Fatalf("the arguments %s do not fit the schema: %v", input, err)
	}
	if live == nil {
		live = io.Discard
	}
	type outcome struct {
		res openmanus.Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := tool.Run(ctx, openmanus.Call{Call: llm.Call{ID: "c1", Name: tool.Spec().Name, Input: string(input)}, Session: session, Live: live})
		done <- outcome{res, err}
	}()
	select {
	case o := <-done:
		return o.res, o.err
	case <-time.After(hang):
		t.Fatalf("%s hangs", input)
		return openmanus.Result{}, nil
	}
}
