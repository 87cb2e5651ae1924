package a2a

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
)

// TaskID names the task of a session that began with the event seq.
func TaskID(session string, seq int64) string { return session + "-" + strconv.FormatInt(seq, 10) }

// SessionOf returns the session of a task, and the event that it began with. ok is false
// for texts that [TaskID] never returns.
func SessionOf(task string) (session string, seq int64, ok bool) {
	i := strings.LastIndexByte(task, '-')
	if i <= 0 {
		return "", 0, false
	}
	seq, err := strconv.ParseInt(task[i+1:], 10, 64)
	return task[:i], seq, err == nil && seq > 0 && TaskID(task[:i], seq) == task
}

// A Projector makes tasks of the events of a session, of which it gets all from the
// first on. Its zero value lacks the names. It is not safe for concurrent use.
type Projector struct {
	Session string
	Context string
	State   openmanus.State
	Tasks   []*Task // the last one may go on; the others have ended

	// File returns a part for a file of the workspace. nil: files are left out.
	File func(path string) Part

	// From is the last event that a subscriber has had; zero: none.
	From EventID

	seq    int64
	n      int
	events []Event
	below  string // a tag of what waits in child sessions, as last sent
	typed  bool   // the words of the reply that streams have begun to be the answer
	rest   string // the bytes of a character that has not come whole
	shown  bool   // words were shown as the answer
}

// An EventID says where in a task's events one stands: it is SEQ.N, or SEQ.N.TAG where it
// tells of sessions below, in whose events the session has no place.
type EventID struct {
	Seq, N int64
	Tag    string
}

// ParseEventID is the reverse of [EventID.String]. The id may come from any client, so
// everything else is an error.
func ParseEventID(text string) (id EventID, err error) {
	parts := strings.Split(text, ".")
	if len(parts) == 3 {
		id.Tag = parts[2]
	}
	if len(parts) == 2 || id.Tag != "" {
		if id.Seq, err = strconv.ParseInt(parts[0], 10, 64); err == nil {
			id.N, err = strconv.ParseInt(parts[1], 10, 64)
		}
		if err == nil && id.Seq >= 0 && id.N >= 0 {
			return id, nil
		}
	}
	return EventID{}, errors.New("it is no id of an event of this server")
}

func (id EventID) String() string {
	text := fmt.Sprintf("%d.%d", id.Seq, id.N)
	if id.Tag != "" {
		text += "." + id.Tag
	}
	return text
}

// Whole returns the id of an event that shows the task as it is after these.
func (p *Projector) Whole(events []Event) string {
	id := EventID{p.State.Seq, int64(p.n), ""}
	if p.below != "" {
		id.N, id.Tag = id.N+1, p.below
	}
	return id.String()
}

// Has reports whether a client that has seen the event with this id has seen e. Ids that
// cannot be parsed count as not seen.
func (id EventID) Has(e Event) bool {
	of, err := ParseEventID(e.ID)
	switch {
	case err != nil:
		return false
	case of.Seq != id.Seq:
		return of.Seq < id.Seq
	}
	return of.Tag == "" && of.N <= id.N || of.Tag != "" && of.Tag == id.Tag
}

// After returns the events that a subscriber has not had. Those of a reply that streams
// have no id, and come again from its beginning.
func (p *Projector) After(events []Event) (rest []Event) {
	for _, e := range events {
		if strings.Count(e.ID, ".") == 2 || !p.From.Has(e) { // of what waits below, Wait says only what is new
			rest = append(rest, e)
		}
	}
	return rest
}

// Task returns the task with this id, or nil if the events folded so far have none. The
// task changes with further events.
func (p *Projector) Task(id string) *Task {
	for _, t := range p.Tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// Last returns the last task, or nil.
func (p *Projector) Last() *Task {
	if n := len(p.Tasks); n > 0 {
		return p.Tasks[n-1]
	}
	return nil
}

// Apply folds an event, and returns the changes of the last task, as they are sent to its
// subscribers. The result depends on nothing but the events that were folded.
func (p *Projector) Apply(ev openmanus.Event) []Event {
	if ev.Seq == 0 {
		if b, ok := ev.Body.(openmanus.Typing); ok {
			p.typing(b)
		}
		return p.take()
	}
	before := p.State.Status()
	turn := p.State.Turn
	p.State.Apply(ev)
	p.seq, p.n, p.below = ev.Seq, 0, ""
	if ev.Seq == p.From.Seq {
		p.below = p.From.Tag
	}
	if said, ok := ev.Body.(openmanus.UserSaid); ok {
		p.userSaid(ev, said, before)
	}
	t := p.Last()
	if t == nil {
		return p.take()
	}
	switch b := ev.Body.(type) {
	case openmanus.ModelSaid:
		p.typed, p.rest = false, ""
		if p.State.Turn != turn {
			p.replied(t, turn, b)
		}
	case openmanus.Ruled:
		if b.By != openmanus.ByGate {
			p.decided(t, cmp.Or(b.Message, b.Call+"-ruling"), map[bool]string{true: "approved", false: "denied"}[b.Allow])
		}
	case openmanus.Answered:
		p.decided(t, cmp.Or(b.Message, fmt.Sprintf("%s-answer-%d", b.Call, b.N)), b.Text)
	case openmanus.CallDone:
		for _, f := range b.Files {
			p.file(t, f)
		}
	}
	if !t.Status.State.Ended() {
		p.settle(t, ev)
	}
	return p.take()
}

func (p *Projector) take() []Event {
	events := p.events
	p.events = nil
	return events
}

// userSaid begins a task with the message, or adds the message to the task under way.
func (p *Projector) userSaid(ev openmanus.Event, b openmanus.UserSaid, before openmanus.Status) {
	t := p.Last()
	if t == nil || t.Status.State.Ended() || before != openmanus.Running && before != openmanus.Waiting {
		t = &Task{ID: TaskID(p.Session, ev.Seq), Context: p.Context, Status: Status{State: Submitted, Time: Timestamp(ev.Time)}}
		p.Tasks = append(p.Tasks, t)
	}
	m := Message{ID: b.ID, Role: RoleUser, Context: p.Context, Task: t.ID}
	for _, part := range b.Message.Parts {
		switch part := part.(type) {
		case llm.Text:
			m.Parts = append(m.Parts, Text(part.Text))
		case llm.Blob:
			m.Parts = append(m.Parts, Part{Raw: part.Data, Filename: part.Name, MediaType: part.MIME})
		}
	}
	t.History = append(t.History, m)
}

// replied adds what the agent says while it works.
func (p *Projector) replied(t *Task, turn int, b openmanus.ModelSaid) {
	if text := b.Message.Text(); strings.TrimSpace(text) != "" {
		t.History = append(t.History, p.says(t, fmt.Sprintf("%s-reply-%d", p.Session, turn), text))
	}
}

// typing adds words of a reply that streams to the answer, which they are unless calls
// follow them. Words that begin anew take the place of those before. An answer with a
// schema comes whole.
func (p *Projector) typing(b openmanus.Typing) {
	t := p.Last()
	if t == nil || t.Status.State.Rests() || b.Turn != p.State.Turn || len(p.State.Config.Answer) > 0 {
		return
	}
	if b.Reset {
		p.typed, p.rest = false, ""
	}
	if b.Read > 0 && !p.typed {
		now := t.Status
		m := p.says(t, fmt.Sprintf("%s-reading-%d", p.Session, b.Turn), fmt.Sprintf("The model is reading the prompt, %d %%.", b.Read))
		now.Message = &m
		p.events = append(p.events, Event{Status: &StatusUpdate{Task: t.ID, Context: p.Context, Status: now}})
	}
	text := p.rest
	for _, part := range b.Parts {
		if part, ok := part.(llm.Text); ok {
			text += part.Text
		}
	}
	whole := clip.Runes(text)
	if p.rest = text[len(whole):]; whole == "" {
		return
	}
	a := Artifact{ID: answerID, Name: answerID, Parts: []Part{Text(whole)}}
	p.events = append(p.events, Event{Artifact: &ArtifactUpdate{Task: t.ID, Context: p.Context, Artifact: a, Append: p.typed}})
	p.typed, p.shown = true, true
}

// answerID is the artifact with the answer.
const answerID = "answer"

// says returns a message of the agent.
func (p *Projector) says(t *Task, id, text string) Message {
	return Message{ID: id, Role: RoleAgent, Context: p.Context, Task: t.ID, Parts: []Part{Text(text)}}
}

// decided adds what the person decided.
func (p *Projector) decided(t *Task, id, text string) {
	t.History = append(t.History, Message{ID: id, Role: RoleUser, Context: p.Context, Task: t.ID, Parts: []Part{Text(text)}})
}

// file adds a file that a call wrote as an artifact of the task, or replaces the one for
// an earlier version. Deleted files stay.
func (p *Projector) file(t *Task, f openmanus.FileChange) {
	if p.File == nil || f.Change == "deleted" {
		return
	}
	a := Artifact{ID: "file:" + f.Path, Name: f.Path, Parts: []Part{p.File(f.Path)}}
	i := slices.IndexFunc(t.Artifacts, func(b Artifact) bool { return b.ID == a.ID })
	if i >= 0 {
		t.Artifacts[i] = a
	} else {
		t.Artifacts = append(t.Artifacts, a)
	}
	p.artifact(t, a)
}

// artifact tells of an artifact.
func (p *Projector) artifact(t *Task, a Artifact) {
	p.add(Event{Artifact: &ArtifactUpdate{Task: t.ID, Context: p.Context, Artifact: a, Last: true}})
}

func (p *Projector) add(e Event) {
	p.n++
	e.ID = fmt.Sprintf("%d.%d", p.seq, p.n)
	p.events = append(p.events, e)
}

// settle sets the state of a task after an event. A question of a call makes it "input
// required", with the question as its message.
func (p *Projector) settle(t *Task, ev openmanus.Event) {
	s := &p.State
	state, text := Working, ""
	switch status := s.Status(); {
	case status == openmanus.Waiting:
		state, text = InputRequired, asks(s.Pending())
	case status == openmanus.Finished:
		state = Completed
	case s.Outcome.Reason == openmanus.ByPerson:
		state = Canceled
	case status == openmanus.Failed || status == openmanus.Halted:
		state, text = Failed, cmp.Or(s.Outcome.Error, string(s.Outcome.Reason), string(status))
	}
	if state.Ended() {
		p.answer(t, state)
	}
	reply := ""
	if state == Working {
		note, _ := view.Note(ev.Body)
		said, _ := ev.Body.(openmanus.ModelSaid)
		reply = cmp.Or(strings.TrimSpace(said.Message.Text()), view.Sentence(note))
	}
	if state != t.Status.State || reply != "" {
		p.set(t, state, cmp.Or(text, reply), Timestamp(ev.Time))
	}
}

// answer adds the answer of a task that has ended. Words that were shown as the answer and
// are none are taken back.
func (p *Projector) answer(t *Task, state State) {
	a := Artifact{ID: answerID, Name: answerID, Parts: []Part{Text(p.State.Answer)}}
	if data := []byte(p.State.Answer); len(p.State.Config.Answer) > 0 && json.Valid(data) {
		a.Parts = []Part{{Data: data, MediaType: "application/json"}}
	}
	switch {
	case p.State.Answer != "" && state != Canceled:
		t.Artifacts = append(t.Artifacts, a)
		p.artifact(t, a)
	case p.shown:
		a.Parts = []Part{Text("")}
		p.artifact(t, a)
	}
	p.shown = false
}

// Reply returns a completed task as one message: the answer, and then the files. A task
// without either has an empty text.
func Reply(t *Task) *Message {
	m := &Message{ID: t.ID + "-answer", Role: RoleAgent, Context: t.Context}
	for _, a := range t.Artifacts {
		if a.ID == answerID {
			m.Parts = slices.Concat(a.Parts, m.Parts)
		} else {
			m.Parts = append(m.Parts, a.Parts...)
		}
	}
	if len(m.Parts) == 0 {
		m.Parts = []Part{Text("")}
	}
	return m
}

// set sets the status of a task, and adds the event about it. text, if there is any,
// becomes the message of the status.
func (p *Projector) set(t *Task, state State, text string, at Timestamp) {
	t.Status = Status{State: state, Time: at}
	if text != "" {
		m := p.says(t, fmt.Sprintf("%s-status-%d", p.Session, p.seq), text)
		t.Status.Message = &m
	}
	p.add(Event{Status: &StatusUpdate{Task: t.ID, Context: p.Context, Status: t.Status}})
}

// Wait says what the person must decide in sessions below before the last task goes on:
// the events of this session do not show that. text asks; "": nothing waits any more.
func (p *Projector) Wait(text string) []Event {
	t := p.Last()
	if t == nil || t.Status.State.Ended() || p.State.Status() == openmanus.Waiting {
		return nil
	}
	tag, state := "0", Working
	if text != "" {
		h := fnv.New32a()
		h.Write([]byte(text)) //nolint:errcheck // it cannot fail
		tag, state = strconv.FormatUint(uint64(h.Sum32()), 36)+"w", InputRequired
	}
	if tag == p.below || text == "" && p.below == "" {
		return nil
	}
	p.below = tag
	t.Status = Status{State: state, Time: Timestamp(p.State.Updated)}
	id := EventID{p.seq, int64(p.n) + 1, tag}
	if text != "" {
		m := p.says(t, p.Session+"-status-"+id.String(), text)
		t.Status.Message = &m
	}
	return []Event{{ID: id.String(), Status: &StatusUpdate{Task: t.ID, Context: p.Context, Status: t.Status}}}
}

// asks returns the questions of waiting calls as one text, with the id of each call, by
// which an answer can name it.
func asks(calls []*openmanus.CallState) string {
	var all []string
	for _, c := range calls {
		q := c.Question()
		all = append(all, Ask(q.Kind == openmanus.AskRuling, c.Name, c.Arguments(), q.Question, q.Shown, c.ID))
	}
	return strings.Join(all, "\n\n")
}

// Ask returns a question to the person in words, as a client of any kind can show it. It
// ends with the id of the call.
func Ask(approval bool, tool, input, question, shown, call string) string {
	if !approval {
		return fmt.Sprintf("%s\n(call %s)", question, call)
	}
	text := fmt.Sprintf("May %s run with %s?", tool, input)
	if question != "" {
		text += " " + question
	}
	if shown != "" {
		text += "\n" + shown
	}
	return text + fmt.Sprintf("\nAnswer yes or no. (call %s)", call)
}
