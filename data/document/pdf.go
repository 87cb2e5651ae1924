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

const (
	pdfTime  = time.Minute // for a whole PDF: some are made never to end
	maxPages = 100_000
)

// pdf reads the text of a PDF. The header may stand after other bytes, as many
// viewers allow. There is no OCR: pages that are pictures become a note.
func (r *reader) pdf() error {
	ctx, cancel := context.WithTimeout(r.ctx, pdfTime)
	defer cancel()
	start := bytes.Index(r.data, []byte("%PDF-"))
	body := &contextFile{ctx, bytes.NewReader(r.data[start:])}
	f, err := pdf.NewReaderEncrypted(body, int64(len(r.data)-start), nil)
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword), err != nil && bytes.Contains(r.data, []byte("/Encrypt")):
		return errors.New("the PDF is encrypted with a password: save it without one " +
			"(qpdf --decrypt --password=… in.pdf out.pdf)")
	case err != nil:
		return fmt.Errorf("the PDF cannot be read: %w; pdftotext may manage", err)
	}
	n := f.NumPage()
	if n < 1 || n > maxPages {
		return fmt.Errorf("the PDF claims to have %d pages", n)
	}
	r.doc.Format, r.doc.About, r.doc.Total = "PDF", fmt.Sprintf("%d pages", n), n
	return r.pdfPages(ctx, f, n)
}

// pdfPages reads the pages that are asked for, until there is no time or no
// room left.
func (r *reader) pdfPages(ctx context.Context, f *pdf.Reader, n int) error {
	var blank []int
	for i := max(1, r.o.From); i <= min(n, r.o.To); i++ {
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		if ctx.Err() != nil {
			r.note("the pages from %d on were not read: it took more than %s", i, pdfTime)
			break
		}
		if r.full() {
			if r.doc.More = true; !r.o.Paged {
				r.note("the pages from %d on are left out", i)
			}
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
		r.note("no text on page%s %s: probably scanned pictures; OCR (ocrmypdf, tesseract) can read them",
			plural(len(blank)), ranges(blank))
	}
	return nil
}

// A contextFile fails once its context is done. It is what ends the library
// when a PDF sends it round in circles.
type contextFile struct {
	ctx context.Context
	r   io.ReaderAt
}

func (p *contextFile) ReadAt(b []byte, off int64) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.ReadAt(b, off)
}

// pageText returns the text of page n, from 1.
func pageText(f *pdf.Reader, n int) (text string, err error) {
	defer func() { // the library panics on broken pages
		if p := recover(); p != nil {
			err = fmt.Errorf("it is broken (%v)", p)
		}
	}()
	page := f.Page(n)
	if page.V.IsNull() {
		return "", errors.New("it does not exist")
	}
	return layout(page.Content().Text), nil
}

// layout sorts the letters of a page into lines by their places. Letters that
// stand far apart on a line, such as the columns of a table, get a tab between
// them; a wide gap between lines becomes an empty line.
func layout(letters []pdf.Text) string {
	letters = slices.DeleteFunc(slices.Clone(letters), func(t pdf.Text) bool {
		return t.S == "" || math.IsNaN(t.X) || math.IsNaN(t.Y)
	})
	slices.SortStableFunc(letters, func(a, b pdf.Text) int {
		if sameLine(a, b) {
			return 0
		}
		return cmp.Compare(b.Y, a.Y)
	})
	var b strings.Builder
	for i := 0; i < len(letters); {
		j := i + 1
		for j < len(letters) && sameLine(letters[i], letters[j]) {
			j++
		}
		if i > 0 && letters[i-1].Y-letters[i].Y > 2.2*size(letters[i]) {
			b.WriteByte('\n')
		}
		b.WriteString(line(letters[i:j]) + "\n")
		i = j
	}
	return ligatures.Replace(b.String())
}

// size is the height of a letter; broken PDFs claim 0 or less.
func size(t pdf.Text) float64 { return max(math.Abs(t.FontSize), 4) }

// sameLine reports whether two letters stand on one line. Subscripts and
// superscripts, which are shifted a little, still do.
func sameLine(a, b pdf.Text) bool { return math.Abs(a.Y-b.Y) <= 0.3*max(size(a), size(b)) }

// line joins the letters of a line, which it sorts.
func line(letters []pdf.Text) string {
	slices.SortStableFunc(letters, func(a, c pdf.Text) int { return cmp.Compare(a.X, c.X) })
	var b strings.Builder
	for i, t := range letters {
		if i > 0 {
			prev := letters[i-1]
			switch gap := t.X - prev.X - prev.W; {
			case prev.S == " " || t.S == " ":
			case gap > 1.5*size(t):
				b.WriteByte('\t')
			case gap > 0.18*size(t):
				b.WriteByte(' ')
			}
		}
		b.WriteString(t.S)
	}
	return strings.TrimRight(b.String(), " \t")
}

// ligatures takes typography back that makes text hard to search.
var ligatures = strings.NewReplacer(
	"ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st", "\u00ad", "")

// ranges writes increasing numbers, such as 1-3, 7. Of more than 20 ranges it
// leaves out the rest.
func ranges(n []int) string {
	var parts []string
	for len(n) > 0 {
		k := 1
		for k < len(n) && n[k] == n[k-1]+1 {
			k++
		}
		part := fmt.Sprint(n[0])
		if k > 1 {
			part += fmt.Sprintf("-%d", n[k-1])
		}
		parts, n = append(parts, part), n[k:]
	}
	if len(parts) > 20 {
		parts = append(parts[:20], "…")
	}
	return strings.Join(parts, ", ")
}
