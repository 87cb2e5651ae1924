package sharepage

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
)

// conversation is all that was said and done. Calls in a row are one line until it is opened.
func (p *page) conversation() string {
	var b strings.Builder
	b.WriteString(`<section aria-label="Conversation">` + "\n")
	left := 0
	for i := 0; i < len(p.items); {
		it, n := p.items[i], 1
		if it.Call != nil {
			for i+n < len(p.items) && p.items[i+n].Call != nil {
				n++
			}
			p.steps(&b, p.items[i:i+n])
			i += n
			continue
		}
		thinking := ""
		if it.Kind == view.Thought {
			it, thinking, n = p.thinking(i)
		}
		i += n
		if p.talk -= len(it.Text) + len(thinking); p.talk < 0 {
			left++
			continue
		}
		switch it.Kind {
		case view.Said, view.Answered:
			p.message(&b, it, thinking)
		case view.Agent:
			p.agent(&b, it)
		case view.Problem:
			fmt.Fprintf(&b, "<p class=\"note bad\">%s</p>\n", sentence(it.Text))
		default:
			fmt.Fprintf(&b, "<p class=\"note\">%s</p>\n", sentence(it.Text))
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

// thinking returns the answer of the reply whose thoughts begin at item i, the thoughts,
// and how many items these are. A reply without an answer has an empty one.
func (p *page) thinking(i int) (answer *view.Item, thoughts string, n int) {
	seq := p.items[i].Seq
	for ; i+n < len(p.items) && p.items[i+n].Seq == seq; n++ {
		switch it := p.items[i+n]; it.Kind {
		case view.Thought:
			thoughts += it.Text
		case view.Answered:
			return it, thoughts, n + 1
		default:
			return &view.Item{Kind: view.Answered}, thoughts, n
		}
	}
	return &view.Item{Kind: view.Answered}, thoughts, n
}

// sentence returns a note as HTML.
func sentence(text string) string { return exact(view.Sentence(text)) }

// agent writes that a session below ran, and how it ended.
func (p *page) agent(b *strings.Builder, it *view.Item) {
	class := "note"
	if it.Below.Status != string(openmanus.Finished) {
		class += " bad"
	}
	fmt.Fprintf(b, "<p class=\"%s\">%s: %s. %s</p>\n", class, exact(it.Below.ID), exact(cmp.Or(it.Below.Status, "did not end")), exact(it.Below.Last))
}

func (p *page) message(b *strings.Builder, it *view.Item, thinking string) {
	class, who := "agent", "OpenManus"
	if it.Kind == view.Said {
		class, who = "you", "You"
	}
	fmt.Fprintf(b, "<article class=\"%s\"><h2>%s</h2>", class, who)
	if thinking != "" {
		fmt.Fprintf(b, "<details><summary>Thinking</summary><p class=\"words\">%s</p></details>", exact(thinking))
	}
	switch {
	case it.Text == "":
	case it.Kind == view.Said:
		fmt.Fprintf(b, "<p class=\"words\">%s</p>", exact(it.Text))
	default:
		b.WriteString(p.markdown(it.Text))
	}
	p.pictures(b, it.Parts)
	b.WriteString("</article>\n")
}

// pictures writes those among parts that browsers show; others are named.
func (p *page) pictures(b *strings.Builder, parts llm.Parts) {
	for _, part := range parts {
		blob, ok := part.(llm.Blob)
		if !ok {
			continue
		}
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

func (p *page) steps(b *strings.Builder, items []*view.Item) {
	failed := 0
	for _, it := range items {
		if word, bad := ending(it); bad && word != unended {
			failed++
		}
	}
	does, on := gist.Phrase(items[0].Call.Call, over(items[0]), items[0].Call.Says...)
	first := clip.Visible(does + " " + clip.Text(on, 80))
	if len(items) > 1 {
		first = clip.Count(len(items), "step") + " · " + first + " …"
	}
	fmt.Fprintf(b, "<details class=\"steps\"><summary>%s%s</summary>\n", esc(first), map[bool]string{true: fmt.Sprintf(" <b>%d failed</b>", failed)}[failed > 0])
	for _, it := range items {
		p.step(b, it)
	}
	b.WriteString("</details>\n")
}

// over returns where a call is, now that nothing runs any more.
func over(it *view.Item) gist.Tense {
	if it.Denied() {
		return gist.Never
	}
	return gist.Done
}

// unended is the word for a call without a result.
const unended = "did not end"

// ending says how a call ended, and whether it failed.
func ending(it *view.Item) (word string, bad bool) {
	switch e := it.End(); {
	case over(it) == gist.Never:
		return "denied", true
	case e == nil:
		return unended, true
	default:
		return e.Word, e.Bad
	}
}

func (p *page) step(b *strings.Builder, it *view.Item) {
	c, end := it.Call, gist.Ending{}
	if c.End != nil {
		end = *c.End
	}
	word, bad := ending(it)
	does, on := gist.Phrase(c.Call, over(it), c.Says...)
	class := ""
	if bad {
		class = ` class="bad"`
	}
	fmt.Fprintf(b, "<div class=\"call\"><h3>%s <code>%s</code> <small%s>%s</small></h3>", exact(does), exact(clip.Text(on, 200)), class, exact(word))
	p.io(b, c.Name, pretty(c.Input))
	for _, n := range c.Notes {
		if n.Kind != view.Asked || c.Last() == nil { // the question of a decision says less than that
			fmt.Fprintf(b, "<p class=\"note\">%s</p>", sentence(n.Words()))
		}
	}
	if len(end.Diff) > 0 {
		b.WriteString(p.bounded(strings.Join(end.Diff, "\n"), diff))
	}
	p.io(b, "Result", clip.Clean(strings.Join(end.Lines, "\n")))
	if c.Done != nil {
		p.pictures(b, c.Done.Parts)
		p.depict(b, c.Done.Picture)
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
