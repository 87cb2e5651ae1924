package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/journal/replay"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// worker returns an agent whose tools fail the test when they run, unless live.
func worker(t *testing.T, live bool) *openmanus.Agent {
	tool := func(name string, h openmanus.Hints, result func(input string) (openmanus.Result, error)) openmanus.Tool {
		spec := openmanus.ToolSpec{Hints: h}
		spec.Name, spec.Description = name, "Does "+name+"."
		return openmanus.Func(spec, func(_ context.Context, call openmanus.Call, _ map[string]any) (openmanus.Result, error) {
			if !live {
				t.Errorf("%s runs in a replay", name)
			}
			return result(call.Input)
		})
	}
	m := llmtest.Script(
		llmtest.Calls(llmtest.Say("I look."), llmtest.Use("x", "look", `{"n":1}`), llmtest.Use("x", "look", `{"n":2}`)),
		llmtest.Use("y", "write", `{"text":"<é>"}`),
		llmtest.Use("z", "none", `{`),
		llmtest.Use("z", "long", `{}`),
		llmtest.Say("That is all."))
	a := &openmanus.Agent{Name: "worker", Instructions: "Work well.", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{
		tool("look", openmanus.Hints{ReadOnly: true}, func(input string) (openmanus.Result, error) {
			if strings.Contains(input, "2") {
				return openmanus.TextResult("half of it"), errors.New("broken pipe")
			}
			return openmanus.TextResult("seen: Alice Miller, alice@example.org"), nil
		}),
		tool("write", openmanus.Hints{}, func(input string) (openmanus.Result, error) {
			return openmanus.Result{Parts: llm.Parts{llm.Text{Text: "written"}}, Detail: input, Source: "disk", Picture: []byte("a picture")}, nil
		}),
		tool("long", openmanus.Hints{ReadOnly: true}, func(string) (openmanus.Result, error) {
			return openmanus.TextResult("%s", strings.Repeat("a line for alice@example.org\n", 2000)), nil
		}),
	}}
	if !live {
		a.Model = nil
	}
	return a
}

// record runs an agent and returns the recording.
func record(t testing.TB, a *openmanus.Agent) *replay.Recording {
	t.Helper()
	j := new(journal.Memory)
	said := &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "Write to Alice Miller.")}
	if err := openmanus.Open(t.Context(), j, "s", a, said); err != nil {
		t.Fatal(err)
	}
	l := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(a), Name: "test"}}
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	rec, err := replay.Load(t.Context(), j, j, "s")
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func write(t *testing.T, rec *replay.Recording) string {
	t.Helper()
	var b bytes.Buffer
	if err := rec.Write(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func read(t *testing.T, file string) *replay.Recording {
	t.Helper()
	rec, err := replay.Read(t.Context(), strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// offline makes every use of the network through the default client fail the test.
func offline(t *testing.T) {
	was := http.DefaultTransport
	http.DefaultTransport = refusing{t}
	t.Cleanup(func() { http.DefaultTransport = was })
}

type refusing struct{ t *testing.T }

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	r.t.Errorf("a replay asks %s", req.URL)
	return nil, errors.New("there is no network")
}

func TestReplayMakesTheSameJournal(t *testing.T) {
	offline(t)
	rec := record(t, worker(t, true))
	file := write(t, rec)
	flow := func(context.Context, *openmanus.State) (openmanus.Flow, error) { return worker(t, false), nil }
	today := func(context.Context, *openmanus.State) (*openmanus.Agent, error) { return worker(t, false), nil }
	for name, o := range map[string]replay.Options{"alone": {}, "with its flow": {Flow: flow}, "with today's": {Flow: flow, Today: today}} {
		for from, r := range map[string]*replay.Recording{"loaded": rec, "read": read(t, file)} {
			got, err := replay.Run(t.Context(), r, o)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, from, err)
			}
			if got.Sessions != 1 || got.ModelCalls != 5 || got.ToolCalls != 4 || got.Unchecked != 0 || len(got.Digest) != 64 {
				t.Errorf("%s, %s: %+v", name, from, got)
			}
		}
	}
}

var sum = regexp.MustCompile(`,"sha256":"[0-9a-f]*"}\n$`)

// A change in a file is found, and the event named.
func TestReplayFindsWhatWasChanged(t *testing.T) {
	file := write(t, record(t, worker(t, true)))
	for name, c := range map[string]struct{ was, is, want string }{
		"a tool's result":   {"seen: Alice", "seen: Bobby", `event 11: model_said: message 3 of the request`},
		"the task":          {"Write to Alice", "Write to Bobby", `event 4: model_said: message 1 of the request`},
		"the system prompt": {"Work well.", "Work badly.", `event 4: model_said: the request has other system`},
		"a tool":            {"Does write.", "Does read.", `event 4: model_said: the request has other tools`},
		"what a call is":    {`{\"text\":\"`, `{\"test\":\"`, `event 12: ruled`},
		"a ruling":          {`"rule":"mode all","hash":"`, `"rule":"mode all","hash":"0`, `event 5: ruled`},
		"an error":          {"unknown tool", "another tool", `call_done: today's program makes another event`},
		"the end":           {`"stop":"end"`, `"stop":"length"`, ``},
	} {
		changed := strings.Replace(sum.ReplaceAllString(file, "}\n"), c.was, c.is, 1)
		if changed == file {
			t.Fatalf("%s: nothing to change", name)
		}
		_, err := replay.Run(t.Context(), read(t, changed), replay.Options{})
		if c.want == "" {
			if err != nil { // another end is another run, and a possible one
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if d := (*replay.Difference)(nil); !errors.As(err, &d) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// The events of calls that ran together may come in either order; no others may.
func TestReplayHoldsTheOrder(t *testing.T) {
	rec := record(t, worker(t, true))
	events := rec.Sessions[0].Events
	free := 0
	for i := 3; i+1 < len(events); i++ {
		var b strings.Builder
		b.WriteString(`{"openmanus":"session","version":2,"session":"s"}` + "\n")
		for k, ev := range events {
			switch k {
			case i:
				ev.Body = events[i+1].Body
			case i + 1:
				ev.Body = events[i].Body
			}
			data, err := ev.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(data, '\n'))
		}
		blobs := strings.Count(write(t, rec), `{"blob":`)
		for line := range strings.Lines(write(t, rec)) {
			if strings.HasPrefix(line, `{"blob":`) {
				b.WriteString(line)
			}
		}
		fmt.Fprintf(&b, `{"openmanus":"end","events":%d,"blobs":%d}`+"\n", len(events), blobs)
		_, err := replay.Run(t.Context(), read(t, b.String()), replay.Options{})
		a, c := events[i].Body.Key(), events[i+1].Body.Key()
		together := strings.Contains(a, "c0-") && strings.Contains(c, "c0-") && a[strings.LastIndex(a, "c0-"):][:4] != c[strings.LastIndex(c, "c0-"):][:4]
		if err == nil {
			free++
		}
		if err == nil && !together {
			t.Errorf("%s before %s is no difference", c, a)
		}
	}
	if free == 0 {
		t.Error("no events may change places, not even those of calls that ran together")
	}
}

func TestWhatCannotBeReplayed(t *testing.T) {
	file := write(t, record(t, worker(t, true)))
	file = sum.ReplaceAllString(file, "}\n")
	whole := regexp.MustCompile(`\{"blob":"(sha256:[0-9a-f]*)","data":"[^"]{100,}"\}`)
	for want, changed := range map[string]string{
		"it has version 1 of the journal format":                         strings.Replace(file, `"flow":"worker","version":2`, `"flow":"worker","version":1`, 1),
		`is of the type "dreamt", which this version does not know`:      strings.Replace(file, `"type":"ruled"`, `"type":"dreamt"`, 1),
		"the result of c3-1, needs the blob sha256:":                     whole.ReplaceAllString(file, `{"blob":"$1","missing":true}`),
		`the flow "worker" decided in it, which is a program of its own`: strings.Replace(file, `"agent":"worker"`, `"agent":"worker","flow":{"name":"mine"}`, 1),
	} {
		_, err := replay.Run(t.Context(), read(t, changed), replay.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Sessions that earlier versions exported are replayed, or a sentence says why not.
func TestGoldenJournals(t *testing.T) {
	files, err := filepath.Glob("../../internal/lawtest/testdata/journals/*.jsonl")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = replay.Run(t.Context(), read(t, string(data)), replay.Options{Flow: golden})
		old := strings.HasPrefix(filepath.Base(name), "v1-")
		if old != (err != nil) || old && !strings.Contains(err.Error(), "cannot be replayed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// golden is the flow of v2-called.jsonl, which calls a tool before it asks the model.
func golden(_ context.Context, s *openmanus.State) (openmanus.Flow, error) {
	if s.Opened.Flow != "" {
		return nil, nil
	}
	return caller{}, nil
}

type caller struct{}

func (caller) Agent() *openmanus.Agent { return new(openmanus.Agent) }

func (caller) Next(s *openmanus.State) []openmanus.Task {
	if s.Turn == 0 && s.Due() {
		return []openmanus.Task{{Do: openmanus.MakeCall, Turn: s.Turn, Re: s.Seq, Name: "rules", Input: `{"of":"here"}`}}
	}
	return new(openmanus.Agent).Next(s)
}

// A redacted run has no names, is replayed, and is the same every time.
func TestRedact(t *testing.T) {
	rec := record(t, worker(t, true))
	first := ""
	for range 2 {
		redacted, err := rec.Redact(t.Context(), replay.Options{}, "Alice", "Miller")
		if err != nil {
			t.Fatal(err)
		}
		file := write(t, redacted)
		if first == "" {
			first = file
		}
		if file != first {
			t.Error("redacted twice, it is not the same")
		}
		got, err := replay.Run(t.Context(), read(t, file), replay.Options{})
		if err != nil || got.Unchecked != 0 || got.ToolCalls != 4 {
			t.Fatal(got, err)
		}
	}
	again := read(t, first)
	if again.Sessions[0].Events[2].Body.(openmanus.UserSaid).Message.Text() == "Write to Alice Miller." {
		t.Error("the task is as it was")
	}
	for _, ev := range again.Sessions[0].Events {
		data, err := ev.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if low := strings.ToLower(string(data)); strings.Contains(low, "alice") || strings.Contains(low, "miller") {
			t.Errorf("event %d: %s", ev.Seq, data)
		}
	}
	if untouched := write(t, rec); !strings.Contains(untouched, "Alice Miller") {
		t.Error("the recording itself was changed")
	}
}

// A failing is a test that notes how it fails.
type failing struct {
	*testing.T
	with string
}

func (f *failing) Fatal(args ...any) { f.with = fmt.Sprint(args...) }

func TestTest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(file, []byte(write(t, record(t, worker(t, true)))), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := replay.Test(t, file, worker(t, false)); r.ModelCalls != 5 {
		t.Errorf("%+v", r)
	}
	other := worker(t, false)
	other.Instructions = "Work otherwise."
	f := &failing{T: t}
	replay.Test(f, file, other)
	if !strings.Contains(f.with, "the system prompt differs") {
		t.Error(f.with)
	}
}
