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

	byCall  map[string]*Item
	byChild map[string]*Item
}

// NewPage returns an empty page whose first event is first.
func NewPage(first int64) *Page {
	return &Page{First: first, Last: first - 1, byCall: make(map[string]*Item), byChild: make(map[string]*Item)}
}

// add appends an item.
func (p *Page) add(it *Item) *Item {
	p.Items = append(p.Items, it)
	return it
}

// Apply adds a stored event, which follows the last one.
func (p *Page) Apply(ev openmanus.Event) {
	p.Last = ev.Seq
	switch b := ev.Body.(type) {
	case openmanus.UserSaid:
		p.add(&Item{Kind: Said, Seq: ev.Seq, Text: b.Message.Text(), Parts: b.Message.Parts})
	case openmanus.ModelSaid:
		p.replied(ev.Seq, b)
	case openmanus.Interrupted:
		p.answered(ev.Seq, b.Said)
	case openmanus.Ended:
		p.answered(ev.Seq, b.Text)
	case openmanus.ChildOpened:
		p.opened(ev, b)
	}
	if text, bad := Note(ev.Body); text != "" {
		kind := Remark
		if bad {
			kind = Problem
		}
		p.add(&Item{Kind: kind, Seq: ev.Seq, Text: text})
	}
	for _, call := range openmanus.CallsOf(ev.Body) {
		p.byCall[call.ID] = p.add(&Item{Kind: Called, Seq: ev.Seq, Call: &Call{Call: call}})
	}
	if !p.ApplyToCall(ev) {
		p.Loose = append(p.Loose, ev)
	}
}

// answered adds words of the agent that are not in a reply, unless they are those of the
// last one.
func (p *Page) answered(seq int64, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	for i := len(p.Items) - 1; i >= 0; i-- {
		if it := p.Items[i]; it.Kind == Answered {
			if strings.TrimSpace(it.Text) == strings.TrimSpace(text) {
				return
			}
			break
		}
	}
	p.add(&Item{Kind: Answered, Seq: seq, Text: text})
}

// replied adds a reply: its thinking, its text, and a note if it is not whole. The model is
// named where it is another one than before.
func (p *Page) replied(seq int64, b openmanus.ModelSaid) {
	for _, part := range b.Message.Parts {
		if r, ok := part.(llm.Thinking); ok && strings.TrimSpace(r.Text) != "" {
			p.add(&Item{Kind: Thought, Seq: seq, Text: r.Text})
		}
	}
	text := b.Message.Text()
	if strings.TrimSpace(Words(b.Message.Parts)) != "" {
		by := ""
		if b.By != p.Model && p.Model != "" {
			by = b.By
		}
		p.add(&Item{Kind: Answered, Seq: seq, Text: text, By: by, Parts: b.Message.Parts})
	}
	p.Model = b.By
}

// opened shows a child session, in the item of the call that opened it, or in one of its
// own if a flow did.
func (p *Page) opened(ev openmanus.Event, b openmanus.ChildOpened) {
	at := p.byCall[b.Call]
	if at == nil {
		at = p.add(&Item{Kind: Agent, Seq: ev.Seq})
	}
	at.Below, at.Begun = &Below{ID: b.Child, Label: cmp.Or(b.Label, b.Child[strings.LastIndexByte(b.Child, '.')+1:])}, ev.Time
	at.Rev++
	p.byChild[b.Child] = at
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
		at = p.byChild[b.Child]
	default:
		id := aboutCall(b)
		at, about = p.byCall[id], id != ""
	}
	if at != nil {
		at.apply(ev)
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
// person or a hook changed replace the model's.
func (it *Item) apply(ev openmanus.Event) {
	if b, ok := ev.Body.(openmanus.ChildDone); ok {
		it.childDone(ev, b)
		return
	}
	c := it.Call
	c.Asks = false
	switch b := ev.Body.(type) {
	case openmanus.Asked:
		c.Asks = true
		c.Notes = append(c.Notes, CallNote{Kind: Asked, Text: b.Question})
	case openmanus.Answered:
		c.Notes = append(c.Notes, CallNote{Kind: Reply, By: b.By, Text: cmp.Or(b.Text, string(b.Data))})
	case openmanus.Ruled:
		c.ruled(b)
	case openmanus.CallStarted:
		it.Begun = ev.Time
	case openmanus.CallDone:
		e := gist.End(b)
		c.Done, c.End, it.Ended = &b, &e, ev.Time
	case openmanus.CallLate:
		c.Notes = append(c.Notes, CallNote{Kind: Late, Text: b.Parts.Text(), Parts: b.Parts})
	}
}

// ruled notes a ruling. That the gate allowed a call is no news.
func (c *Call) ruled(b openmanus.Ruled) {
	if b.Input != "" {
		c.Input = b.Input
	}
	switch {
	case !b.Allow:
		c.Notes = append(c.Notes, CallNote{Kind: Denied, By: b.By, Text: b.Reason})
	case b.By == openmanus.ByGate:
	case b.Input != "":
		c.Notes = append(c.Notes, CallNote{Kind: Changed, By: b.By, Text: b.Input})
	default:
		c.Notes = append(c.Notes, CallNote{Kind: Allowed, By: b.By})
	}
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
	calls := openmanus.CallsOf(ev.Body)
	for _, call := range calls {
		at.Below.Calls++
		verb, target := gist.Phrase(call, gist.Running)
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
