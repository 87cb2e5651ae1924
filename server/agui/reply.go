package agui

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm"
)

// A piece is a part of a reply as it is sent: prose, a thought, or something else,
// which has kind 0.
type piece struct {
	kind byte
	text string
}

// piecesOf returns the pieces of a reply. Without whole, the last one may go on.
func piecesOf(parts llm.Parts, whole bool) []piece {
	all := make([]piece, len(parts))
	for i, part := range parts {
		switch part := part.(type) {
		case llm.Text:
			all[i] = piece{prose, part.Text}
		case llm.Thinking:
			all[i] = piece{thought, part.Text}
		}
		if !whole && i == len(parts)-1 {
			all[i].text = clip.Runes(all[i].text)
		}
		all[i].text = strings.ToValidUTF8(all[i].text, "\uFFFD")
	}
	return all
}

// typing adds what the model has just written.
func (p *Projector) typing(e openmanus.Typing) {
	if !p.open || e.Turn != p.State.Turn {
		return
	}
	if e.Reset {
		p.parts, p.doubt = nil, true
	}
	if e.Read > 0 && len(p.parts) == 0 && p.reached {
		p.append(fields{"type": "CUSTOM", "name": "reading_prompt", "value": fields{"percent": e.Read}})
	}
	for i, part := range e.Parts {
		at := e.Part + i
		for len(p.parts) <= at {
			p.parts = append(p.parts, nil)
		}
		p.parts[at] = extend(p.parts[at], part)
	}
	p.sendReply(p.parts, false)
}

// extend returns the part that more continues.
func extend(part, more llm.Part) llm.Part {
	switch more := more.(type) {
	case llm.Text:
		before, _ := part.(llm.Text)
		return llm.Text{Text: before.Text + more.Text}
	case llm.Thinking:
		before, _ := part.(llm.Thinking)
		return llm.Thinking{Text: before.Text + more.Text}
	}
	return more
}

// sendReply sends what was not sent of a reply: its prose and its thoughts.
func (p *Projector) sendReply(parts llm.Parts, whole bool) {
	if !p.reached {
		return
	}
	all := piecesOf(parts, whole)
	r := &p.at.reply
	if p.doubt || whole {
		same, enough := r.begins(all)
		if !enough && !whole {
			return // the reply began again, and is not yet as long as what was sent
		}
		if !same {
			p.endReply(p.State.Turn)
			*r = reply{Attempt: r.Attempt + 1}
		}
		p.doubt = false
	}
	for i := r.Part; i < len(all); i++ {
		sealed := whole || i < len(all)-1
		if all[i].kind == 0 || all[i].text == "" || i == r.Part && r.Step == stepDone {
			continue
		}
		if i != r.Part {
			*r = reply{Attempt: r.Attempt, Part: i, Hash: r.Hash}
		}
		p.sendPiece(all, sealed)
	}
}

// begins reports whether what was sent is how a reply with these pieces begins, and
// whether they are enough to tell.
func (r *reply) begins(all []piece) (same, enough bool) {
	if r.Kind == 0 {
		return true, true
	}
	if r.Part >= len(all) {
		return false, false
	}
	last := all[r.Part]
	if last.kind != r.Kind || len(last.text) < r.Off {
		return false, last.kind != r.Kind
	}
	return digest(all, r.Part, r.Off) == r.Hash && (r.Step < stepEnded || r.Off == len(last.text)), true
}

// digest returns a hash of the pieces before a part, and of its text up to off.
func digest(all []piece, part, off int) uint32 {
	h := fnv.New32a()
	for i, q := range all[:part+1] {
		if i == part {
			q.text = q.text[:off]
		}
		if q.kind != 0 && q.text != "" {
			_, _ = h.Write([]byte{0xff, q.kind}) // no text has this byte
			_, _ = io.WriteString(h, q.text)
		}
	}
	return h.Sum32()
}

// sendPiece sends what was not sent of the part r.Part, and ends it if it is sealed.
func (p *Projector) sendPiece(all []piece, sealed bool) {
	r := &p.at.reply
	q := all[r.Part]
	id := p.messageID(p.State.Turn, r.Part, r.Attempt)
	if r.Kind == 0 {
		r.Kind, r.Hash = q.kind, digest(all, r.Part, 0)
	}
	if q.kind == thought && r.Step == stepNone {
		p.step(stepSpan, fields{"type": "REASONING_START", "messageId": id})
	}
	if r.Step < stepBegun {
		start := fields{"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}
		if q.kind == thought {
			start = fields{"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}
		}
		p.step(stepBegun, start)
	}
	if r.Off < len(q.text) {
		delta := q.text[r.Off:]
		r.Off, r.Hash = len(q.text), digest(all, r.Part, len(q.text))
		typ := "TEXT_MESSAGE_CONTENT"
		if q.kind == thought {
			typ = "REASONING_MESSAGE_CONTENT"
		}
		p.step(stepBegun, fields{"type": typ, "messageId": id, "delta": delta})
	}
	if sealed {
		p.endReply(p.State.Turn)
	}
}

// endReply ends the message that is being sent, if there is one.
func (p *Projector) endReply(turn int) {
	r := &p.at.reply
	id := p.messageID(turn, r.Part, r.Attempt)
	switch {
	case r.Kind == prose && r.Step == stepBegun:
		p.step(stepDone, fields{"type": "TEXT_MESSAGE_END", "messageId": id})
	case r.Kind == thought && r.Step >= stepSpan:
		if r.Step == stepBegun {
			p.step(stepEnded, fields{"type": "REASONING_MESSAGE_END", "messageId": id})
		}
		if r.Step < stepDone {
			p.step(stepDone, fields{"type": "REASONING_END", "messageId": id})
		}
	}
}

// step sends a frame of a reply.
func (p *Projector) step(step int, f fields) {
	p.at.reply.Step = step
	p.append(f)
}

// messageID names the message of a part of a reply.
func (p *Projector) messageID(turn, part, attempt int) string {
	id := fmt.Sprintf("reply-%d-%d", turn, part)
	if attempt > 0 {
		id += fmt.Sprintf("-again-%d", attempt)
	}
	return id
}
