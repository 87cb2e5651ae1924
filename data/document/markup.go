package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"

	"github.com/openmanus-go/openmanus/internal/charset"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/htmlmd"
	"github.com/openmanus-go/openmanus/internal/ooxml"
)

// maxElements is how deeply the elements of a page may be nested: what reads them
// recurses.
const maxElements = 500

// markdown converts a page of HTML. contentType, which may be empty, may name the
// character set.
func (r *reader) markdown(data []byte, contentType string) (string, error) {
	page, err := r.decode(data, charset.OfPage(data, contentType))
	if err != nil {
		return "", err
	}
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return "", err
	}
	deep := 0
	for n := doc; n != nil; {
		switch {
		case n.FirstChild != nil:
			n = n.FirstChild
			if deep++; deep > maxElements {
				return "", errors.New("its elements are nested too deeply")
			}
			continue
		case n.NextSibling != nil:
			n = n.NextSibling
			continue
		}
		for n != nil && n.NextSibling == nil {
			n = n.Parent
			deep--
		}
		if n != nil {
			n = n.NextSibling
		}
	}
	return strings.TrimSpace(htmlmd.Convert(doc, &url.URL{})), nil
}

// html reads a page that was saved.
func (r *reader) html() error {
	text, err := r.markdown(r.data, "")
	if err != nil {
		return fmt.Errorf("the page cannot be read: %w", err)
	}
	r.doc.Format, r.doc.About = "HTML", fmt.Sprintf("%d bytes, as Markdown", len(r.data))
	r.add(1, "page", text)
	return nil
}

// isHTML reports whether a file is a page: by its name, or by how it begins, since many programs
// write pages and call them .xls or .doc.
func isHTML(ext string, data []byte) bool {
	if ext == ".html" || ext == ".htm" || ext == ".xhtml" {
		return true
	}
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	return kind == "text/html" && (ext == ".xls" || ext == ".doc" || ext == ".ppt" || ext == "")
}

// epub reads a book: its chapters in the order of its spine (EPUB 3.3; 2 is the same here).
// META-INF/container.xml names the package, whose manifest has the files by their ids and whose spine
// the ids in order. Chapters are XHTML. A book that is encrypted for a reader says so in
// META-INF/encryption.xml.
func (r *reader) epub(f *ooxml.File) error {
	root := ""
	start := func(e xml.StartElement) {
		if e.Name.Local == "rootfile" && root == "" {
			root = ooxml.Attr(e, "full-path")
		}
	}
	if err := walk(f, "META-INF/container.xml", start, nil, nil); err != nil {
		return err
	}
	files := make(map[string]string) // by id
	var spine, title []string
	inTitle := false
	start = func(e xml.StartElement) {
		switch e.Name.Local {
		case "item":
			href, err := url.PathUnescape(ooxml.Attr(e, "href"))
			if err == nil && len(files) < maxEntries {
				files[ooxml.Attr(e, "id")] = path.Join(path.Dir(root), href)
			}
		case "itemref":
			if len(spine) < maxEntries {
				spine = append(spine, ooxml.Attr(e, "idref"))
			}
		case "title", "creator":
			inTitle = true
		}
	}
	end := func(string) { inTitle = false }
	text := func(s []byte) {
		if inTitle && len(title) < 10 {
			title = append(title, strings.TrimSpace(string(s)))
		}
	}
	if err := walk(f, root, start, end, text); err != nil {
		return err
	}
	r.doc.Format, r.doc.Total = "EPUB", len(spine)
	r.doc.About = fmt.Sprintf("%d chapter%s", len(spine), clip.Which(len(spine), "", "s"))
	if t := strings.Join(title, ", "); t != "" {
		r.doc.About = t + "; " + r.doc.About
	}
	for i, id := range spine {
		if !r.wants(i+1) || r.full() {
			r.doc.More = r.doc.More || r.full()
			continue
		}
		data, err := r.part(f, files[id])
		var page string
		if err == nil {
			page, err = r.markdown(data, "")
		}
		if err != nil {
			r.note("chapter %d: %v", i+1, err)
		} else if page != "" {
			r.add(i+1, fmt.Sprintf("chapter %d", i+1), page)
		}
	}
	if f.Has("META-INF/encryption.xml") {
		r.note("parts of the book are encrypted; chapters that look like noise are among them")
	}
	return r.ctx.Err()
}

// part returns a part of the file.
func (r *reader) part(f *ooxml.File, name string) ([]byte, error) {
	part, err := f.Part(name)
	if err != nil {
		return nil, err
	}
	defer part.Close()
	return unpack(r.ctx, part, maxUnpacked)
}

// walk passes on the tokens of a part. An error names the part. end and text may be
// nil.
func walk(
	f *ooxml.File, name string, start func(xml.StartElement), end func(string), text func([]byte),
) error {
	part, err := f.Part(name)
	if err != nil {
		return err
	}
	defer part.Close()
	if err := ooxml.Walk(part, start, end, text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
