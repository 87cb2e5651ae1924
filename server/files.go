package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/journal"
)

// A File is a file of a workspace.
type File struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

// The most files in a list, and the most directory entries that are read to
// make it.
const (
	maxListed  = 5000
	maxEntries = 50_000
)

// A filesResponse lists files in the order of [fs.WalkDir], which is lexical.
type filesResponse struct {
	Body struct {
		Items   []File `json:"items"`
		Partial bool   `json:"partial,omitempty" doc:"The list is incomplete."`
	}
}

// files lists regular files, without those in directories of version control
// and of dependencies.
func (s *Server) files(ctx context.Context, info journal.SessionInfo, in *OneSession) (*filesResponse, error) {
	root, err := s.openWorkspace(ctx, info.Workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	out := new(filesResponse)
	out.Body.Items = []File{}
	entries := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if entries++; entries > maxEntries || len(out.Body.Items) == maxListed || ctx.Err() != nil {
			out.Body.Partial = true
			return fs.SkipAll
		}
		if err != nil { // of an unreadable directory
			out.Body.Partial = true
			return nil
		}
		if d.IsDir() {
			if leftOut(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			out.Body.Items = append(out.Body.Items, File{name, info.Size(), info.ModTime().UTC()})
		}
		return nil
	})
	return out, err
}

// FileRequest is a request about one file of a workspace.
type FileRequest struct {
	OneSession
	Path   string `path:"path" maxLength:"4096" doc:"Relative to the workspace."`
	Inline bool   `query:"inline" doc:"Let a browser show the file in a page, if its type is safe for that."`
	Frame  string `query:"frame" enum:"still,scripts" doc:"Serve an HTML page as one, for a frame of the server's own page. It reaches nothing: no other file, no network, no cookie. With scripts, its own scripts run there."`
	V      string `query:"v" maxLength:"100" doc:"Without effect: a page that gives another value loads the file anew."`
	Dest   string `header:"Sec-Fetch-Dest" doc:"Sent by browsers: only a frame gets a page."`
}

// clean returns the path of the file, with slashes, relative to the workspace.
func (in *FileRequest) clean() (string, error) {
	if strings.ContainsRune(in.Path, 0) || !filepath.IsLocal(filepath.FromSlash(in.Path)) {
		return "", &FieldError{"path.path", fmt.Errorf("%q is not a path within the workspace", in.Path)}
	}
	return path.Clean(in.Path), nil
}

// file responds with a file of the workspace, or with ranges of it. Only regular files
// within the workspace are served, and never in a form in which a browser runs them on
// this origin.
func (s *Server) file(ctx context.Context, info journal.SessionInfo, in *FileRequest) (*huma.StreamResponse, error) {
	root, err := s.openWorkspace(ctx, info.Workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := in.clean()
	if err != nil {
		return nil, err
	}
	f, stat, err := regular.Open(root, name)
	if err != nil {
		return nil, pathError(err)
	}
	if in.Frame != "" && (in.Dest == "" || in.Dest == "iframe") { // as a window's own page it could be taken for ours
		return serveFrame(f, stat.Name(), in.Frame == "scripts", f)
	}
	return serveContent(f, stat.Name(), stat.ModTime(), in.Inline, f), nil
}

// serveFrame responds with an HTML page for a frame of the server's page, and then closes c.
// The page comes from agents and is not trusted. It has an origin of its own, and its policy
// lets it load and reach nothing, also not by a navigation or a form.
func serveFrame(content io.ReadSeeker, name string, scripts bool, c io.Closer) (*huma.StreamResponse, error) {
	if ext := strings.ToLower(path.Ext(name)); ext != ".html" && ext != ".htm" {
		return nil, errors.Join(&FieldError{"query.frame", errors.New("only an HTML page is shown in a frame")}, c.Close())
	}
	policy := "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
	if scripts {
		policy += "script-src 'unsafe-inline'; sandbox allow-scripts"
	} else {
		policy += "sandbox"
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer c.Close()
		r, w := humago.Unwrap(hc)
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Disposition", "inline")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "SAMEORIGIN")
		h.Set("X-DNS-Prefetch-Control", "off")
		h.Set("Cache-Control", "no-store")
		http.ServeContent(w, r, name, time.Time{}, content)
	}}, nil
}

// pathError makes errors about a path, other than that nothing is there, a
// fault of the request. It leaves out the path on the server.
func pathError(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) && !errors.Is(err, fs.ErrNotExist) {
		return &FieldError{"path.path", pe.Err}
	}
	if le := (*os.LinkError)(nil); errors.As(err, &le) {
		return &FieldError{"path.path", le.Err}
	}
	return err
}

// serveContent responds with content, or the requested ranges of it, and then
// closes c. The content comes from agents and is not trusted: a browser saves
// it, or, if inline is set and the type allows it, shows it in a sandbox
// without scripts. It gets scripts and markup as plain text.
func serveContent(content io.ReadSeeker, name string, modified time.Time, inline bool, c io.Closer) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer c.Close()
		r, w := humago.Unwrap(hc)
		h := w.Header()
		kind := contentType(name)
		disposition := "attachment"
		if inline && mayShow(kind) {
			disposition = "inline"
		}
		h.Set("Content-Type", kind)
		h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": name}))
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:")
		h.Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, name, modified, content)
	}}
}

// contentType returns the media type by which a file is served. Types that a browser would
// run, such as HTML, scripts and XML, are served as plain text; SVG keeps its type, under
// a policy that forbids scripts.
func contentType(name string) string {
	kind := mime.TypeByExtension(path.Ext(name))
	switch {
	case kind == "":
		return "application/octet-stream"
	case strings.HasPrefix(kind, "text/"), strings.Contains(kind, "javascript"),
		strings.Contains(kind, "xml") && kind != "image/svg+xml":
		return "text/plain; charset=utf-8"
	}
	return kind
}

// mayShow reports whether a browser may show content of this type in a page.
func mayShow(kind string) bool {
	switch kind, _, _ = strings.Cut(kind, ";"); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml", "text/plain", "application/pdf":
		return true
	}
	return false
}

// An uploadRequest is a file to write. The body is the content, of any type.
type uploadRequest struct {
	FileRequest
	RawBody []byte
}

// upload creates or replaces a file, atomically, and creates its directories. It counts
// against the user's quota before it is written.
func (s *Server) upload(ctx context.Context, info journal.SessionInfo, in *uploadRequest) (*struct{}, error) {
	name, err := in.clean()
	if err != nil {
		return nil, err
	}
	if err := s.addUpload(userOf(ctx), int64(len(in.RawBody)), true, time.Now()); err != nil {
		return nil, err
	}
	write := func() error { return s.writeFile(ctx, info, name, in.RawBody) }
	t, ok := s.Host.(Traveller)
	if !ok {
		return nil, write()
	}
	// A session has ended for who reads it a moment before its worker releases the files.
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		err = t.Change(ctx, info.ID, write)
		if there := (*act.ElsewhereError)(nil); !errors.As(err, &there) {
			return nil, err
		}
		if wait > 2*time.Second {
			return nil, huma.Error409Conflict("a session runs in this workspace on another machine: try again when it rests, or interrupt it")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// writeFile writes a file of a workspace under another name first, and renames it. It
// follows no link out of the workspace.
func (s *Server) writeFile(ctx context.Context, info journal.SessionInfo, name string, data []byte) error {
	root, err := userOf(ctx).openWorkspace(info.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	dir := path.Dir(name)
	if dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return pathError(err)
		}
	}
	part := path.Join(dir, "."+ids.New()+".part")
	if err := root.WriteFile(part, data, 0o644); err != nil {
		return pathError(err)
	}
	if err := root.Rename(part, name); err != nil {
		return pathError(errors.Join(err, root.Remove(part)))
	}
	return nil
}

// A blobRequest asks for a blob by its [openmanus.Ref].
type blobRequest struct {
	OneSession
	Ref string `path:"ref" pattern:"^sha256:[0-9a-f]{64}$"`
}

// blob returns a blob that belongs to the session. Any other one may hold what
// users must not see of each other, and is reported as if it did not exist.
func (s *Server) blob(ctx context.Context, info journal.SessionInfo, in *blobRequest) (*huma.StreamResponse, error) {
	blobs := journal.SessionBlobs(s.Store, s.Store, info.ID)
	data, err := openmanus.ReadBlob(ctx, blobs, openmanus.Ref(in.Ref))
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(in.Ref, "sha256:")
	switch http.DetectContentType(data) {
	case "image/jpeg":
		name += ".jpg"
	case "image/png":
		name += ".png"
	default:
		name += ".txt"
	}
	return serveContent(strings.NewReader(string(data)), name, time.Time{}, true, io.NopCloser(nil)), nil
}
