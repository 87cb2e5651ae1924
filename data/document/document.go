// Package document reads documents as text that a model can work with: PDF,
// DOCX, PPTX, XLSX, tables, images and archives, part by part, each with the
// number of its page, slide or sheet.
//
// Documents come from anywhere. What they unpack to is limited, and what could
// not be read is said.
package document

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// A Part is a page, a slide, a sheet, or a file of an archive.
type Part struct {
	Number int    // from 1
	Label  string // such as "page 3"
	Text   string
}

// A Document is what could be read of a file.
type Document struct {
	Format string // such as "PDF"
	About  string // what it is, in a line: 12 pages, 3 sheets, 640 × 480 pixels
	Parts  []Part
	Notes  []string // what could not be read, and why

	MIME  string // of Image
	Image []byte // the file itself, if it is an image that a model may look at
}

// String is the text of the document: each part under a head such as
// "--- page 3 ---", and what could not be read.
func (d *Document) String() string {
	var b strings.Builder
	for _, p := range d.Parts {
		fmt.Fprintf(&b, "\n--- %s ---\n%s\n", p.Label, strings.TrimRight(p.Text, "\n"))
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "\nNote: %s\n", n)
	}
	return b.String()
}

// Options limit what is read.
type Options struct {
	From, To int   // the parts to read, from 1; 0 means from the first, to the last
	MaxBytes int64 // of the file; 0 means 128 MiB
	MaxText  int   // bytes of text in all; 0 means 1 MiB. What is beyond is left out, and noted
}

// unpacked is how much one part inside a document may unpack to.
const unpacked = 64 << 20

// maxEntries is how many files an archive may have.
const maxEntries = 50_000

// Read reads the named file of fsys. What it is, its content says. Cancelling
// ctx ends it.
func Read(ctx context.Context, fsys fs.FS, name string, o Options) (d *Document, err error) {
	o.MaxBytes, o.MaxText = cmp.Or(o.MaxBytes, 128<<20), cmp.Or(o.MaxText, 1<<20)
	if o.To == 0 {
		o.To = 1 << 30
	}
	if o.From > o.To {
		return nil, fmt.Errorf("from part %d to part %d there is nothing", o.From, o.To)
	}
	raw, err := load(fsys, name, o.MaxBytes)
	if err != nil {
		return nil, err
	}
	// Broken documents make the libraries below panic; that is no reason to.
	defer func() {
		if p := recover(); p != nil {
			d, err = nil, fmt.Errorf("%s: the document is broken (%v)", name, p)
		}
	}()
	r := &reader{ctx: ctx, fsys: fsys, name: name, data: raw, o: o, doc: &Document{}}
	if err := r.read(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.left > 0 {
		r.note("%s of text more is not here: read fewer parts at a time", humanize.IBytes(uint64(r.left)))
	}
	return r.doc, ctx.Err()
}

func load(fsys fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %s; at most %s are read: split it, or take out with a program what matters", name, humanize.IBytes(uint64(info.Size())), humanize.IBytes(uint64(limit)))
	}
	return fs.ReadFile(fsys, name)
}

// A reader reads one document.
type reader struct {
	ctx  context.Context
	fsys fs.FS
	name string
	data []byte
	o    Options
	doc  *Document
	size int // of the text so far
	left int // bytes of text left out
}

func (r *reader) note(format string, a ...any) {
	if len(r.doc.Notes) < 50 {
		r.doc.Notes = append(r.doc.Notes, fmt.Sprintf(format, a...))
	}
}

// wants reports whether part n is asked for.
func (r *reader) wants(n int) bool { return n >= r.o.From && n <= r.o.To }

// add adds a part, as much of it as there is room for.
func (r *reader) add(n int, label, text string) {
	if !r.wants(n) {
		return
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if room := r.o.MaxText - r.size; len(text) > room {
		cut := max(room, 0)
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		r.left += len(text) - cut
		text = text[:cut]
		if text == "" {
			return
		}
	}
	r.size += len(text)
	r.doc.Parts = append(r.doc.Parts, Part{n, label, text})
}

// full reports whether no more text fits.
func (r *reader) full() bool { return r.size >= r.o.MaxText }

func (r *reader) read() error {
	ext := strings.ToLower(path.Ext(r.name))
	switch d := r.data; {
	case len(d) == 0:
		return errors.New("the file is empty")
	case bytes.Contains(d[:min(len(d), 1024)], []byte("%PDF-")):
		return r.pdf()
	case bytes.HasPrefix(d, []byte("PK\x03\x04")), bytes.HasPrefix(d, []byte("PK\x05\x06")):
		return r.zip()
	case bytes.HasPrefix(d, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return errors.New("an encrypted Office file, or one of before 2007 (.doc, .xls, .ppt): save it as DOCX, XLSX or PPTX without a password (libreoffice --headless --convert-to docx)")
	case bytes.HasPrefix(d, []byte("\x1f\x8b")):
		return r.gzip()
	case len(d) > 262 && string(d[257:262]) == "ustar":
		return r.tar(bytes.NewReader(d), "tar")
	case bytes.HasPrefix(d, []byte("7z\xbc\xaf\x27\x1c")), bytes.HasPrefix(d, []byte("Rar!")):
		return errors.New("7z and RAR archives cannot be read here: unpack it with a program (7z x)")
	case bytes.HasPrefix(d, []byte("PAR1")), bytes.HasPrefix(d, []byte("SQLite format 3\x00")),
		ext == ".csv", ext == ".tsv", ext == ".tab", ext == ".jsonl", ext == ".ndjson":
		return r.table()
	case strings.HasPrefix(http.DetectContentType(d), "image/"), bytes.HasPrefix(d, []byte("II*\x00")), bytes.HasPrefix(d, []byte("MM\x00*")):
		return r.image()
	case bytes.HasPrefix(d, []byte(`{\rtf`)):
		return errors.New("RTF cannot be read here: convert it with a program (libreoffice --headless --convert-to docx)")
	}
	return r.text()
}

// text is a file that is text already.
func (r *reader) text() error {
	if bytes.IndexByte(r.data[:min(len(r.data), 8000)], 0) >= 0 || !utf8.Valid(r.data[:min(len(r.data), 4096)]) && !mostly(r.data) {
		return fmt.Errorf("not a document that can be read: %s. PDF, DOCX, PPTX, XLSX, CSV, JSON, Parquet, SQLite, images, zip and tar can", http.DetectContentType(r.data))
	}
	r.doc.Format, r.doc.About = "text", fmt.Sprintf("%d lines", bytes.Count(r.data, []byte{'\n'})+1)
	r.add(1, "text", string(bytes.TrimPrefix(r.data, []byte("\ufeff"))))
	return nil
}

// mostly reports whether nearly all of the first bytes are text.
func mostly(d []byte) bool {
	d = d[:min(len(d), 4096)]
	odd := 0
	for len(d) > 0 {
		c, n := utf8.DecodeRune(d)
		if c == utf8.RuneError && n == 1 || c < 32 && c != '\n' && c != '\r' && c != '\t' {
			odd++
		}
		d = d[n:]
	}
	return odd < 200
}

// limited reads all of src, at most so many bytes.
func limited(ctx context.Context, src io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(&live{ctx, src}, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("it unpacks to more than %s", humanize.IBytes(uint64(most)))
	}
	return data, nil
}

// A live reader ends with its context.
type live struct {
	ctx context.Context
	r   io.Reader
}

func (l *live) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.r.Read(p)
}
