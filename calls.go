package openmanus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/llm"
)

// applyCall folds the events that are about one call.
func (s *State) applyCall(ev Event) {
	switch e := ev.Body.(type) {
	case Asked:
		s.asked(e)
	case Answered:
		c := s.Call(e.Call)
		if c != nil && c.Done == nil && len(c.Answers) < len(c.Questions) && e.N == c.Questions[len(c.Answers)].N {
			c.Answers, c.Asking = append(c.Answers, e), false
			s.learn(ev.Seq, cmp.Or(e.Text, string(e.Data)), Person())
		}
	case Ruled:
		s.ruled(e)
	case CallStarted:
		if c := s.Call(e.Call); c != nil && c.Done == nil && c.Allowed() {
			c.Attempts, c.Running = max(c.Attempts, e.Attempt), true
			c.Followed, c.Snapped = false, false
		}
	case CallDone:
		s.callDone(ev.Seq, e)
	case CallLate:
		s.learn(ev.Seq, e.Parts.Text(), e.Sources...)
		s.late(ev.Seq, e.Call, e.Parts, false)
	}
}

// asked folds a question to the user. A question about a ruling counts once,
// before there is one; a question of the tool ends the attempt that asked it, so
// that the call is no longer running.
func (s *State) asked(e Asked) {
	c := s.Call(e.Call)
	if c == nil || c.Done != nil {
		return
	}
	switch {
	case e.Kind == AskRuling && c.Ruled == nil:
		c.Ruling, c.Hints, c.Asking = &e, e.Hints, true
		if e.ChangedBy == "" {
			s.ranAs(c, e.Input)
		}
	case e.Kind != AskRuling && c.Running && e.N == c.AskCount():
		c.Questions = append(c.Questions, e)
		c.Asking, c.Running = true, false
	}
}

// AskCount returns how many questions about the call the user was asked so far,
// rulings included. It is the N of the next one.
func (c *CallState) AskCount() int {
	n := len(c.Questions)
	if c.Ruling != nil {
		n++
	}
	return n
}

// Allowed reports whether the call may run now: it was allowed, and waits for no
// answer.
func (c *CallState) Allowed() bool { return c.Ruled != nil && c.Ruled.Allow && !c.Asking }

// ruled folds a ruling. The first one counts. A denial is the result of the call.
func (s *State) ruled(e Ruled) {
	c := s.Call(e.Call)
	if c == nil || c.Done != nil || c.Ruled != nil {
		return
	}
	c.Ruled, c.Asking = &e, false
	if c.Ruling == nil {
		c.Hints = e.Hints
	}
	if c.Ruling == nil && e.By == ByGate && e.ChangedBy == "" {
		s.ranAs(c, e.Input)
	}
	if e.Allow && s.holdsBack(c) {
		s.giveUp(c, s.heldBack())
		return
	}
	if c.Ruling != nil && e.Allow && e.Scope != "" && e.Scope == c.Ruling.Scope && !s.Granted(c.Name, e.Scope) {
		s.Grants = append(slices.Clip(s.Grants), Grant{c.Name, e.Scope})
	}
	if !e.Allow {
		reason := "not allowed"
		if e.Reason != "" {
			reason += ": " + e.Reason
		}
		c.Done = new(FailedCall(c.ID, reason))
	}
}

// ranAs notes the repaired arguments of a call, if there are any, in what the model has
// said. The model reads its call as it runs: some servers refuse a conversation with
// arguments that are no JSON.
func (s *State) ranAs(c *CallState, repaired string) {
	i := len(s.Said) - 1
	if i < 0 || repaired == "" {
		return
	}
	for k, p := range s.Said[i].Parts {
		if said, ok := p.(llm.Call); ok && said.ID == c.ID && said.Name == c.Name {
			said.Ran = repaired
			s.Said = slices.Clone(s.Said) // requests under way, and moments, share the old ones
			s.Said[i].Parts = slices.Clone(s.Said[i].Parts)
			s.Said[i].Parts[k] = said
		}
	}
}

// A Grant is the user's permission for all calls of a tool within a scope, for the
// rest of the session or until it gets another configuration.
type Grant struct{ Tool, Scope string }

// Granted reports whether the user has allowed all calls of a tool within a scope.
func (s *State) Granted(tool, scope string) bool {
	return slices.Contains(s.Grants, Grant{tool, scope})
}

// callDone folds the result of a call. A call keeps its first result. If that was
// an error because the call had been given up, the real result becomes a note.
func (s *State) callDone(seq int64, e CallDone) {
	s.FilesLeftOut = s.FilesLeftOut || len(e.Files) >= MaxFileChanges
	s.files = noteChanges(s.files, seq, e.Files)
	s.meanwhile = noteChanges(s.meanwhile, seq, e.Meanwhile)
	c := s.Call(e.Call)
	if c == nil || c.Done != nil {
		if s.gone[e.Call] != "" && (!e.IsError || e.Partial) {
			s.learn(seq, e.Parts.Text(), e.Sources...)
			s.late(seq, e.Call, e.Parts, e.Partial)
		}
		return
	}
	if e.Partial {
		head := llm.Text{Text: InDoubt + "\nBefore it was interrupted it printed:\n" + e.Parts.Text()}
		e.Parts = append(llm.Parts{head}, slices.DeleteFunc(slices.Clone(e.Parts), isText)...)
	}
	c.Done, c.Running, c.Asking = &e, false, false
	if e.Picture != "" {
		s.Pictures++
	}
	for _, f := range e.Seen {
		s.seen.Note(sight.File(f))
	}
	s.supersede(c)
	s.learnResult(seq, c, e)
	s.count(c.Name, e.IsError)
	if e.IsError {
		return
	}
	if c.Hints.Final {
		for _, later := range s.Calls[slices.Index(s.Calls, c)+1:] {
			s.giveUp(later, "not run: it comes after a call that ends the work")
		}
	}
	s.noteWritten(c, e)
	if len(e.Detail) > 0 && !bytes.Equal(e.Detail, []byte("null")) {
		if s.last == nil {
			s.last = make(map[string]lastDetail)
		}
		if c.Hints.Keep && !bytes.Equal(s.last[c.Name].detail, e.Detail) {
			if s.kept == nil {
				s.kept = make(map[string]string)
			}
			s.kept[c.Name] = e.Parts.Text()
		}
		s.last[c.Name] = lastDetail{seq, e.Detail}
	}
	if c.Hints.Final && len(s.Inbox) == 0 {
		s.end(e)
	}
}

// supersede takes the views out of the results of the other calls of the reply that
// used the tool of c, if the result of c has one: it is newer. [llm.Result]
// explains views.
func (s *State) supersede(c *CallState) {
	if !slices.ContainsFunc(c.Done.Parts, isView) {
		return
	}
	for i, o := range s.Calls {
		if o == c || o.Name != c.Name || o.Done == nil || !slices.ContainsFunc(o.Done.Parts, isView) {
			continue
		}
		again, done := *o, *o.Done // clones of the state share the old ones
		done.Parts = slices.DeleteFunc(slices.Clone(done.Parts), isView)
		if len(done.Parts) == 0 {
			done.Parts = llm.Parts{llm.Text{Text: "(the result of a later call shows more)"}}
		}
		again.Done, again.tokens, again.pictures = &done, 0, 0
		s.Calls[i] = &again
	}
}

// isView reports whether p shows what a tool works on: see [llm.Result].
func isView(p llm.Part) bool {
	t, ok := p.(llm.Text)
	return ok && t.View || isPicture(p)
}

// isPicture reports whether p is a picture that is a view.
func isPicture(p llm.Part) bool {
	b, ok := p.(llm.Blob)
	return ok && b.View
}

// withoutPictures returns the parts of a result that stay in the conversation.
func withoutPictures(parts llm.Parts) llm.Parts {
	if !slices.ContainsFunc(parts, isPicture) {
		return parts
	}
	return slices.DeleteFunc(slices.Clone(parts), isPicture)
}

// pictures returns the pictures among the results that the model has not read.
func (s *State) pictures() (all llm.Parts) {
	for _, c := range s.Calls {
		if c.Done == nil {
			continue
		}
		for _, p := range c.Done.Parts {
			if isPicture(p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// dropBarred gives up the calls that no one ruled on because they come after a call
// that was to end the work and failed. Sessions of earlier versions went on without
// them.
func (s *State) dropBarred() {
	barred := false
	for _, c := range s.Calls {
		if c.Done == nil && (!barred || c.Ruled != nil || c.Ruling != nil || c.Attempts > 0) {
			return
		}
		barred = barred || s.specs[c.Name].Hints.Final && c.Done.IsError
	}
	for _, c := range s.Calls {
		s.giveUp(c, "not run: it comes after a call that ends the work")
	}
}

// end folds the result of a Final call, which ends the session.
func (s *State) end(e CallDone) {
	var how Ending
	if len(e.Detail) > 0 {
		json.Unmarshal(e.Detail, &how) // a detail of another shape has no ending
	}
	if how.Answer != "" {
		s.Answer = how.Answer
	}
	s.Outcome = Outcome{Status: Finished}
	if how.Status == "failure" {
		s.Outcome = Outcome{Status: Failed, Reason: ByAgent, Error: "the agent said that it did not succeed"}
	}
}

func isText(p llm.Part) bool { _, ok := p.(llm.Text); return ok }

// late adds a note for the model with the result of a call that had been given
// up, or with what it had printed until then.
func (s *State) late(seq int64, id string, parts llm.Parts, partial bool) {
	name := cmp.Or(s.gone[id], s.nameOf(id), "a call")
	format := "%s (%s), which had been given up, did finish after all:\n"
	if partial {
		format = "%s (%s) was interrupted. Before that it printed:\n"
	}
	head := llm.Text{Text: fmt.Sprintf(format, name, id)}
	s.Inbox = append(s.Inbox, Note{Seq: seq, Message: llm.Message{Role: llm.User, Parts: append(llm.Parts{head}, parts...)}})
	delete(s.gone, id)
}

// nameOf returns the tool of any call that the model still sees, or "".
func (s *State) nameOf(id string) string {
	if c := s.Call(id); c != nil {
		return c.Name
	}
	for _, m := range slices.Backward(s.Said) {
		for _, c := range m.Calls() {
			if c.ID == id {
				return c.Name
			}
		}
	}
	return ""
}

// giveUp gives c an error as its result, unless it has a result.
func (s *State) giveUp(c *CallState, why string) {
	if c.Done != nil {
		return
	}
	c.Done, c.Running, c.Asking = new(FailedCall(c.ID, why)), false, false
	if c.Attempts > 0 {
		if s.gone == nil {
			s.gone = make(map[string]string)
		}
		s.gone[c.ID] = c.Name
	}
}

// InDoubt is the result of a call that was interrupted while it ran.
const InDoubt = "interrupted while it ran: this may or may not have happened; look before you try again"

// FailedCall returns the result of a call that failed or did not run: an error
// with this text for the model. The text should say what to try.
func FailedCall(call, why string) CallDone {
	return CallDone{Call: call, IsError: true, Parts: llm.Parts{llm.Text{Text: why}}}
}

// Call returns the call with this id in the last reply, or nil.
func (s *State) Call(id string) *CallState {
	for _, c := range s.Calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// Open reports whether a call of the last reply has no result yet.
func (s *State) Open() bool {
	return slices.ContainsFunc(s.Calls, func(c *CallState) bool { return c.Done == nil })
}

// ClientRuns reports whether the client of the session runs the calls of this tool: see
// [Client].
func (s *State) ClientRuns(tool string) bool {
	asks := s.Config.Spec.Client
	return asks != nil && slices.ContainsFunc(asks.Tools, func(t llm.ToolSpec) bool { return t.Name == tool })
}

// Pending returns the calls that wait for the user, in the order of the reply.
// [CallState.Question] returns what each waits for.
func (s *State) Pending() []*CallState {
	var cs []*CallState
	for _, c := range s.Calls {
		if c.Asking && c.Done == nil {
			cs = append(cs, c)
		}
	}
	return cs
}

// CallTasks returns the tasks of the open calls, for flows: the gate rules on each
// at once; those that only read and those that delegate run together; the others
// run one after the other, in the order of the reply. Calls of a tool with
// [Hints].Ordered are ruled on and run when all calls before them are done.
func (s *State) CallTasks() []Task {
	var todo []Task
	if s.Outcome.Status != "" {
		return nil
	}
	free, reads := true, true // no open call precedes; only calls that read do
	ends := false             // an open call precedes that ends the work
	room := s.fanOutLeft()
	for _, c := range s.Calls {
		if c.Done != nil || ends {
			continue
		}
		ends = s.specs[c.Name].Hints.Final
		ordered := s.specs[c.Name].Hints.Ordered
		reads = reads && c.Ruled != nil && c.Ruled.Allow && (c.Hints.ReadOnly || c.Hints.Delegates) && !c.Hints.Final && !ordered
		switch {
		case c.Ruled == nil && c.Ruling == nil:
			if free || !ordered {
				todo = append(todo, Task{Do: Rule, Call: c.ID})
			}
		case c.Hints.Delegates && (free || reads) && c.Allowed():
			if room > 0 || c.Running {
				todo = append(todo, s.delegation(c))
			}
			if !c.Running {
				room--
			}
		case (free || reads) && c.Allowed():
			todo = append(todo, Task{Do: Use, Call: c.ID})
		}
		free = false
	}
	return todo
}

// childOpened folds the announcement of a child. The call that delegates is
// running from here on.
func (s *State) childOpened(e ChildOpened) {
	if s.Child(e.Child) != nil {
		return
	}
	s.Children = append(s.Children, &ChildState{ChildOpened: e})
	if c := s.Call(e.Call); c != nil && c.Done == nil && c.Hints.Delegates && c.Allowed() {
		c.Attempts, c.Running = 1, true
	}
}

// childDone folds the report on a child. It is the result of the call that
// delegated, or else a note for the model.
func (s *State) childDone(seq int64, e ChildDone) {
	child := s.Child(e.Child)
	if child == nil || child.Done != nil {
		return
	}
	child.Done = &e
	s.Usage, s.Cost = s.Usage.Add(e.Usage), s.Cost+e.Cost
	s.files = noteChanges(s.files, seq, changesOf(e.Files))
	s.meanwhile = noteChanges(s.meanwhile, seq, changesOf(e.Meanwhile))
	s.Unpriced += cmp.Or(e.Unpriced, ModelUse{Usage: e.Usage, Cost: e.Cost, Free: e.Free}.Unpriced())
	c := s.Call(child.Call)
	switch {
	case c != nil && c.Done == nil && c.Hints.Delegates:
		s.callDone(seq, CallDone{Call: c.ID, Parts: llm.Parts{llm.Text{Text: e.report()}}, IsError: e.Status != Finished,
			Sources: e.sources()})
	case child.Call == "" || s.gone[child.Call] != "":
		delete(s.gone, child.Call)
		s.learn(seq, e.report(), e.sources()...)
		text := fmt.Sprintf("%s is %s: %s", cmp.Or(child.Label, e.Child), e.Status, e.report())
		s.Inbox = append(s.Inbox, Note{Seq: seq, Message: llm.Say(llm.User, text), Child: e.Child})
	}
}

// sources returns the sources of the report. That of a journal which does not record
// them may say anything.
func (e *ChildDone) sources() []Source {
	if len(e.Sources) == 0 {
		return []Source{{From: FromSession + e.Child, Private: true}}
	}
	return e.Sources
}

// report returns what the parent's model reads: the answer and the files, and
// nothing of the child's conversation.
func (e *ChildDone) report() string {
	text := e.Text
	if len(e.Files) > 0 {
		text += "\n\nFiles made or changed:\n- " + strings.Join(e.Files, "\n- ")
	}
	if len(e.Meanwhile) > 0 {
		text += "\n\nChanged in the workspace meanwhile, perhaps by others:\n- " + strings.Join(e.Meanwhile, "\n- ")
	}
	return text
}

// Child returns the child with this session id, or nil.
func (s *State) Child(id string) *ChildState {
	for _, c := range s.Children {
		if c.Child == id {
			return c
		}
	}
	return nil
}

// OpenChildren returns the children that have not ended, except abandoned ones.
func (s *State) OpenChildren() []*ChildState {
	var open []*ChildState
	for _, c := range s.Children {
		if c.Done == nil && !s.Abandoned(c) {
			open = append(open, c)
		}
	}
	return open
}

// Abandoned reports whether a child's call has another result, so that the driver
// should end the child.
func (s *State) Abandoned(child *ChildState) bool {
	if child.Call == "" || child.Done != nil {
		return false
	}
	c := s.Call(child.Call)
	return c == nil || c.Done != nil
}

// fanOutLeft returns how many more children may be opened now.
func (s *State) fanOutLeft() int {
	l := s.Limits.FanOut
	if l < 0 {
		return len(s.Calls)
	}
	return max(0, l-len(s.OpenChildren()))
}

// delegation returns the task of a call that delegates.
func (s *State) delegation(c *CallState) Task {
	var d Delegation
	if json.Unmarshal([]byte(c.Arguments()), &d) != nil {
		d = Delegation{Task: c.Arguments()} // a person's ruling can have changed the arguments to anything
	}
	prompt := d.Task
	if d.Returns != "" {
		prompt += "\n\nAnswer with: " + d.Returns
	}
	return Task{Do: Delegate, Call: c.ID, Child: c.ID, Flow: cmp.Or(d.Agent, s.Opened.Flow), Prompt: prompt}
}

// ChildID returns the id of a child session: that of its parent and, after a dot,
// the child's name, as in [Task].Child.
func ChildID(session, name string) string { return session + "." + name }
