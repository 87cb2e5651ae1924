package web

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"path"
	"strings"

	"github.com/openmanus-go/openmanus/internal/protected"
	"github.com/openmanus-go/openmanus/workspace"
)

// A Section is a part of a report.
type Section struct {
	Heading string  `json:"heading"`
	Claims  []Claim `json:"claims"`
}

// A Claim is a sentence of a report, with the numbers of the notes that support
// it, counted from 1.
type Claim struct {
	Text  string `json:"text"`
	Notes []int  `json:"notes"`
}

// report writes the report into the workspace, as Markdown and as HTML. It checks
// every quotation once more, since the notes have been in the hands of whatever
// keeps the session: a note whose quotation is not on its page supports nothing.
func (t *researcher) report(ctx context.Context, in researchInput) (string, error) {
	if in.Title == "" || len(in.Sections) == 0 {
		return "", errors.New("title and sections are required for report")
	}
	for _, s := range in.Sections {
		for _, c := range s.Claims {
			for _, n := range c.Notes {
				if n < 1 || n > len(t.s.Notes) {
					return "", fmt.Errorf("the claim %q names note %d; there are notes 1 to %d", c.Text, n, len(t.s.Notes))
				}
			}
		}
	}
	wrong, err := t.wrongNotes(ctx)
	if err != nil {
		return "", err
	}
	name, err := workspace.NameIn(ctx, t.dir, in.base())
	if err != nil {
		return "", err
	}
	if protected.Is(name + ".md") { // whoever allows the call: the words are those of pages
		return "", fmt.Errorf("%s.md is a file that programs or later sessions obey: choose another name", name)
	}
	d := &document{in: in, s: t.s, wrong: wrong}
	md := d.markdown()
	t.s.Files = []string{name + ".md", name + ".html"}
	err = workspace.ChangeFiles(ctx, t.files, []workspace.Change{
		{Name: t.s.Files[0], Data: []byte(md)}, {Name: t.s.Files[1], Data: []byte(d.html())},
	})
	if err != nil {
		return "", err
	}
	supported, unsupported := d.count()
	return fmt.Sprintf(
		"Report written to %s and %s: %d claims with checked quotations, %d marked as unsupported.\n\n%s",
		name+".md", path.Base(name)+".html", supported, unsupported, md), nil
}

// base returns the name of a report's files without their endings.
func (in researchInput) base() string {
	return strings.TrimSuffix(strings.TrimSuffix(cmp.Or(in.File, "report"), ".html"), ".md")
}

// wrongNotes returns the numbers of the notes whose quotation is not on its page.
func (t *researcher) wrongNotes(ctx context.Context) (map[int]bool, error) {
	wrong := make(map[int]bool)
	for i, n := range t.s.Notes {
		src, ok := t.s.source(n.Source)
		if ok {
			var err error
			if ok, err = t.r.Check(ctx, t.call.Blobs, src.Saved, n.Quote); err != nil {
				return nil, err
			}
		}
		wrong[i+1] = !ok
	}
	return wrong, nil
}

// A document is a report while it is written.
type document struct {
	in    researchInput
	s     *Research
	wrong map[int]bool // by the number of the note
}

// support returns the notes that support a claim.
func (d *document) support(c Claim) []Note {
	var notes []Note
	for _, n := range c.Notes {
		if !d.wrong[n] {
			notes = append(notes, d.s.Notes[n-1])
		}
	}
	return notes
}

// count returns how many claims are supported, and how many are not.
func (d *document) count() (supported, unsupported int) {
	for _, s := range d.in.Sections {
		for _, c := range s.Claims {
			if len(d.support(c)) > 0 {
				supported++
			} else {
				unsupported++
			}
		}
	}
	return supported, unsupported
}

// summary is the last sentence of a report.
func (d *document) summary() string {
	supported, unsupported := d.count()
	return fmt.Sprintf("%d claims have quotations that were checked word for word against the saved pages;"+
		" %d are unsupported. The summary is the author's.", supported, unsupported)
}

// unsupportedMark marks a claim that no checked quotation supports.
const unsupportedMark = "[unsupported]"

// markdown returns the report with each quotation below its claim, and the sources
// with the blobs of their pages.
func (d *document) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", d.in.Title, d.in.Summary)
	for _, s := range d.in.Sections {
		fmt.Fprintf(&b, "\n## %s\n\n", s.Heading)
		for _, c := range s.Claims {
			notes := d.support(c)
			fmt.Fprintf(&b, "- %s", c.Text)
			if len(notes) == 0 {
				fmt.Fprintf(&b, " **%s**", unsupportedMark)
			}
			for _, n := range notes {
				fmt.Fprintf(&b, " [%s]", n.Source)
			}
			b.WriteString("\n")
			for _, n := range notes {
				fmt.Fprintf(&b, "  > “%s” [%s]\n", first(n.Quote), n.Source)
			}
		}
	}
	b.WriteString("\n## Sources\n\n")
	for _, src := range d.s.Sources {
		fmt.Fprintf(&b, "- [%s] %s <%s>, read %s, %s\n", src.ID, src.Title, src.URL, src.Time, src.Blob)
	}
	fmt.Fprintf(&b, "\n%s\n", d.summary())
	return b.String()
}

// reportHead is the beginning of the HTML page, a format with title and summary.
//
//go:embed report.html
var reportHead string

// html returns the same as a page of its own. It runs no scripts and loads nothing:
// its Content-Security-Policy says so, and everything in it is escaped.
func (d *document) html() string {
	esc := html.EscapeString
	var b strings.Builder
	fmt.Fprintf(&b, reportHead, esc(d.in.Title), esc(d.in.Summary))
	for _, s := range d.in.Sections {
		fmt.Fprintf(&b, "<h2>%s</h2>\n<ul>\n", esc(s.Heading))
		for _, c := range s.Claims {
			fmt.Fprintf(&b, "<li>%s", esc(c.Text))
			notes := d.support(c)
			if len(notes) == 0 {
				fmt.Fprintf(&b, ` <strong class="unsupported">%s</strong>`, unsupportedMark)
			}
			for _, n := range notes {
				fmt.Fprintf(&b, "\n<blockquote>“%s” <a href=\"#%[2]s\">[%[2]s]</a></blockquote>",
					esc(n.Quote), esc(n.Source))
			}
			b.WriteString("</li>\n")
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString("<h2>Sources</h2>\n<ul>\n")
	for _, src := range d.s.Sources {
		fmt.Fprintf(&b, `<li id="%[1]s">[%[1]s] <a href="%[2]s" rel="noreferrer">%[3]s</a>`+
			"<br><small>%[2]s, read %[4]s, %[5]s</small></li>\n",
			esc(src.ID), esc(src.URL), esc(src.Title), esc(src.Time), esc(string(src.Blob)))
	}
	fmt.Fprintf(&b, "</ul>\n<p><small>%s</small></p>\n</body></html>\n", d.summary())
	return b.String()
}
