package document

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/klauspost/compress/zstd"

	"github.com/openmanus-go/openmanus/internal/charset"
	"github.com/openmanus-go/openmanus/internal/ctxio"
	"github.com/openmanus-go/openmanus/workspace"
)

// An archive becomes a list of its files as the first part, and each small
// text in it as a part of its own.
const (
	maxListed   = 1000
	maxMember   = 32 << 10 // bytes of a text that is read
	maxStreamed = 1 << 30  // bytes that a packed tar may unpack to
)

// A listing is the list of an archive's files.
type listing struct {
	b     strings.Builder
	files int
	bytes uint64
}

// add counts a file, and lists it unless there are too many.
func (l *listing) add(name string, size uint64, at time.Time) {
	l.files++
	l.bytes += size
	if l.files <= maxListed {
		fmt.Fprintf(&l.b, "%s\t%s\t%s\n", name, humanize.IBytes(size), at.Format(time.DateOnly))
	}
}

// list puts the listing before the parts that were read.
func (r *reader) list(l *listing, format string) {
	r.doc.Format = format + " archive"
	r.doc.About = fmt.Sprintf("%s files, %s unpacked", humanize.Comma(int64(l.files)), humanize.IBytes(l.bytes))
	if l.files > maxListed {
		r.note("the first %d files are listed", maxListed)
	}
	if r.o.From <= 1 {
		r.doc.Parts = append([]Part{{1, "files", l.b.String()}}, r.doc.Parts...)
	}
}

// archive reads a zip file that is no document. Part 1 is the list; the texts
// are numbered from 2 in the order of the archive, whether they are asked for or
// not, so that a part keeps its number.
func (r *reader) archive(z *zip.Reader) error {
	var l listing
	encrypted, n := 0, 1
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") || r.hides(f.Name) {
			continue
		}
		name := charset.String(f.Name, "") // zip has no set for names but UTF-8 and that of the writer
		l.add(name, f.UncompressedSize64, f.Modified)
		if f.Flags&1 != 0 {
			encrypted++
			continue
		}
		if f.UncompressedSize64 > maxMember || !isTextName(f.Name) {
			continue
		}
		if n++; !r.wants(n) || r.full() {
			continue
		}
		src, err := f.Open()
		if err != nil {
			r.note("%s: %v", name, err)
			continue
		}
		r.member(n, name, src)
		src.Close()
	}
	if encrypted > 0 {
		r.note("%d files are encrypted", encrypted)
	}
	r.list(&l, "zip")
	return r.ctx.Err()
}

// hides reports whether a file of the archive does not exist for the reader, as a
// file beside the archive would not.
func (r *reader) hides(member string) bool {
	return workspace.Hides(workspace.Unnamed(r.fsys), path.Join(r.name, path.Join("/", member)))
}

// member adds a file of an archive as part n, unless it is no text.
func (r *reader) member(n int, name string, src io.Reader) {
	text, err := unpack(r.ctx, src, maxMember)
	switch {
	case err != nil:
		r.note("%s: %v", name, err)
	case !charset.IsBinary(text):
		plain, err := r.decode(text, charset.OfXML(text))
		if err != nil {
			r.note("%s: %v", name, err)
		}
		r.add(n, "file "+name, plain)
	}
}

// textEndings are the endings of names of texts, each between spaces.
const textEndings = " .txt .md .csv .tsv .json .xml .html .yaml .yml .toml .ini .cfg .log .rst .py .go " +
	".js .ts .java .c .h .rs .rb .sh .sql .tex .r "

// isTextName reports whether a file's name is that of a text.
func isTextName(name string) bool {
	base := strings.ToLower(path.Base(name))
	if ext := path.Ext(base); ext != "" {
		return strings.Contains(textEndings, " "+ext+" ")
	}
	return base == "readme" || base == "license" || base == "makefile"
}

// isTar reports whether a file begins with the header of a tar archive.
func isTar(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }

// packed reads a packed tar archive, or a packed text, which a program wrote whose files begin with
// 1f 8b (gzip), BZh (bzip2) or 28 b5 2f fd (zstd).
func (r *reader) packed() error {
	var z io.Reader
	var err error
	by, tarred, packed := "gzip", "tar.gz", bytes.NewReader(r.data)
	switch r.data[0] {
	case 'B':
		by, tarred, z = "bzip2", "tar.bz2", bzip2.NewReader(packed)
	case 0x28:
		by, tarred = "zstd", "tar.zst"
		var d *zstd.Decoder
		if d, err = zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked)); err == nil {
			defer d.Close()
			z = d
		}
	default:
		z, err = gzip.NewReader(packed)
	}
	if err != nil {
		return fmt.Errorf("the file cannot be unpacked: %w", err)
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(z, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return fmt.Errorf("the file cannot be unpacked: %w", err)
	}
	all := io.MultiReader(bytes.NewReader(head[:n]), z)
	if isTar(head[:n]) {
		return r.tar(all, tarred)
	}
	if r.data, err = unpack(r.ctx, all, maxUnpacked); err != nil {
		return err
	}
	if err := r.text(); err != nil {
		return fmt.Errorf("packed with %s; inside it is %w", by, err)
	}
	r.doc.Format = "text packed with " + by
	return nil
}

// tar reads a tar archive as archive does. It has no directory, so that it is
// read to its end, or to maxStreamed bytes. One that breaks off keeps what came
// before.
func (r *reader) tar(src io.Reader, format string) error {
	t := tar.NewReader(io.LimitReader(ctxio.NewReader(r.ctx, src), maxStreamed))
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
			r.note("the archive could not be read to its end (%d files were, or %s): %v",
				l.files, humanize.IBytes(maxStreamed), err)
			break
		}
		if entries >= maxEntries {
			r.note("the archive has more than %d files; the rest is left out", maxEntries)
			break
		}
		if h.Typeflag != tar.TypeReg || r.hides(h.Name) {
			continue
		}
		name := charset.String(h.Name, "")
		l.add(name, uint64(max(h.Size, 0)), h.ModTime)
		if h.Size > maxMember || !isTextName(h.Name) {
			continue
		}
		if n++; r.wants(n) && !r.full() {
			r.member(n, name, t)
		}
	}
	r.list(&l, format)
	return r.ctx.Err()
}
