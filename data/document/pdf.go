package document

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
)

// pdfTime is how long a PDF may take: some are made so that they never end.
const pdfTime = time.Minute

func (r *reader) pdf() error {
	ctx, cancel := context.WithTimeout(r.ctx, pdfTime)
	defer cancel()
	start := bytes.Index(r.data, []byte("%PDF-"))
	body := &pages{ctx, bytes.NewReader(r.data[start:])}
	f, err := pdf.NewReaderEncrypted(body, int64(len(r.data)-start), nil)
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword), err != nil && bytes.Contains(r.data, []byte("/Encrypt")):
		return errors.New("the PDF is encrypted with a password: save it without one (qpdf --decrypt --password=… in.pdf out.pdf)")
	case err != nil:
		return fmt.Errorf("the PDF cannot be read: %w; pdftotext may", err)
	}
	n := f.NumPage()
	const most = 100_000
	if n < 1 || n > most {
		return fmt.Errorf("the PDF says that it has %d pages", n)
	}
	r.doc.Format, r.doc.About = "PDF", fmt.Sprintf("%d pages", n)
	var blank []int
	for i := 1; i <= n; i++ {
		if !r.wants(i) {
			continue
		}
		if ctx.Err() != nil {
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			r.note("pages from %d on were not read: it took more than %s", i, pdfTime)
			break
		}
		if r.full() {
			r.note("pages from %d on are not here", i)
			break
		}
		text, err := pageText(f, i)
		switch {
		case err != nil:
			r.note("page %d could not be read: %v", i, err)
		case strings.TrimSpace(text) == "":
			blank = append(blank, i)
		default:
			r.add(i, fmt.Sprintf("page %d", i), text)
		}
	}
	if len(blank) > 0 {
		r.note("no text on page%s %s: probably scanned pictures; a program for recognition (ocrmypdf, tesseract) can read them", plural(len(blank)), ranges(blank))
	}
	return nil
}

// pages is the file under a context: the library asks for bytes even where it
// goes round in circles.
type pages struct {
	ctx context.Context
	r   io.ReaderAt
}

func (p *pages) ReadAt(b []byte, off int64) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.ReadAt(b, off)
}

func pageText(f *pdf.Reader, n int) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it is broken (%v)", p)
		}
	}()
	page := f.Page(n)
	if page.V.IsNull() {
		return "", errors.New("it is not there")
	}
	return layout(page.Content().Text), nil
}

// layout puts letters into lines by where they stand: what is far apart on a
// line, such as the columns of a table, has a tab in between.
func layout(letters []pdf.Text) string {
	letters = slices.DeleteFunc(slices.Clone(letters), func(t pdf.Text) bool {
		return t.S == "" || math.IsNaN(t.X) || math.IsNaN(t.Y)
	})
	slices.SortStableFunc(letters, func(a, b pdf.Text) int {
		if math.Abs(a.Y-b.Y) > 0.3*max(size(a), size(b)) {
			return cmp.Compare(b.Y, a.Y)
		}
		return 0
	})
	var b strings.Builder
	for i := 0; i < len(letters); {
		j := i + 1
		for j < len(letters) && math.Abs(letters[j].Y-letters[i].Y) <= 0.3*max(size(letters[i]), size(letters[j])) {
			j++
		}
		if i > 0 && letters[i-1].Y-letters[i].Y > 2.2*size(letters[i]) {
			b.WriteByte('\n')
		}
		line(&b, letters[i:j])
		i = j
	}
	return ligatures.Replace(b.String())
}

func size(t pdf.Text) float64 { return max(math.Abs(t.FontSize), 4) }

func line(b *strings.Builder, letters []pdf.Text) {
	slices.SortStableFunc(letters, func(a, c pdf.Text) int { return cmp.Compare(a.X, c.X) })
	var out strings.Builder
	for i, t := range letters {
		if i > 0 {
			prev := letters[i-1]
			switch gap := t.X - prev.X - prev.W; {
			case prev.S == " " || t.S == " ":
			case gap > 1.5*size(t):
				out.WriteByte('\t')
			case gap > 0.18*size(t):
				out.WriteByte(' ')
			}
		}
		out.WriteString(t.S)
	}
	b.WriteString(strings.TrimRight(out.String(), " \t") + "\n")
}

var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st", "\u00ad", "")

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// ranges writes numbers as 1-3, 7.
func ranges(n []int) string {
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(n[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", n[i], n[j]))
		}
		i = j + 1
	}
	if len(parts) > 20 {
		parts = append(parts[:20], "…")
	}
	return strings.Join(parts, ", ")
}
