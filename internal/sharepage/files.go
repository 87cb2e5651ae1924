package sharepage

import (
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/data/chart"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/protected"
)

// A file is a file that the session made or changed.
type file struct {
	openmanus.FileChange
	data []byte
	url  string // of a picture
	why  string // it is not there
}

// choose reads the files that calls of the session made or changed, as they are now.
func (p *page) choose(s *openmanus.State) {
	if p.s.Files == nil {
		return
	}
	own, _ := s.Files(0)
	own = slices.DeleteFunc(own, func(c openmanus.FileChange) bool { return c.Change == openmanus.FileDeleted || !fs.ValidPath(c.Path) })
	if len(own) > maxFiles {
		p.left = append(p.left, clip.Count(len(own)-maxFiles, "file")+" left out, because there are so many.")
		own = own[:maxFiles]
	}
	var fonts chart.Fonts
	for _, c := range own {
		p.files = append(p.files, p.read(c, &fonts))
	}
}

// read reads a file. A page that shows a chart, whose scripts do not run here, is drawn as a picture.
func (p *page) read(c openmanus.FileChange, fonts *chart.Fonts) file {
	f := file{FileChange: c}
	if protected.HoldsSecrets(path.Base(c.Path)) {
		f.why = "It is left out, because files of this name usually hold secrets."
		return f
	}
	data, err := p.content(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.why = "It is no longer there."
		return f
	case err != nil:
		f.why = "It cannot be read, or is no regular file."
		return f
	case len(data) > maxFile || len(data) > p.data:
		f.why = "It is left out, because the page would be too large."
		return f
	}
	f.data = data
	p.data -= len(data)
	kind := http.DetectContentType(data)
	switch ext := strings.ToLower(path.Ext(c.Path)); ext {
	case ".svg":
		kind = "image/svg+xml"
	case ".html":
		spec, err := p.content(strings.TrimSuffix(c.Path, path.Ext(c.Path)) + ".json")
		if err != nil {
			return f
		}
		if figure, err := chart.Parse(spec); err == nil {
			if svg, err := figure.SVG(fonts); err == nil {
				f.url = p.picture("image/svg+xml", svg)
			}
		}
		return f
	}
	if strings.HasPrefix(kind, "image/") {
		p.data += len(data)
		f.url = p.picture(kind, data)
	}
	return f
}

// content returns a file, or its beginning if it is larger than any that the page takes.
func (p *page) content(name string) ([]byte, error) {
	r, err := p.s.Files.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxFile+1))
}

func (p *page) index(name string) int {
	return slices.IndexFunc(p.files, func(f file) bool { return f.Path == name })
}

// anchor returns the place of a file on the page, or "" if it is not there.
func (p *page) anchor(name string) string {
	if i := p.index(name); i >= 0 {
		return fmt.Sprintf("#file-%d", i+1)
	}
	return ""
}

// drawn returns the address of the picture that stands at a place of the page, or "".
func (p *page) drawn(anchor string) string {
	var n int
	if _, err := fmt.Sscanf(anchor, "#file-%d", &n); err != nil || n < 1 || n > len(p.files) {
		return ""
	}
	return p.files[n-1].url
}

// filesPart shows the files, each as what it is, with a link that saves it.
func (p *page) filesPart() string {
	if len(p.files) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<section aria-label=\"Files\"><h2>Files</h2>\n")
	for i, f := range p.files {
		fmt.Fprintf(&b, "<details class=\"file\" id=\"file-%d\"><summary><code>%s</code> <small>%s</small></summary>\n", i+1, exact(f.Path), exact(f.Change))
		if f.why != "" {
			fmt.Fprintf(&b, "<p class=\"note\">%s</p></details>\n", f.why)
			continue
		}
		fmt.Fprintf(&b, "<p><a download=\"%s\" href=\"data:application/octet-stream;base64,%s\">Save this file</a></p>\n",
			exact(path.Base(f.Path)), base64.StdEncoding.EncodeToString(f.data))
		b.WriteString(p.shown(f) + "</details>\n")
	}
	b.WriteString("</section>\n")
	return b.String()
}

// shownRows is how many rows of a table are shown.
const shownRows = 200

// shown is the content of a file.
func (p *page) shown(f file) string {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(f.Path), "."))
	text := string(f.data)
	switch {
	case f.url != "":
		return fmt.Sprintf(`<img src="%s" alt="%s">`, f.url, exact(f.Path))
	case !utf8.Valid(f.data) || strings.ContainsRune(text, 0):
		return "<p class=\"note\">It is no text. Save it to open it.</p>"
	case (ext == "md" || ext == "markdown") && len(text) <= maxColoured:
		return p.markdown(text)
	case ext == "csv" || ext == "tsv":
		if t := table(text, ext == "tsv"); t != "" {
			return t
		}
	}
	more := ""
	if len(text) > 4*maxCall {
		text, more = strings.ToValidUTF8(text[:4*maxCall], ""), "\n… Save it to read on."
	}
	return "<pre><code>" + colours(text, ext) + more + "</code></pre>"
}

// table is the beginning of a table, or "" if it is none.
func table(text string, tabs bool) string {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	if tabs {
		r.Comma = '\t'
	}
	var b strings.Builder
	b.WriteString("<div class=\"wide\"><table>")
	for n := 0; ; n++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return ""
		}
		if n > shownRows {
			return b.String() + "</table></div><p class=\"note\">There are more rows.</p>"
		}
		tag := map[bool]string{true: "th", false: "td"}[n == 0]
		b.WriteString("<tr>")
		for _, v := range row {
			b.WriteString("<" + tag + ">" + exact(v) + "</" + tag + ">")
		}
		b.WriteString("</tr>\n")
	}
	return b.String() + "</table></div>"
}
