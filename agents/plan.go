package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/tools"
)

// planning is the name of the planner's tool.
const planning = "planning"

// A plan is a planner's plan together with what came of its steps.
type plan struct {
	tools.Plan // with the statuses and notes as they are
	steps      []step
	revision   int
	ours       bool // the planner made none
}

// A step is a step of a plan and what was done for it.
type step struct {
	*tools.Step
	index     int
	name      string                // of its session
	child     *openmanus.ChildState // that session, or nil
	check     *openmanus.ChildState // the one in which its acceptance is checked, or nil
	unchecked bool                  // its acceptance is still to be checked
}

// plan is the plan of a session, or nil if the planner is still to make it.
func (f *PlanFlow) plan(s *openmanus.State) *plan {
	ps, err := tools.ReadPlans(s.Last(planning))
	if err == nil {
		if p := ps.Find(ps.Active); p != nil && len(p.Steps) > 0 {
			return f.progress(*p, ps.Revision, s.Children)
		}
	}
	if s.Turn == 0 || s.Steps < maxDrafts && (s.Due() || s.Open()) {
		return nil
	}
	p := f.progress(defaultPlan(s.Requests), 0, s.Children)
	p.ours = true
	return p
}

// defaultID is before the IDs of the default plan's steps, which no step of a
// planner's has.
const defaultID = 1_000_000

// defaultPlan is the plan where the planner makes none, as in OpenManus.
func defaultPlan(requests []string) tools.Plan {
	request := strings.Join(requests, " ")
	title := "Plan for: " + clip(request, 50)
	p := tools.Plan{ID: "default", Title: title}
	for i, text := range []string{"Analyze request", "Execute task", "Verify results"} {
		p.Steps = append(p.Steps, tools.Step{ID: defaultID + i, Text: text})
	}
	return p
}

// progress puts into a plan what came of its steps.
func (f *PlanFlow) progress(p tools.Plan, revision int, children []*openmanus.ChildState) *plan {
	p.Steps = slices.Clone(p.Steps)
	out := &plan{Plan: p, revision: revision}
	byName := make(map[string]*openmanus.ChildState)
	last := make(map[int]int) // by step: the revision in which it was done last
	for _, c := range children {
		name := nameOf(c)
		byName[name] = c
		if id, rev, ok := stepOf(name); ok {
			last[id] = rev
		}
	}
	for i := range p.Steps {
		st := step{Step: &p.Steps[i], index: i}
		rev, begun := last[st.ID]
		if begun {
			st.child, st.check = byName[stepName("step", st.ID, rev)], byName[stepName("check", st.ID, rev)]
		}
		st.Status, st.Notes = f.status(&st)
		if st.Status == tools.Blocked && rev < revision { // the plan was changed since: it is tried again
			st.Status, st.Notes, st.child, st.check = tools.NotStarted, "", nil, nil
		}
		if st.child == nil {
			rev = revision
		}
		st.name = stepName("step", st.ID, rev)
		out.steps = append(out.steps, st)
	}
	return out
}

// nameOf is what a session was opened as.
func nameOf(c *openmanus.ChildState) string {
	return c.Child[strings.LastIndexByte(c.Child, '.')+1:]
}

func stepName(what string, id, revision int) string {
	return fmt.Sprintf("%s-%d-%d", what, id, revision)
}

// stepOf returns the step that a session is for, and the revision of the plan
// in which it was opened.
func stepOf(name string) (id, revision int, ok bool) {
	name, ok = strings.CutPrefix(name, "step-")
	a, b, cut := strings.Cut(name, "-")
	id, err1 := strconv.Atoi(a)
	revision, err2 := strconv.Atoi(b)
	return id, revision, ok && cut && err1 == nil && err2 == nil
}

// StepOf returns the ID of the step of a plan, as [Progress] has it, that a
// session, by its id, was opened to do; false if it was opened for something
// else.
func StepOf(session string) (id int, ok bool) {
	name := session[strings.LastIndexByte(session, '.')+1:]
	var round, n int
	if _, err := fmt.Sscanf(name, "attempt-%d-%d", &round, &n); err == nil {
		return n + 1, true // the first one is the copying
	}
	id, _, ok = stepOf(name)
	return id, ok
}

// A Verdict is what a critic answers about an acceptance sentence.
type Verdict struct {
	Met    bool   `json:"met"`
	Reason string `json:"reason"`
}

// status is how far a step is, and a note on it.
func (f *PlanFlow) status(st *step) (tools.StepStatus, string) {
	switch {
	case st.child == nil:
		return tools.NotStarted, ""
	case st.child.Done == nil:
		return tools.InProgress, ""
	case st.child.Done.Status != openmanus.Finished:
		return tools.Blocked, clip(oneLine(st.child.Done.Text), 300)
	case st.Acceptance == "" || f.Critic == "":
		return tools.Completed, ""
	case st.check == nil:
		st.unchecked = true
		return tools.InProgress, "its result is to be checked"
	case st.check.Done == nil:
		return tools.InProgress, "its result is being checked"
	}
	var v Verdict
	d := st.check.Done
	if err := json.Unmarshal([]byte(d.Text), &v); d.Status != openmanus.Finished || err != nil {
		return tools.Blocked, "nobody could tell whether it is done: " + clip(oneLine(d.Text), 300)
	}
	if !v.Met {
		return tools.Blocked, fmt.Sprintf("not so: %q: %s", st.Acceptance, clip(oneLine(v.Reason), 300))
	}
	return tools.Completed, ""
}

// ready reports whether what a step needs is done.
func (p *plan) ready(st *step) bool {
	for i := range p.steps {
		if st.needs(&p.steps[i]) && p.steps[i].Status != tools.Completed {
			return false
		}
	}
	return true
}

// needs reports whether st comes after another step.
func (st *step) needs(other *step) bool {
	return st.After == nil && other.index < st.index || slices.Contains(st.After, other.ID)
}

func (p *plan) done() bool { return p.Count(tools.Completed) == len(p.steps) }

// verb is the command by which the planner changes the plan.
func (p *plan) verb() string {
	if p.ours {
		return "create"
	}
	return "update"
}

// nudge is a word of the moment with the plan as it is.
func (p *plan) nudge(text string) string { return p.String() + "\n" + text }

// trouble says what is blocked.
func (p *plan) trouble() string {
	var all []string
	for _, st := range p.steps {
		if st.Status == tools.Blocked {
			all = append(all, fmt.Sprintf("step %d (%s): %s", st.index, clip(st.Text, 60), st.Notes))
		}
	}
	if all == nil {
		return fmt.Sprintf("%d of %d steps are done", p.Count(tools.Completed), len(p.steps))
	}
	return strings.Join(all, "; ")
}

// summary is the answer: what the planner said, the state of every step, and
// the files that were made.
func (p *plan) summary(said string, children []*openmanus.ChildState) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(cmp.Or(said, p.Title)) + "\n\nSteps:\n")
	for _, st := range p.steps {
		fmt.Fprintf(&b, "%d. %s %s\n", st.index, st.Status.Mark(), oneLine(st.Text))
		if st.Notes != "" {
			fmt.Fprintf(&b, "   %s\n", st.Notes)
		}
	}
	var files []string
	for _, c := range children {
		if c.Done != nil {
			files = append(files, c.Done.Files...)
		}
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) > 0 {
		b.WriteString("\nFiles made or changed:\n")
		for _, f := range files {
			b.WriteString("- " + f + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func (p *plan) file() (string, error) {
	data, err := p.File()
	return strings.TrimRight(string(data), "\n"), err
}

// tag is the name of an agent in a step's text.
var tag = regexp.MustCompile(`\[([^\[\]]+)\]`)

// agent is the flow that does a step: the one it names, that of its first tag,
// or the first.
func (f *PlanFlow) agent(st *step) string {
	names := []string{st.Agent}
	for _, m := range tag.FindAllStringSubmatch(st.Text, -1) {
		names = append(names, m[1])
	}
	for _, name := range names {
		for _, a := range f.Agents {
			if name != "" && sameName(a, name) {
				return a
			}
		}
	}
	return f.Agents[0]
}

// sameName compares names without regard to case, and to whether words are
// joined by a space, an underscore, a hyphen, or not at all.
func sameName(a, b string) bool {
	plain := func(s string) string {
		return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(s))
	}
	return plain(a) == plain(b)
}

// do is the task of a step.
func (f *PlanFlow) do(s *openmanus.State, p *plan, st *step) openmanus.Task {
	t := openmanus.Task{Do: openmanus.Delegate, Child: st.name, Flow: f.agent(st)}
	var b strings.Builder
	fmt.Fprintf(&b, "You do one step of a plan; others do the rest.\n\nThe task as a whole:\n%s\n\nCURRENT PLAN STATUS:\n%s\n", strings.Join(s.Requests, "\n\n"), p.String())
	for i := range p.steps {
		if before := p.steps[i]; before.Status == tools.Completed && before.child != nil && st.needs(&before) {
			fmt.Fprintf(&b, "What came of step %d:\n%s\n", i, clip(before.child.Done.Text, 4000))
			for _, name := range before.child.Done.Files {
				fmt.Fprintf(&b, "- %s\n", name)
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "YOUR CURRENT TASK:\nYou are now working on step %d: %q\n", st.index, st.Text)
	if st.Acceptance != "" {
		fmt.Fprintf(&b, "It is done when this is so: %s\n", st.Acceptance)
	}
	b.WriteString("\nDo this step and no other. When it is done, end with a summary of what you did, what came of it, and where the files are. If it cannot be done, say why and call terminate with status \"failure\".")
	t.Prompt = b.String()
	return t
}

// verify is the task of checking a step's acceptance.
func (f *PlanFlow) verify(st *step) openmanus.Task {
	name := strings.Replace(st.name, "step-", "check-", 1)
	d := st.child.Done
	prompt := fmt.Sprintf("A step of a plan is said to be done: %q\n\nIt is done when this is so: %s\n\nWho did it reports:\n%s\n", st.Text, st.Acceptance, clip(d.Text, 8000))
	if len(d.Files) > 0 {
		prompt += "\nFiles made or changed:\n- " + strings.Join(d.Files, "\n- ") + "\n"
	}
	prompt += "\nIs it so?"
	return openmanus.Task{Do: openmanus.Delegate, Child: name, Flow: f.Critic, Prompt: prompt}
}

// oneLine is text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// clip is at most the first n characters of text.
func clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n]) + "..."
}

// Progress is how far a session of a [PlanFlow] or an [EvaluateFlow] is, as a
// plan with the statuses of its steps as they are; nil if it has none yet, or
// is another session.
func Progress(s *openmanus.State) *tools.Plan {
	has := func(tool string) bool {
		return slices.ContainsFunc(s.Config.Tools, func(t openmanus.ToolSpec) bool { return t.Name == tool })
	}
	switch {
	case !s.Config.FlowEnds:
	case has(copying):
		if r := readRound(s); r != nil {
			return r.progress()
		}
	case has(planning):
		if p := (&PlanFlow{Critic: "critic"}).plan(s); p != nil {
			return &p.Plan
		}
	}
	return nil
}
