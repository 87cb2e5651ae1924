package act

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

// PlanGuide says what plan mode is to an agent that works in it.
const PlanGuide = "mode: plan. You only look: whatever would change something is denied until the person has approved a plan. " +
	"Find out what you need from files, from commands that only read, and from the web, and ask what only the person knows. " +
	"Then end your turn with the plan as your answer: what you will change and where, in which order, and how you will check it. " +
	"Do not ask whether to go on: the person reads the plan, may edit it, and approves it."

// The notes that agents read when the mode changes while they work.
const (
	planNote     = "(The person has chosen this mode from here on.)\n" + PlanGuide
	readOnlyNote = "(From here on this session is read-only: whatever would change something is denied. Plan mode, if you were in it, is over.)"
	workNote     = "(The person has ended the mode in which nothing is changed: from here on calls that change something may run again.)"
)

// PlanFirst returns the event by which a session of which nothing was asked yet is in plan
// mode.
func PlanFirst(id string) openmanus.Body {
	return openmanus.ModeSet{ID: id, Mode: openmanus.ApprovePlan, Note: planNote}
}

// A Change is what a session goes on with. Empty fields stay as they are.
type Change struct {
	Model   string
	Approve string // the mode
	By      string // who wants it

	// Client, if it is not nil, replaces what the client of the session asks for, and
	// Answer the schema of its answers; nil Answer: text.
	Client *openmanus.Client
	Answer json.RawMessage
}

// CheckMode returns an error if sessions with the spec cannot be in its mode.
func CheckMode(spec openmanus.Spec) error {
	if spec.Approve != "" && !slices.Contains(openmanus.Modes, spec.Approve) {
		return &Error{Err: fmt.Errorf("there is no mode %q; there are %s", spec.Approve, strings.Join(openmanus.Modes, ", "))}
	}
	if spec.Approve == openmanus.ApprovePlan && spec.Flow != nil {
		return &Error{Err: fmt.Errorf("plan mode is for a single agent, and this session has the flow %q: choose readonly, ask, edits or all",
			spec.Flow.Name)}
	}
	return nil
}

// Mode returns the event by which a person puts a session into another mode. The agent
// reads what changes for it. There is none if the session is in that mode.
func Mode(s *openmanus.State, mode, by string) ([]openmanus.Body, error) {
	spec := s.Config.Spec
	was := spec.Approve
	spec.Approve = mode
	if err := CheckMode(spec); err != nil || mode == was {
		return nil, err
	}
	if s.Opened.Parent != "" {
		return nil, &Error{Err: errors.New("a session that another one opened has the mode that it was given, and never more than that " +
			"one has now: change the mode of the session at the top")}
	}
	set := openmanus.ModeSet{ID: ids.New(), Mode: mode, By: by}
	looked := openmanus.Mode(was).LooksOnly()
	switch {
	case mode == openmanus.ApprovePlan:
		set.Note = planNote
	case mode == openmanus.ApproveReadOnly && was == openmanus.ApprovePlan:
		set.Note = readOnlyNote
	case looked && !openmanus.Mode(mode).LooksOnly():
		set.Note = workNote
	}
	return []openmanus.Body{set}, nil
}

// ErrNoProposal says that no plan waits for approval in a session. It is a [Conflict].
var ErrNoProposal error = &Error{Kind: Conflict, Err: errors.New("no plan waits for approval: an agent in plan mode proposes one when it ends its turn")}

// ApprovePlan returns the events by which a person approves the plan that waits in the
// session id, to be appended in one commit: the session goes on in the given mode. text is
// the plan as the person has edited it; "" approves it without a change. Additions count as
// the person's words, and the rest stays the agent's. The error is [ErrNoProposal] if no
// plan waits.
func ApprovePlan(id string, s *openmanus.State, mode, text, by string) ([]openmanus.Body, error) {
	plan, ok := s.Proposal()
	if !ok {
		return nil, ErrNoProposal
	}
	spec := s.Config.Spec
	if spec.Approve = mode; mode == openmanus.ApprovePlan {
		return nil, &Error{Err: errors.New("an approved plan is carried out in another mode than plan: ask, edits, all or readonly")}
	}
	if err := CheckMode(spec); err != nil {
		return nil, err
	}
	once := fmt.Sprintf("plan-%d", s.Turn) // a plan is approved once, by whichever surface is first
	said := openmanus.UserSaid{ID: once}
	if text = strings.TrimSpace(text); text == "" || text == strings.TrimSpace(plan) {
		said.Message = llm.Say(llm.User, "I approve the plan. Carry it out.")
	} else {
		said.Message = llm.Say(llm.User, "I approve the plan as I have edited it. Carry it out:\n\n"+text)
		said.Sources = editedSources(id, s, plan, text)
	}
	return []openmanus.Body{openmanus.ModeSet{ID: once, Mode: mode, By: by}, said}, nil
}

// editedSources returns who wrote a plan that a person has edited: the words that are
// not in the agent's plan are the person's. Quotations of others in the plan stay
// theirs: to approve a plan is not to say all that is in it.
func editedSources(id string, s *openmanus.State, plan, text string) []openmanus.Source {
	sources := run.TextSources(id, s, text)
	if slices.ContainsFunc(sources, func(src openmanus.Source) bool {
		return src.From == openmanus.FromPerson && len(src.Words) == 0
	}) {
		return nil // the agent has read nothing that others wrote
	}
	had := make(map[string]bool)
	for _, w := range strings.Fields(plan) {
		had[w] = true
	}
	person, kept := openmanus.Person(), []string(nil)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for len(words) > 0 { // those that follow each other and are all new, or all the agent's
			n := 1
			for n < len(words) && had[words[n]] == had[words[0]] {
				n++
			}
			if phrase := strings.Join(words[:n], " "); had[words[0]] {
				kept = append(kept, phrase)
			} else {
				person.Words = append(person.Words, phrase)
			}
			words = words[n:]
		}
	}
	for i := range sources {
		if len(sources[i].Words) == 0 {
			sources[i].Words = kept
		}
	}
	sources = slices.DeleteFunc(sources, func(src openmanus.Source) bool { return len(src.Words) == 0 })
	if len(person.Words) > 0 {
		sources = append(sources, person)
	}
	return sources
}
