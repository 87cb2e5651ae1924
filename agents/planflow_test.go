package agents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/tools"
)

// A voice is a model whose replies depend on the request.
type voice func(req *llm.Request) (llm.Message, error)

func (v voice) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m, err := v(req)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		for i, p := range m.Parts {
			if !yield(llm.Delta{Part: i, Piece: p}, nil) {
				return
			}
		}
		stop := llm.End
		if len(m.Calls()) > 0 {
			stop = llm.ToolUse
		}
		yield(llm.Delta{Stop: stop, Usage: &llm.Usage{Input: 10, Output: 5}}, nil)
	}
}

var errDown = &llm.Error{Kind: llm.Network, Err: errors.New("the model is down")}

// says returns a voice that gives these replies in turn, and repeats the last.
func says(replies ...llm.Message) voice {
	return func(req *llm.Request) (llm.Message, error) {
		return replies[min(llmtest.Spoken(req), len(replies)-1)], nil
	}
}

func down(*llm.Request) (llm.Message, error) { return llm.Message{}, errDown }

// A stage is a flow with its models, and records which agent did what.
type stage struct {
	theatre
	planner voice
	hands   map[string]voice // by agent
	flow    PlanFlow
}

func (st *stage) worker(ctx context.Context, s *openmanus.State) (openmanus.Flow, error) {
	if s.Opened.Flow == "plan" {
		var as []tools.Assistant
		for _, name := range st.flow.Agents {
			as = append(as, tools.Assistant{Name: name, Description: "works"})
		}
		f := st.flow
		f.Planner = Planner(as, f.Critic != "")
		f.Planner.Model = st.planner
		return &f, nil
	}
	v := st.hands[s.Opened.Flow]
	if v == nil {
		return nil, fmt.Errorf("there is no agent %q", s.Opened.Flow)
	}
	a := &openmanus.Agent{Name: s.Opened.Flow, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{tools.NewTerminate()}}
	a.Model = voice(func(req *llm.Request) (llm.Message, error) {
		return st.begins(s.Opened.Flow+": "+stepText(req.Messages[0].Text()), v)(req)
	})
	return a, nil
}

// stepText returns the step that a prompt is about.
func stepText(prompt string) string {
	if _, rest, ok := strings.Cut(prompt, "You are now working on step "); ok {
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	line, _, _ := strings.Cut(prompt, "\n")
	return line
}

func (st *stage) open(t *testing.T) {
	t.Helper()
	if st.flow.Agents == nil {
		st.flow.Agents = []string{"manus", "data_analysis"}
	}
	st.theatre.open(t, st.worker, "plan", "Write a report.")
}

func (st *stage) wake(t *testing.T) (*openmanus.State, error) {
	t.Helper()
	return st.theatre.wake(t, st.worker)
}

// play opens the flow and drives it to its end.
func (st *stage) play(t *testing.T) *openmanus.State {
	t.Helper()
	st.open(t)
	s, err := st.wake(t)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, s *openmanus.State, status openmanus.Status, reason openmanus.Reason, words ...string) {
	t.Helper()
	if s.Status() != status || s.Outcome.Reason != reason {
		t.Errorf("it is %s (%s: %s), want %s (%s)", s.Status(), s.Outcome.Reason, s.Outcome.Error, status, reason)
	}
	for _, w := range words {
		if !strings.Contains(s.Answer, w) {
			t.Errorf("the answer lacks %q:\n%s", w, s.Answer)
		}
	}
}

// creates returns a call that makes a plan of these steps.
func creates(steps ...any) llm.Message {
	return llmtest.Use("", "planning", map[string]any{"command": "create", "plan_id": "p", "title": "The report", "steps": steps})
}

func updates(steps ...any) llm.Message {
	return llmtest.Use("", "planning", map[string]any{"command": "update", "plan_id": "p", "steps": steps})
}

type obj = map[string]any

func ok() voice { return says(llmtest.Say("It is done.")) }

// fails returns a model that reports failure.
func fails() voice {
	return says(llmtest.Calls(llmtest.Say("The disk is full."), llmtest.Use("", "terminate", obj{"status": "failure"})))
}

// Case 36 of OpenManus: a flow that succeeds.
func TestAPlanIsDone(t *testing.T) {
	st := &stage{planner: says(creates("Read the data", "Write it"), llmtest.Say("The report is in report.md.")), hands: map[string]voice{"manus": ok()}}
	must(t, st.play(t), openmanus.Finished, "", "The report is in report.md.", "1. [✓] Read the data\n2. [✓] Write it")
	if want := []string{`manus: 0: "Read the data"`, `manus: 1: "Write it"`}; !slices.Equal(st.runs, want) {
		t.Errorf("%q", st.runs)
	}
}

// Case 33: a planner that makes no plan gets the default one.
func TestWithoutAPlanTheDefaultOneIsDone(t *testing.T) {
	for name, planner := range map[string]voice{
		"words":            says(llmtest.Say("Lorem ipsum."), llmtest.Say("All is well.")),
		"list and no more": says(llmtest.Use("", "planning", obj{"command": "list"}), llmtest.Use("", "planning", obj{"command": "list"}), llmtest.Use("", "planning", obj{"command": "list"}), llmtest.Say("All is well.")),
		"no such command":  says(llmtest.Use("", "planning", obj{"command": "sing"}), llmtest.Say("Well."), llmtest.Say("All is well.")),
		"no such tool":     says(llmtest.Use("", "dance", obj{}), llmtest.Say("Well."), llmtest.Say("All is well.")),
		"broken arguments": says(llmtest.Use("", "planning", `{"command": `), llmtest.Say("Well."), llmtest.Say("All is well.")),
	} {
		t.Run(name, func(t *testing.T) {
			st := &stage{planner: planner, hands: map[string]voice{"manus": ok()}}
			must(t, st.play(t), openmanus.Finished, "", "All is well.", "1. [✓] Analyze request\n2. [✓] Execute task\n3. [✓] Verify results")
			if len(st.runs) != 3 {
				t.Errorf("%q", st.runs)
			}
		})
	}
}

func TestAPlannerThatAsksForTheListFirstIsAnswered(t *testing.T) {
	st := &stage{planner: says(llmtest.Use("", "planning", obj{"command": "list"}), creates("Write it"), llmtest.Say("There.")), hands: map[string]voice{"manus": ok()}}
	must(t, st.play(t), openmanus.Finished, "", "There.", "1. [✓] Write it")
}

// Case 34: steps are routed by their tag in any case, or by their agent.
func TestStepsGoToTheAgentOfTheirTag(t *testing.T) {
	st := &stage{
		planner: says(creates("[DATA_ANALYSIS] a", "[data_analysis] b", "[Data Analysis] c", "[data-analysis] d", "e", "[nobody] f", obj{"text": "g", "agent": "data_analysis"}, "[1] [DataAnalysis] h"), llmtest.Say("done")),
		hands:   map[string]voice{"manus": ok(), "data_analysis": ok()},
	}
	must(t, st.play(t), openmanus.Finished, "")
	var who []string
	for _, r := range st.runs {
		agent, _, _ := strings.Cut(r, ":")
		who = append(who, agent)
	}
	const d, m = "data_analysis", "manus"
	if want := []string{d, d, d, d, m, m, d, d}; !slices.Equal(who, want) {
		t.Errorf("%q", st.runs)
	}
}

// Case 35: if every request of a step fails, the flow fails, after as many changes
// of the plan as are allowed.
func TestAFlowWhoseStepsFailIsNeverCompleted(t *testing.T) {
	for name, hand := range map[string]voice{"the model fails": down, "the agent gives up": fails()} {
		t.Run(name, func(t *testing.T) {
			changes := 0
			st := &stage{flow: PlanFlow{Replans: 2}, hands: map[string]voice{"manus": hand}}
			st.planner = func(req *llm.Request) (llm.Message, error) {
				switch last := req.Messages[len(req.Messages)-1].Text(); {
				case llmtest.Spoken(req) == 0:
					return creates("try 0", "then rejoice"), nil
				case strings.Contains(last, "cannot go on: "):
					if !strings.Contains(last, "[!] try") || !strings.Contains(last, "Notes: ") {
						t.Errorf("the planner does not learn why: %s", last)
					}
					changes++
					return updates(fmt.Sprint("try ", changes), "then rejoice"), nil
				}
				return llmtest.Say("It is all completed!"), nil
			}
			s := st.play(t)
			must(t, s, openmanus.Failed, openmanus.ByAgent, "1. [!] try 2", "2. [ ] then rejoice")
			if changes != 2 || len(st.runs) != 3 {
				t.Errorf("%d changes, %q", changes, st.runs)
			}
		})
	}
}

func TestAFlowWhosePlannerFailsHasFailed(t *testing.T) {
	st := &stage{planner: down, hands: map[string]voice{"manus": down}}
	must(t, st.play(t), openmanus.Failed, openmanus.Reason(llm.Network))
}

func TestAPlannerWhoGivesUpIsBelieved(t *testing.T) {
	st := &stage{flow: PlanFlow{Replans: 3}, planner: says(creates("a"), llmtest.Say("There is no way.")), hands: map[string]voice{"manus": fails()}}
	must(t, st.play(t), openmanus.Failed, openmanus.ByAgent, "There is no way.", "1. [!] a", "The disk is full.")
	if len(st.runs) != 1 {
		t.Errorf("%q", st.runs)
	}
}

// A failed step is replaced, and completed steps are not done again, whether or
// not the new plan names them.
func TestAPlanIsMended(t *testing.T) {
	for name, change := range map[string]llm.Message{
		"naming what is done":      updates("a", "b in another way", "c"),
		"leaving out what is done": updates("b in another way", "c"),
		"trying the same again":    updates("a", "b", "c"),
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			hand := func(req *llm.Request) (llm.Message, error) {
				if strings.Contains(stepText(req.Messages[0].Text()), `"b`) {
					if tries++; tries == 1 {
						return llm.Message{}, errDown
					}
				}
				return llmtest.Say("It is done."), nil
			}
			st := &stage{flow: PlanFlow{Replans: 1}, planner: says(creates("a", "b", "c"), change, llmtest.Say("Mended.")), hands: map[string]voice{"manus": hand}}
			s := st.play(t)
			must(t, s, openmanus.Finished, "", "Mended.", "1. [✓] a\n2. [✓] b")
			if len(st.runs) != 4 {
				t.Errorf("%q", st.runs)
			}
		})
	}
}

func TestAStepThatIsStuckIsBlocked(t *testing.T) {
	restless := func(req *llm.Request) (llm.Message, error) {
		return llmtest.Use("", fmt.Sprint("nothing", llmtest.Spoken(req)), obj{}), nil
	}
	st := &stage{planner: says(creates("a"), llmtest.Say("It is too much.")), hands: map[string]voice{"manus": restless}}
	s := st.play(t)
	must(t, s, openmanus.Failed, openmanus.ByAgent, "1. [!] a", "stuck: does the same again and again")
}

// The result of a step is checked if it has an acceptance sentence.
func TestAnUnmetAcceptanceBlocksAStep(t *testing.T) {
	verdicts := []string{`{"met": false, "reason": "there is no file"}`, `{"met": true, "reason": "it is there"}`}
	n := 0
	critic := func(req *llm.Request) (llm.Message, error) {
		if text := req.Messages[0].Text(); !strings.Contains(text, "a.txt is there") || !strings.Contains(text, "It is done.") {
			t.Errorf("the critic reads %s", text)
		}
		n++
		return llmtest.Say(verdicts[n-1]), nil
	}
	step := obj{"text": "write", "acceptance": "a.txt is there"}
	st := &stage{
		flow:    PlanFlow{Critic: "critic", Replans: 1},
		planner: says(creates(step), updates(step), llmtest.Say("There.")),
		hands:   map[string]voice{"manus": ok(), "critic": critic},
	}
	must(t, st.play(t), openmanus.Finished, "", "1. [✓] write")
	if len(st.runs) != 4 {
		t.Errorf("%q", st.runs)
	}
	for _, answer := range []string{`{"met": false, "reason": "no"}`, "It looks good to me!"} {
		st = &stage{
			flow: PlanFlow{Critic: "critic"}, planner: says(creates(step), llmtest.Say("All is well.")),
			hands: map[string]voice{"manus": ok(), "critic": says(llmtest.Say(answer))},
		}
		must(t, st.play(t), openmanus.Failed, openmanus.ByAgent, "1. [!] write")
	}
}

// Half of all requests fail: whatever the outcome, steps that are marked as
// completed were done.
func TestAFlowWhoseRequestsFailHalfOfTheTime(t *testing.T) {
	for seed := range 8 {
		n := seed
		var mu sync.Mutex
		flaky := func(v voice) voice {
			return func(req *llm.Request) (llm.Message, error) {
				mu.Lock()
				defer mu.Unlock()
				if n++; n*7%4 < 2 {
					return llm.Message{}, errDown
				}
				return v(req)
			}
		}
		st := &stage{flow: PlanFlow{Replans: 2}, hands: map[string]voice{"manus": flaky(ok())}}
		st.planner = flaky(func(req *llm.Request) (llm.Message, error) {
			switch last := req.Messages[len(req.Messages)-1].Text(); {
			case llmtest.Spoken(req) == 0:
				return creates("a", "b", "c"), nil
			case strings.Contains(last, "cannot go on: "):
				return updates("a", "b", "c"), nil
			}
			return llmtest.Say("So it stands."), nil
		})
		s := st.play(t)
		done := 0
		for _, c := range s.Children {
			if c.Done != nil && c.Done.Status == openmanus.Finished {
				done++
			}
		}
		if finished := s.Status() == openmanus.Finished; finished != (done == 3) || !finished && s.Status() != openmanus.Failed {
			t.Errorf("%s with %d steps done: %s", s.Status(), done, s.Outcome.Error)
		}
	}
}

func TestPlansThatCannotBeAreRefused(t *testing.T) {
	many := make([]any, 1000)
	for i := range many {
		many[i] = fmt.Sprint("step ", i)
	}
	for name, c := range map[string]struct {
		plan llm.Message
		word string
	}{
		"a cycle":       {creates(obj{"text": "a", "depends_on": []int{1}}, obj{"text": "b", "depends_on": []int{0}}), "wait for each other"},
		"itself":        {creates(obj{"text": "a", "depends_on": []int{0}}), "depends on step 0"},
		"nowhere":       {creates(obj{"text": "a", "depends_on": []int{7}}), "depends on step 7"},
		"a hidden one":  {creates(obj{"text": "a", "depends_on": []int{2}}, "b", "c"), "wait for each other"},
		"no steps":      {creates(), "non-empty list"},
		"nobody":        {creates(obj{"text": "a", "agent": "gandalf"}), "manus"},
		"1,000 steps":   {creates(many...), "at most 50"},
		"an empty step": {creates("  "), "is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			told := ""
			planner := func(req *llm.Request) (llm.Message, error) {
				switch llmtest.Spoken(req) {
				case 0:
					return c.plan, nil
				case 1:
					for _, m := range req.Messages {
						for _, p := range m.Parts {
							if r, ok := p.(llm.Result); ok && r.IsError {
								told += r.Parts.Text()
							}
						}
					}
					return creates("write it"), nil
				}
				return llmtest.Say("Well."), nil
			}
			st := &stage{planner: planner, hands: map[string]voice{"manus": ok()}}
			must(t, st.play(t), openmanus.Finished, "", "1. [✓] write it")
			if !strings.Contains(told, c.word) {
				t.Errorf("the planner sees %q", told)
			}
		})
	}
}

// Independent steps run at the same time, up to the limit.
func TestIndependentStepsAreDoneAtOnce(t *testing.T) {
	var steps []any
	for i := range 6 {
		steps = append(steps, obj{"text": fmt.Sprint("part ", i), "depends_on": []int{}})
	}
	steps = append(steps, obj{"text": "join", "depends_on": []int{0, 1, 2, 3, 4, 5}})
	begun, let := make(chan struct{}, 6), make(chan struct{})
	hand := func(req *llm.Request) (llm.Message, error) {
		if !strings.Contains(stepText(req.Messages[0].Text()), "join") {
			begun <- struct{}{}
			<-let
		}
		return llmtest.Say("It is done."), nil
	}
	st := &stage{flow: PlanFlow{Parallel: 3}, planner: says(creates(steps...), llmtest.Say("Joined.")), hands: map[string]voice{"manus": hand}}
	done := make(chan *openmanus.State)
	go func() { done <- st.play(t) }()
	for range 3 {
		<-begun // all three at once, or this waits for ever
	}
	if len(begun) > 0 {
		t.Error("more than three steps at once")
	}
	close(let)
	must(t, <-done, openmanus.Finished, "", "Joined.")
	if last := st.runs[len(st.runs)-1]; !strings.Contains(last, "join") {
		t.Errorf("%q", st.runs)
	}
}

func TestAPersonWhoSpeaksChangesThePlan(t *testing.T) {
	st := &stage{hands: map[string]voice{"manus": ok()}}
	st.planner = func(req *llm.Request) (llm.Message, error) {
		switch last := req.Messages[len(req.Messages)-1].Text(); {
		case llmtest.Spoken(req) == 0:
			return creates("a"), nil
		case strings.Contains(last, "The person has sent a message"):
			return updates("a", "b"), nil
		}
		return llmtest.Say("So it stands."), nil
	}
	must(t, st.play(t), openmanus.Finished, "", "1. [✓] a")
	if _, err := st.j.Append(t.Context(), root, openmanus.UserSaid{ID: "2", Message: llm.Say(llm.User, "Also b.")}); err != nil {
		t.Fatal(err)
	}
	s, err := st.wake(t)
	if err != nil {
		t.Fatal(err)
	}
	must(t, s, openmanus.Finished, "", "1. [✓] a\n2. [✓] b")
	if len(st.runs) != 2 {
		t.Errorf("%q", st.runs)
	}
}

func TestWhoeverResumesAFailedFlowHasItTryAgain(t *testing.T) {
	broken := true
	hand := func(*llm.Request) (llm.Message, error) {
		if broken {
			return llm.Message{}, errDown
		}
		return llmtest.Say("It is done."), nil
	}
	st := &stage{hands: map[string]voice{"manus": hand}}
	st.planner = func(req *llm.Request) (llm.Message, error) {
		switch last := req.Messages[len(req.Messages)-1].Text(); {
		case llmtest.Spoken(req) == 0:
			return creates("a"), nil
		case strings.Contains(last, "cannot go on: "):
			return updates("a"), nil
		}
		return llmtest.Say("So it stands."), nil
	}
	must(t, st.play(t), openmanus.Failed, openmanus.ByAgent)
	broken = false
	if _, err := st.j.Append(t.Context(), root, openmanus.Resumed{ID: "1"}); err != nil {
		t.Fatal(err)
	}
	s, err := st.wake(t)
	if err != nil {
		t.Fatal(err)
	}
	must(t, s, openmanus.Finished, "", "1. [✓] a")
}

func TestAPlanAlone(t *testing.T) {
	st := &stage{flow: PlanFlow{PlanOnly: true}, planner: says(creates("[data_analysis] a", obj{"text": "b", "depends_on": []int{}, "acceptance": "b.txt is there"})), hands: map[string]voice{}}
	s := st.play(t)
	must(t, s, openmanus.Finished, "", `"title": "The report"`, `"[data_analysis] a"`, `"depends_on": []`)
	args, err := tools.ReadPlan([]byte(s.Answer), []string{"manus"})
	if err != nil || !strings.Contains(string(args), `"acceptance":"b.txt is there"`) {
		t.Errorf("%s %v", args, err)
	}
	if len(s.Children) != 0 {
		t.Error("it did more than plan")
	}
}

// Killed at any append and woken again, with a plan that changes because a step
// fails, the session ends the same way, and no completed step is done again.
func TestKilledAtEveryAppendAFlowReachesTheSameEnd(t *testing.T) {
	want := sameEndWhereverKilled(t, 12, func(j *dying) performance {
		st := &stage{flow: PlanFlow{Replans: 2, Critic: "critic"}, theatre: theatre{j: j}}
		st.planner = says(creates("a", obj{"text": "b", "depends_on": []int{}}, obj{"text": "c", "acceptance": "c.txt is there"}), updates("a", "b", "d"), llmtest.Say("Mended."))
		hand := func(req *llm.Request) (llm.Message, error) {
			if strings.Contains(stepText(req.Messages[0].Text()), `"c"`) {
				return fails()(req)
			}
			return llmtest.Say("It is done."), nil
		}
		st.hands = map[string]voice{"manus": hand, "critic": says(llmtest.Say(`{"met":true,"reason":"yes"}`))}
		st.open(t)
		return performance{st.wake, func(s *openmanus.State) string { return s.Answer }}
	})
	if !strings.Contains(want, "1. [✓] a\n2. [✓] b\n3. [✓] d") {
		t.Error(want)
	}
}

// FuzzPlanFlow makes up journals: Next depends on the state alone and does not
// change it, and a session that runs has a next task.
func FuzzPlanFlow(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Add([]byte{2, 0, 4, 4, 6, 1, 6, 0, 2, 1, 4, 6, 0, 1, 7, 7})
	f.Fuzz(func(t *testing.T, data []byte) {
		fl := &PlanFlow{Agents: []string{"manus", "swe"}, Critic: "critic", Replans: 1}
		fl.Planner = Planner([]tools.Assistant{{Name: "manus"}, {Name: "swe"}}, true)
		var s openmanus.State
		add := func(b openmanus.Body) { s.Apply(openmanus.Event{Seq: s.Seq + 1, Body: b}) }
		add(openmanus.Opened{Flow: "plan"})
		add(fl.Planner.Configured(0))
		add(openmanus.UserSaid{ID: "0", Message: llm.Say(llm.User, "go")})
		for i, b := range data {
			for _, body := range madeUp(t, fl, &s, i, b) {
				turn := s.Turn
				if add(body); body.Key() == fmt.Sprintf("model/%d", turn) && s.Turn != turn+1 {
					t.Fatalf("%s has no result", body.Key())
				}
			}
			todo := fl.Next(&s)
			if again := fl.Next(&s); !reflect.DeepEqual(todo, again) {
				t.Fatalf("not a function: %+v, then %+v", todo, again)
			}
			if st := s.Status(); (st == openmanus.Running) != (len(todo) > 0) {
				t.Fatalf("it is %s, with the tasks %+v", st, todo)
			}
			for _, task := range todo {
				if task.Do == openmanus.End && task.Status == openmanus.Finished && !fl.plan(&s).done() {
					t.Fatal("it is called done and is not")
				}
			}
		}
	})
}

// madeUp returns the next event: what the flow asks for, or something else.
func madeUp(t *testing.T, fl *PlanFlow, s *openmanus.State, i int, b byte) []openmanus.Body {
	id := fmt.Sprint(i)
	if b%11 == 10 {
		return []openmanus.Body{[]openmanus.Body{
			openmanus.UserSaid{ID: "u" + id, Message: llm.Say(llm.User, "and more")}, openmanus.Interrupted{ID: id}, openmanus.Resumed{ID: id},
		}[int(b)/11%3]}
	}
	todo := fl.Next(s)
	if len(todo) == 0 {
		return []openmanus.Body{openmanus.Resumed{ID: id}}
	}
	switch task := todo[int(b)%len(todo)]; task.Do {
	case openmanus.Rule:
		return []openmanus.Body{openmanus.Ruled{Call: task.Call, Allow: true, By: "gate"}}
	case openmanus.Use:
		c := s.Call(task.Call)
		res, err := fl.Planner.Tools[0].Run(t.Context(), openmanus.Call{Call: c.Call, Last: s.Last(planning(s)), Children: s.Children})
		if err != nil {
			return []openmanus.Body{openmanus.CallDone{Call: c.ID, IsError: true}}
		}
		detail, err := jsonOf(res.Detail)
		if err != nil {
			t.Fatal(err)
		}
		return []openmanus.Body{openmanus.CallDone{Call: c.ID, Parts: res.Parts, Detail: detail}}
	case openmanus.Reply:
		reply := []llm.Message{creates("a", obj{"text": "b", "depends_on": []int{}}, obj{"text": "c", "acceptance": "so"}), updates("a", "x"+id), llmtest.Say("words " + id), updates("c"), llmtest.Use("", "planning", obj{"command": "get"})}[int(b)/2%5]
		return []openmanus.Body{openmanus.ModelSaid{Turn: task.Turn, Re: task.Re, Stop: llm.End, Message: own(reply, task.Turn)}}
	case openmanus.Delegate:
		child := openmanus.ChildID("s", task.Child)
		if s.Child(child) == nil {
			return []openmanus.Body{openmanus.ChildOpened{Child: child}}
		}
		return []openmanus.Body{openmanus.ChildDone{Child: child, Status: []openmanus.Status{openmanus.Finished, openmanus.Failed, openmanus.Finished}[int(b)/3%3], Text: `{"met":` + fmt.Sprint(b%2 == 0) + `}`}}
	case openmanus.End:
		return []openmanus.Body{openmanus.Ended{Turn: task.Turn, Re: task.Re, Status: task.Status, Reason: task.Reason, Text: task.Text}}
	default:
		return []openmanus.Body{openmanus.Stopped{Turn: task.Turn, Re: task.Re, Reason: task.Reason}}
	}
}

// own gives calls ids as a worker does.
func own(m llm.Message, turn int) llm.Message {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		if c, ok := p.(llm.Call); ok {
			c.ID = fmt.Sprintf("c%d-%d", turn, i+1)
			m.Parts[i] = c
		}
	}
	return m
}
