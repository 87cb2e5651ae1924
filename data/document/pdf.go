package document

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/pdf"
)

const pdfTime = time.Minute // for a whole PDF: some are made never to end

// pdf reads the text of a PDF. There is no OCR: pages that are pictures become a
// note, and so do letters of which the file does not say what they mean.
func (r *reader) pdf() error {
	ctx, cancel := context.WithTimeout(r.ctx, pdfTime)
	defer cancel()
	f, err := pdf.Open(ctx, r.data)
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case errors.Is(err, pdf.ErrPassword):
		return errors.New("the PDF is encrypted with a password: save it without one " +
			"(qpdf --decrypt --password=… in.pdf out.pdf)")
	case err != nil:
		return fmt.Errorf("the PDF cannot be read: %w; a program may manage to mend it (qpdf in.pdf out.pdf)", err)
	}
	n := f.NumPages()
	r.doc.Format, r.doc.About, r.doc.Total = "PDF", fmt.Sprintf("%d page%s", n, clip.Which(n, "", "s")), n
	return r.pdfPages(ctx, f, n)
}

// pdfPages reads the pages that are asked for, until there is no time or no
// room left.
func (r *reader) pdfPages(ctx context.Context, f *pdf.File, n int) error {
	var scanned, empty, unknown []int
	letters, meaningless := 0, 0
	for i := max(1, r.o.From); i <= min(n, r.o.To); i++ {
		if r.full() {
			if r.doc.More = true; !r.o.Paged {
				r.note("the pages from %d on are left out", i)
			}
			break
		}
		p, err := f.Page(i)
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		if ctx.Err() != nil {
			r.note("the pages from %d on were not read: it took more than %s", i, pdfTime)
			break
		}
		if err != nil {
			r.note("page %d could not be read whole: %v", i, err)
		}
		letters, meaningless = letters+p.Letters, meaningless+p.Unknown
		switch {
		case strings.TrimSpace(p.Text) != "":
			r.add(i, fmt.Sprintf("page %d", i), p.Text)
		case p.Unknown > 0:
			unknown = append(unknown, i)
		case p.Pictures > 0:
			scanned = append(scanned, i)
		case err == nil:
			empty = append(empty, i)
		}
	}
	if len(scanned) > 0 {
		r.note("no text on page%s %s (%d of %d), only pictures: probably scanned; "+
			"OCR (ocrmypdf, tesseract) can read them",
			clip.Which(len(scanned), "", "s"), ranges(scanned), len(scanned), n)
	}
	if len(unknown) > 0 {
		r.note("no text on page%s %s: the file does not say which characters its letters are; OCR can read them",
			clip.Which(len(unknown), "", "s"), ranges(unknown))
	}
	if len(empty) > 0 {
		r.note("nothing is written on page%s %s; drawn figures have no text", clip.Which(len(empty), "", "s"), ranges(empty))
	}
	r.pdfUnknown(letters, meaningless)
	return nil
}

// pdfUnknown says how many letters have no meaning. If they are many, that comes
// first: what is there of the text misleads.
func (r *reader) pdfUnknown(letters, unknown int) {
	share := 100 * float64(unknown) / float64(max(letters, 1))
	switch {
	case share > 20:
		r.doc.About += fmt.Sprintf("; of %.0f %% of its letters the file does not say which characters they are, "+
			"so the text has gaps: OCR (ocrmypdf --force-ocr) can read it", share)
	case unknown > 0 && share >= 1:
		r.note("%.0f %% of the letters are left out: the file does not say which characters they are", share)
	}
}

// ranges writes increasing numbers, such as 1-3, 7. It writes at most 20
// ranges.
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
