package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/copydir"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/workspace"
)

// A contest is an evaluation with the models of its attempts and its judge.
type contest struct {
	flow  EvaluateFlow
	hands []voice // by attempt
	judge voice
	gate  openmanus.Gate // of the evaluation; nil: all is allowed
	bytes int64

	theatre
	ws, copies string
}

func (c *contest) set() Copies {
	return Copies{Home: c.copies, Workspace: c.ws, Bytes: c.bytes, Protected: func(name string) bool { return strings.HasPrefix(name, ".envrc") }}
}

// worker is the flow of a session: an attempt works in its copy, as the
// program has it.
func (c *contest) worker(ctx context.Context, s *openmanus.State) (openmanus.Flow, error) {
	if s.Opened.Flow == "evaluate" {
		f := c.flow
		f.Judge = "judge"
		f.Evaluator = Evaluator(f.Attempts, c.set())
		if f.Evaluator.Gate = c.gate; c.gate == nil {
			f.Evaluator.Gate = openmanus.AllowAll
		}
		return &f, nil
	}
	a := &openmanus.Agent{Name: s.Opened.Flow, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{tools.NewTerminate()}}
	v, label := c.judge, "judge"
	a.Spec = s.Config.Spec
	if s.Opened.Flow != "judge" {
		var round, n int
		rel, err := filepath.Rel(filepath.Join(c.copies, root), s.Config.Workspace)
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Sscanf(filepath.ToSlash(rel), "%d/attempt-%d", &round, &n); err != nil {
			return nil, err
		}
		ws, err := workspace.NewDir(a.Spec.Workspace)
		if err != nil {
			return nil, err
		}
		v, label = c.hands[n-1], fmt.Sprintf("%d-%d", round, n)
		a.Tools = append(a.Tools, tools.NewFileSaver(ws), tools.NewEditor(ws))
	}
	a.Model = c.begins(label, v)
	return a, nil
}

// childSpec is what a session is made from that the evaluation opens.
func (c *contest) childSpec(ctx context.Context, session string, _ *openmanus.State, t openmanus.Task) (openmanus.Spec, error) {
	spec := openmanus.Spec{Agent: t.Flow, Model: t.Model}
	var err error
	if t.Copy.Attempt > 0 {
		spec.Workspace, err = c.set().Place(ctx, session, t.Copy.Round, t.Copy.Attempt)
	} else {
		spec.Workspace, err = c.set().Compare(ctx, session, t.Copy.Round)
	}
	return spec, err
}

func (c *contest) open(t *testing.T) {
	t.Helper()
	c.child = c.childSpec
	if c.ws == "" {
		c.ws = t.TempDir()
	}
	c.copies = t.TempDir()
	if c.flow.Attempts == nil {
		for range c.hands {
			c.flow.Attempts = append(c.flow.Attempts, Attempt{Agent: "manus"})
		}
	}
	c.theatre.open(t, c.worker, "evaluate", "Write the sum.")
}

func (c *contest) wake(t *testing.T) (*openmanus.State, error) {
	t.Helper()
	return c.theatre.wake(t, c.worker)
}

func (c *contest) play(t *testing.T) *openmanus.State {
	t.Helper()
	c.open(t)
	s, err := c.wake(t)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (c *contest) say(t *testing.T, b openmanus.Body) *openmanus.State {
	t.Helper()
	if _, err := c.j.Append(t.Context(), root, b); err != nil {
		t.Fatal(err)
	}
	s, err := c.wake(t)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// writes returns a model that writes a file and says so.
func writes(name, text string) voice {
	return says(llmtest.Use("", "file_saver", obj{"file_path": name, "content": text}), llmtest.Say("It is "+text+"."))
}

// judges returns a judge that gives these scores; less than 0 means not done.
func judges(scores ...float64) voice {
	return says(llmtest.Say(judged(scores...)))
}

func judged(scores ...float64) string {
	j := Judgement{Reason: "It adds up."}
	for i, s := range scores {
		j.Attempts = append(j.Attempts, Score{Attempt: i + 1, Done: s >= 0, Score: max(0, s), Reason: fmt.Sprint("reason ", i+1)})
	}
	data, err := json.Marshal(j)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// files returns the files of the workspace.
func (c *contest) files(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	names, err := filepath.Glob(filepath.Join(c.ws, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = string(data)
	}
	return all
}

func TestTheBestAttemptIsKept(t *testing.T) {
	var asked string
	judge := func(req *llm.Request) (llm.Message, error) {
		asked = req.Messages[0].Text()
		return llmtest.Say(judged(20, 90, -1)), nil
	}
	c := &contest{hands: []voice{writes("sum", "5"), writes("sum", "6"), writes("sum", "7")}, judge: judge}
	must(t, c.play(t), openmanus.Finished, "", "It is 6.", "Attempt 2 is the best: It adds up.", "1. [✓] manus\n   20 of 100: reason 1", "3. [!] manus\n   it does not do the task: reason 3", "- created sum")
	if got := c.files(t); !maps.Equal(got, map[string]string{"sum": "6"}) {
		t.Errorf("the workspace has %q", got)
	}
	for _, want := range []string{"Write the sum.", "attempt-1.diff", "It is 7."} {
		if !strings.Contains(asked, want) {
			t.Errorf("the critic does not read %q: %s", want, asked)
		}
	}
	if data, err := os.ReadFile(filepath.Join(c.copies, root, "1", "attempt-3.diff")); err != nil || !strings.Contains(string(data), "+7") {
		t.Errorf("%s %v", data, err)
	}
	slices.Sort(c.runs)
	if want := []string{"1-1", "1-2", "1-3", "judge"}; !slices.Equal(c.runs, want) {
		t.Errorf("%q", c.runs)
	}
}

func TestWhatIsKeptWhen(t *testing.T) {
	down := voice(down)
	for name, c := range map[string]struct {
		hands  []voice
		judge  voice
		status openmanus.Status
		files  map[string]string
		word   string
		judged int
	}{
		"there is one attempt":        {hands: []voice{writes("sum", "6")}, status: openmanus.Finished, files: map[string]string{"sum": "6"}, word: "it is the only attempt"},
		"one of two fails":            {hands: []voice{down, writes("sum", "6")}, status: openmanus.Finished, files: map[string]string{"sum": "6"}, word: "no other attempt finished"},
		"all fail":                    {hands: []voice{down, fails()}, status: openmanus.Failed, word: "no attempt did the task"},
		"two are as good":             {hands: []voice{writes("sum", "6"), writes("sum", "6!")}, judge: judges(50, 50), status: openmanus.Finished, files: map[string]string{"sum": "6"}, word: "equally good", judged: 1},
		"none does the task":          {hands: []voice{writes("sum", "5"), writes("sum", "7")}, judge: judges(-1, -1), status: openmanus.Failed, word: "no attempt does the task", judged: 1},
		"the critic says words":       {hands: []voice{writes("sum", "5"), writes("sum", "7")}, judge: ok(), status: openmanus.Failed, word: "the critic did not say", judged: 2},
		"the critic is down":          {hands: []voice{writes("sum", "5"), writes("sum", "7")}, judge: down, status: openmanus.Failed, word: "the critic did not say", judged: 2},
		"the critic forgets one":      {hands: []voice{writes("sum", "5"), writes("sum", "7")}, judge: judges(50), status: openmanus.Failed, word: "the critic did not say", judged: 2},
		"the critic invents one":      {hands: []voice{writes("sum", "5"), writes("sum", "7")}, judge: judges(50, 60, 99), status: openmanus.Failed, word: "the critic did not say", judged: 2},
		"the critic exaggerates":      {hands: []voice{writes("sum", "5"), writes("sum", "7")}, judge: judges(50, 101), status: openmanus.Failed, word: "the critic did not say", judged: 2},
		"nothing is to be kept":       {hands: []voice{ok(), ok()}, judge: judges(50, 60), status: openmanus.Finished, word: "Files made or changed: none", judged: 1},
		"it is what others obey":      {hands: []voice{writes(".envrc", "evil")}, status: openmanus.Finished, word: "- .envrc: other programs act on this file"},
		"it is what git keeps":        {hands: []voice{writes(".git/hooks/post-commit", "evil")}, status: openmanus.Finished, word: "Files made or changed: none"},
		"the second has the better 1": {hands: []voice{writes("a", "5"), writes("b", "7")}, judge: judges(1, 2), status: openmanus.Finished, files: map[string]string{"b": "7"}, word: "Attempt 2 is the best", judged: 1},
	} {
		t.Run(name, func(t *testing.T) {
			con := &contest{hands: c.hands, judge: c.judge}
			s := con.play(t)
			reason := openmanus.Reason("")
			if c.status == openmanus.Failed {
				reason = openmanus.ByAgent
			}
			must(t, s, c.status, reason, c.word)
			if got := con.files(t); len(got)+len(c.files) > 0 && !maps.Equal(got, c.files) {
				t.Errorf("the workspace has %q", got)
			}
			judged := 0
			for _, ch := range s.Children {
				if strings.HasPrefix(nameOf(ch), "judge-") {
					judged++
				}
			}
			if judged != c.judged {
				t.Errorf("the critic was asked %d times", judged)
			}
			if p := Progress(s); p == nil || len(p.Steps) < 3 {
				t.Errorf("%v", p)
			}
		})
	}
}

// Files that the user changes during the attempts stay, and are reported. After
// they are moved away, resuming merges the rest.
func TestWhatThePersonChangesMeanwhileStays(t *testing.T) {
	c := &contest{ws: t.TempDir()}
	at := func(name string) string { return filepath.Join(c.ws, name) }
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(at(name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.hands = []voice{func(req *llm.Request) (llm.Message, error) {
		if err := os.WriteFile(at("a"), []byte("hers"), 0o644); err != nil {
			return llm.Message{}, err
		}
		view := func(path string) llm.Message {
			return llmtest.Use("", "str_replace_editor", obj{"command": "view", "path": path})
		}
		return says(llmtest.Calls(view("a"), view("b"), llmtest.Use("", "file_saver", obj{"file_path": "a", "content": "its"}), llmtest.Use("", "file_saver", obj{"file_path": "b", "content": "its"})), llmtest.Say("Done."))(req)
	}}
	s := c.play(t)
	must(t, s, openmanus.Failed, openmanus.ByAgent, "yours has changed meanwhile: a", "- modified b", "- a: it was changed meanwhile")
	if got := c.files(t); !maps.Equal(got, map[string]string{"a": "hers", "b": "its"}) {
		t.Errorf("the workspace has %q", got)
	}
	if err := os.WriteFile(at("a"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, c.say(t, openmanus.Resumed{ID: "1"}), openmanus.Finished, "", "- modified a")
	if got := c.files(t); got["a"] != "its" || len(c.runs) != 1 {
		t.Errorf("%q, after %q", got, c.runs)
	}
}

func TestWhoeverResumesHasItTriedAgain(t *testing.T) {
	broken := true
	hand := func(v voice) voice {
		return func(req *llm.Request) (llm.Message, error) {
			if broken {
				return llm.Message{}, errDown
			}
			return v(req)
		}
	}
	c := &contest{hands: []voice{hand(writes("sum", "5")), hand(writes("sum", "6"))}, judge: hand(judges(1, 2))}
	must(t, c.play(t), openmanus.Failed, openmanus.ByAgent)
	must(t, c.say(t, openmanus.Resumed{ID: "1"}), openmanus.Failed, openmanus.ByAgent)
	broken = false
	must(t, c.say(t, openmanus.Resumed{ID: "2"}), openmanus.Finished, "", "It is 6.")

	// After the judge fails, the attempts are not made again.
	broken = true
	c = &contest{hands: []voice{writes("sum", "5"), writes("sum", "6")}, judge: hand(judges(1, 2))}
	must(t, c.play(t), openmanus.Failed, openmanus.ByAgent, "the critic did not say")
	broken = false
	must(t, c.say(t, openmanus.Resumed{ID: "1"}), openmanus.Finished, "", "It is 6.")
	slices.Sort(c.runs)
	if want := []string{"1-1", "1-2", "judge", "judge", "judge"}; !slices.Equal(c.runs, want) {
		t.Errorf("%q", c.runs)
	}
}

func TestWhatIsSaidLaterIsAnotherRound(t *testing.T) {
	n := 0
	c := &contest{hands: []voice{func(req *llm.Request) (llm.Message, error) {
		if llmtest.Spoken(req) == 0 {
			n++
		}
		return writes(fmt.Sprint("f", n), fmt.Sprint(n))(req)
	}}}
	must(t, c.play(t), openmanus.Finished, "", "It is 1.")
	s := c.say(t, openmanus.UserSaid{ID: "2", Message: llm.Say(llm.User, "And another.")})
	must(t, s, openmanus.Finished, "", "It is 2.", "- created f2")
	if got := c.files(t); !maps.Equal(got, map[string]string{"f1": "1", "f2": "2"}) || !slices.Equal(c.runs, []string{"1-1", "2-1"}) {
		t.Errorf("%q after %q", got, c.runs)
	}
}

func TestWhatIsSaidMeanwhileIsAnotherRound(t *testing.T) {
	c := &contest{}
	c.hands = []voice{func(req *llm.Request) (llm.Message, error) {
		if llmtest.Spoken(req) == 0 && !strings.Contains(req.Messages[0].Text(), "In blue") {
			if _, err := c.j.Append(context.Background(), root, openmanus.UserSaid{ID: "2", Message: llm.Say(llm.User, "In blue.")}); err != nil {
				return llm.Message{}, err
			}
			return llmtest.Say("It is red."), nil
		}
		return writes("sum", "blue")(req)
	}}
	must(t, c.play(t), openmanus.Finished, "", "It is blue.")
	if !slices.Equal(c.runs, []string{"1-1", "2-1"}) {
		t.Errorf("%q", c.runs)
	}
}

func TestAnInterruptedEvaluationGoesOn(t *testing.T) {
	c := &contest{}
	stop := true
	c.hands = []voice{func(req *llm.Request) (llm.Message, error) {
		if stop {
			stop = false
			if _, err := c.j.Append(context.Background(), root, openmanus.Interrupted{ID: "1"}); err != nil {
				return llm.Message{}, err
			}
		}
		return writes("sum", "6")(req)
	}, writes("sum", "7")}
	c.judge = judges(2, 1)
	s := c.play(t)
	if s.Status() != openmanus.Halted || s.Outcome.Reason != openmanus.ByPerson || len(c.files(t)) > 0 {
		t.Fatalf("it is %s (%s), with %q", s.Status(), s.Outcome.Reason, c.files(t))
	}
	must(t, c.say(t, openmanus.Resumed{ID: "1"}), openmanus.Finished, "", "It is 6.")
	if got := c.files(t); got["sum"] != "6" {
		t.Errorf("%q", got)
	}
	if n := len(slices.DeleteFunc(c.runs, func(r string) bool { return !strings.HasPrefix(r, "2-") })); n > 0 {
		t.Errorf("another round was begun: %q", c.runs)
	}
}

func TestATooLargeWorkspaceIsNotCopied(t *testing.T) {
	c := &contest{ws: t.TempDir(), bytes: 1 << 20, hands: []voice{writes("sum", "6")}}
	big := filepath.Join(c.ws, "big")
	if err := os.WriteFile(big, make([]byte, 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, c.play(t), openmanus.Failed, openmanus.ByAgent, "more than 1 MiB", "--max-copy")
	if len(c.runs) > 0 {
		t.Errorf("%q", c.runs)
	}
	if err := os.Remove(big); err != nil {
		t.Fatal(err)
	}
	must(t, c.say(t, openmanus.Resumed{ID: "1"}), openmanus.Finished, "", "It is 6.")
}

func TestThePersonIsShownWhatIsKept(t *testing.T) {
	c := &contest{hands: []voice{writes("sum", "6")}, gate: openmanus.Mode(openmanus.ApproveAsk)}
	s := c.play(t)
	if s.Status() != openmanus.Waiting || !strings.Contains(s.Pending()[0].Question().Shown, "+6") {
		t.Fatalf("it is %s", s.Status())
	}
	q := s.Pending()[0]
	s = c.say(t, openmanus.Ruled{Call: q.ID, Allow: false, By: "person", Reason: "not now", Hash: q.Question().Hash})
	must(t, s, openmanus.Failed, openmanus.ByAgent, "not now")
	if len(c.files(t)) > 0 {
		t.Error("it was kept all the same")
	}
	s = c.say(t, openmanus.Resumed{ID: "1"})
	if s.Status() != openmanus.Waiting {
		t.Fatalf("it is %s", s.Status())
	}
	q = s.Pending()[0]
	must(t, c.say(t, openmanus.Ruled{Call: q.ID, Allow: true, By: "person", Hash: q.Question().Hash}), openmanus.Finished, "", "- created sum")
}

func TestAttemptsHaveTheirModelsAndHints(t *testing.T) {
	var tasks sync.Map
	c := &contest{flow: EvaluateFlow{Attempts: []Attempt{{Agent: "manus", Hint: "Test first."}, {Agent: "manus", Model: "a/b"}}, Parallel: 1}}
	for i := range 2 {
		c.hands = append(c.hands, func(req *llm.Request) (llm.Message, error) {
			tasks.Store(i, req.Messages[0].Text())
			return llmtest.Say("Done."), nil
		})
	}
	c.judge = judges(1, 2)
	must(t, c.play(t), openmanus.Finished, "", "2. [✓] manus with a/b", "1. [✓] manus: Test first.")
	if first, _ := tasks.Load(0); first != "Write the sum.\n\nHow to go about it: Test first." {
		t.Errorf("%q", first)
	}
	o, err := openmanus.Load(t.Context(), c.j, openmanus.ChildID(root, "attempt-1-2"))
	if err != nil || o.Opened.Flow != "manus" || o.Config.Model != "a/b" {
		t.Errorf("%q with %q: %v", o.Opened.Flow, o.Config.Model, err)
	}
}

func TestTheBudgetIsOfAllAttempts(t *testing.T) {
	c := &contest{flow: EvaluateFlow{Parallel: 1}, hands: []voice{ok(), ok(), ok()}, judge: judges(1, 2, 3)}
	c.open(t)
	if s := c.say(t, openmanus.Resumed{ID: "1", Limits: openmanus.Limits{Tokens: 2000}}); s.Status() != openmanus.Halted || s.Outcome.Reason != openmanus.NoTokens {
		t.Errorf("it is %s (%s)", s.Status(), s.Outcome.Reason)
	}
	if len(c.runs) >= 3 {
		t.Errorf("%q", c.runs)
	}
	must(t, c.say(t, openmanus.Resumed{ID: "2", Limits: openmanus.Limits{Tokens: 100_000}}), openmanus.Finished, "")
}

// Killed at any append and woken again, the session ends the same way, and no
// attempt that ended is made again.
func TestKilledAtEveryAppendAnEvaluationReachesTheSameEnd(t *testing.T) {
	want := sameEndWhereverKilled(t, 10, func(j *dying) performance {
		c := &contest{theatre: theatre{j: j}, hands: []voice{writes("sum", "5"), writes("sum", "6"), down}, judge: judges(1, 2)}
		c.open(t)
		return performance{c.wake, func(s *openmanus.State) string {
			answer, _, _ := strings.Cut(s.Answer, "\nThe copies")
			return answer + "\n" + fmt.Sprint(c.files(t))
		}}
	})
	if !strings.Contains(want, "Attempt 2 is the best") {
		t.Error(want)
	}
}

// In version 1 of the journal's format, a model without a provider made the
// calls of an evaluation. Such a session continues.
func TestAnEvaluationOfVersionOneGoesOn(t *testing.T) {
	data, err := os.ReadFile("testdata/v1-evaluation.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	j := &dying{Memory: new(journal.Memory)}
	if _, err := journal.Import(t.Context(), j, j, root, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	c := &contest{
		theatre: theatre{j: j}, ws: t.TempDir(), copies: t.TempDir(), hands: []voice{writes("sum", "5"), down},
		flow: EvaluateFlow{Attempts: []Attempt{{Agent: "manus"}, {Agent: "manus"}}},
	}
	c.child = c.childSpec
	s, err := c.wake(t)
	if err != nil {
		t.Fatal(err)
	}
	must(t, s, openmanus.Finished, "", "It is 5.", "Attempt 1 is the best", "- created sum")
	if s.Steps != 1 || s.Moves != 2 {
		t.Errorf("%d steps and %d moves", s.Steps, s.Moves)
	}
}

// FuzzEvaluateFlow makes up journals: Next depends on the state alone and does not
// change it, and a session that runs has a next task.
func FuzzEvaluateFlow(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Add([]byte{0, 0, 0, 1, 0, 1, 0, 3, 0, 1, 0, 0, 0, 0, 0, 10, 21, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		fl := &EvaluateFlow{Attempts: []Attempt{{Agent: "manus"}, {Agent: "manus", Model: "m"}}, Judge: "judge"}
		fl.Evaluator = Evaluator(fl.Attempts, Copies{})
		var s openmanus.State
		add := func(b openmanus.Body) { s.Apply(openmanus.Event{Seq: s.Seq + 1, Body: b}) }
		add(openmanus.Opened{Flow: "evaluate"})
		add(fl.Evaluator.Configured(0))
		add(openmanus.UserSaid{ID: "0", Message: llm.Say(llm.User, "go")})
		for i, b := range data {
			add(happens(t, fl, &s, i, b))
			todo := fl.Next(&s)
			if again := fl.Next(&s); !reflect.DeepEqual(todo, again) {
				t.Fatalf("not a function: %+v, then %+v", todo, again)
			}
			if st := s.Status(); (st == openmanus.Running) != (len(todo) > 0) {
				t.Fatalf("it is %s, with the tasks %+v", st, todo)
			}
			for _, task := range todo {
				if r := readRound(&s); task.Do == openmanus.End && task.Status == openmanus.Finished && (r.kept == nil || len(r.kept.Conflicts) > 0) {
					t.Fatal("it is called done and is not")
				}
			}
			Progress(&s)
		}
	})
}

// happens returns the next event: what the flow asks for, or something else.
func happens(t *testing.T, fl *EvaluateFlow, s *openmanus.State, i int, b byte) openmanus.Body {
	id := fmt.Sprint(i)
	todo := fl.Next(s)
	if b%11 == 10 || len(todo) == 0 {
		return []openmanus.Body{
			openmanus.UserSaid{ID: "u" + id, Message: llm.Say(llm.User, "and more")}, openmanus.Interrupted{ID: id}, openmanus.Resumed{ID: id},
		}[int(b)/11%3]
	}
	switch task := todo[int(b)%len(todo)]; task.Do {
	case openmanus.Rule:
		return openmanus.Ruled{Call: task.Call, Allow: b%5 != 4, By: "gate"}
	case openmanus.Use:
		return used(t, fl, s, s.Call(task.Call), b)
	case openmanus.MakeCall:
		return openmanus.Called{Turn: task.Turn, Re: task.Re, Call: fmt.Sprintf("c%d-1", task.Turn), Name: task.Name, Input: task.Input}
	case openmanus.Delegate:
		child := openmanus.ChildID("s", task.Child)
		if s.Child(child) == nil {
			return openmanus.ChildOpened{Child: child}
		}
		text := []string{judged(1, 2), judged(-1, -1), judged(3, 3), "words", judged(1)}[int(b)/3%5]
		return openmanus.ChildDone{Child: child, Status: []openmanus.Status{openmanus.Finished, openmanus.Failed, openmanus.Finished}[int(b)/2%3], Text: text}
	case openmanus.End:
		return openmanus.Ended{Turn: task.Turn, Re: task.Re, Status: task.Status, Reason: task.Reason, Error: task.Error, Text: task.Text}
	default:
		return openmanus.Stopped{Turn: task.Turn, Re: task.Re, Reason: task.Reason}
	}
}

// used returns the result of a call of the evaluator.
func used(t *testing.T, fl *EvaluateFlow, s *openmanus.State, c *openmanus.CallState, b byte) openmanus.Body {
	if b%7 == 6 {
		return openmanus.CallDone{Call: c.ID, IsError: true}
	}
	var detail any
	if c.Name == copying {
		r := Round{Attempts: fl.Attempts, Number: 1}
		if last := readRound(s); last != nil {
			r.Number = last.Number + 1
		}
		detail = r
	} else {
		k := Kept{Round: readRound(s).Number}
		if err := json.Unmarshal([]byte(c.Arguments()), &k); err != nil || k.Attempt == 0 {
			t.Fatal(err, c.Arguments())
		}
		if b%5 == 3 {
			k.Conflicts = append(k.Conflicts, copydir.Refusal{Path: "a", Why: "b"})
		}
		detail = k
	}
	data, err := json.Marshal(detail)
	if err != nil {
		t.Fatal(err)
	}
	return openmanus.CallDone{Call: c.ID, Detail: data}
}
