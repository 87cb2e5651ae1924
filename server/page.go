package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
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
)

// The page, as scripts/web builds it from server/web.
//
//go:embed web/dist
var dist embed.FS

// A page serves the built files, compressed once for all.
type page struct {
	once  sync.Once
	files map[string]asset // by path
}

type asset struct {
	kind, tag     string
	plain, packed []byte
}

func (p *page) load() {
	p.files = make(map[string]asset)
	_ = fs.WalkDir(dist, "web/dist", func(name string, d fs.DirEntry, err error) error { // what is embedded can be read
		if err != nil || d.IsDir() {
			return err
		}
		data, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		w.Write(data)
		w.Close()
		p.files[strings.TrimPrefix(name, "web/dist")] = asset{mime.TypeByExtension(path.Ext(name)), fmt.Sprintf(`"%x"`, sha256.Sum256(data))[:18] + `"`, data, b.Bytes()}
		return nil
	})
}

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
	h.Set("Cache-Control", "no-cache") // which asks, and is answered by the tag
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
	_, _ = w.Write(data) // who has gone needs no page
}

// stranger is the page of who has no cookie.
const stranger = `<!doctype html><meta charset="utf-8"><title>OpenManus</title>
<p>Open the link that <code>openmanus serve</code> printed when it began: it has a token that shows who you are.</p>
<p>请打开 <code>openmanus serve</code> 启动时打印的链接：其中的令牌证明你是谁。</p>
`

// share is a session as one file that opens from disk and needs nothing else.
func (s *Server) share(ctx context.Context, in *OneSession) (*huma.StreamResponse, error) {
	x, err := s.answerWith(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	recorded := struct {
		Session Session           `json:"session"`
		Events  []openmanus.Event `json:"events"`
	}{Session: x.Body}
	for ev, err := range s.Store.Events(ctx, in.ID, 0) {
		if err != nil {
			return nil, err
		}
		recorded.Events = append(recorded.Events, ev)
	}
	data, err := json.Marshal(recorded) // which escapes what would end a script
	if err != nil {
		return nil, err
	}
	script, err1 := dist.ReadFile("web/dist/app.js")
	style, err2 := dist.ReadFile("web/dist/index.css")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<title>` + html.EscapeString(x.Body.Title) + `</title><style>`)
	b.Write(style)
	b.WriteString("</style></head><body><div id=\"app\"></div>\n<script type=\"application/json\" id=\"session\">")
	b.Write(data)
	b.WriteString("</script>\n<script type=\"module\">")
	b.Write(bytes.ReplaceAll(script, []byte("</script"), []byte(`<\/script`)))
	b.WriteString("</script></body></html>\n")
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "text/html; charset=utf-8")
		hc.SetHeader("Content-Disposition", `attachment; filename="`+in.ID+`.html"`)
		hc.SetHeader("Content-Security-Policy", "sandbox; default-src 'none'")
		_, _ = hc.BodyWriter().Write(b.Bytes()) // who has gone needs no file
	}}, nil
}
