package tools

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// TestConformance plays the sessions in testdata: calls to the real tools in
// a workspace of their own, as the core makes them, and what must come of
// them. A file is a txtar archive. Its sections are played in order:
//
//	file NAME     writes a file, by other hands than the tools'
//	remove NAME   removes it
//	store NAME    keeps a text as a blob; $NAME then stands for its ref
//	refs          adds refs of blobs that the session names, one a line
//	restart       makes the tools anew, as in another process
//	call TOOL     calls a tool with the arguments given
//	answer        calls it again with a person's answer
//	result        what must have come of the call: this text,
//	error         this error,
//	asks          or this question to a person
//	detail        and this JSON for people
//	want NAME     the file must have this content
//	gone NAME     there must be no such file
//	# REMARK      is for the reader
//
// Where a text is compared, a line "..." stands for any lines. With "quoted"
// after the name of a file the content is written as Go strings, one a line.
// $WORK stands for the directory of the workspace.
func TestConformance(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := newSession(t)
			for i, f := range a.Files {
				if !t.Run(strconv.Itoa(i+1)+" "+f.Name, func(t *testing.T) { s.play(t, f) }) {
					t.FailNow()
				}
			}
			if s.open {
				t.Error("nothing is said of what must come of the last call")
			}
		})
	}
}

// A session is a row of calls to tools in one workspace.
type session struct {
	ws    workspace.Workspace
	tools map[string]openmanus.Tool
	mem   journal.Memory
	last  map[string]json.RawMessage
	refs  []openmanus.Ref
	names *strings.Replacer
	vars  []string

	schemas map[string]*args.Schema

	call openmanus.Call // the last one
	res  openmanus.Result
	err  error
	open bool // nothing was said of it yet
}

func newSession(t testing.TB) *session {
	t.Helper()
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	s := &session{ws: ws, last: make(map[string]json.RawMessage), schemas: make(map[string]*args.Schema)}
	s.define("$WORK", ws.Dir())
	s.restart(t)
	return s
}

func (s *session) define(name, value string) {
	s.vars = append(s.vars, name, value)
	s.names = strings.NewReplacer(s.vars...)
}

// restart makes the tools anew: all they may remember is in s.last.
func (s *session) restart(t testing.TB) {
	t.Helper()
	completion, err := NewCompletion(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.tools = make(map[string]openmanus.Tool)
	editor, patch := NewEditors(s.ws)
	for _, tool := range []openmanus.Tool{
		editor, patch, NewFileSaver(s.ws), NewGrep(s.ws), NewGlob(s.ws), NewPlanning(),
		NewAskHuman(), NewTerminate(), NewReadOutput(), completion,
	} {
		s.tools[tool.Spec().Name] = tool
	}
}

// use makes a call as the core does: the arguments are checked, the detail of
// the last success is given, and the detail of this one goes through JSON.
func (s *session) use(name, input string, answers ...openmanus.Answer) (openmanus.Result, error) {
	tool := s.tools[name]
	if tool == nil {
		return openmanus.Result{}, errors.New("there is no tool " + name)
	}
	if s.schemas[name] == nil {
		schema, err := args.Compile(tool.Spec().Input)
		if err != nil {
			return openmanus.Result{}, err
		}
		s.schemas[name] = schema
	}
	fixed, err := s.schemas[name].Check(input)
	if err != nil {
		return openmanus.Result{}, err
	}
	s.call = openmanus.Call{
		Call: llm.Call{ID: "c", Name: name, Input: fixed}, Session: "s", Answers: answers,
		Last: s.last[name], Refs: s.refs, Blobs: &s.mem, Live: io.Discard,
	}
	res, err := tool.Run(context.Background(), s.call)
	if err == nil && res.Detail != nil {
		data, err := json.Marshal(res.Detail)
		if err != nil {
			return res, err
		}
		s.last[name] = data
		if m, ok := tool.(openmanus.MemorySharer); ok {
			for _, other := range m.SharesLast() {
				s.last[other] = data
			}
		}
	}
	return res, err
}

func (s *session) play(t *testing.T, f txtar.File) {
	verb, name, _ := strings.Cut(f.Name, " ")
	if verb == "#" {
		return
	}
	text := s.names.Replace(string(f.Data))
	if n, ok := strings.CutSuffix(name, " quoted"); ok {
		name, text = n, unquote(t, text)
	}
	if outcome := verb == "result" || verb == "error" || verb == "asks"; s.open != outcome && verb != "detail" {
		t.Fatalf("%q is out of place: after a call, and only then, comes its outcome", f.Name)
	}
	path := filepath.Join(s.ws.Dir(), filepath.FromSlash(name))
	switch verb {
	case "file":
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	case "remove":
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	case "store":
		ref, err := s.mem.Put(t.Context(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s.refs = append(s.refs, ref)
		s.define("$"+name, string(ref))
	case "refs":
		for _, ref := range strings.Fields(text) {
			s.refs = append(s.refs, openmanus.Ref(ref))
		}
	case "restart":
		s.restart(t)
	case "call":
		s.res, s.err = s.use(name, text)
		s.open = true
	case "answer":
		s.res, s.err = s.use(s.call.Name, s.call.Input, openmanus.Answer{Text: text})
		s.open = true
	case "want", "gone":
		checkFile(t, path, text, verb == "want")
	default:
		s.check(t, verb, text)
	}
}

// check compares the outcome of the last call.
func (s *session) check(t *testing.T, verb, want string) {
	s.open = false
	var ask *openmanus.Ask
	asked := errors.As(s.err, &ask)
	got := s.res.Parts.Text()
	switch {
	case verb == "detail":
		data, err := json.MarshalIndent(s.res.Detail, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = string(data)
	case verb == "asks" && asked:
		got = ask.Question
	case verb == "error" && s.err != nil && !asked:
		got += s.err.Error()
	case verb == "result" && s.err == nil:
	default:
		t.Fatalf("want %s, got the result %q, the error %v", verb, got, s.err)
	}
	if got, want := strings.TrimRight(got, "\n"), strings.TrimRight(want, "\n"); !alikeText(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// alikeText compares got with a text in which a line "..." stands for any
// lines.
func alikeText(got, want string) bool {
	return alikeLines(strings.Split(got, "\n"), strings.Split(want, "\n"))
}

func alikeLines(got, want []string) bool {
	switch {
	case len(want) == 0:
		return len(got) == 0
	case want[0] != "...":
		return len(got) > 0 && got[0] == want[0] && alikeLines(got[1:], want[1:])
	}
	for i := range len(got) + 1 {
		if alikeLines(got[i:], want[1:]) {
			return true
		}
	}
	return false
}

func checkFile(t *testing.T, path, want string, there bool) {
	got, err := os.ReadFile(path)
	switch {
	case !there && !errors.Is(err, os.ErrNotExist):
		t.Errorf("the file is there: %q, %v", got, err)
	case there && err != nil:
		t.Error(err)
	case there && string(got) != want:
		t.Errorf("the file is\n%q\nand not\n%q", got, want)
	}
}

func unquote(t *testing.T, text string) string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		s, err := strconv.Unquote(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		b.WriteString(s)
	}
	return b.String()
}
