package document

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // formats of images
	_ "image/jpeg"
	_ "image/png"
	"strings"

	"github.com/dustin/go-humanize"
	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"github.com/openmanus-go/openmanus/data"
)

// maxImage is how many bytes an image may have that providers accept.
const maxImage = 3_750_000

// image reads the format and the size of an image, and keeps the file for
// models that can see.
func (r *reader) image() error {
	c, format, err := image.DecodeConfig(bytes.NewReader(r.data))
	if err != nil {
		return fmt.Errorf("the image cannot be read: %w", err)
	}
	size := humanize.IBytes(uint64(len(r.data)))
	r.doc.Format = strings.ToUpper(format) + " image"
	r.doc.About = fmt.Sprintf("%d × %d pixels, %s", c.Width, c.Height, size)
	switch {
	case format != "png" && format != "jpeg" && format != "gif" && format != "webp":
		r.note("models accept PNG, JPEG, GIF and WebP: convert it with a program to look at it")
	case len(r.data) > maxImage:
		r.note("the image is too large for a model (%s; at most %s): make a smaller copy",
			size, humanize.IBytes(maxImage))
	default:
		r.doc.MIME, r.doc.Image = "image/"+format, r.data
	}
	return nil
}

// tableRows is how many rows of a table become text.
const tableRows = 500

// table reads the formats of package data.
func (r *reader) table() error {
	t, err := data.Parse(r.ctx, r.name, r.data, data.Options{Encoding: r.o.Encoding})
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), r.name+": "))
	}
	r.doc.Format = "table"
	r.toldWasUsed = !bytes.HasPrefix(r.data, []byte("PAR1")) && !bytes.HasPrefix(r.data, []byte("SQLite"))
	r.doc.About = fmt.Sprintf("%s rows, %d columns", humanize.Comma(int64(t.Rows())), len(t.Columns))
	if len(t.Tables) > 1 {
		r.doc.About += "; the tables are " + strings.Join(t.Tables, ", ")
	}
	r.doc.Notes = append(r.doc.Notes, t.Notes...)
	var b strings.Builder
	row := func(cell func(c *data.Column) string) {
		cells := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			cells[i] = cell(c)
		}
		b.WriteString(barRow(cells))
	}
	row(func(c *data.Column) string { return c.Name })
	row(func(*data.Column) string { return "---" })
	for i := range min(t.Rows(), tableRows) {
		row(func(c *data.Column) string { return c.Cell(i) })
	}
	if more := t.Rows() - tableRows; more > 0 {
		r.note("another %s rows are left out; %s", humanize.Comma(int64(more)), seeAll)
	}
	r.add(1, "rows", b.String())
	return nil
}
