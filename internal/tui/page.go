package tui

import (
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/llm"
)

// A page is what some consecutive events of a session show.
type page struct {
	first, last int64 // the events; last is first-1 of an empty page
	blocks      []*block
	byCall      map[string]*block // by the ids of calls
	byChild     map[string]*block // by the ids of sessions below

	// loose are the events that say something about calls of earlier pages: when such
	// a page is read, they are applied to it.
	loose []openmanus.Event
	model string // the last one that answered
}

// newPage returns an empty page whose first event is first.
func newPage(first int64) *page {
	return &page{first: first, last: first - 1, byCall: make(map[string]*block), byChild: make(map[string]*block)}
}

// add appends a block.
func (p *page) add(b *block) *block {
	p.blocks = append(p.blocks, b)
	return b
}

// apply adds a stored event, which follows the last one.
func (p *page) apply(ev openmanus.Event) {
	p.last = ev.Seq
	switch b := ev.Body.(type) {
	case openmanus.UserSaid:
		p.add(&block{kind: said, seq: ev.Seq, text: b.Message.Text()})
	case openmanus.ModelSaid:
		p.said(ev.Seq, b)
	case openmanus.Called:
		p.begin(ev.Seq, openmanus.CallsOf(b))
	case openmanus.ModelFailed:
		p.add(&block{kind: problem, seq: ev.Seq, text: "the model failed: " + b.Error})
	case openmanus.Stopped:
		if b.Reason != openmanus.ByPerson {
			p.add(&block{kind: problem, seq: ev.Seq, text: "stopped: " + b.Error})
		}
	case openmanus.Interrupted:
		if strings.TrimSpace(b.Said) != "" {
			p.add(&block{kind: answered, seq: ev.Seq, text: b.Said})
		}
		p.add(&block{kind: problem, seq: ev.Seq, text: "interrupted"})
	case openmanus.Ended:
		if b.Status == openmanus.Failed && b.Error != "" {
			p.add(&block{kind: problem, seq: ev.Seq, text: b.Error})
		}
		if b.Text != "" && !p.shows(b.Text) {
			p.add(&block{kind: answered, seq: ev.Seq, text: b.Text})
		}
	case openmanus.Elided, openmanus.Compacted:
		p.add(&block{kind: remark, seq: ev.Seq, text: linemode.CutGist(b)})
	case openmanus.Rewound:
		p.add(&block{kind: remark, seq: ev.Seq, text: backGist(b)})
	case openmanus.Noted:
		p.add(&block{kind: remark, seq: ev.Seq, text: b.Text})
	case openmanus.TakenOver:
		p.add(&block{kind: remark, seq: ev.Seq, text: "it goes on after a break"})
	case openmanus.Configured:
		if b.N > 0 {
			p.add(&block{kind: remark, seq: ev.Seq, text: "from here on: " + b.Model + ", approve " + b.Approve})
		}
	case openmanus.ModeSet:
		p.add(&block{kind: remark, seq: ev.Seq, text: "the mode is " + b.Mode + " from here on"})
	case openmanus.ChildOpened:
		p.open(ev, b)
	default:
		if !p.applyToCall(ev) {
			p.loose = append(p.loose, ev)
		}
	}
}

// shows reports whether text is that of the last block that the agent said.
func (p *page) shows(text string) bool {
	for i := len(p.blocks) - 1; i >= 0; i-- {
		if b := p.blocks[i]; b.kind == answered {
			return strings.TrimSpace(b.text) == strings.TrimSpace(text)
		}
	}
	return false
}

// said adds a reply: its thinking, its text, and a note if it is not whole. The model is
// named where it is another one than before.
func (p *page) said(seq int64, b openmanus.ModelSaid) {
	for _, part := range b.Message.Parts {
		if r, ok := part.(llm.Thinking); ok && strings.TrimSpace(r.Text) != "" {
			p.add(&block{kind: thought, seq: seq, text: r.Text})
		}
	}
	if text := b.Message.Text(); strings.TrimSpace(text) != "" {
		by := ""
		if b.By != p.model && p.model != "" {
			by = b.By
		}
		p.add(&block{kind: answered, seq: seq, text: text, by: by})
	}
	p.model = b.By
	if !b.Stop.Whole() {
		p.add(&block{kind: problem, seq: seq, text: fmt.Sprintf("the reply is not whole: %s", b.Stop)})
	}
	p.begin(seq, openmanus.CallsOf(b))
}

// begin adds the blocks of new calls.
func (p *page) begin(seq int64, calls []llm.Call) {
	for _, call := range calls {
		p.byCall[call.ID] = p.add(&block{kind: called, seq: seq, call: call})
	}
}

// open shows a child session, in the block of the call that opened it, or in one of its
// own if a flow did.
func (p *page) open(ev openmanus.Event, b openmanus.ChildOpened) {
	at := p.byCall[b.Call]
	if at == nil {
		at = p.add(&block{kind: agent, seq: ev.Seq})
	}
	label := b.Label
	if label == "" {
		label = b.Child[strings.LastIndexByte(b.Child, '.')+1:]
	}
	at.below, at.begun = &below{id: b.Child, label: label}, ev.Time
	at.changed()
	p.byChild[b.Child] = at
}

// applyToCall changes the block of a call or of a session below. It returns false if
// the block is not in the page. Events that show nothing are true.
func (p *page) applyToCall(ev openmanus.Event) bool {
	var at *block
	var id string
	switch b := ev.Body.(type) {
	case openmanus.Asked:
		id = b.Call
	case openmanus.Answered:
		id = b.Call
	case openmanus.Ruled:
		id = b.Call
	case openmanus.CallStarted:
		id = b.Call
	case openmanus.CallDone:
		id = b.Call
	case openmanus.CallLate:
		id = b.Call
	case openmanus.ChildDone:
		if at = p.byChild[b.Child]; at == nil {
			return false
		}
	default:
		return true
	}
	if at == nil {
		at = p.byCall[id]
	}
	if at == nil {
		return false
	}
	at.apply(ev)
	at.changed()
	return true
}

// apply changes the block of a call by an event about it. Arguments that a person or a
// hook changed replace the model's.
func (b *block) apply(ev openmanus.Event) {
	switch body := ev.Body.(type) {
	case openmanus.Asked:
		b.asks = true
	case openmanus.Answered:
		b.asks, b.note = false, "you said: "+clip.OneLine(body.Text)
	case openmanus.Ruled:
		b.asks = false
		switch {
		case !body.Allow:
			b.note = "not allowed by " + body.By + ": " + body.Reason
		case body.By != openmanus.ByGate:
			b.note = "allowed by " + body.By
		}
		if body.Input != "" {
			b.call.Input = body.Input
		}
	case openmanus.CallStarted:
		b.begun, b.asks = ev.Time, false
	case openmanus.CallDone:
		e := gist.End(body)
		b.end, b.done, b.asks = &e, ev.Time, false
	case openmanus.CallLate:
		b.note = "its result came late: " + clip.OneLine(body.Parts.Text())
	case openmanus.ChildDone:
		if b.below == nil {
			return
		}
		b.done = ev.Time
		b.below.status, b.below.last, b.below.asks = string(body.Status), body.Text, 0
		b.below.tokens = body.Usage.Total()
		if body.Cost > 0 {
			b.below.cost = money(body.Cost)
		}
		if b.kind == called && b.end == nil {
			b.end = &gist.Ending{Word: string(body.Status), Bad: body.Status != openmanus.Finished, Lines: strings.Split(strings.TrimSpace(body.Text), "\n")}
		}
	}
}

// applyBelow counts an event of a child session in its block, if this page has that, and
// shows the last action. Provisional events do not count.
func (p *page) applyBelow(child string, ev openmanus.Event) {
	at := p.byChild[child]
	if at == nil || at.below == nil || ev.Seq == 0 {
		return
	}
	switch b := ev.Body.(type) {
	case openmanus.ModelSaid, openmanus.Called:
		for _, call := range openmanus.CallsOf(b) {
			at.below.calls++
			verb, target := gist.Phrase(call, gist.Running)
			at.below.last = verb + " " + target
		}
		for _, u := range openmanus.ModelUses(ev.Body) {
			at.below.tokens += u.Usage.Total()
		}
	default:
		return
	}
	at.changed()
}

// backGist returns one line about a rewind: to which event, and whether it concerned the
// conversation, files, or both.
func backGist(b openmanus.Rewound) string {
	var parts []string
	if b.Talk {
		parts = append(parts, "the conversation")
	}
	if b.Files {
		parts = append(parts, clip.Count(len(b.Changes), "file"))
	}
	verb := "went back to event"
	if b.Redo != "" {
		verb = "went forward again to event"
	}
	return fmt.Sprintf("%s %d: %s", verb, b.To, strings.Join(parts, ", "))
}

// money formats an amount for people.
func money(m openmanus.Money) string { return fmt.Sprintf("$%.2f", m.USD()) }
