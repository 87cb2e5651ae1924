package openmanus

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// childOpened folds the opening of a child. A call that delegates is under way
// from here on.
func (s *State) childOpened(e ChildOpened) {
	if s.Child(e.Child) != nil {
		return
	}
	s.Children = append(s.Children, &ChildState{ChildOpened: e})
	if c := s.Call(e.Call); c != nil && c.Done == nil && c.Hints.Delegates && c.allowed() {
		c.Attempts, c.Running = 1, true
	}
}

// childDone folds the end of a child: it is the result of the call that asked
// for it, or else news.
func (s *State) childDone(seq int64, e ChildDone) {
	child := s.Child(e.Child)
	if child == nil || child.Done != nil {
		return
	}
	child.Done = &e
	s.spend(e.Usage, e.Cost)
	c := s.Call(child.Call)
	switch {
	case c != nil && c.Done == nil && c.Hints.Delegates:
		s.callDone(seq, CallDone{Call: c.ID, Parts: llm.Parts{llm.Text{Text: e.report()}}, IsError: e.Status != Finished})
	case child.Call == "" || s.gone[child.Call] != "":
		delete(s.gone, child.Call)
		text := fmt.Sprintf("%s is %s: %s", e.Child, e.Status, e.report())
		s.Inbox = append(s.Inbox, Note{Seq: seq, Message: llm.Say(llm.User, text), Child: e.Child})
	}
}

// report is what the parent's model reads: the answer and the files, not how
// the child came to them.
func (e *ChildDone) report() string {
	if len(e.Files) == 0 {
		return e.Text
	}
	return e.Text + "\n\nFiles made or changed:\n- " + strings.Join(e.Files, "\n- ")
}

// Child returns the child with the given session id, or nil.
func (s *State) Child(id string) *ChildState {
	for _, c := range s.Children {
		if c.Child == id {
			return c
		}
	}
	return nil
}

// OpenChildren returns the children that have not ended and that this session
// still waits for: those of a call that was given up are not among them.
func (s *State) OpenChildren() []*ChildState {
	var open []*ChildState
	for _, c := range s.Children {
		if c.Done == nil && !s.lost(c) {
			open = append(open, c)
		}
	}
	return open
}

// lost reports whether nobody waits for a child any more: its call has got
// another result.
func (s *State) lost(child *ChildState) bool {
	if child.Call == "" || child.Done != nil {
		return false
	}
	c := s.Call(child.Call)
	return c == nil || c.Done != nil
}

// room is how many more children may be opened now.
func (s *State) room() int {
	l := s.Limits.Or(DefaultLimits()).FanOut
	if l < 0 {
		return len(s.Calls)
	}
	return max(0, l-len(s.OpenChildren()))
}

// delegation is the task of a call that delegates.
func (s *State) delegation(c *CallState) Task {
	var d Delegation
	if json.Unmarshal([]byte(c.Arguments()), &d) != nil {
		d = Delegation{Task: c.Arguments()} // a person's ruling may have let anything through
	}
	prompt := d.Task
	if d.Returns != "" {
		prompt += "\n\nAnswer with: " + d.Returns
	}
	return Task{Do: Delegate, Call: c.ID, Child: c.ID, Flow: cmp.Or(d.Agent, s.Opened.Flow), Prompt: prompt}
}
