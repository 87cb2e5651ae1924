package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/scripted"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func model(t testing.TB, script string) llm.Model {
	t.Helper()
	s, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return s.Model()
}

// talk asks m as an agent would: every call gets the same result.
func talk(t testing.TB, m llm.Model, turns int, result string) []*llm.Reply {
	t.Helper()
	req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go")}, Memo: new(llm.Memo)}
	var replies []*llm.Reply
	for range turns {
		r, err := llm.Generate(t.Context(), m, req)
		if err != nil {
			t.Fatalf("reply %d: %v", len(replies)+1, err)
		}
		replies = append(replies, r)
		req.Messages = append(req.Messages, r.Message)
		var results llm.Parts
		for _, c := range r.Message.Calls() {
			results = append(results, llm.Result{ID: c.ID, Parts: llm.Parts{llm.Text{Text: result}}})
		}
		if results != nil {
			req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, Parts: results})
		}
	}
	return replies
}

// Each file in testdata/replies is a script, and what it says turn by turn:
// under "want N", one part a line. A file with "error" says what Parse finds.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := txtar.Parse(data)
			var script string
			wants, wantErr := map[int]string{}, ""
			for _, f := range a.Files {
				n := 0
				switch _, err := fmt.Sscanf(f.Name, "want %d", &n); {
				case f.Name == "script":
					script = strings.ReplaceAll(string(f.Data), "\n>", "\n")[1:] // each line has a > before it
				case f.Name == "error":
					wantErr = strings.TrimSpace(string(f.Data))
				case err == nil:
					wants[n] = string(f.Data)
				default:
					t.Fatalf("what is %q?", f.Name)
				}
			}
			s, err := scripted.Parse([]byte(script))
			if wantErr != "" {
				if err == nil || err.Error() != wantErr {
					t.Errorf("error:\n%v\nwant:\n%s", err, wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			last := 0
			for n := range wants {
				last = max(last, n)
			}
			for i, r := range talk(t, s.Model(), last, "done") {
				if want, ok := wants[i+1]; ok && show(r) != want {
					t.Errorf("reply %d:\n%s\nwant:\n%s", i+1, show(r), want)
				}
			}
		})
	}
}

func show(r *llm.Reply) string {
	var b strings.Builder
	for _, p := range r.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			fmt.Fprintf(&b, "text %q\n", p.Text)
		case llm.Thinking:
			fmt.Fprintf(&b, "thinking %q\n", p.Text)
		case llm.Call:
			fmt.Fprintf(&b, "call %s %s %s\n", p.ID, p.Name, p.Input)
		}
	}
	fmt.Fprintf(&b, "%s, %d in, %d out", r.Stop, r.Usage.Input, r.Usage.Output)
	if r.Usage.Cached > 0 {
		fmt.Fprintf(&b, ", %d cached", r.Usage.Cached)
	}
	return b.String() + "\n"
}

func TestItStreamsLikeARealOne(t *testing.T) {
	m := model(t, "-- 1 --\nOne two  three\nfour.\n@call f {\"text\": \"日本語日本語日本語\"}\n")
	var pieces []string
	for d, err := range m.Stream(t.Context(), &llm.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := d.Piece.(type) {
		case llm.Text:
			pieces = append(pieces, p.Text)
		case llm.Call:
			pieces = append(pieces, p.Name+p.Input)
		}
	}
	want := []string{"One ", "two  ", "three\n", "four.", "f", `{"text": "日`, "本語日本", "語日本語", `"}`}
	if !reflect.DeepEqual(pieces, want) {
		t.Errorf("fragments %q, want %q", pieces, want)
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model(t, "@pace 10ms\n-- 1 --\na b c\n-- 2 --\n@pace 1s\na b c\n")
		begin := time.Now()
		talk(t, m, 2, "")
		if took := time.Since(begin); took != 3030*time.Millisecond {
			t.Errorf("took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond)
		defer cancel()
		r, err := llm.Generate(ctx, m, &llm.Request{})
		if err != context.DeadlineExceeded || r.Message.Text() != "a " {
			t.Errorf("error %v after %q", err, r.Message.Text())
		}
	})
}

// The same conversation gets the same reply, whoever asks and how often.
func TestItKeepsNothing(t *testing.T) {
	m := model(t, "-- 1- --\nreply {{n}}\n")
	req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go"), llm.Say(llm.Assistant, "x"), llm.Say(llm.User, "on")}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if r, err := llm.Generate(t.Context(), m, req); err != nil || r.Message.Text() != "reply 2" {
				t.Errorf("got %+v, error %v", r, err)
			}
		})
	}
	wg.Wait()
}

func TestFailures(t *testing.T) {
	ask := func(t *testing.T, m llm.Model, memo *llm.Memo) (string, *llm.Error) {
		r, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "go")}, Memo: memo})
		var e *llm.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		return r.Message.Text(), e
	}
	for _, c := range []struct{ name, script, want string }{
		{"always", "-- 1 --\n@fail auth No key.\n", `auth "No key."; auth "No key."; auth "No key."; auth "No key."`},
		{"once", "-- 1 --\n@fail 503 times=1 Busy.\nfine\n", `network 503 "Busy."; fine; fine; fine`},
		{"in mid-reply", "-- 1 --\nhalf\n@fail network times=2\nwhole\n", `half + network "the script says that this fails"; half + network "the script says that this fails"; halfwhole; halfwhole`},
		{"one after the other", "-- 1 --\n@fail 429 retry-after=3s times=1 Slow.\n@fail timeout times=2 Late.\nfine\n",
			`rate_limit 429 after 3s "Slow."; timeout "Late."; timeout "Late."; fine`},
		{"cut here", "-- 1 --\nhalf\n@cut times=1\nwhole\n", `half + protocol "broke off"; halfwhole; halfwhole; halfwhole`},
		{"cut after bytes", "-- 1 --\n@cut 6 times=2\none two three\n", `one tw + protocol "broke off"; one tw + protocol "broke off"; one two three; one two three`},
		{"cut at once", "-- 1 --\n@cut 0\none\n", `protocol "broke off"; protocol "broke off"; protocol "broke off"; protocol "broke off"`},
		{"cut beyond the end", "-- 1 --\n@cut 100\none\n", `one + protocol "broke off"; one + protocol "broke off"; one + protocol "broke off"; one + protocol "broke off"`},
		{"no credit", "-- 1 --\n@fail 402\n", strings.TrimSuffix(strings.Repeat(`rate_limit 402 permanent "the script says that this fails"; `, 4), "; ")},
	} {
		for how, memo := range map[string]*llm.Memo{"with a memo": new(llm.Memo), "without": nil} {
			t.Run(c.name+" "+how, func(t *testing.T) {
				m := model(t, c.script)
				var got []string
				for range 4 {
					text, e := ask(t, m, memo)
					if e != nil {
						if text != "" {
							text += " + "
						}
						text += tell(e)
					}
					got = append(got, text)
				}
				if s := strings.Join(got, "; "); s != c.want {
					t.Errorf("got  %s\nwant %s", s, c.want)
				}
				// another conversation counts its own tries
				other := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "another")}}
				if memo != nil {
					other.Memo = new(llm.Memo)
				}
				first, _, _ := strings.Cut(c.want, "; ")
				var e *llm.Error
				if r, err := llm.Generate(t.Context(), m, other); !errors.As(err, &e) || !strings.HasSuffix(first, tell(e)) {
					t.Errorf("another conversation got %q, error %v; want %s", r.Message.Text(), err, first)
				}
			})
		}
	}
}

func tell(e *llm.Error) string {
	s := string(e.Kind)
	if e.Status != 0 {
		s += fmt.Sprint(" ", e.Status)
	}
	if e.RetryAfter != 0 {
		s += fmt.Sprint(" after ", e.RetryAfter)
	}
	if e.Permanent {
		s += " permanent"
	}
	if strings.Contains(e.Err.Error(), "broke off") {
		return s + ` "broke off"`
	}
	return s + fmt.Sprintf(" %q", e.Err)
}

// A script is a test of the agent that it drives: what is not as expected
// fails, and the error shows both.
func TestExpectations(t *testing.T) {
	req := &llm.Request{
		System: "You are Manus.",
		Tools:  []llm.ToolSpec{{Name: "bash"}, {Name: "grep"}},
		Messages: []llm.Message{
			llm.Say(llm.User, "count the lines"),
			{Role: llm.Assistant, Parts: llm.Parts{llm.Text{Text: "I do."}, llm.Call{ID: "a", Name: "bash", Input: `{"c":1}`}}},
			{Role: llm.User, Parts: llm.Parts{llm.Text{Text: "hurry"}, llm.Blob{MIME: "image/png", Name: "a.png", Data: []byte("xyz")}}},
			{Role: llm.Tool, Parts: llm.Parts{
				llm.Result{ID: "a", Parts: llm.Parts{llm.Text{Text: "3 notes.txt\n"}}},
				llm.Result{ID: "b", Parts: llm.Parts{llm.Text{Text: "no such file"}}, IsError: true}}},
		},
	}
	for _, c := range []struct{ condition, wrong string }{
		{"system contains Manus", ""},
		{"system not contains Codex", ""},
		{"tools is bash grep", ""},
		{"tools matches ^bash\\b", ""},
		{"task is count the lines", ""},
		{"user contains hurry", ""},
		{"user contains [a.png image/png, 3 bytes]", ""},
		{"last contains 3 notes.txt", ""},
		{`results is <<END
3 notes.txt

no such file
END`, ""},
		{"errors is no such file", ""},
		{`conversation contains bash {"c":1}`, ""},
		{`last contains "3 notes.txt\n"`, ""},
		{"errors contains notes", "script:2: reply 2 expects errors contains\n- notes\nand what is there is\n+ no such file"},
		{"system not contains Manus", "script:2: reply 2 expects system not contains\n- Manus\nand what is there is\n+ You are Manus."},
		{`results is <<END
3 notes.txt
no such file, really
END`, "script:2: reply 2 expects results is\n- 3 notes.txt\n- no such file, really\nand what is there is\n+ 3 notes.txt\n+ \n+ no such file"},
	} {
		m := model(t, "-- 2 --\n@expect "+c.condition+"\nfine\n")
		_, err := llm.Generate(t.Context(), m, req)
		switch {
		case c.wrong == "" && err != nil:
			t.Errorf("%s: %v", c.condition, err)
		case c.wrong != "" && (err == nil || err.Error() != c.wrong || llm.KindOf(err) != llm.ScriptOver):
			t.Errorf("%s:\n%v\nwant:\n%s", c.condition, err, c.wrong)
		}
	}
}

func TestWhenNoReplyFits(t *testing.T) {
	m := model(t, "-- 1 --\n@when user contains a\nA\n-- 1 --\n@when user contains b\n@when user not contains c\nB\n")
	for said, want := range map[string]string{
		"a": "A", "b": "B", "abc": "A",
		"bc": "script: no reply 1 fits this conversation:\n" +
			"script:2: user contains\n- a\nand what is there is\n+ bc\n" +
			"script:6: user not contains\n- c\nand what is there is\n+ bc",
	} {
		r, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, said)}})
		got := r.Message.Text()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", said, got, want)
		}
	}
	_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.Say(llm.Assistant, "")}})
	if llm.KindOf(err) != llm.ScriptOver || err.Error() != "script: the script is over: it has no reply 2" {
		t.Errorf("error %v", err)
	}
}

func TestRetryGetsThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := llm.Retry(model(t, "-- 1 --\nhalf a\n@fail 529 times=2 Overloaded.\nwhole reply\n"), llm.RetryOptions{})
		r := talk(t, m, 1, "")[0]
		if r.Message.Text() != "half awhole reply" {
			t.Errorf("said %q", r.Message.Text())
		}
	})
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.txtar")
	if err := os.WriteFile(file, []byte("\ufeffremark\r\n-- 1 --\r\nHi\r\n@call f\r\n  a: <<END\r\nx\r\nEND\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	r := talk(t, s.Model(), 1, "")[0]
	if got := show(r); got != "text \"Hi\"\ncall call_1_1 f {\"a\":\"x\\n\"}\ntool_use, 0 in, 4 out\n" {
		t.Errorf("got %s", got)
	}
	os.WriteFile(file, []byte("-- 1 --\n@cal\n"), 0o600)
	if _, err := scripted.Open(file); err == nil || !strings.HasPrefix(err.Error(), "a.txtar:2: @cal is not known") {
		t.Errorf("error %v", err)
	}
	if _, err := scripted.Open(file + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// The script in the package comment works.
func TestTheTutorial(t *testing.T) {
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, begin := range []string{"//\tCounts the lines", "//\t-- 1 --\n//\t@expect"} {
		i := strings.Index(string(data), begin)
		if i < 0 {
			t.Fatalf("no example begins with %s", begin)
		}
		var script strings.Builder
		for line := range strings.Lines(string(data[i:])) {
			line, ok := strings.CutPrefix(line, "//\t")
			if !ok && line != "//\n" {
				break
			}
			script.WriteString(strings.TrimPrefix(line, "//"))
		}
		s, err := scripted.Parse([]byte(script.String()))
		if err != nil {
			t.Errorf("%v\n%s", err, script.String())
			continue
		}
		req := &llm.Request{Tools: []llm.ToolSpec{{Name: "bash"}}}
		if r, err := llm.Generate(t.Context(), s.Model(), req); err != nil || len(r.Message.Calls()) != 1 {
			t.Errorf("got %+v, error %v", r, err)
		}
	}
}

func FuzzScript(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(strings.ReplaceAll(string(data), "\n>", "\n")), 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, spoken int) {
		s, err := scripted.Parse(data)
		if err != nil {
			if !strings.Contains(err.Error(), "script:") {
				t.Fatalf("an error without its place: %v", err)
			}
			return
		}
		synctest.Test(t, func(t *testing.T) {
			req := &llm.Request{Messages: make([]llm.Message, max(0, min(spoken, 20)))}
			for i := range req.Messages {
				req.Messages[i].Role = llm.Assistant
			}
			a, errA := llm.Generate(t.Context(), s.Model(), req)
			b, errB := llm.Generate(t.Context(), s.Model(), req)
			if !reflect.DeepEqual(a, b) || fmt.Sprint(errA) != fmt.Sprint(errB) {
				t.Fatalf("not the same twice: %+v, %v; %+v, %v", a, errA, b, errB)
			}
			if _, err := json.Marshal(a.Message); err != nil {
				t.Fatal(err)
			}
		})
	})
}
