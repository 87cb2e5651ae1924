package web

import (
	"context"
	"fmt"
	"html"
	"path"
	"strings"

	"github.com/openmanus-go/openmanus/workspace"
)

// A Section is a part of a report.
type Section struct {
	Heading string  `json:"heading"`
	Claims  []Claim `json:"claims"`
}

// A Claim is a sentence of a report, with the notes that support it.
type Claim struct {
	Text  string `json:"text"`
	Notes []int  `json:"notes"`
}

// report writes the report, as Markdown and as HTML. Every quotation is
// checked once more.
func (t *researcher) report(ctx context.Context, in researchInput) (string, error) {
	if in.Title == "" || len(in.Sections) == 0 {
		return "", fmt.Errorf("title and sections are required for report")
	}
	for _, sec := range in.Sections {
		for _, c := range sec.Claims {
			for _, n := range c.Notes {
				if n < 1 || n > len(t.s.Notes) {
					return "", fmt.Errorf("the claim %q names note %d; there are notes 1 to %d", c.Text, n, len(t.s.Notes))
				}
			}
		}
	}
	wrong := make(map[int]bool) // notes whose page does not say what it said
	for i, n := range t.s.Notes {
		src, ok := t.s.source(n.Source)
		if ok {
			var err error
			if ok, err = t.r.Check(ctx, t.call.Blobs, src.Saved, n.Quote); err != nil {
				return "", err
			}
		}
		wrong[i+1] = !ok
	}
	if in.File == "" {
		in.File = "report"
	}
	name, err := workspace.Name(t.dir, strings.TrimSuffix(strings.TrimSuffix(in.File, ".html"), ".md"))
	if err != nil {
		return "", err
	}
	d := &document{in: in, s: t.s, wrong: wrong}
	md := d.markdown()
	for ending, data := range map[string]string{".md": md, ".html": d.html()} {
		if err := t.files.WriteFile(ctx, name+ending, []byte(data)); err != nil {
			return "", err
		}
	}
	t.s.Files = []string{name + ".md", name + ".html"}
	supported, bare := d.count()
	return fmt.Sprintf("Report written to %s and %s: %d claims with checked quotations, %d marked as unsupported.\n\n%s",
		name+".md", path.Base(name)+".html", supported, bare, md), nil
}

// A document is a report as it is written.
type document struct {
	in    researchInput
	s     *Research
	wrong map[int]bool
}

// good are the notes of a claim that stand.
func (d *document) good(c Claim) []int {
	var notes []int
	for _, n := range c.Notes {
		if !d.wrong[n] {
			notes = append(notes, n)
		}
	}
	return notes
}

func (d *document) count() (supported, bare int) {
	for _, s := range d.in.Sections {
		for _, c := range s.Claims {
			if len(d.good(c)) > 0 {
				supported++
			} else {
				bare++
			}
		}
	}
	return supported, bare
}

// unsupported marks a claim that nothing supports that was checked.
const unsupported = "[unsupported]"

func (d *document) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", d.in.Title, d.in.Summary)
	for _, s := range d.in.Sections {
		fmt.Fprintf(&b, "\n## %s\n\n", s.Heading)
		for _, c := range s.Claims {
			notes := d.good(c)
			if len(notes) == 0 {
				fmt.Fprintf(&b, "- %s **%s**\n", c.Text, unsupported)
				continue
			}
			fmt.Fprintf(&b, "- %s", c.Text)
			for _, n := range notes {
				fmt.Fprintf(&b, " [%s]", d.s.Notes[n-1].Source)
			}
			b.WriteString("\n")
			for _, n := range notes {
				fmt.Fprintf(&b, "  > “%s” [%s]\n", strings.Join(strings.Fields(d.s.Notes[n-1].Quote), " "), d.s.Notes[n-1].Source)
			}
		}
	}
	b.WriteString("\n## Sources\n\n")
	for _, src := range d.s.Sources {
		fmt.Fprintf(&b, "- [%s] %s <%s>, read %s, %s\n", src.ID, src.Title, src.URL, src.Time, src.Blob)
	}
	supported, bare := d.count()
	fmt.Fprintf(&b, "\n%d claims have quotations that were checked word for word against the saved pages; %d are unsupported. The summary is the author's.\n", supported, bare)
	return b.String()
}

const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%[1]s</title><style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
blockquote { margin: .2rem 0 .6rem; padding-left: .8rem; border-left: 3px solid #8ab; color: #456 }
.unsupported { background: #fe9; padding: 0 .3rem } small { color: #666; word-break: break-all }
</style></head><body>
<h1>%[1]s</h1>
<p>%[2]s</p>
`

func (d *document) html() string {
	esc := html.EscapeString
	var b strings.Builder
	fmt.Fprintf(&b, page, esc(d.in.Title), esc(d.in.Summary))
	for _, s := range d.in.Sections {
		fmt.Fprintf(&b, "<h2>%s</h2>\n<ul>\n", esc(s.Heading))
		for _, c := range s.Claims {
			fmt.Fprintf(&b, "<li>%s", esc(c.Text))
			notes := d.good(c)
			if len(notes) == 0 {
				fmt.Fprintf(&b, ` <strong class="unsupported">%s</strong>`, unsupported)
			}
			for _, n := range notes {
				note := d.s.Notes[n-1]
				fmt.Fprintf(&b, "\n<blockquote>“%s” <a href=\"#%[2]s\">[%[2]s]</a></blockquote>", esc(note.Quote), esc(note.Source))
			}
			b.WriteString("</li>\n")
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString("<h2>Sources</h2>\n<ul>\n")
	for _, src := range d.s.Sources {
		fmt.Fprintf(&b, "<li id=\"%[1]s\">[%[1]s] <a href=\"%[2]s\" rel=\"noreferrer\">%[3]s</a><br><small>%[2]s, read %[4]s, %[5]s</small></li>\n",
			esc(src.ID), esc(src.URL), esc(src.Title), esc(src.Time), esc(string(src.Blob)))
	}
	supported, bare := d.count()
	fmt.Fprintf(&b, "</ul>\n<p><small>%d claims have quotations that were checked word for word against the saved pages; %d are unsupported. The summary is the author's.</small></p>\n</body></html>\n", supported, bare)
	return b.String()
}
