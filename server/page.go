package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// dist is the web page as scripts/web builds it from server/web.
//
//go:embed web/dist
var dist embed.FS

// A page serves dist. It compresses the files when the first one is requested.
type page struct {
	once  sync.Once
	files map[string]asset // by URL path
}

// An asset is a file of the page with what its responses need.
type asset struct {
	kind, tag     string
	plain, packed []byte // packed is plain in gzip
}

// load reads and compresses all files.
func (p *page) load() {
	p.files = make(map[string]asset)
	// There are no errors: the files are part of the program.
	_ = fs.WalkDir(dist, "web/dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		w.Write(data)
		w.Close()
		p.files[strings.TrimPrefix(name, "web/dist")] = asset{
			kind: mime.TypeByExtension(path.Ext(name)), tag: fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(data))[:17]),
			plain: data, packed: packed.Bytes(),
		}
		return nil
	})
}

// ServeHTTP serves a file by its path, and the page itself for "/". Browsers
// keep files and revalidate them by their tag, so an update of the program shows
// at once.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.once.Do(p.load)
	name := r.URL.Path
	if name == "/" {
		name = "/index.html"
	}
	a, ok := p.files[name]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		writeProblem(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path+" here")
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "no-cache") // browsers revalidate by the tag
	h.Set("ETag", a.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	data := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		data = a.packed
	}
	_, _ = w.Write(data) // an error means that the client is gone
}

// share returns a session as one HTML file that opens from disk: the page, its
// script and style, and the events.
func (s *Server) share(ctx context.Context, info journal.SessionInfo, in *OneSession) (*huma.StreamResponse, error) {
	v, err := s.view(ctx, info)
	if err != nil {
		return nil, err
	}
	recorded := struct {
		Session Session           `json:"session"`
		Events  []openmanus.Event `json:"events"`
	}{Session: v}
	for ev, err := range s.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, err
		}
		recorded.Events = append(recorded.Events, ev)
	}
	data, err := json.Marshal(recorded) // it escapes <, so no string can end the script element
	if err != nil {
		return nil, err
	}
	file, err := sharedPage(v.Title, data)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "text/html; charset=utf-8")
		hc.SetHeader("Content-Disposition", `attachment; filename="`+info.ID+`.html"`)
		hc.SetHeader("Content-Security-Policy", "sandbox; default-src 'none'")
		_, _ = hc.BodyWriter().Write(file) // an error means that the client is gone
	}}, nil
}

// fontFile is the font of the page in dist.
const fontFile = "geist-latin.woff2"

// sharedPage returns the page with its script, its style and a recorded
// session in it. It loads nothing.
func sharedPage(title string, session []byte) ([]byte, error) {
	script, err1 := dist.ReadFile("web/dist/app.js")
	style, err2 := dist.ReadFile("web/dist/index.css")
	font, err3 := dist.ReadFile("web/dist/" + fontFile)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	inline := "data:font/woff2;base64," + base64.StdEncoding.EncodeToString(font)
	style = bytes.ReplaceAll(style, []byte("./"+fontFile), []byte(inline))
	var b bytes.Buffer
	b.WriteString(`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:">
<title>` + html.EscapeString(title) + `</title><style>`)
	b.Write(style)
	b.WriteString(`</style></head><body><div id="app"></div>
<script type="application/json" id="session">`)
	b.Write(session)
	b.WriteString("</script>\n<script type=\"module\">")
	b.Write(bytes.ReplaceAll(script, []byte("</script"), []byte(`<\/script`)))
	b.WriteString("</script></body></html>\n")
	return b.Bytes(), nil
}
