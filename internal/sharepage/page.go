// Package sharepage writes a session as one HTML file for people to read: what
// was said and done, and the resulting files. The file opens from disk, needs
// no script and has none. Everything in it that others wrote is text or a
// picture: nothing runs, and nothing is loaded from anywhere.
//
// The page has the conversation in order, with calls folded; calls that a rewind has taken
// back are left out. Files that calls made or changed are in it as they are now, small
// ones in full and as downloads: text with colours, tables, pictures, and charts drawn as
// pictures, because their scripts do not run. Files whose names suggest secrets are left
// out, and so is whatever exceeds the limits; the page says what is missing.
//
// [Write] makes the page from the events and the files alone. It needs no network, and the
// same input makes the same bytes.
package sharepage

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the style
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/view"
)

//go:embed page.css
var style string

// A Session is what a page is made of.
type Session struct {
	ID, Title string // Title may be "", which takes the first words of the person
	Events    iter.Seq2[openmanus.Event, error]
	Blobs     openmanus.Blobs // where pictures of calls are; nil: the page has none of them
	Files     fs.FS           // the workspace, of which regular files are read only; nil: the page has no files
}

// The limits of a page, in bytes before encoding. The page says what it leaves out.
const (
	maxTalk  = 8 << 20  // of messages
	maxCalls = 8 << 20  // of what went into calls and came out
	maxCall  = 64 << 10 // of one of these
	maxData  = 24 << 20 // of pictures and files
	maxFile  = 8 << 20  // of one of these
	maxFiles = 300
)

// Write writes the page of s to w. A file that cannot be read is left out, and the page
// says why; the error is one of s.Events or of w.
func Write(ctx context.Context, w io.Writer, s Session) error {
	p := &page{ctx: ctx, s: s, data: maxData, talk: maxTalk, calls: maxCalls}
	var state openmanus.State
	var backs view.Backs
	talk := view.NewPage(1)
	for ev, err := range s.Events {
		if err != nil {
			return err
		}
		state.Apply(ev)
		talk.Apply(ev)
		backs = backs.With(ev)
	}
	p.items = slices.DeleteFunc(talk.Items, func(it *view.Item) bool { return backs.Taken(it.Seq) })
	if len(p.items) == 0 {
		p.note("Nothing was said in this session.")
	}
	p.choose(&state)
	conversation := p.conversation()
	files := p.filesPart() // after the conversation, which has some of the pictures
	b := bufio.NewWriter(w)
	p.head(b, &state)
	_, _ = b.WriteString(conversation)
	_, _ = b.WriteString(files)
	for _, word := range p.left {
		fmt.Fprintf(b, "<p class=\"left\">%s</p>\n", word)
	}
	_, _ = b.WriteString("</main></body></html>\n")
	return b.Flush() // which reports the first error of all writes
}

// A page is a page that is being made.
type page struct {
	ctx   context.Context
	s     Session
	items []*view.Item
	calls int // bytes that what went into calls may still take
	talk  int // and messages
	data  int // and pictures and files
	files []file
	left  []string // what was left out, as sentences in HTML
	cut   int      // how many parts of calls were left out
}

// note adds a remark for the reader.
func (p *page) note(text string) {
	p.items = append(p.items, &view.Item{Kind: view.Remark, Text: text})
}

func (p *page) head(w io.Writer, s *openmanus.State) {
	title := strings.TrimSpace(clip.Visible(p.s.Title))
	for _, it := range p.items {
		if title == "" && it.Kind == view.Said {
			title = clip.Text(clip.OneLine(clip.Visible(it.Text)), 100)
		}
	}
	title = cmp.Or(title, p.s.ID)
	policy := "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src 'sha256-" + hash(style) + "'"
	u := s.Usage
	about := []string{"OpenManus", clip.Visible(s.Config.Model)}
	if !s.Updated.IsZero() {
		about = append(about, s.Updated.UTC().Format(time.DateOnly))
	}
	if n := u.Input + u.Output; n > 0 {
		about = append(about, clip.Count(n, "token"))
	}
	fmt.Fprintf(w, `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer"><title>%s</title><style>%s</style></head><body><main>
<header><h1>%s</h1><p>%s</p></header>
`, policy, esc(title), style, esc(title), esc(strings.Join(about, " · ")))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// esc returns text for HTML, between tags or in an attribute with double quotes.
func esc(text string) string { return html.EscapeString(text) }

// exact is foreign text in which everything that does not show is made visible.
func exact(text string) string { return esc(clip.Visible(text)) }
