package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func listen(t *testing.T) *Server {
	t.Helper()
	srv, err := Listen("127.0.0.1:0", Steps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

func post(t *testing.T, srv *Server, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(srv.URL()+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// conversation is the body of a request after some tool results.
func conversation(model string, stream bool, results int) string {
	var messages []string
	for i := range results {
		messages = append(messages, fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":"c%d"}]}`, i), fmt.Sprintf(`{"role":"tool","content":"a \"role\":\"tool\" in text"}`))
	}
	return fmt.Sprintf(`{"messages":[%s],"model":%q,"stream":%t}`, strings.Join(messages, ","), model, stream)
}

func TestPlainAnswerDependsOnModelAndResultsAlone(t *testing.T) {
	srv := listen(t)
	for _, c := range []struct {
		results            int
		call, text, finish string
	}{
		{0, `{"i":0,"size":64}`, "", "tool_calls"},
		{1, `{"i":1,"size":64}`, "", "tool_calls"},
		{2, "", "All steps are done.", "stop"},
		{1, `{"i":1,"size":64}`, "", "tool_calls"},
	} {
		_, data := post(t, srv, conversation("steps-2-64", false, c.results))
		var got struct {
			Choices []struct {
				Message struct {
					Content string
					Calls   []struct{ Function Call } `json:"tool_calls"`
				}
				Finish string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &got); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		choice := got.Choices[0]
		call := ""
		for _, c := range choice.Message.Calls {
			call += c.Function.Arguments
		}
		if call != c.call || choice.Message.Content != c.text || choice.Finish != c.finish {
			t.Errorf("after %d results: got %s", c.results, data)
		}
	}
}

func TestStreamAddsUpToThePlainAnswer(t *testing.T) {
	srv := listen(t)
	for results := range 3 {
		status, data := post(t, srv, conversation("steps-2-64", true, results))
		if status != http.StatusOK {
			t.Fatal(status, data)
		}
		var text, args, finish string
		lines := bufio.NewScanner(strings.NewReader(data))
		last := ""
		for lines.Scan() {
			if last = lines.Text(); !strings.HasPrefix(last, "data: {") {
				continue
			}
			var chunk struct {
				Choices []struct {
					Delta struct {
						Content string
						Calls   []struct{ Function Call } `json:"tool_calls"`
					}
					Finish string `json:"finish_reason"`
				}
			}
			if err := json.Unmarshal([]byte(last[len("data: "):]), &chunk); err != nil {
				t.Fatal(err)
			}
			for _, c := range chunk.Choices {
				text, finish = text+c.Delta.Content, c.Finish
				for _, call := range c.Delta.Calls {
					args += call.Function.Arguments
				}
			}
		}
		want, err := Steps("steps-2-64")
		if err != nil {
			t.Fatal(err)
		}
		reply := want(results)
		wantArgs := ""
		for _, c := range reply.Calls {
			wantArgs += c.Arguments
		}
		if text != reply.Text || args != wantArgs || finish != reply.finish() {
			t.Errorf("after %d results: text %q, arguments %q, finish %q", results, text, args, finish)
		}
		if !strings.HasSuffix(data, "data: [DONE]\n\n") {
			t.Errorf("the stream does not end as it should: %q", data)
		}
	}
}

// A model that numbers its replies knows where it is when what came before was
// left out, and is no part of the script when it is asked for a summary.
func TestReplyAfterACut(t *testing.T) {
	srv := listen(t)
	numbered := `{"role":"assistant","content":"On the way, step 1."},{"role":"tool","content":"r"}`
	_, next := post(t, srv, `{"model":"steps-3-64","messages":[`+numbered+`]}`)
	if !strings.Contains(next, `\"i\":2`) {
		t.Errorf("after step 1 and its result: %s", next)
	}
	_, sum := post(t, srv, `{"model":"steps-3-64","messages":[`+numbered+`,{"role":"user","content":"This conversation grows too long for you."}]}`)
	if !strings.Contains(sum, summary) {
		t.Errorf("asked for a summary: %s", sum)
	}
	if r := srv.End().Records; r[0].Summary || !r[1].Summary || r[1].Last {
		t.Errorf("recorded as %+v", r)
	}
	if status, _ := post(t, srv, `{"model":"steps-3-64","messages":[{"role":"assistant","content":"On the way, step x."}]}`); status != http.StatusBadRequest {
		t.Errorf("a number that is none: %d", status)
	}
}

func TestPlainModelAnswersPlainly(t *testing.T) {
	srv := listen(t)
	_, asked := post(t, srv, conversation("steps-1-64-plain", true, 1))
	_, plain := post(t, srv, conversation("steps-1-64-plain", false, 1))
	if !json.Valid([]byte(asked)) || !json.Valid([]byte(plain)) {
		t.Errorf("got %s and %s", asked, plain)
	}
	if r := srv.End().Records; r[0].Stream || r[1].Stream {
		t.Error("recorded as streams")
	}
}

func TestUnknownModelIsAnError(t *testing.T) {
	srv := listen(t)
	for _, model := range []string{"gpt-4o", "steps-", "steps-1", "steps--1-2", "steps-1-2x", "steps-01-2"} {
		if status, data := post(t, srv, conversation(model, false, 0)); status != http.StatusNotFound || !strings.Contains(data, model) {
			t.Errorf("%s: %d %s", model, status, data)
		}
	}
	if status, _ := post(t, srv, `{"messages":[]}`); status != http.StatusBadRequest {
		t.Errorf("a request without a model: %d", status)
	}
	if n := len(srv.End().Records); n != 0 {
		t.Errorf("%d refused requests were recorded", n)
	}
}

func TestRunRecordsTimesAndBytes(t *testing.T) {
	srv := listen(t)
	var seen []int
	srv.Begin(func(r Record) { seen = append(seen, r.Step) })
	var sent []string
	start := time.Now()
	for i := range 4 {
		sent = append(sent, conversation("steps-3-64", i%2 == 0, i))
		post(t, srv, sent[i])
	}
	end := time.Now()
	run := srv.End()
	if err := run.Check(4); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(seen) != "[0 1 2 3]" {
		t.Errorf("the hook saw steps %v", seen)
	}
	i := 0
	for body := range run.Bodies() {
		if string(body) != sent[i] || run.Records[i].Size != len(sent[i]) {
			t.Errorf("body %d is %q", i, body)
		}
		i++
	}
	before := start
	for i, r := range run.Records {
		if r.In.Before(before) || r.Out.Before(r.In) || r.Out.After(end) {
			t.Errorf("request %d: in %v, out %v, between %v and %v", i, r.In.Sub(start), r.Out.Sub(start), before.Sub(start), end.Sub(start))
		}
		before = r.Out
	}
	for i, gap := range run.Gaps() {
		if want := run.Records[i+1].In.Sub(run.Records[i].Out); gap != want {
			t.Errorf("gap %d is %v, not %v", i, gap, want)
		}
	}
	if run.Conns() != 1 {
		t.Errorf("%d connections, but the client keeps one open", run.Conns())
	}
	if n := len(srv.End().Records); n != 0 {
		t.Errorf("%d records after End", n)
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	srv := listen(t)
	post(t, srv, conversation("steps-3-64", false, 0))
	post(t, srv, conversation("steps-3-64", false, 1))
	run := srv.End()
	for n, want := range map[int]string{1: "2 requests arrived at the model server, not 1", 3: "not 3", 2: "not the end"} {
		if err := run.Check(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%d) = %v", n, err)
		}
	}
	run.Records[1].Out = time.Time{}
	if err := run.Check(2); err == nil || !strings.Contains(err.Error(), "not answered") {
		t.Errorf("an unanswered request: %v", err)
	}
}

func TestBodiesSurviveSaving(t *testing.T) {
	srv := listen(t)
	var sent []string
	for _, n := range []int{0, 3, 1, 5, 5} {
		sent = append(sent, conversation("steps-9-64", false, n))
		post(t, srv, sent[len(sent)-1])
	}
	run := srv.End()
	var file bytes.Buffer
	if err := run.Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for body := range loaded {
		if string(body) != sent[i] {
			t.Errorf("body %d is %q, not %q", i, body, sent[i])
		}
		i++
	}
	if i != len(sent) {
		t.Errorf("%d bodies", i)
	}
	if _, err := Load(bytes.NewReader(file.Bytes()[:file.Len()/2])); err == nil {
		t.Error("half a file loads")
	}
	if !SameBodies(run, run) || SameBodies(run, &Run{}) {
		t.Error("SameBodies is wrong")
	}
}

func TestResultHasItsSize(t *testing.T) {
	for _, size := range []int{0, 1, 63, 1024, 100_000} {
		if got := Result(7, size); len(got) != size || got != Result(7, size) {
			t.Errorf("Result(7, %d) has %d bytes", size, len(got))
		}
	}
}

// TestPrefix reads conversations from testdata: each file is a list of
// request bodies and what the ratio of them is.
func TestPrefix(t *testing.T) {
	files, err := filepath.Glob("testdata/prefix/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			run, want := &Run{}, ""
			for _, f := range txtar.Parse(data).Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				run.add(Record{Summary: bytes.Contains(f.Data, []byte(askForSummary))}, &conn{}, f.Data)
			}
			p, err := run.Prefix()
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("kept all: %t\nbreaks: %v\nmoments: %d\n", p.Kept == p.Of, p.Breaks, p.Moments)
			if p.Summaries > 0 {
				got += fmt.Sprintf("cuts: %v\nsummaries: %d, shared %d of %d\n", p.Cuts, p.Summaries, p.SharedKept, p.SharedOf)
			}
			if got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
}

func TestPrefixCountsBytes(t *testing.T) {
	parse := func(body string) Prompt {
		p, err := ParsePrompt([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := parse(`{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"}]}`)
	b := parse(`{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"TWO"}]}`)
	first := len(`{"role":"user","content":"one"}`)
	kept, of, moment := a.Kept(b)
	if wantKept := first + len(`{"role":"assistant","content":"`); kept != wantKept || of != 2*first+len("assistant")-len("user") || moment {
		t.Errorf("kept %d of %d, moment %t", kept, of, moment)
	}
	if r := (Prefix{}).Ratio(); r != 1 {
		t.Errorf("the ratio of nothing is %v", r)
	}
	if r := (Prefix{Kept: 1, Of: 4}).Ratio(); r != 0.25 {
		t.Errorf("the ratio is %v", r)
	}
}

func TestCommonPrefix(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 10_000)
	other := bytes.Clone(long)
	other[9_000] = 'y'
	for _, c := range []struct {
		a, b []byte
		want int
	}{{nil, nil, 0}, {[]byte("ab"), []byte("ac"), 1}, {[]byte("ab"), []byte("abc"), 2}, {long, long, 10_000}, {long, other, 9_000}, {long[:4096], long, 4096}} {
		if got := CommonPrefix(c.a, c.b); got != c.want {
			t.Errorf("got %d, want %d", got, c.want)
		}
	}
}
