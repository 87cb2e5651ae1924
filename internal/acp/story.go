package acp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// A Story turns the events of a session, and of those below it, into updates for an
// editor. Its results depend only on the events that it was given. The zero Story is
// that of a session without events.
type Story struct {
	nodes map[string]*node // by session
	root  string
}

// A node is what a story keeps of a session.
type node struct {
	below   bool   // another session opened it
	above   string // names the sessions above it
	name    string // of the session
	session view.Session
	page    *view.Page            // what its events show
	calls   map[string]*view.Item // that have no result, by id
	prints  map[string]printed    // what they printed last, by id
	order   []string              // the ids of calls

	children []string // the sessions that it opened

	turn  int              // of the reply that streams, or comes next
	try   int              // how often it began anew
	joins bool             // the next piece has all that has streamed
	skip  int              // the parts of it before this one were sent
	parts map[int]streamed // of that reply, by index
	read  int              // how many quarters of the request it is said that the model has read
	sofar strings.Builder  // its text
}

// printed is the end of what a call printed.
type printed struct {
	at   int64 // how many bytes it printed in all
	text string
}

// maxPrinted is the most bytes of a call's output that are shown while it runs.
const maxPrinted = 8 << 10

// add returns what is shown of a call that printed more. An update of a call replaces what
// an editor showed of it before, so it has what was printed before, too.
func (p printed) add(b openmanus.Output) printed {
	if b.At != p.at {
		p.text = "" // it began anew, or something was missed
	}
	p.text, p.at = p.text+b.Text, b.At+int64(len(b.Text))
	if cut := len(p.text) - maxPrinted; cut > 0 {
		p.text = p.text[cut:]
		if _, rest, ok := strings.Cut(p.text, "\n"); ok {
			p.text = rest
		}
	}
	return p
}

// shown is what an editor shows of it.
func (p printed) shown() string {
	if int64(len(p.text)) < p.at {
		return "…\n" + clip.Clean(p.text)
	}
	return clip.Clean(p.text)
}

// streamed is how much of a part was sent, and a hash of it.
type streamed struct {
	bytes int
	sum   uint64
}

// at returns the node of a session, which it makes at the first call. The first session of
// a story is its root.
func (s *Story) at(session string) *node {
	if s.nodes == nil {
		s.nodes, s.root = make(map[string]*node), session
	}
	n := s.nodes[session]
	if n == nil {
		n = &node{page: view.NewPage(0), calls: make(map[string]*view.Item), prints: make(map[string]printed), parts: make(map[int]streamed)}
		s.nodes[session] = n
	}
	return n
}

// forget drops what is kept of a call.
func (n *node) forget(call string) {
	delete(n.calls, call)
	delete(n.prints, call)
}

// path names the session and those above it, but not the one on top.
func (n *node) path() string {
	if !n.below {
		return ""
	}
	return n.above + n.name + " › "
}

// prefix begins the messages about a child session.
func (n *node) prefix() string {
	if !n.below {
		return ""
	}
	return n.above + n.name + ": "
}

// callID returns the id of a call in the updates: that of the journal, and for a call of
// a session below with that session.
func (s *Story) callID(session, call string) string {
	if session == s.root {
		return call
	}
	return session + "/" + call
}

// answerID is the id of an answer to a call in the updates.
func (s *Story) answerID(session, call string, n int) string {
	return "a" + s.callID(session, call) + "." + strconv.Itoa(n)
}

// userID is the id of a message of the person in the updates.
func userID(id string) string { return "u" + id }

// SoFar returns the text of the reply that streams in the session.
func (s *Story) SoFar() string {
	if n := s.nodes[s.root]; n != nil {
		return n.sofar.String()
	}
	return ""
}

// next returns the updates for an event of a session: those for the pieces of a reply and
// for settings, and those for the items that it changes. It reports only the calls of child
// sessions, which are known from the events of their parents. An empty update is none.
func (s *Story) next(session string, ev openmanus.Event) []update {
	n := s.at(session)
	s.learn(n, ev.Body)
	n.session.Apply(ev)
	changes := n.page.Apply(ev)
	defer n.page.Forget()
	turn, ends := openmanus.TurnOf(ev.Body)
	if ends && turn != n.turn {
		n.newTurn(turn)
	}
	ups := s.streams(session, n, ev.Body)
	if !n.below {
		ups = append(ups, n.settings(ev)...)
	}
	for _, c := range changes {
		ups = append(ups, s.show(session, n, c)...)
	}
	if ends {
		n.newTurn(turn + 1)
	}
	if b, ok := ev.Body.(openmanus.ModelSaid); ok {
		ups = append(ups, n.used(b)...)
	}
	return ups
}

// streams returns the updates for what streams, and for what is stored in place of it.
func (s *Story) streams(session string, n *node, b openmanus.Body) (ups []update) {
	switch b := b.(type) {
	case openmanus.Typing:
		return n.typing(b)
	case openmanus.Output:
		if n.calls[b.Call] != nil && b.Text != "" {
			p := n.prints[b.Call].add(b)
			n.prints[b.Call] = p
			return []update{{SessionUpdate: "tool_call_update", ToolCallID: s.callID(session, b.Call), Content: []toolContent{textContent(p.shown())}}}
		}
	case openmanus.ModelSaid:
		for i, p := range b.Message.Parts {
			if kind, text := chunkOf(p); kind != "" {
				ups = append(ups, slot(n.rest(i, text, kind)))
			}
		}
	case openmanus.Interrupted:
		ups = append(ups, slot(n.interrupted(b.Said)))
		n.newTurn(n.turn + 1)
		return append(ups, s.giveUp(session, n)...)
	}
	return ups
}

// settings returns the updates for what the protocol has words of its own for.
func (n *node) settings(ev openmanus.Event) []update {
	switch b := ev.Body.(type) {
	case openmanus.Configured:
		if b.N > 0 {
			return []update{{SessionUpdate: "config_option_update"}}
		}
	case openmanus.ModeSet:
		return []update{{SessionUpdate: "current_mode_update", CurrentModeID: b.Mode}, {SessionUpdate: "config_option_update"}}
	case openmanus.Titled:
		return []update{{SessionUpdate: "session_info_update", Title: clip.OneLine(clip.Clean(b.Title)), UpdatedAt: ev.Time.UTC().Format("2006-01-02T15:04:05Z")}}
	}
	return nil
}

// learn takes from an event what later updates need.
func (s *Story) learn(n *node, b openmanus.Body) {
	switch b := b.(type) {
	case openmanus.Opened:
		n.name = cmp.Or(n.name, b.Flow)
	case openmanus.ChildOpened:
		if child := s.at(b.Child); child != n && !child.below {
			n.children = append(n.children, b.Child)
			child.below, child.above, child.name = true, n.path(), clip.OneLine(clip.Clean(b.Label))
		}
	}
}

// show returns the updates for a change of an item.
func (s *Story) show(session string, n *node, c view.Change) []update {
	it := c.Item
	switch c.Did {
	case view.Added:
		if it.Kind == view.Called {
			return s.begin(session, n, it)
		}
		return n.told(it)
	case view.Noted:
		return s.noted(session, n, it)
	case view.Started:
		if n.calls[it.Call.ID] != nil {
			return []update{{SessionUpdate: "tool_call_update", ToolCallID: s.callID(session, it.Call.ID), Status: "in_progress"}}
		}
	case view.Done:
		return s.done(session, n, it.Call, *it.Call.Done)
	case view.Reported:
		return s.childDone(session, n, it)
	}
	return nil
}

// noted returns the updates for the last note about a call.
func (s *Story) noted(session string, n *node, it *view.Item) []update {
	c, note := it.Call, it.Call.Notes[len(it.Call.Notes)-1]
	open := n.calls[c.ID] != nil
	switch {
	case note.Kind == view.Asked && open:
		if q := note.Of.(openmanus.Asked); q.Kind != openmanus.AskRuling {
			id := "q" + s.callID(session, c.ID) + "." + strconv.Itoa(q.N)
			return say(id, n.prefix()+cmp.Or(clip.Clean(note.Text), n.title(c.Call, gist.Waiting)))
		}
	case note.Kind == view.Reply:
		id := s.answerID(session, c.ID, note.Of.(openmanus.Answered).N)
		return []update{{SessionUpdate: "user_message_chunk", MessageID: id, Content: &content{Type: "text", Text: note.Text}}}
	case note.Kind == view.Late:
		return say("l"+s.callID(session, c.ID), "("+n.title(c.Call, gist.Done)+": "+clip.Clean(note.Words())+")")
	case note.Kind == view.Denied && open:
		n.forget(c.ID)
		return []update{{
			SessionUpdate: "tool_call_update", ToolCallID: s.callID(session, c.ID), Title: n.title(c.Call, gist.Never), Status: "failed",
			Content: []toolContent{textContent(clip.Clean(cmp.Or(note.Text, "it was not allowed")))},
		}}
	}
	return nil
}

// say returns a text as a message of the agent.
func say(id, text string) []update {
	return []update{{SessionUpdate: "agent_message_chunk", MessageID: id, Content: &content{Type: "text", Text: text}}}
}

// told returns the updates for a message, or for what the program says in place of a reply
// or beside it. An editor hears those of the session itself, once, and none of sessions below.
func (n *node) told(it *view.Item) (ups []update) {
	text := view.Sentence(clip.Clean(it.Text))
	if n.below || it.Kind == view.Agent {
		return nil
	}
	switch b := it.Of.(type) {
	case openmanus.UserSaid:
		for _, p := range b.Message.Parts {
			if c := contentOf(p); c != nil {
				ups = append(ups, update{SessionUpdate: "user_message_chunk", MessageID: userID(b.ID), Content: c})
			}
		}
		return ups
	case openmanus.Configured, openmanus.ModeSet, openmanus.Interrupted:
		return nil // see settings and streams
	case openmanus.Ended:
		switch failure := cmp.Or(b.Error, string(b.Reason)); {
		case b.Status != openmanus.Failed:
			text = clip.Clean(it.Text)
		case it.Kind == view.Answered && failure != "":
			return nil // that is told
		default:
			text = "Failed: " + clip.Clean(it.Text)
		}
	}
	turn, ends := openmanus.TurnOf(it.Of)
	_, reply := it.Of.(openmanus.ModelSaid)
	switch {
	case reply && it.Kind != view.Problem:
		return nil // see streams
	case ends && !reply:
		n.newTurn(turn)
		return say(n.messageID(0)+"!", text)
	}
	return say("n"+strconv.FormatInt(it.Seq, 10), "("+text+".)")
}

// newTurn begins the next reply.
func (n *node) newTurn(turn int) {
	n.turn, n.try, n.skip, n.read, n.joins = turn, 0, 0, 0, false
	clear(n.parts)
	n.sofar.Reset()
}

// messageID names a part of the reply.
func (n *node) messageID(part int) string {
	id := "t" + strconv.Itoa(n.turn) + "." + strconv.Itoa(part)
	if n.try > 0 {
		id += "." + strconv.Itoa(n.try)
	}
	return id
}

// typing returns the next pieces of a reply. After a reset, it sends only the part that
// the client has not seen, if what it has seen is the beginning of the reply; otherwise a
// new message begins. Replies of child sessions are not sent.
func (n *node) typing(b openmanus.Typing) (ups []update) {
	if n.below {
		return nil
	}
	if b.Turn != n.turn {
		n.newTurn(b.Turn)
	}
	if b.Reset = b.Reset || n.joins; b.Reset { // b has all that has streamed
		n.joins = false
		n.sofar.Reset()
		if !n.goesOn(b) {
			n.again()
		}
	}
	if b.Read < 100 && b.Read/25 > n.read { // a few times only: an editor takes nothing back
		n.read = b.Read / 25
		ups = append(ups, update{SessionUpdate: "agent_thought_chunk", MessageID: n.messageID(0) + "?",
			Content: &content{Type: "text", Text: fmt.Sprintf("The model is reading the prompt, %d %%. ", b.Read)}})
	}
	for i, p := range b.Parts {
		kind, text := chunkOf(p)
		if kind == "" || text == "" {
			continue
		}
		if kind == "agent_message_chunk" {
			n.sofar.WriteString(text)
		}
		if b.Reset {
			ups = append(ups, n.rest(b.Part+i, text, kind)...)
			continue
		}
		ups = append(ups, n.piece(b.Part+i, text, kind))
	}
	return ups
}

// goesOn reports whether the sent text is the beginning of b. Hashes stand for the sent
// text.
func (n *node) goesOn(b openmanus.Typing) bool {
	for i, was := range n.parts {
		text := ""
		if at := i - b.Part; at >= 0 && at < len(b.Parts) {
			_, text = chunkOf(b.Parts[at])
		}
		if was.bytes > len(text) || sumOf(0, text[:was.bytes]) != was.sum {
			return false
		}
	}
	return true
}

// again begins the same reply anew: what was sent of it stays on the screen, since the
// protocol cannot take it back, and the new one is another message.
func (n *node) again() {
	if len(n.parts) > 0 {
		n.try++
	}
	n.skip = 0
	clear(n.parts)
}

// piece returns the update with the next text of a part, and notes that it is sent.
func (n *node) piece(part int, text, kind string) update {
	was := n.parts[part]
	n.parts[part] = streamed{was.bytes + len(text), sumOf(was.sum, text)}
	return update{SessionUpdate: kind, MessageID: n.messageID(part), Content: &content{Type: "text", Text: text}, streamed: n.streamed()}
}

// sumOf continues a hash with text, FNV-1a. The sum of nothing is 0.
func sumOf(sum uint64, text string) uint64 {
	if sum == 0 {
		sum = 14695981039346656037
	}
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * 1099511628211
	}
	return sum
}

// chunkOf returns the kind of update in which a part of a reply is sent, and its text; ""
// for parts that are sent otherwise.
func chunkOf(p llm.Part) (kind, text string) {
	switch p := p.(type) {
	case llm.Text:
		return "agent_message_chunk", p.Text
	case llm.Thinking:
		return "agent_thought_chunk", p.Text
	}
	return "", ""
}

// rest returns the update with the part's text that has not been sent, if there is any. If
// the sent text is no beginning of it, a new message begins.
func (n *node) rest(part int, text, kind string) []update {
	if n.below || text == "" || part < n.skip {
		return nil
	}
	if was := n.parts[part]; was.bytes > 0 {
		if was.bytes > len(text) || sumOf(0, text[:was.bytes]) != was.sum {
			n.again()
		} else {
			text = text[was.bytes:]
		}
	}
	if text == "" {
		return nil
	}
	return []update{n.piece(part, text, kind)}
}

// slot returns the only update there may be, or an empty one in its place: the place of an
// update among those of its event does not depend on what was streamed before.
func slot(ups []update) update {
	if len(ups) == 0 {
		return update{}
	}
	return ups[0]
}

// interrupted returns the update with the text that the model is told it had said and that
// has not been sent.
func (n *node) interrupted(said string) []update {
	if n.below || said == "" {
		return nil
	}
	text, ok := strings.CutPrefix(said, n.sofar.String())
	if !ok && len(n.parts) > 0 {
		n.again()
	}
	if text == "" {
		return nil
	}
	last := 0
	for i := range n.parts {
		last = max(last, i)
	}
	return []update{{SessionUpdate: "agent_message_chunk", MessageID: n.messageID(last), Content: &content{Type: "text", Text: text}}}
}

// used returns the usage after a reply, if the size of the window is known.
func (n *node) used(b openmanus.ModelSaid) []update {
	used, size := b.Usage.Input+b.Usage.Output, n.session.State.Window().Tokens
	if n.below || size <= 0 {
		return nil
	}
	u := update{SessionUpdate: "usage_update", Used: &used, Size: &size}
	if spent := n.session.State.Cost; spent > 0 {
		u.Cost = &cost{spent.USD(), "USD"}
	}
	return []update{u}
}

// begin returns the update for a new call, which waits at first.
func (s *Story) begin(session string, n *node, it *view.Item) []update {
	c := it.Call.Call
	n.calls[c.ID] = it
	n.order = append(n.order, c.ID)
	u := s.describe(session, n, c, gist.Running)
	u.SessionUpdate, u.Status = "tool_call", "pending"
	return []update{u}
}

// describe returns an update with everything that is known of a call before it runs: its
// title, kind, files and arguments.
func (s *Story) describe(session string, n *node, c llm.Call, t gist.Tense) update {
	u := update{
		ToolCallID: s.callID(session, c.ID), Title: n.title(c, t), Name: clip.OneLine(clip.Clean(c.Name)), Kind: n.kind(c), Locations: n.locations(c.Input),
	}
	if json.Valid([]byte(c.Input)) {
		u.RawInput = json.RawMessage(c.Input)
	}
	return u
}

// title returns a call in one line.
func (n *node) title(c llm.Call, t gist.Tense) string {
	spec, _ := n.session.State.ToolSpec(c.Name)
	does, target := gist.Phrase(c, t, spec.Says...)
	line := []rune(n.prefix() + clip.OneLine(clip.Clean(does+" "+target)))
	if len(line) > 200 {
		line = append(line[:199], '…')
	}
	return strings.TrimSpace(string(line))
}

// kinds are the protocol's kinds of calls.
var kinds = map[openmanus.ToolKind]string{
	openmanus.ToolRuns: "execute", openmanus.ToolFinds: "search", openmanus.ToolSearches: "search", openmanus.ToolFetches: "fetch",
	openmanus.ToolBrowses: "fetch", openmanus.ToolPlans: "think", openmanus.ToolReads: "read", openmanus.ToolWrites: "edit", openmanus.ToolDraws: "edit",
}

// kind returns which of the protocol's kinds a call is of: by what its tool says, or else
// by what the tool may do.
func (n *node) kind(c llm.Call) string {
	spec, _ := n.session.State.ToolSpec(c.Name)
	byHints := "other"
	switch {
	case spec.Hints.Edits:
		byHints = "edit"
	case spec.Hints.ReadOnly:
		byHints = "read"
	}
	return cmp.Or(kinds[gist.Kind(c, spec.Says...)], byHints)
}

// locations returns the file that a call names.
func (n *node) locations(input string) []location {
	var args struct {
		Path     any `json:"path"`
		FilePath any `json:"file_path"`
	}
	if json.Unmarshal([]byte(input), &args) != nil {
		return nil
	}
	for _, v := range []any{args.Path, args.FilePath} {
		if name, ok := v.(string); ok && name != "" {
			return []location{{Path: n.abs(name)}}
		}
	}
	return nil
}

// abs returns the absolute path of a file of the workspace.
func (n *node) abs(name string) string {
	if dir := n.session.State.Config.Workspace; !filepath.IsAbs(name) && dir != "" {
		name = filepath.Join(dir, filepath.FromSlash(name))
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

// done returns the result of a call.
func (s *Story) done(session string, n *node, c *view.Call, b openmanus.CallDone) []update {
	if n.calls[b.Call] == nil {
		return nil // it had one, such as "interrupted"
	}
	n.forget(b.Call)
	end := gist.End(b)
	u := update{SessionUpdate: "tool_call_update", ToolCallID: s.callID(session, b.Call), Status: "completed", Title: n.title(c.Call, gist.Done)}
	if end.Bad || b.IsError || b.Partial {
		u.Status = "failed"
	}
	show := []toolContent{}
	if len(end.Lines) > 0 {
		show = append(show, textContent(clip.Clean(strings.Join(end.Lines, "\n"))))
	}
	show = append(show, n.diffs(end.Diff)...)
	for _, p := range b.Parts {
		if blob, ok := p.(llm.Blob); ok {
			show = append(show, toolContent{Type: "content", Content: contentOf(blob)})
		}
	}
	u.Content = show
	if json.Valid(b.Detail) {
		u.RawOutput = b.Detail
	}
	for _, f := range b.Files {
		u.Locations = append(u.Locations, location{Path: n.abs(f.Path)})
	}
	ups := []update{u}
	if !n.below {
		ups = append(ups, planOf(c, b.Detail)...)
	}
	return ups
}

// over returns the results of calls that follow from the state after an event, such as that
// the mode holds a call back.
func (s *Story) over(session string) (ups []update) {
	n := s.at(session)
	for _, c := range n.session.State.Calls {
		if it := n.calls[c.ID]; it != nil && c.Done != nil {
			ups = append(ups, s.done(session, n, it.Call, *c.Done)...)
		}
	}
	return ups
}

// childDone returns the result of a call that opened a session, and gives up what that
// session had open.
func (s *Story) childDone(session string, n *node, it *view.Item) (ups []update) {
	if child := s.at(it.Below.ID); child.below {
		ups = s.giveUp(it.Below.ID, child)
	}
	if it.Call == nil || n.calls[it.Call.ID] == nil {
		return ups
	}
	c := it.Call.Call
	n.forget(c.ID)
	u := update{SessionUpdate: "tool_call_update", ToolCallID: s.callID(session, c.ID), Title: n.title(c, gist.Done), Status: "completed", Content: []toolContent{textContent(clip.Clean(it.Below.Last))}}
	if it.Below.Status != string(openmanus.Finished) {
		u.Status = "failed"
	}
	return append(ups, u)
}

// giveUp returns the end of all calls of a session, and of those below it, that have no
// result and get none.
func (s *Story) giveUp(session string, n *node) (ups []update) {
	for _, id := range n.order {
		if _, open := n.calls[id]; open {
			ups = append(ups, update{SessionUpdate: "tool_call_update", ToolCallID: s.callID(session, id), Status: "failed", Content: []toolContent{textContent("interrupted")}})
		}
	}
	clear(n.calls)
	n.order = nil
	for _, child := range n.children {
		ups = append(ups, s.giveUp(child, s.at(child))...)
	}
	return ups
}

// planOf returns the plan that is in use after a call.
func planOf(c *view.Call, detail json.RawMessage) []update {
	p := view.PlanIn(c.Call, c.Says, detail)
	if p == nil {
		return nil
	}
	entries := []planEntry{}
	for _, st := range p.Steps {
		e := planEntry{Content: clip.Clean(st.Text), Priority: "medium", Status: "pending"}
		switch st.Status {
		case tools.InProgress:
			e.Status = "in_progress"
		case tools.Completed:
			e.Status = "completed"
		}
		entries = append(entries, e)
	}
	return []update{{SessionUpdate: "plan", Entries: &entries}}
}

// textContent returns text as what a call shows.
func textContent(text string) toolContent {
	return toolContent{Type: "content", Content: &content{Type: "text", Text: text}}
}

// contentOf returns a part of a message, or nil for one that has no form in the protocol.
func contentOf(p llm.Part) *content {
	switch p := p.(type) {
	case llm.Text:
		return &content{Type: "text", Text: p.Text}
	case llm.Blob:
		data := base64.StdEncoding.EncodeToString(p.Data)
		if strings.HasPrefix(p.MIME, "image/") {
			return &content{Type: "image", MIMEType: p.MIME, Data: data}
		}
		return &content{Type: "resource", Resource: &resource{URI: "file:" + p.Name, MIMEType: p.MIME, Blob: &data}}
	}
	return nil
}

// diffs returns the hunks of a unified diff, each as a change of its file.
func (n *node) diffs(lines []string) (all []toolContent) {
	for _, h := range gist.Hunks(lines) {
		var old, now strings.Builder
		for _, l := range h.Lines {
			if l[0] == ' ' || l[0] == '-' {
				old.WriteString(l[1:] + "\n")
			}
			if l[0] == ' ' || l[0] == '+' {
				now.WriteString(l[1:] + "\n")
			}
		}
		before, after := old.String(), now.String()
		c := toolContent{
			Type: "diff", Path: n.abs(h.Name()), OldText: &before, NewText: &after, gone: h.To == "",
			hunk: h.Head + "\n" + strings.Join(h.Lines, "\n") + "\n",
		}
		if h.From == "" {
			c.OldText = nil
		}
		all = append(all, c)
	}
	return all
}
