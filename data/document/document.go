// Package document reads documents as text that a model can work with: PDF, Office
// files of all ages, OpenDocument, RTF, EPUB, mail, pages, tables, images and archives.
// The text comes part by part,
// each with the number of its page, slide or sheet.
//
// [Read] reads a file of a file system, [Bytes] one in memory. [NewTool]
// returns the tool read_document.
//
// Formats are recognized by content. Pages are approximated where a format does not
// have them: a DOCX has the pages of the program that saved it last, and an archive
// has its list of files as part 1 and each small text as a part of its own. A part
// keeps its number whether others are asked for or not, so that a reader can go on
// where it stopped.
//
// Documents are untrusted. Their size, and what they unpack to, is limited;
// what could not be read is listed in [Document.Notes], and a broken document
// is an error. A file in an archive that would be hidden beside the archive
// ([workspace.Hides]) is left out without a note.
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
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/openmanus-go/openmanus/internal/charset"
	"github.com/openmanus-go/openmanus/internal/ctxio"
)

// A Part is a page, a slide, a sheet, or a file of an archive.
type Part struct {
	Number int    // from 1
	Label  string // such as "page 3"
	Text   string // valid UTF-8
}

// A Document is what Read found in a file.
type Document struct {
	Format string // such as "PDF"
	About  string // one line about it, such as "12 pages" or "640 × 480 pixels"
	Parts  []Part
	Notes  []string // what could not be read, and why; at most 50
	Total  int      // how many parts there are, asked for or not; 0: as many as the last one's number
	More   bool     // Options.MaxText left something out

	MIME  string // of Image
	Image []byte // the file itself, if it is an image that models accept
}

// String returns the text of the document: each part below a line such as
// "--- page 3 ---", then the notes.
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

// Options say which parts to read, and how much.
type Options struct {
	From, To int   // the first and the last part, from 1; 0 means the first and the last there is
	MaxBytes int64 // of the file; 0 means 128 MiB
	MaxText  int   // bytes of text in all; 0 means 1 MiB. Text beyond it is left out, with a note
	Paged    bool  // no such note: the caller goes on where the text ends

	// Encoding is the character set of a text, by its name in the Encoding Standard of the
	// WHATWG. "": the one that the text declares, UTF-8, or a guess, with a note. It is ignored by
	// formats that have a set of their own, with a note.
	Encoding string
}

const (
	maxBytes    = 128 << 20 // of a file, unless Options say otherwise
	maxUnpacked = 64 << 20  // bytes that one part of a document may unpack to
	maxEntries  = 50_000    // files in an archive
	maxNotes    = 50
)

// Read reads the named file of fsys. It detects the format from the content;
// only text formats of tables, such as CSV, are detected from the ending of
// the name. It returns soon after ctx is done.
func Read(ctx context.Context, fsys fs.FS, name string, o Options) (*Document, error) {
	raw, err := load(fsys, name, cmp.Or(o.MaxBytes, maxBytes))
	if err != nil {
		return nil, err
	}
	return parse(ctx, fsys, name, raw, o)
}

// Bytes is [Read] for a document in memory. It does not change data, and keeps it if
// it is an image. Only the extension of the name matters.
func Bytes(ctx context.Context, name string, data []byte, o Options) (*Document, error) {
	if limit := cmp.Or(o.MaxBytes, maxBytes); int64(len(data)) > limit {
		return nil, tooLarge(name, int64(len(data)), limit)
	}
	return parse(ctx, nil, name, data, o)
}

// parse reads a document. fsys, which may be nil, is where it came from.
func parse(ctx context.Context, fsys fs.FS, name string, raw []byte, o Options) (d *Document, err error) {
	o.MaxText, o.To = cmp.Or(o.MaxText, 1<<20), cmp.Or(o.To, 1<<30)
	if o.From > o.To {
		return nil, fmt.Errorf("the last part (%d) is before the first (%d)", o.To, o.From)
	}
	// The libraries for PDF and images panic on some broken files.
	defer func() {
		if p := recover(); p != nil {
			d, err = nil, fmt.Errorf("%s: the document is broken (%v)", name, p)
		}
	}()
	r := &reader{ctx: ctx, fsys: fsys, name: name, data: raw, o: o, doc: &Document{}}
	if err := r.read(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if o.Encoding != "" && !r.toldWasUsed {
		r.note("encoding was not used: %s says its own character set", r.doc.Format)
	}
	if r.doc.More = r.doc.More || r.left > 0; r.left > 0 && !o.Paged {
		r.note("another %s of text are left out: read fewer parts at a time", humanize.IBytes(uint64(r.left)))
	}
	return r.doc, ctx.Err()
}

// load reads a file of at most limit bytes. It asks for the size first: a file
// that is too large is not read.
func load(fsys fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory", name)
	case info.Size() > limit:
		return nil, tooLarge(name, info.Size(), limit)
	}
	return fs.ReadFile(fsys, name)
}

// tooLarge is the error for a file with more bytes than the limit.
func tooLarge(name string, size, limit int64) error {
	return fmt.Errorf("%s has %s; at most %s are read: split it, or extract what matters with a program",
		name, humanize.IBytes(uint64(size)), humanize.IBytes(uint64(limit)))
}

// A reader reads one document.
type reader struct {
	ctx  context.Context
	fsys fs.FS
	name string
	data []byte
	o    Options
	doc  *Document
	page int // code page of a message of Outlook; 0: it has none
	size int // bytes of text so far
	left int // bytes of text left out

	toldWasUsed bool // Options.Encoding
}

// note adds a note, unless there are maxNotes: a broken document may have one
// for each of its parts.
func (r *reader) note(format string, a ...any) {
	if len(r.doc.Notes) < maxNotes {
		r.doc.Notes = append(r.doc.Notes, fmt.Sprintf(format, a...))
	}
}

// wants reports whether the options ask for part n.
func (r *reader) wants(n int) bool { return n >= r.o.From && n <= r.o.To }

// full reports whether there is no room for more text.
func (r *reader) full() bool { return r.size >= r.o.MaxText }

// add adds part n, if it is asked for, or as much of it as there is room for.
func (r *reader) add(n int, label, text string) {
	if !r.wants(n) {
		return
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if room := max(r.o.MaxText-r.size, 0); len(text) > room {
		for room > 0 && !utf8.RuneStart(text[room]) {
			room--
		}
		r.left += len(text) - room
		if text = text[:room]; text == "" {
			return
		}
	}
	r.size += len(text)
	r.doc.Parts = append(r.doc.Parts, Part{n, label, text})
}

// read detects the format and reads the document.
func (r *reader) read() error {
	ext := strings.ToLower(path.Ext(r.name))
	begins := func(magic string) bool { return bytes.HasPrefix(r.data, []byte(magic)) }
	switch d := r.data; {
	case len(d) == 0:
		return errors.New("the file is empty")
	case bytes.Contains(d[:min(len(d), 1024)], []byte("%PDF-")):
		return r.pdf()
	case begins("PK\x03\x04"), begins("PK\x05\x06"):
		return r.zip()
	case isOLE(d):
		return r.ole()
	case begins("\x1f\x8b"), begins("BZh"), begins("\x28\xb5\x2f\xfd"):
		return r.packed()
	case isTar(d):
		return r.tar(bytes.NewReader(d), "tar")
	case begins("7z\xbc\xaf\x27\x1c"), begins("Rar!"), begins("!<arch>\n"), begins("MSCF\x00\x00\x00\x00"):
		return errors.New("archives of 7z, RAR, CAB and ar cannot be read here: unpack it with a program (7z x)")
	case begins("\xfd7zXZ\x00"), begins("\x5d\x00\x00"), begins("\x04\x22\x4d\x18"), begins("\x1f\x9d"), begins("LZIP\x01"):
		return errors.New("packed with xz, lzma, lz4, compress or lzip: unpack it with a program (xz -dk, lz4 -d, uncompress, lzip -dk)")
	case begins("PAR1"), begins("SQLite format 3\x00"),
		ext == ".csv", ext == ".tsv", ext == ".tab", ext == ".jsonl", ext == ".ndjson":
		return r.table()
	case strings.HasPrefix(http.DetectContentType(d), "image/"), begins("II*\x00"), begins("MM\x00*"):
		return r.image()
	case begins(`{\rtf`):
		return r.rtf()
	case isMailbox(ext, d):
		return r.mailbox()
	case isMail(ext, d):
		return r.mail()
	case isHTML(ext, d):
		return r.html()
	}
	return r.text()
}

// otherKinds are formats that are not read: how they begin at an offset, and what
// helps.
var otherKinds = []struct {
	at          int
	begin, help string
}{
	{0, "%!PS", "PostScript: convert it to PDF (ps2pdf)"},
	{0, "AT&TFORM", "a DjVu document: djvutxt gives its text"},
	{60, "BOOKMOBI", "a book for the Kindle: convert it (ebook-convert book.mobi book.epub)"},
	{4, "Standard Jet DB", "an Access database: mdb-export (mdbtools) gives its tables"},
	{4, "Standard ACE DB", "an Access database: mdb-export (mdbtools) gives its tables"},
	{0, "\xffWPC", "a document of WordPerfect: convert it (libreoffice --headless --convert-to docx)"},
	{0, "AC10", "a drawing of AutoCAD: export it as PDF"},
	{4, "ftyp", "a video or a sound: a program can transcribe what is said in it"},
	{0, "ID3", "a sound: a program can transcribe what is said in it"},
	{0, "OggS", "a sound: a program can transcribe what is said in it"},
}

// otherKind is the error for a format that is known and not read, or nil.
func otherKind(d []byte) error {
	for _, k := range otherKinds {
		if len(d) > k.at && bytes.HasPrefix(d[k.at:], []byte(k.begin)) {
			return errors.New(k.help)
		}
	}
	return nil
}

// text reads a file that already is text.
func (r *reader) text() error {
	if err := otherKind(r.data); err != nil {
		return err
	}
	if r.o.Encoding == "" && (charset.IsBinary(r.data) || hasControls(r.data[:min(len(r.data), 4096)])) {
		return fmt.Errorf("not a document that can be read: %s. PDF, Office files, OpenDocument, RTF, EPUB, "+
			"mail, HTML, CSV, JSON, Parquet, SQLite, images, zip and tar can", http.DetectContentType(r.data))
	}
	r.doc.Format, r.doc.About = "text", fmt.Sprintf("%d lines", bytes.Count(r.data, []byte{'\n'})+1)
	text, err := r.decode(r.data, charset.OfXML(r.data))
	r.add(1, "text", text)
	return err
}

// decode returns a text in UTF-8. Its set is the one that the reader was told, or that the text
// declares, or a guess; see package charset. Notes say what is not sure.
func (r *reader) decode(data []byte, declared string) (string, error) {
	r.toldWasUsed = true
	t, err := charset.Decode(data, r.o.Encoding, declared)
	if note := t.Note(); note != "" && !slices.Contains(r.doc.Notes, note) {
		r.note("%s", note)
	}
	return string(t.UTF8), err
}

// hasControls reports whether more than a twentieth of the bytes are control characters, which no text
// has in any set but that of two bytes a character.
func hasControls(head []byte) bool {
	odd := 0
	for _, c := range head {
		if c < 32 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b && c != 0 {
			odd++
		}
	}
	return odd*20 > len(head)
}

// unpack reads all of src, which may have at most so many bytes.
func unpack(ctx context.Context, src io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(ctxio.NewReader(ctx, src), most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("it unpacks to more than %s", humanize.IBytes(uint64(most)))
	}
	return data, nil
}
