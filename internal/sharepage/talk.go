package sharepage

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/llm"
)

// An item is one thing that was said or done: a message, a call or a note.
type item struct {
	seq      int64
	who      string // of a message: "You" or "OpenManus"
	text     string // of a message, Markdown if the agent's
	thinking string
	pictures []llm.Blob
	note     string
	bad      bool // of a note
	call     *call
}

// gone are the items before the event at, with which the session went back.
type gone struct {
	at    int64
	items []item
}

// A call is one call, as far as it came.
type call struct {
	llm.Call
	allowed string // what a person or a rule said, if it is worth a word
	denied  bool
	answer  string
	done    *openmanus.CallDone
}

// tense is where the call is, now that nothing runs any more.
func (c *call) tense() gist.Tense {
	if c.denied {
		return gist.Never
	}
	return gist.Done
}

// add adds what an event tells to the items.
func (p *page) add(ev openmanus.Event) {
	say := func(who string, m llm.Message) {
		it := item{seq: ev.Seq, who: who, text: m.Parts.Text(), pictures: pictures(m.Parts)}
		for _, part := range m.Parts {
			if t, ok := part.(llm.Thinking); ok {
				it.thinking += t.Text
			}
		}
		if it.text != "" || it.thinking != "" || len(it.pictures) > 0 {
			p.items = append(p.items, it)
		}
	}
	note := func(text string, bad bool) {
		if text != "" {
			p.items = append(p.items, item{seq: ev.Seq, note: text, bad: bad})
		}
	}
	switch b := ev.Body.(type) {
	case openmanus.UserSaid:
		say("You", b.Message)
	case openmanus.ModelSaid:
		say("OpenManus", b.Message)
	case openmanus.ModelFailed:
		note(b.Error, true)
	case openmanus.Stopped:
		note(b.Error, true)
	case openmanus.Ended:
		say("OpenManus", llm.Say(llm.Assistant, b.Text))
		note(b.Error, true)
	case openmanus.Interrupted:
		say("OpenManus", llm.Say(llm.Assistant, b.Said))
		note("Interrupted", false)
	case openmanus.Noted:
		note(b.Text, false)
	case openmanus.Rewound:
		p.wentBack(ev.Seq, b)
	case openmanus.ChildDone:
		if b.Call == "" {
			note(fmt.Sprintf("%s: %s. %s", b.Child, b.Status, b.Text), b.Status != openmanus.Finished)
		}
	default:
		p.addToCall(ev.Body)
	}
	for _, c := range openmanus.CallsOf(ev.Body) {
		p.items = append(p.items, item{seq: ev.Seq, call: &call{Call: c}})
	}
}

// addToCall adds the outcome of a call.
func (p *page) addToCall(b openmanus.Body) {
	switch b := b.(type) {
	case openmanus.Ruled:
		if c := p.called(b.Call); c != nil {
			c.denied = !b.Allow
			if b.By != openmanus.ByGate || c.denied {
				c.allowed = strings.TrimRight(fmt.Sprintf("%s by %s. %s", map[bool]string{true: "Allowed", false: "Denied"}[b.Allow], b.By, b.Reason), " ")
			}
			if b.Input != "" {
				c.Input = b.Input
			}
		}
	case openmanus.Answered:
		if c := p.called(b.Call); c != nil {
			c.answer = b.Text
			if c.answer == "" {
				c.answer = string(b.Data)
			}
		}
	case openmanus.CallDone:
		if c := p.called(b.Call); c != nil {
			c.done = &b
		}
	}
}

// called returns the last call with an id, or nil.
func (p *page) called(id string) *call {
	for _, it := range slices.Backward(p.items) {
		if it.call != nil && it.call.ID == id {
			return it.call
		}
	}
	return nil
}

// wentBack takes out what the session went back over. Whoever goes back further than that, or forth
// again, chooses among the items of that time.
func (p *page) wentBack(seq int64, b openmanus.Rewound) {
	if b.Talk {
		were := p.items
		if i := slices.IndexFunc(p.gone, func(g gone) bool { return g.at > b.To }); i >= 0 {
			were = p.gone[i].items
		}
		p.gone = append(p.gone, gone{seq, slices.Clone(p.items)})
		p.items = slices.DeleteFunc(slices.Clone(were), func(it item) bool { return it.seq > b.To })
	}
	word := "Went back to here"
	if b.Redo != "" {
		word = "Went forth again"
	}
	p.items = append(p.items, item{seq: seq, note: word})
}

func pictures(parts llm.Parts) (all []llm.Blob) {
	for _, part := range parts {
		if b, ok := part.(llm.Blob); ok {
			all = append(all, b)
		}
	}
	return all
}

// conversation is all that was said and done. Calls in a row are one line until it is opened.
func (p *page) conversation() string {
	var b strings.Builder
	b.WriteString(`<section aria-label="Conversation">` + "\n")
	left := 0
	for i := 0; i < len(p.items); {
		it := p.items[i]
		if it.call != nil {
			n := 1
			for i+n < len(p.items) && p.items[i+n].call != nil {
				n++
			}
			p.steps(&b, p.items[i:i+n])
			i += n
			continue
		}
		i++
		if p.talk -= len(it.text) + len(it.thinking) + len(it.note); p.talk < 0 {
			left++
			continue
		}
		switch {
		case it.note != "" && it.bad:
			fmt.Fprintf(&b, "<p class=\"note bad\">%s</p>\n", exact(it.note))
		case it.note != "":
			fmt.Fprintf(&b, "<p class=\"note\">%s</p>\n", exact(it.note))
		default:
			p.message(&b, it)
		}
	}
	b.WriteString("</section>\n")
	if left > 0 {
		p.left = append(p.left, clip.Count(left, "message")+" left out, because the page would be too large.")
	}
	if p.cut > 0 {
		p.left = append(p.left, clip.Count(p.cut, "part")+" of long calls left out, because the page would be too large.")
	}
	return b.String()
}

func (p *page) message(b *strings.Builder, it item) {
	class := "agent"
	if it.who == "You" {
		class = "you"
	}
	fmt.Fprintf(b, "<article class=\"%s\"><h2>%s</h2>", class, it.who)
	if it.thinking != "" {
		fmt.Fprintf(b, "<details><summary>Thinking</summary><p class=\"words\">%s</p></details>", exact(it.thinking))
	}
	switch {
	case it.text == "":
	case class == "you":
		fmt.Fprintf(b, "<p class=\"words\">%s</p>", exact(it.text))
	default:
		b.WriteString(p.markdown(it.text))
	}
	p.pictures(b, it.pictures)
	b.WriteString("</article>\n")
}

// pictures writes those that browsers show; others are named.
func (p *page) pictures(b *strings.Builder, all []llm.Blob) {
	for _, blob := range all {
		if url := p.picture(blob.MIME, blob.Data); url != "" {
			fmt.Fprintf(b, `<img src="%s" alt="%s">`, url, exact(blob.Name))
		} else {
			fmt.Fprintf(b, `<p class="note">%s, %s, is left out.</p>`, exact(blob.Name), exact(blob.MIME))
		}
	}
}

// picture returns the address of a picture with its data in it, or "" if the page has no room for
// it or it is none that a browser draws without running anything.
func (p *page) picture(mime string, data []byte) string {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml": // in an img no script of it runs
	default:
		return ""
	}
	if len(data) == 0 || len(data) > min(maxFile, p.data) {
		return ""
	}
	p.data -= len(data)
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
}

func (p *page) steps(b *strings.Builder, items []item) {
	failed := 0
	for _, it := range items {
		if d := it.call.done; it.call.denied || d != nil && (d.IsError || d.Failed) {
			failed++
		}
	}
	does, on := gist.Phrase(items[0].call.Call, items[0].call.tense())
	first := clip.Visible(does + " " + clip.Text(on, 80))
	if len(items) > 1 {
		first = clip.Count(len(items), "step") + " · " + first + " …"
	}
	fmt.Fprintf(b, "<details class=\"steps\"><summary>%s%s</summary>\n", esc(first), map[bool]string{true: fmt.Sprintf(" <b>%d failed</b>", failed)}[failed > 0])
	for _, it := range items {
		p.step(b, it.call)
	}
	b.WriteString("</details>\n")
}

func (p *page) step(b *strings.Builder, c *call) {
	word, bad := "did not end", true
	var end gist.Ending
	switch {
	case c.denied:
		word = "denied"
	case c.done != nil:
		end = gist.End(*c.done)
		word, bad = end.Word, end.Bad
	}
	does, on := gist.Phrase(c.Call, c.tense())
	class := ""
	if bad {
		class = ` class="bad"`
	}
	fmt.Fprintf(b, "<div class=\"call\"><h3>%s <code>%s</code> <small%s>%s</small></h3>", exact(does), exact(clip.Text(on, 200)), class, exact(word))
	if c.allowed != "" {
		fmt.Fprintf(b, "<p class=\"note\">%s</p>", exact(c.allowed))
	}
	p.io(b, c.Name, pretty(c.Input))
	if len(end.Diff) > 0 {
		b.WriteString(p.bounded(strings.Join(end.Diff, "\n"), diff))
	}
	p.io(b, "Answer", c.answer)
	if c.done != nil {
		p.io(b, "Result", clip.Clean(strings.Join(end.Lines, "\n")))
		p.pictures(b, pictures(c.done.Parts))
		p.depict(b, c.done.Picture)
	}
	b.WriteString("</div>\n")
}

// depict writes the picture of what a call worked on.
func (p *page) depict(b *strings.Builder, ref openmanus.Ref) {
	if ref == "" || p.s.Blobs == nil {
		return
	}
	r, err := p.s.Blobs.Get(p.ctx, ref)
	if err != nil {
		return
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if url := p.picture(http.DetectContentType(data), data); err == nil && url != "" {
		fmt.Fprintf(b, `<img src="%s" alt="What it looked like">`, url)
	}
}

func pretty(input string) string {
	var v any
	if json.Unmarshal([]byte(input), &v) != nil {
		return input
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return input
	}
	return strings.TrimSpace(out.String())
}

// io writes a named text of a call, if there is one.
func (p *page) io(b *strings.Builder, name, text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		fmt.Fprintf(b, "<h4>%s</h4>%s", exact(name), p.bounded(text, func(s string) string { return exact(s) }))
	}
}

// bounded is a text as draw makes it, or as much of it as there is room for.
func (p *page) bounded(text string, draw func(string) string) string {
	most := min(maxCall, p.calls)
	if most <= 0 {
		p.cut++
		return "<p class=\"note\">Left out.</p>"
	}
	more := ""
	if len(text) > most {
		more = fmt.Sprintf("\n… %d more bytes are left out", len(text)-most)
		text = strings.ToValidUTF8(text[:most], "")
		p.cut++
	}
	p.calls -= len(text)
	return "<pre>" + draw(text) + esc(more) + "</pre>"
}

// diff colours the lines of a unified diff.
func diff(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		tag := map[byte]string{'+': "ins", '-': "del", '@': "i"}[line[0]]
		line = exact(line)
		if tag != "" {
			line = "<" + tag + ">" + line + "</" + tag + ">"
		}
		b.WriteString(line)
	}
	return b.String()
}
