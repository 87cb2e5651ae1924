package document

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // formats of images
	_ "image/jpeg"
	_ "image/png"
	"io"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"github.com/openmanus-go/openmanus/data"
)

// maxImage is the size of an image in bytes that providers take.
const maxImage = 3_750_000

// image tells what can be told without looking, and has the picture for a
// model that can look.
func (r *reader) image() error {
	c, format, err := image.DecodeConfig(bytes.NewReader(r.data))
	if err != nil {
		return fmt.Errorf("an image that cannot be read: %w", err)
	}
	r.doc.Format = strings.ToUpper(format) + " image"
	r.doc.About = fmt.Sprintf("%d × %d pixels, %s", c.Width, c.Height, humanize.IBytes(uint64(len(r.data))))
	mime := map[string]string{"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}[format]
	switch {
	case mime == "":
		r.note("models take PNG, JPEG, GIF and WebP: convert it with a program to look at it")
	case len(r.data) > maxImage:
		r.note("the image is too large to be looked at (%s; at most %s): make a smaller copy", humanize.IBytes(uint64(len(r.data))), humanize.IBytes(maxImage))
	default:
		r.doc.MIME, r.doc.Image = mime, r.data
	}
	return nil
}

// tableRows is how many rows of a table are text.
const tableRows = 500

// table reads what package data can.
func (r *reader) table() error {
	t, err := data.Read(r.ctx, r.fsys, r.name, data.Options{MaxBytes: r.o.MaxBytes})
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), r.name+": "))
	}
	r.doc.Format = "table"
	r.doc.About = fmt.Sprintf("%s rows, %d columns", humanize.Comma(int64(t.Rows())), len(t.Columns))
	if len(t.Tables) > 1 {
		r.doc.About += "; the tables are " + strings.Join(t.Tables, ", ")
	}
	r.doc.Notes = append(r.doc.Notes, t.Notes...)
	var b strings.Builder
	row := func(cell func(c *data.Column) string) {
		for _, c := range t.Columns {
			b.WriteString("| " + strings.NewReplacer("\n", " ", "|", `\|`).Replace(cell(c)) + " ")
		}
		b.WriteString("|\n")
	}
	row(func(c *data.Column) string { return c.Name })
	row(func(*data.Column) string { return "---" })
	for i := range min(t.Rows(), tableRows) {
		row(func(c *data.Column) string { return c.Label(i) })
	}
	if more := t.Rows() - tableRows; more > 0 {
		r.note("%s rows more are not here; data_visualization (profile) and Python see all of them", humanize.Comma(int64(more)))
	}
	r.add(1, "rows", b.String())
	return nil
}

// Of an archive the files are listed, and small texts in it read.
const (
	listed    = 1000
	smallText = 32 << 10
	streamed  = 1 << 30 // what a packed tar may unpack to
)

// A listing is what an archive has.
type listing struct {
	b     strings.Builder
	files int
	bytes uint64
}

func (l *listing) add(name string, size int64, at time.Time, dir bool) {
	if dir {
		return
	}
	l.files++
	l.bytes += uint64(max(size, 0))
	if l.files <= listed {
		fmt.Fprintf(&l.b, "%s\t%s\t%s\n", name, humanize.IBytes(uint64(max(size, 0))), at.Format("2006-01-02"))
	}
}

func (r *reader) list(l *listing, format string) {
	r.doc.Format = format + " archive"
	r.doc.About = fmt.Sprintf("%s files, %s unpacked", humanize.Comma(int64(l.files)), humanize.IBytes(l.bytes))
	if l.files > listed {
		r.note("the first %d files are listed", listed)
	}
	if r.o.From <= 1 {
		r.doc.Parts = append([]Part{{1, "files", l.b.String()}}, r.doc.Parts...)
	}
}

func (r *reader) archive(z *zip.Reader) error {
	var l listing
	encrypted, n := 0, 1
	for _, f := range z.File {
		dir := strings.HasSuffix(f.Name, "/")
		l.add(strings.ToValidUTF8(f.Name, "\uFFFD"), int64(min(f.UncompressedSize64, 1<<62)), f.Modified, dir)
		switch {
		case f.Flags&1 != 0:
			encrypted++
			continue
		case dir || f.UncompressedSize64 > smallText || !textual(f.Name):
			continue
		}
		n++
		if !r.wants(n) || r.full() {
			continue
		}
		src, err := f.Open()
		if err != nil {
			r.note("%s: %v", f.Name, err)
			continue
		}
		text, err := limited(r.ctx, src, smallText)
		src.Close()
		if err != nil {
			r.note("%s: %v", f.Name, err)
			continue
		}
		r.member(n, f.Name, text)
	}
	if encrypted > 0 {
		r.note("%d files are encrypted", encrypted)
	}
	r.list(&l, "zip")
	return r.ctx.Err()
}

func (r *reader) member(n int, name string, text []byte) {
	if utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
		r.add(n, "file "+name, string(text))
	}
}

// textual reports whether a file's name is one of texts.
func textual(name string) bool {
	base := strings.ToLower(path.Base(name))
	switch path.Ext(base) {
	case ".txt", ".md", ".csv", ".tsv", ".json", ".xml", ".html", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".log", ".rst", ".py", ".go", ".js", ".ts", ".java", ".c", ".h", ".rs", ".rb", ".sh", ".sql", ".tex", ".r":
		return true
	}
	return base == "readme" || base == "license" || base == "makefile"
}

func (r *reader) gzip() error {
	z, err := gzip.NewReader(bytes.NewReader(r.data))
	if err != nil {
		return fmt.Errorf("the file cannot be unpacked: %w", err)
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(z, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return fmt.Errorf("the file cannot be unpacked: %w", err)
	}
	all := io.MultiReader(bytes.NewReader(head[:n]), z)
	if n > 262 && string(head[257:262]) == "ustar" {
		return r.tar(all, "tar.gz")
	}
	text, err := limited(r.ctx, all, unpacked)
	if err != nil {
		return err
	}
	inner := *r
	inner.data, inner.name = text, strings.TrimSuffix(r.name, ".gz")
	if err := inner.text(); err != nil {
		return fmt.Errorf("packed with gzip, and inside it is %w", err)
	}
	*r = inner
	r.doc.Format = "text packed with gzip"
	return nil
}

func (r *reader) tar(src io.Reader, format string) error {
	t := tar.NewReader(io.LimitReader(&live{r.ctx, src}, streamed))
	var l listing
	n := 1
	for entries := 0; ; entries++ {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			if l.files == 0 {
				return fmt.Errorf("the archive cannot be read: %w", err)
			}
			r.note("the archive could not be read to its end (after %d files, or %s): %v", l.files, humanize.IBytes(streamed), err)
			break
		}
		if entries >= maxEntries {
			r.note("the archive has more than %d files", maxEntries)
			break
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		l.add(strings.ToValidUTF8(h.Name, "\uFFFD"), h.Size, h.ModTime, false)
		if h.Size > smallText || !textual(h.Name) {
			continue
		}
		if n++; !r.wants(n) || r.full() {
			continue
		}
		text, err := limited(r.ctx, t, smallText)
		if err != nil {
			r.note("%s: %v", h.Name, err)
			continue
		}
		r.member(n, h.Name, text)
	}
	r.list(&l, format)
	return r.ctx.Err()
}
