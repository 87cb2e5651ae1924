package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/internal/sharepage"
	"github.com/openmanus-go/openmanus/journal"
)

// dist is the web page as scripts/web builds it from server/web.
//
//go:embed web/dist
var dist embed.FS

// A page serves dist. It is safe for concurrent use.
type page struct {
	once  sync.Once
	files map[string]*asset // by URL path
}

// An asset is a file of the page with what its responses need.
type asset struct {
	kind, tag string
	plain     []byte
	packed    func() []byte // plain in Brotli, which is made when it is first asked for
}

// brotliLevel is the one up to which compressing the whole page takes less than a first
// visitor notices.
const brotliLevel = 5

// kinds are the media types of files whose names the system may not know.
var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".woff2": "font/woff2",
	".webmanifest": "application/manifest+json", ".svg": "image/svg+xml", ".png": "image/png",
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
}

// load reads all files of the page from the program, and compresses those for which that
// is worthwhile. It is called once.
func (p *page) load() {
	p.files = make(map[string]*asset)
	// There are no errors: the files are part of the program.
	_ = fs.WalkDir(dist, "web/dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		kind := kinds[path.Ext(name)]
		a := &asset{kind: kind, tag: fmt.Sprintf(`W/"%x"`, sha256.Sum256(data))[:20] + `"`, plain: data}
		if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "xml") {
			a.packed = sync.OnceValue(func() []byte {
				var packed bytes.Buffer
				w := brotli.NewWriterLevel(&packed, brotliLevel)
				_, _ = w.Write(data) // memory has no errors
				_ = w.Close()
				return packed.Bytes()
			})
		}
		p.files[strings.TrimPrefix(name, "web/dist")] = a
		return nil
	})
}

// ServeHTTP serves a file by its path, and the page itself for "/". Browsers
// keep files and revalidate them by their tag, so an update of the program shows
// at once. The tag is a weak one: it is that of all encodings.
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
	if hasTag(r.Header.Get("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	data := a.plain // which is compressed on its way for browsers without Brotli
	if a.packed != nil && accepts(r, "br") {
		h.Set("Content-Encoding", "br")
		data = a.packed()
	}
	_, _ = w.Write(data) // an error means that the client is gone
}

// hasTag reports whether an If-None-Match header names the tag, compared weakly.
func hasTag(header, tag string) bool {
	for _, t := range strings.Split(header, ",") {
		if t = strings.TrimSpace(t); t == "*" || strings.TrimPrefix(t, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// accepts reports whether a client can read an encoding of content. An encoding with q=0
// is refused.
func accepts(r *http.Request, encoding string) bool {
	for _, t := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(t, ";")
		if strings.TrimSpace(name) == encoding {
			q = strings.ReplaceAll(q, " ", "")
			return !strings.HasPrefix(q, "q=0") || strings.Trim(q[len("q=0"):], ".0") != ""
		}
	}
	return false
}

// share returns a session as one HTML file that opens from disk, with the files that it
// made. Without access to the workspace, it is shared without files.
func (s *Server) share(ctx context.Context, info journal.SessionInfo, in *OneSession) (*huma.StreamResponse, error) {
	shared := sharepage.Session{ID: info.ID, Title: info.Title, Events: s.Store.Events(ctx, info.ID, 0), Blobs: s.Store}
	root, err := s.openWorkspace(ctx, info.Workspace)
	if err == nil {
		defer root.Close()
		shared.Files = regular.FS(root)
	} else {
		s.Log.Info("a session is shared without files", "session", info.ID, "error", err)
	}
	var file bytes.Buffer
	if err := sharepage.Write(ctx, &file, shared); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "text/html; charset=utf-8")
		hc.SetHeader("Content-Disposition", `attachment; filename="`+info.ID+`.html"`)
		hc.SetHeader("Content-Security-Policy", "sandbox; default-src 'none'")
		_, _ = hc.BodyWriter().Write(file.Bytes()) // an error means that the client is gone
	}}, nil
}
