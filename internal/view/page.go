package view

import (
	"cmp"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/llm"
)

// A Page is what some consecutive events of a session show. It is not safe for concurrent
// use.
type Page struct {
	First, Last int64 // the events; Last is First-1 of an empty page
	Items       []*Item

	// Loose are the events about calls of earlier pages: see [Page.ApplyToCall].
	Loose []openmanus.Event
	Model string // the last one that answered

	// Tools are those of the session, if a page has its configuration: see [Page.Learn].
	Tools []openmanus.ToolSpec

	answer  string // the last one
	changes []Change
	byCall  map[string]*Item
	byChild map[string]*Item
}

// NewPage returns an empty page whose first event is first. If that is 0, there is no page
// before: what happens to a call that the page does not know is an item of its own.
func NewPage(first int64) *Page {
	return &Page{First: first, Last: first - 1, byCall: make(map[string]*Item), byChild: make(map[string]*Item)}
}

// Learn tells a page of the tools that its session had before it.
func (p *Page) Learn(tools []openmanus.ToolSpec) {
	if p.Tools == nil {
		p.Tools = tools
	}
	for _, it := range p.Items {
		if it.Call != nil && it.Call.Says == nil {
			it.Call.Says = gist.SaysOf(tools, it.Call.Name)
			it.Rev++
		}
	}
}

// add appends an item.
func (p *Page) add(it *Item) *Item {
	p.Items, p.changes = append(p.Items, it), append(p.changes, Change{it, Added})
	return it
}

// Apply adds a stored event, which follows the last one, and returns what it changed.
func (p *Page) Apply(ev openmanus.Event) []Change {
	p.Last, p.changes = ev.Seq, nil
	switch b := ev.Body.(type) {
	case openmanus.Configured:
		p.Tools = b.Tools
	case openmanus.UserSaid:
		p.add(&Item{Kind: Said, Seq: ev.Seq, Of: b, Text: b.Message.Text(), Parts: b.Message.Parts})
	case openmanus.ModelSaid:
		p.replied(ev.Seq, b)
	case openmanus.Interrupted:
		p.answered(ev, b.Said)
	case openmanus.Ended:
		p.answered(ev, b.Text)
	case openmanus.ChildOpened:
		p.opened(ev, b)
	}
	if text, bad := Note(ev.Body); text != "" {
		kind := Remark
		if bad {
			kind = Problem
		}
		p.add(&Item{Kind: kind, Seq: ev.Seq, Of: ev.Body, Text: text})
	}
	for _, call := range openmanus.CallsOf(ev.Body) {
		p.byCall[call.ID] = p.add(&Item{Kind: Called, Seq: ev.Seq, Of: ev.Body, Call: &Call{Call: call, Says: gist.SaysOf(p.Tools, call.Name)}})
	}
	if !p.ApplyToCall(ev) {
		p.Loose = append(p.Loose, ev)
	}
	return p.changes
}

// answered adds words of the agent that are not in a reply, unless they are those of the
// last one.
func (p *Page) answered(ev openmanus.Event, text string) {
	if text = strings.TrimSpace(text); text != "" && text != p.answer {
		p.answer = text
		p.add(&Item{Kind: Answered, Seq: ev.Seq, Of: ev.Body, Text: text})
	}
}

// replied adds a reply: its thinking, its text, and a note if it is not whole. The model is
// named where it is another one than before.
func (p *Page) replied(seq int64, b openmanus.ModelSaid) {
	for _, part := range b.Message.Parts {
		if r, ok := part.(llm.Thinking); ok && strings.TrimSpace(r.Text) != "" {
			p.add(&Item{Kind: Thought, Seq: seq, Of: b, Text: r.Text})
		}
	}
	text := b.Message.Text()
	if strings.TrimSpace(Words(b.Message.Parts)) != "" {
		by := ""
		if b.By != p.Model && p.Model != "" {
			by = b.By
		}
		p.answer = strings.TrimSpace(text)
		p.add(&Item{Kind: Answered, Seq: seq, Of: b, Text: text, By: by, Parts: b.Message.Parts})
	}
	p.Model = b.By
}

// opened shows a child session, in the item of the call that opened it, or in one of its
// own if a flow did.
func (p *Page) opened(ev openmanus.Event, b openmanus.ChildOpened) {
	at := p.byCall[b.Call]
	if at == nil {
		at = p.add(&Item{Kind: Agent, Seq: ev.Seq, Of: b})
	}
	at.Below, at.Begun = &Below{ID: b.Child, Label: cmp.Or(b.Label, b.Child[strings.LastIndexByte(b.Child, '.')+1:])}, ev.Time
	at.Rev++
	p.changes = append(p.changes, Change{at, Delegated})
	p.byChild[b.Child] = at
}

// Forget drops what the page shows, for a surface that shows it once: what comes later is an
// item of its own, or a change of a call that has not ended.
func (p *Page) Forget() {
	for _, c := range p.changes {
		if c.Did == Done {
			p.byCall[c.Call.ID] = &Item{Kind: Called, Seq: c.Seq, Call: &Call{Call: llm.Call{ID: c.Call.ID, Name: c.Call.Name}}}
		}
	}
	p.Items, p.Loose, p.changes = nil, nil, nil
}

// Child returns the item that shows a session below, or nil.
func (p *Page) Child(id string) *Item { return p.byChild[id] }

// ApplyToCall changes the item of a call or of a session below by an event about it. It
// returns false if the item is not in the page: when a page before is read, the event is
// applied to that.
func (p *Page) ApplyToCall(ev openmanus.Event) bool {
	at, about := (*Item)(nil), true
	switch b := ev.Body.(type) {
	case openmanus.ChildDone:
		if at = p.byChild[b.Child]; at == nil && p.First == 0 {
			at = &Item{Kind: Agent, Seq: ev.Seq, Below: &Below{ID: b.Child}}
		}
	default:
		id := aboutCall(b)
		if at, about = p.byCall[id], id != ""; at == nil && about && p.First == 0 {
			at = &Item{Kind: Called, Seq: ev.Seq, Call: &Call{Call: llm.Call{ID: id}}}
			p.byCall[id] = at
		}
	}
	if at != nil {
		if did, seen := at.apply(ev); seen {
			p.changes = append(p.changes, Change{at, did})
		}
		at.Rev++
	}
	return at != nil || !about
}

// aboutCall returns the call that an event is about, or "".
func aboutCall(b openmanus.Body) string {
	switch b := b.(type) {
	case openmanus.Asked:
		return b.Call
	case openmanus.Answered:
		return b.Call
	case openmanus.Ruled:
		return b.Call
	case openmanus.CallStarted:
		return b.Call
	case openmanus.CallDone:
		return b.Call
	case openmanus.CallLate:
		return b.Call
	}
	return ""
}

// apply changes an item by an event about its call, or its session below. Arguments that a
// person or a hook changed replace the model's. It returns what people see of that, if they
// do: that the gate allowed a call is no news.
func (it *Item) apply(ev openmanus.Event) (did Deed, seen bool) {
	if b, ok := ev.Body.(openmanus.ChildDone); ok {
		it.childDone(ev, b)
		return Reported, true
	}
	c := it.Call
	c.Asks = false
	note := CallNote{Of: ev.Body}
	switch b := ev.Body.(type) {
	case openmanus.Asked:
		c.Asks = true
		note.Kind, note.Text = Asked, b.Question
	case openmanus.Answered:
		note.Kind, note.By, note.Text = Reply, b.By, cmp.Or(b.Text, string(b.Data))
	case openmanus.Ruled:
		c.Input = cmp.Or(b.Input, c.Input)
		note.By = b.By
		switch {
		case !b.Allow:
			note.Kind, note.Text = Denied, b.Reason
		case b.By == openmanus.ByGate:
			return 0, false
		case b.Input != "":
			note.Kind, note.Text = Changed, b.Input
		default:
			note.Kind = Allowed
		}
	case openmanus.CallStarted:
		it.Begun = ev.Time
		return Started, true
	case openmanus.CallDone:
		e := gist.End(b)
		c.Done, c.End, it.Ended = &b, &e, ev.Time
		return Done, true
	case openmanus.CallLate:
		note.Kind, note.Text, note.Parts = Late, b.Parts.Text(), b.Parts
	}
	c.Notes = append(c.Notes, note)
	return Noted, true
}

// childDone notes how a session below ended.
func (it *Item) childDone(ev openmanus.Event, b openmanus.ChildDone) {
	it.Ended = ev.Time
	it.Below.Status, it.Below.Last, it.Below.Asks = string(b.Status), b.Text, 0
	it.Below.Tokens, it.Below.Cost = b.Usage.Total(), b.Cost
	if it.Kind == Called && it.Call.End == nil {
		it.Call.End = &gist.Ending{Word: string(b.Status), Bad: b.Status != openmanus.Finished, Lines: strings.Split(strings.TrimSpace(b.Text), "\n")}
	}
}

// ApplyBelow counts an event of a child session in its item, if this page has that, and
// shows the last action. Provisional events do not count.
func (p *Page) ApplyBelow(child string, ev openmanus.Event) {
	at := p.byChild[child]
	if at == nil || ev.Seq == 0 {
		return
	}
	if c, ok := ev.Body.(openmanus.Configured); ok {
		at.Below.tools = c.Tools
	}
	calls := openmanus.CallsOf(ev.Body)
	for _, call := range calls {
		at.Below.Calls++
		verb, target := gist.Phrase(call, gist.Running, gist.SaysOf(at.Below.tools, call.Name)...)
		at.Below.Last = verb + " " + target
	}
	uses := openmanus.ModelUses(ev.Body)
	for _, u := range uses {
		at.Below.Tokens += u.Usage.Total()
	}
	if len(calls)+len(uses) > 0 {
		at.Rev++
	}
}

// Backs are the events of a session by which it went back, in their order.
type Backs []openmanus.Event

// With returns all, and an event if the session goes back by it.
func (all Backs) With(ev openmanus.Event) Backs {
	if _, back := ev.Body.(openmanus.Rewound); back {
		return append(all, ev)
	}
	return all
}

// Taken reports whether the event seq has been taken back: the conversation after going
// back is the one that there was after the event gone back to, and what follows.
func (all Backs) Taken(seq int64) bool {
	until := int64(1<<63 - 1)
	for i := len(all) - 1; i >= 0; i-- {
		b := all[i].Body.(openmanus.Rewound)
		if !b.Talk || all[i].Seq > until {
			continue
		}
		if seq >= all[i].Seq {
			break
		}
		until = b.To
	}
	return seq > until
}
