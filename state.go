package openmanus

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/llm"
)

// A State is the fold of the events of a session. The zero State is that of no
// events. It is not safe for concurrent use. Read its fields; only Apply and
// CountWith change them.
type State struct {
	Seq     int64     // of the last event
	Began   time.Time // when the first event was stored
	Updated time.Time // when the last event was stored

	Opened Opened
	Config Configured // the last one
	Limits Limits     // in force: those configured or their defaults, changed by Resumed; none is 0
	Title  string

	Requests []string // the messages of the user, without notes

	// The conversation. Said is what the model has read and replied. Calls are
	// those of the last reply in Said; their results are not in Said until the
	// next reply. Inbox has messages that no reply has read yet.
	Said  []llm.Message
	Calls []*CallState
	Inbox []Note

	Turn     int           // how many outcomes there are: replies, failures, calls of the flow, ends
	Steps    int           // replies and summaries since the last input: a message of the user, or Resumed
	Replies  int           // replies since the last input
	Moves    int           // replies, and calls of the flow, since the last input
	Since    int64         // the event of the last input
	Active   time.Duration // how long the session was running since the last input
	Usage    llm.Usage     // of the session and its children
	Cost     Money         // likewise; a lower bound if Unpriced is not 0
	Unpriced int           // tokens of Usage whose price is not known
	Pictures int           // how many results have a picture for people

	// FilesLeftOut says that a call changed as many files as its event can name, or more:
	// then [State.Files] does not have them all.
	FilesLeftOut bool
	TakenOver    int // how often another worker took over

	Grants     []Grant       // what the user has allowed for the whole session
	Children   []*ChildState // in the order in which they were announced
	Outcome    Outcome       // how the session ended; zero while it has not
	Answer     string        // the last text of the agent since the last message of the user
	Fresh      bool          // a person appended the last event
	Snapshot   Snapshot      // what is recorded of the workspace
	Unfinished *Rewound      // its files are not all put back yet, or nil
	Rewinds    int           // how often the conversation went back
	ModeSets   int           // how often the user chose another mode: [Spec].Approve of Config
	Foreign    string        // what this version does not know: a type of body, or a format version; or ""

	specs   map[string]ToolSpec   // of Config, by name
	last    map[string]lastDetail // of each tool's last success, by name
	kept    map[string]string     // the last result of each tool with Hints.Keep, by name
	seen    sight.Memory
	gone    map[string]string // the tools of the calls that were given up, by call
	partial *ModelSaid        // an unfinished reply: kept if a message follows, dropped by Resumed
	partAt  int64             // the event of partial
	past    []trace           // of the replies since the last input, for detecting repetitions
	settled bool              // the last of past has the results of Calls

	files     map[string]noted // what the session changed, by path; not changed, but replaced
	meanwhile map[string]noted // what may have been others; likewise
	tally     map[string]Tally // of the results of calls, by tool; likewise

	modeNote string   // what the model reads of a change of the mode when the session goes on
	moments  []moment // to which the conversation can go back; not changed, but replaced

	read        []Source            // see Read; not changed, but replaced
	passages    []Passage           // what it knows, the oldest first
	known       *knowledge          // their index; nil while there are none
	blobSources map[Ref][]Source    // not changed, but replaced
	fileSources map[string][]Source // what calls wrote into files, by path; likewise
	refs        []Ref               // see Refs

	Softenings  int       // how many there were
	soft        softening // what they changed since the last reply
	unfit       bool      // an answer that did not fit its schema was asked for again
	plainHelped bool      // the last one after which the model replied was plain
	plainCalls  bool      // the results of Calls are text: see [Softened]
	configured  int64     // the event of Config

	tokenCount
}

// A Note is a message that the model has not read yet.
type Note struct {
	Seq     int64
	Message llm.Message
	Child   string // the child session that the message reports on, or ""

	Person bool // a person wrote it

	tokens int
}

// An Outcome says how a session ended.
type Outcome struct {
	Status Status // Finished, Failed or Halted
	Reason Reason
	Error  string // a sentence for people, unless the session finished
	HTTP   int    // the status of the response, if a request failed
}

// A CallState is the state of one call of the last reply.
type CallState struct {
	llm.Call
	Hints     Hints
	Ruling    *Asked     // the question to the user whether it may run, or nil
	Ruled     *Ruled     // the ruling, or nil
	Questions []Asked    // that the tool asked
	Answers   []Answered // to Questions, in order
	Attempts  int        // how often it was started
	Running   bool       // started, with neither a result nor a question since
	Done      *CallDone  // the result, or nil
	Asking    bool       // waits for the user
	Snapped   bool       // what the workspace contained before this attempt is recorded
	Followed  bool       // and what it contained after it

	tokens   int // of the result, without pictures that are views
	pictures int // tokens of those
}

// Arguments returns the arguments that the call runs with: those of the model,
// unless they were repaired or a person changed them.
func (c *CallState) Arguments() string {
	switch {
	case c.Ruled != nil && c.Ruled.Input != "":
		return c.Ruled.Input
	case c.Ruling != nil && c.Ruling.Input != "":
		return c.Ruling.Input
	}
	return c.Input
}

// ChangedInput returns the arguments with which the call runs if the model has to be
// told that they are not those that it wrote, or "".
func (c *CallState) ChangedInput() string {
	input := ""
	switch {
	case c.Ruled == nil:
	case c.Ruled.Input != "":
		input = c.Ruled.Input
	case c.Ruling != nil && c.Ruling.ChangedBy != "":
		input = c.Ruling.Input
	}
	if input == c.Input {
		return ""
	}
	return input
}

// Question returns the question about the call that is open or was answered last:
// one of its tool, or whether it may run. It is zero if there was none.
func (c *CallState) Question() Asked {
	if n := len(c.Questions); n > len(c.Answers) {
		return c.Questions[n-1]
	}
	if c.Ruling != nil {
		return *c.Ruling
	}
	return Asked{}
}

// A ChildState is what a session knows of a child session.
type ChildState struct {
	ChildOpened
	Done *ChildDone
}

// Load folds the journal of a session. A session that does not exist is an error
// that is [ErrNoSession].
func Load(ctx context.Context, j Journal, session string) (*State, error) {
	s := new(State)
	for ev, err := range j.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		s.Apply(ev)
	}
	if s.Seq == 0 {
		return nil, fmt.Errorf("session %q: %w", session, ErrNoSession)
	}
	return s, nil
}

// Apply folds an event into s. It accepts any events in any order, without an error
// and without panicking: an event that makes no sense in this state changes
// nothing but Seq and the times. Provisional events change nothing at all.
func (s *State) Apply(ev Event) {
	if ev.Seq == 0 {
		return
	}
	_, taken := ev.Body.(TakenOver)
	if gap := ev.Time.Sub(s.Updated); s.Seq > 0 && gap > 0 && !taken && s.Status() == Running {
		s.Active += gap
	}
	if s.Seq == 0 {
		s.Began = ev.Time
		s.configure(Configured{}) // the default limits, in case no configuration follows
	}
	s.noteMoment(ev.Body)
	s.Seq, s.Updated, s.Fresh = ev.Seq, ev.Time, DoneByPerson(ev.Body)
	switch e := ev.Body.(type) {
	case Opened:
		s.Opened = e
		if e.Version > FormatVersion {
			s.Foreign = fmt.Sprintf("opened of version %d", e.Version)
		}
	case Configured:
		s.configure(e)
		s.configured = ev.Seq
		s.moved(ev.Seq, e)
	case UserSaid:
		s.userSaid(ev.Seq, e)
	case ModelSaid:
		s.modelSaid(ev.Seq, e)
	case Called:
		s.called(ev.Seq, e)
	case ModelFailed:
		s.spend(e)
		if e.Turn == s.Turn {
			s.harden()
		}
		s.giveOver(e.Turn, e.Re, Outcome{Failed, Reason(e.Kind), e.Error, e.Status})
	case Stopped:
		s.giveOver(e.Turn, e.Re, Outcome{Status: Halted, Reason: e.Reason, Error: e.Error})
	case Ended:
		s.ended(e)
	case Resumed:
		s.resumed(ev.Seq, e)
	case Interrupted:
		s.interrupted(ev.Seq, e)
	case TakenOver:
		s.TakenOver++
	case Elided:
		s.learnBlobs(e)
		s.elided(e)
	case Softened:
		s.softened(e)
	case Compacted:
		s.learnBlobs(e)
		s.compacted(ev.Seq, e)
	case ChildOpened:
		s.childOpened(e)
	case ChildDone:
		s.childDone(ev.Seq, e)
	case Snapped:
		s.snapped(ev.Seq, e)
	case Rewound:
		s.rewound(ev.Seq, e)
	case ModeSet:
		s.modeSet(ev.Seq, e)
	case Titled:
		s.Title = e.Title
	case Foreign:
		s.Foreign = e.Type
	default:
		s.applyCall(ev)
	}
	s.settle()
	s.estimate()
}

// configure folds a configuration. This is the only place where limits get their
// defaults.
func (s *State) configure(e Configured) {
	if e.Model != s.Config.Model || e.Window != s.Config.Window || e.Endpoint != s.Config.Endpoint {
		s.told = 0
	}
	s.Config, s.Limits, s.Grants = e, e.Limits.Or(DefaultLimits()), nil
	s.recountHead()
	s.specs = make(map[string]ToolSpec, len(e.Tools))
	for _, t := range e.Tools {
		s.specs[t.Name] = t
		if t.From != "" {
			s.learn(s.Seq, t.Description, Source{From: t.From})
		}
		for _, src := range t.Sources {
			s.learn(s.Seq, "", src)
		}
	}
	for _, src := range e.Sources {
		s.learn(s.Seq, "", src)
	}
}

// moved tells the model that it works in a copy of the workspace from here on. A
// session in which nothing was said yet has no model that knows another.
func (s *State) moved(seq int64, e Configured) {
	if e.CopyOf == "" || len(s.Requests) == 0 {
		return
	}
	text := fmt.Sprintf("(From here on you work in a copy of the workspace, which is in %s. Commands run there and relative "+
		"paths start there: use it in place of %s, which you cannot change any more.)", e.Workspace, e.CopyOf)
	note, at := Note{Seq: seq, Message: llm.Say(llm.User, text)}, len(s.Inbox)
	if i := slices.IndexFunc(s.Inbox, func(n Note) bool { return n.Person }); i >= 0 {
		note.Seq, at = s.Inbox[i].Seq, i // before the request, which stays what is to be answered
	}
	s.Inbox = slices.Insert(s.Inbox, at, note)
	s.soft.undo = false // what was before would come back without the note
}

// userSaid folds a message of the user. It starts a request: the limits that are
// per request begin again, and a session that had ended goes on. Calls that wait
// for the user are given up, since the message is the answer.
func (s *State) userSaid(seq int64, e UserSaid) {
	s.keepPartial()
	for _, c := range s.Calls {
		if c.Asking {
			s.giveUp(c, "not run: the person answered with the message that follows")
		}
	}
	s.tellMode(seq)
	parts := append(slices.Clone(e.Note), e.Message.Parts...)
	s.Inbox = append(s.Inbox, Note{Seq: seq, Message: llm.Message{Role: llm.User, Parts: parts}, Person: true})
	s.Requests = append(s.Requests, e.Message.Text())
	s.learnMessage(seq, e)
	s.goOn(seq)
	s.Answer = ""
}

// keepPartial adds an unfinished reply to the record, without its calls.
func (s *State) keepPartial() {
	if s.partial == nil {
		return
	}
	said := *s.partial
	s.partial = nil
	said.Message.Parts = slices.DeleteFunc(slices.Clone(said.Message.Parts), isCall)
	if len(said.Message.Parts) > 0 {
		s.take(s.partAt, said)
	}
}

func isCall(p llm.Part) bool { _, ok := p.(llm.Call); return ok }

// goOn ends a halt, and begins the budgets of a request anew.
func (s *State) goOn(seq int64) {
	s.Outcome, s.Steps, s.Replies, s.Moves, s.Since, s.Active, s.past, s.unfit = Outcome{}, 0, 0, 0, seq, 0, nil, false
}

// resumed folds the continuation of a session that stopped or failed. It starts
// the limits again, and drops an unfinished reply, so that the model is asked
// again. A finished session stays finished.
func (s *State) resumed(seq int64, e Resumed) {
	s.partial = nil
	s.Limits = e.Limits.Or(s.Limits)
	if s.Outcome.Status != Finished {
		s.goOn(seq)
		s.tellMode(seq)
	}
}

// modelSaid folds a reply. A reply of another turn, or to a session that expects
// none, changes nothing but what was used: its session has moved on meanwhile. A
// reply that broke off ends the session, and its calls do not run. An empty reply
// is counted, and what it was to answer is still due. A reply without calls
// finishes the session, unless the flow decides that, or a message has arrived
// meanwhile.
func (s *State) modelSaid(seq int64, e ModelSaid) {
	s.spend(e)
	if e.Turn == s.Turn {
		s.dropBarred()
	}
	if e.Turn != s.Turn || !s.Due() && !s.mayReply() {
		return // its turn is over
	}
	s.TooLarge = false
	if s.soft.count > 0 {
		s.plainHelped = s.soft.plain
	}
	s.soft = softening{}
	calls, text := e.Message.Calls(), e.Message.Text()
	s.past = append(s.past, traceOf(e.Message))
	s.past = s.past[max(0, len(s.past)-s.lookBack()):]
	s.Steps++
	s.Replies++
	s.Moves++
	switch {
	case e.Stop == llm.Length && len(calls) == 0, e.Stop == llm.Filter, e.Stop == llm.Refusal:
		s.partial, s.partAt, s.Answer = &e, seq, cmp.Or(text, s.Answer)
		s.giveOver(e.Turn, e.Re, unfinished(e.Stop))
		if s.Outcome.Status == "" {
			s.keepPartial() // a message arrived after the reply had started
		}
		return
	case len(calls) == 0 && text == "":
		s.Turn++ // nothing was said: what it was to answer still stands
		return
	}
	s.Turn++
	s.Answer = cmp.Or(text, s.Answer)
	s.take(seq, e)
	for _, c := range calls {
		if m := Meant(c); s.specs[m.Name].Deferred {
			c = m // what runs, is ruled on and is remembered is the tool that was meant
		}
		if slices.Contains(e.Reached, c.ID) {
			c = through(c)
		}
		cs := &CallState{Call: c, Hints: s.specs[c.Name].Hints}
		s.Calls = append(s.Calls, cs)
		if !e.Stop.Whole() {
			s.giveUp(cs, "not run: the reply was cut off at the output limit, so its calls may be incomplete; say less at once")
		}
	}
	if e.Unfit != "" && !s.unfit {
		s.unfit = true
		s.Inbox = append(s.Inbox, Note{Seq: seq, Message: llm.Say(llm.User, fmt.Sprintf(unfitNote, e.Unfit))})
	}
	if len(calls) == 0 && len(s.Inbox) == 0 && !s.Config.FlowEnds {
		s.Outcome = Outcome{Status: Finished}
	}
}

// through returns the call of [UseTool] that stands for a call: see [Meant]. Arguments
// that are no JSON are passed on as a text.
func through(c llm.Call) llm.Call {
	var arguments any = c.Input
	if json.Valid([]byte(c.Input)) {
		arguments = json.RawMessage(c.Input)
	}
	in, err := json.Marshal(map[string]any{"name": c.Name, "arguments": arguments})
	if err != nil {
		return c // texts and valid JSON encode
	}
	c.Name, c.Input = UseTool, string(in)
	return c
}

// unfitNote is what the model reads after a reply that is no answer by the schema.
const unfitNote = "(This answer has a form, and your last reply does not have it: %s. Give the answer again in that form.)"

// called folds a call that the flow made, as a reply that is nothing else.
func (s *State) called(seq int64, e Called) {
	if e.Turn != s.Turn || !s.Due() && !s.mayReply() {
		return
	}
	s.Turn++
	s.Moves++
	c := llm.Call{ID: e.Call, Name: e.Name, Input: e.Input}
	s.take(seq, ModelSaid{Re: e.Re, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{c}}})
	s.Calls = []*CallState{{Call: c, Hints: s.specs[c.Name].Hints}}
	s.settled = true // the model did not repeat itself
}

// unfinished returns the outcome of a reply that broke off: law 8.
func unfinished(stop llm.Stop) Outcome {
	switch stop {
	case llm.Filter:
		return Outcome{Status: Failed, Reason: Reason(llm.Filtered), Error: "the provider withheld the reply"}
	case llm.Refusal:
		return Outcome{Status: Failed, Reason: Reason(llm.Refused), Error: "the model refused to reply"}
	}
	return Outcome{Status: Halted, Reason: NoTokens, Error: "the reply was cut off at the model's output limit (max_tokens)"}
}

// take appends to Said what the reply e, which is event seq, had read, and e.
func (s *State) take(seq int64, e ModelSaid) {
	s.mark(seq, e)
	s.Said = append(s.unseen(s.Said, e.Re), e.Message)
	for len(s.Inbox) > 0 && s.Inbox[0].Seq <= e.Re {
		s.Inbox = s.Inbox[1:]
	}
	s.Calls, s.settled, s.plainCalls, s.soft = nil, false, false, softening{}
}

// giveOver ends a turn without a reply. It ends the session, unless a message
// arrived after re.
func (s *State) giveOver(turn int, re int64, o Outcome) {
	if turn != s.Turn {
		return
	}
	s.Turn++
	if n := len(s.Inbox); n > 0 && s.Inbox[n-1].Seq > re {
		return
	}
	s.Outcome = o
	s.giveUpAll(fmt.Sprintf("the session was stopped (%s)", o.Reason))
}

// ended folds the end that a flow declares.
func (s *State) ended(e Ended) {
	if e.Turn != s.Turn || e.Status != Finished && e.Status != Failed || s.Outcome.Status != "" {
		return
	}
	s.Turn++
	for _, n := range s.Inbox {
		if n.Child == "" && n.Seq > e.Re {
			return // a message arrived after the reply had started
		}
	}
	s.Outcome = Outcome{Status: e.Status, Reason: e.Reason, Error: e.Error}
	s.Answer = cmp.Or(e.Text, s.Answer)
	s.giveUpAll("the work has ended")
}

// giveUpAll gives an error as its result to every call that has none.
func (s *State) giveUpAll(why string) {
	for _, c := range s.Calls {
		if c.Running {
			s.giveUp(c, why+" while it ran; this may or may not have happened")
		} else {
			s.giveUp(c, "not run: "+why)
		}
	}
}

// interrupted folds an interrupt. A reply that streams is void: its turn is over.
func (s *State) interrupted(seq int64, e Interrupted) {
	if st := s.Status(); st != Running && st != Waiting {
		return
	}
	if !s.Open() {
		s.Turn++ // a reply that is on its way counts no more
		if e.Said != "" {
			s.partial, s.partAt = &ModelSaid{Re: seq - 1, Message: llm.Say(llm.Assistant, e.Said)}, seq
		}
	}
	s.giveUpAll("the person interrupted")
	s.Outcome = Outcome{Status: Halted, Reason: ByPerson, Error: "interrupted"}
}

// spend adds what models used for b to what the session has used.
func (s *State) spend(b Body) {
	for _, u := range ModelUses(b) {
		s.Usage, s.Cost, s.Unpriced = s.Usage.Add(u.Usage), s.Cost+u.Cost, s.Unpriced+u.Unpriced()
	}
}

// A lastDetail is the Detail of a result, and the event that it came with.
type lastDetail struct {
	seq    int64
	detail json.RawMessage
}

// Last returns the Detail of a tool's last successful result, or nil; of several tools,
// that of the last of their results. Flows read from it what a tool remembers, such as
// a plan.
func (s *State) Last(tools ...string) json.RawMessage {
	var last lastDetail
	for _, name := range tools {
		if d, ok := s.last[name]; ok && d.seq >= last.seq {
			last = d
		}
	}
	return last.detail
}

// Seen reports whether the session has seen all of this content of a file, by its SHA-256:
// see [SeenFile].
func (s *State) Seen(sum string) bool { return s.seen.Knows(sum) }

// SeenPartly reports whether the session has seen a part of this content, and not the rest.
func (s *State) SeenPartly(sum string) bool { return s.seen.Partly(sum) }

// SeenPath reports whether the session has seen some content of the file with this name.
func (s *State) SeenPath(path string) bool { return s.seen.KnowsPath(path) }

// ToolSpec returns the spec of a tool in the configuration, by name.
func (s *State) ToolSpec(name string) (ToolSpec, bool) {
	spec, ok := s.specs[name]
	return spec, ok
}

// Kept returns the last result of each tool with [Hints].Keep, by name, as text:
// a compaction keeps it. Do not change the map.
func (s *State) Kept() map[string]string { return s.kept }

// Clone returns a copy of s. Applying events to one of the two does not change the
// other, and the two may be used by different goroutines.
func (s *State) Clone() *State {
	c := *s
	c.Said, c.marks, c.passages = slices.Clip(s.Said), slices.Clip(s.marks), slices.Clip(s.passages)
	c.moments = slices.Clip(s.moments)
	c.Inbox = slices.Clone(s.Inbox)
	c.past = slices.Clone(s.past)
	c.seen = s.seen.Clone()
	c.last, c.gone, c.kept = maps.Clone(s.last), maps.Clone(s.gone), maps.Clone(s.kept)
	c.Calls = slices.Clone(s.Calls)
	for i, call := range c.Calls {
		if call.Done == nil { // a call with a result does not change
			open := *call
			c.Calls[i] = &open
		}
	}
	c.Children = slices.Clone(s.Children)
	for i, child := range c.Children {
		if child.Done == nil {
			open := *child
			c.Children[i] = &open
		}
	}
	return &c
}

// Ahead is a cheaper Clone for looking ahead: apply to it what is about to be applied
// to s, and drop it before s changes. There is at most one, used by the goroutine
// that s belongs to, because its conversation grows in the memory of that of s.
func (s *State) Ahead() *State {
	c := s.Clone()
	c.Said, c.marks = s.Said, s.marks
	return c
}

// Status returns the status of the session: the outcome, if there is one; waiting,
// if nothing can be done until the user answers; running, if there is a task; idle
// before the first message.
func (s *State) Status() Status {
	switch {
	case s.Outcome.Status != "":
		return s.Outcome.Status
	case s.Open() && len(s.CallTasks()) == 0 && len(s.Pending()) > 0:
		return Waiting
	case s.Open(), s.Due(), s.Config.FlowEnds && s.Turn > 0:
		return Running
	case s.Turn == 0:
		return Idle
	}
	return Finished
}

// Due reports whether there is something that the model should reply to: messages
// or results that it has not read, in a session that has not ended.
func (s *State) Due() bool {
	return s.Outcome.Status == "" && !s.Open() && (len(s.Inbox) > 0 || len(s.Calls) > 0)
}

// mayReply reports whether the flow may ask the model although nothing is due: a
// flow that ends its sessions itself may, when no call is open.
func (s *State) mayReply() bool {
	return s.Config.FlowEnds && s.Outcome.Status == "" && !s.Open()
}

// Transcript returns the messages of a request that takes everything up to the
// event seq into account. A later transcript begins with the same messages, unless
// some were replaced in between: see [Elided] and [Compacted].
func (s *State) Transcript(seq int64) []llm.Message {
	return s.unseen(append(make([]llm.Message, 0, len(s.Said)+1+len(s.Inbox)), s.Said...), seq)
}

// unseen appends the results and messages up to seq that the model has not read.
func (s *State) unseen(msgs []llm.Message, seq int64) []llm.Message {
	if len(s.Calls) > 0 {
		msgs = append(msgs, s.results())
	}
	for _, n := range s.Inbox {
		if n.Seq <= seq {
			msgs = append(msgs, n.Message)
		}
	}
	return msgs
}

// results returns the message with the results of the calls, without pictures that
// are views.
func (s *State) results() llm.Message {
	m := llm.Message{Role: llm.Tool}
	if s.plainCalls {
		m.Role = llm.User
	}
	for _, c := range s.Calls {
		switch {
		case c.Done != nil && s.plainCalls:
			m.Parts = append(m.Parts, llm.Text{Text: plainResult(c.Name, c.Done.Parts, c.Done.IsError)})
		case c.Done != nil:
			m.Parts = append(m.Parts, llm.Result{ID: c.ID, Parts: withoutPictures(c.Done.Parts), IsError: c.Done.IsError})
		}
	}
	return m
}
