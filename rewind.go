package openmanus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// A Snapshot is what a session has recorded of its workspace last.
type Snapshot struct {
	Seq   int64  // the event; 0: there is none
	Tree  string // what the workspace contained: see [Snapped]; "": it is not followed
	Error string // why it is not followed
}

// AfterCall returns the ID of the [Snapped] that says what the workspace contained
// after an attempt of a call.
func AfterCall(call string, attempt int) string {
	if attempt > 1 {
		return fmt.Sprintf("%s/%d", call, attempt)
	}
	return call
}

// BeforeCall returns the ID of the [Snapped] that says what the workspace contained
// before an attempt of a call, where that was not known.
func BeforeCall(call string, attempt int) string { return "before/" + AfterCall(call, attempt) }

// snapped folds a snapshot.
func (s *State) snapped(seq int64, e Snapped) {
	s.Snapshot = Snapshot{seq, e.Tree, e.Error}
	if e.Rewound != "" && s.Unfinished != nil && s.Unfinished.ID == e.Rewound {
		s.Unfinished = nil
	}
	for _, c := range s.Calls {
		if c.Done == nil {
			c.Snapped = c.Snapped || e.ID == BeforeCall(c.ID, c.Attempts)
			c.Followed = c.Followed || e.ID == AfterCall(c.ID, c.Attempts)
		}
	}
}

// A moment is the conversation after the event seq, when no call was open. Usage,
// limits, turns and children are not in it: they do not go back.
type moment struct {
	seq      int64
	said     []llm.Message
	marks    []mark
	calls    []*CallState
	inbox    []Note
	requests []string
	answer   string
	outcome  Outcome
	partial  *ModelSaid
	partAt   int64
	last     map[string]lastDetail
	kept     map[string]string
	files    map[string]noted
	others   map[string]noted // State.meanwhile
	exact    bool
	plain    bool // State.plainCalls
}

// noteMoment remembers the conversation before an event that goes on with it. It
// shares the messages with the state, which only appends to them.
func (s *State) noteMoment(next Body) {
	switch next.(type) {
	case UserSaid, ModelSaid, Called, Interrupted, Rewound:
	default:
		return
	}
	if s.Seq == 0 || s.Open() || len(s.moments) > 0 && s.moments[len(s.moments)-1].seq == s.Seq {
		return
	}
	s.moments = append(s.moments, moment{
		seq: s.Seq, said: slices.Clip(s.Said), marks: slices.Clip(s.marks), calls: slices.Clone(s.Calls), inbox: slices.Clone(s.Inbox),
		requests: slices.Clip(s.Requests), answer: s.Answer, outcome: s.Outcome, partial: s.partial, partAt: s.partAt,
		last: maps.Clone(s.last), kept: maps.Clone(s.kept), files: s.files, others: s.meanwhile, exact: s.exact,
		plain: s.plainCalls,
	})
}

// Moment returns the last event up to seq after which the conversation can go on: no
// call was open then. It is 0 if there is none. The events that it returns are those
// for [Rewound].To.
func (s *State) Moment(seq int64) int64 {
	if seq >= s.Seq && !s.Open() {
		return s.Seq
	}
	if i := s.momentAt(seq); i >= 0 {
		return s.moments[i].seq
	}
	return 0
}

func (s *State) momentAt(seq int64) int {
	i := len(s.moments) - 1
	for i >= 0 && s.moments[i].seq > seq {
		i--
	}
	return i
}

// maxNamed is how many files the note about a [Rewound] names.
const maxNamed = 10

// rewound folds that the session went back. If the conversation does, the session is
// as it had been then, or halted if it was running, and a reply that is on its way
// counts no more. Usage since then still counts, and texts that were read stay read.
func (s *State) rewound(seq int64, e Rewound) {
	var m moment
	if i := s.momentAt(e.To); i >= 0 {
		m = s.moments[i]
	}
	if e.Files {
		s.Unfinished = &e
		s.files, s.meanwhile = m.files, m.others
		for _, k := range e.Kept {
			s.files = noteChanges(s.files, seq, []FileChange{{k.Name, FileModified}})
		}
	}
	if e.Talk {
		s.goBack(m)
	}
	if note := e.note(); note != "" {
		for _, c := range e.Changes[:min(len(e.Changes), maxNamed)] {
			s.learn(seq, c.Path, FileSource(c.Path))
		}
		s.Inbox = append(s.Inbox, Note{Seq: seq, Message: llm.Say(llm.User, note)})
	}
}

// note returns what the model reads of e, or "".
func (e *Rewound) note() string {
	if !e.Files || len(e.Changes) == 0 {
		return ""
	}
	more := ""
	if n := len(e.Changes) - maxNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	var names []string
	for _, c := range e.Changes[:min(len(e.Changes), maxNamed)] {
		names = append(names, c.Path)
	}
	return fmt.Sprintf("(The person has put files of the workspace back to an earlier state, so look at them again before you rely on them: %s%s.)",
		strings.Join(names, ", "), more)
}

// goBack makes the conversation what it was at m.
func (s *State) goBack(m moment) {
	s.giveUpAll("the person went back")
	s.Rewinds++
	s.Turn++
	s.Said, s.marks, s.Calls, s.Inbox = m.said, m.marks, slices.Clone(m.calls), slices.Clone(m.inbox)
	s.Requests, s.Answer, s.partial, s.partAt = m.requests, m.answer, m.partial, m.partAt
	s.last, s.kept = maps.Clone(m.last), maps.Clone(m.kept)
	s.past, s.settled, s.TooLarge, s.plainCalls, s.soft = nil, true, false, m.plain, softening{}
	if s.Outcome = m.outcome; s.Outcome.Status == "" {
		s.Outcome = Outcome{Status: Halted, Reason: ByPerson, Error: "went back"}
	}
	if s.exact && !m.exact {
		s.recount()
		return
	}
	s.recountHead()
	s.total = 0
	for _, m := range s.marks {
		s.total += m.tokens
	}
}

// A noted is the last change of a file, and the event that says so.
type noted struct {
	change string
	seq    int64
	made   int64 // the event by which it was created, if there was none before
}

// is reports whether the change is one since an event: a file that was created after it and
// is deleted is none.
func (n noted) is(since int64) bool {
	return n.seq > since && (n.change != FileDeleted || n.made <= since)
}

// A Tally counts the results of the calls of a tool in a session.
type Tally struct {
	OK     int // that succeeded
	Failed int // that are errors
}

// noteChanges remembers the changes of files that the event seq records, as one
// change since the beginning of the session.
func noteChanges(known map[string]noted, seq int64, changes []FileChange) map[string]noted {
	if len(changes) == 0 {
		return known
	}
	known = maps.Clone(known) // clones of the state share it
	if known == nil {
		known = make(map[string]noted)
	}
	for _, c := range changes {
		was, before := known[c.Path]
		n := noted{c.Change, seq, was.made}
		switch {
		case c.Change == FileCreated && (!before || was.made > 0):
			n.made = seq
		case before && was.change == FileCreated && c.Change == FileModified:
			n.change = FileCreated
		case before && was.change == FileDeleted && c.Change == FileCreated:
			n.change = FileModified
		}
		known[c.Path] = n
	}
	return known
}

// count adds a result to the tally of its tool.
func (s *State) count(tool string, failed bool) {
	s.tally = maps.Clone(s.tally)
	if s.tally == nil {
		s.tally = make(map[string]Tally)
	}
	t := s.tally[tool]
	if failed {
		t.Failed++
	} else {
		t.OK++
	}
	s.tally[tool] = t
}

// Tally returns how the calls of the session ended, by tool. Do not change the map.
func (s *State) Tally() map[string]Tally { return s.tally }

// Files returns what calls of the session, and of its children that have ended,
// created, changed and deleted in the workspace, and last changed after the event
// since, by path. meanwhile is what others may have changed while calls ran.
func (s *State) Files(since int64) (own, meanwhile []FileChange) {
	list := func(known map[string]noted, but map[string]noted) (all []FileChange) {
		for _, path := range slices.Sorted(maps.Keys(known)) {
			if !but[path].is(0) && known[path].is(since) {
				all = append(all, FileChange{path, known[path].change})
			}
		}
		return all
	}
	return list(s.files, nil), list(s.meanwhile, s.files)
}

// deletedMark follows the name of a deleted file in [ChildDone].Files.
const deletedMark = " (deleted)"

// FileNames returns changes as they stand in [ChildDone].Files, at most so many.
func FileNames(changes []FileChange, most int) (names []string) {
	for _, c := range changes[:min(len(changes), most)] {
		name := c.Path
		if c.Change == FileDeleted {
			name += deletedMark
		}
		names = append(names, name)
	}
	return names
}

// changesOf is the reverse of FileNames, but for the difference between files that
// were created and changed.
func changesOf(names []string) (changes []FileChange) {
	for _, name := range names {
		if path, deleted := strings.CutSuffix(name, deletedMark); deleted {
			changes = append(changes, FileChange{path, FileDeleted})
		} else {
			changes = append(changes, FileChange{name, FileModified})
		}
	}
	return changes
}
