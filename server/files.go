package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
)

// A File is a file of a workspace.
type File struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

// mostFiles is how many files are listed, and mostLooked how many are looked
// at for that.
const (
	mostFiles  = 5000
	mostLooked = 50_000
)

type filesAnswer struct {
	Body struct {
		Items   []File `json:"items"`
		Partial bool   `json:"partial,omitempty" doc:"There are more than are listed."`
	}
}

// workspaceOf opens the workspace of a session of the user who asks.
func (s *Server) workspaceOf(ctx context.Context, id string) (*os.Root, error) {
	info, err := s.mine(ctx, id)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(info.Workspace) {
		return nil, huma.Error404NotFound("the session has no workspace")
	}
	return os.OpenRoot(info.Workspace)
}

func (s *Server) files(ctx context.Context, in *OneSession) (*filesAnswer, error) {
	root, err := s.workspaceOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	out := new(filesAnswer)
	out.Body.Items = []File{}
	looked := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if looked++; looked > mostLooked || len(out.Body.Items) == mostFiles || ctx.Err() != nil {
			out.Body.Partial = true
			return fs.SkipAll
		}
		if err != nil {
			out.Body.Partial = true // what cannot be read is not listed
			return nil
		}
		if d.IsDir() {
			if n := d.Name(); n == ".git" || n == "node_modules" || n == "__pycache__" || n == ".venv" {
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
	Inline bool   `query:"inline" doc:"To be shown in a page, if it is of a kind that can be."`
}

// open opens a regular file of a workspace. No path leads out of it.
func (in *FileRequest) open(root *os.Root) (*os.File, fs.FileInfo, error) {
	name, err := in.clean()
	if err != nil {
		return nil, nil, err
	}
	info, err := root.Stat(name) // before opening, which waits at a named pipe
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &FieldError{"path.path", errors.New("it is not a file")}
	}
	f, err := root.Open(name)
	return f, info, err
}

func (in *FileRequest) clean() (string, error) {
	name, err := url.PathUnescape(in.Path)
	if err != nil || strings.ContainsRune(name, 0) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", &FieldError{"path.path", fmt.Errorf("%q is no path within a workspace", in.Path)}
	}
	return path.Clean(name), nil
}

func (s *Server) file(ctx context.Context, in *FileRequest) (*huma.StreamResponse, error) {
	root, err := s.workspaceOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, info, err := in.open(root)
	if err != nil {
		return nil, outside(err)
	}
	return serve(f, info.Name(), info.ModTime(), in.Inline, f), nil
}

// outside is err, where it is about a way out of the workspace, in the words
// of an answer.
func outside(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) && !errors.Is(err, fs.ErrNotExist) {
		return &FieldError{"path.path", pe.Err}
	}
	return err
}

// serve answers with content, or ranges of it, and closes it. What a browser
// would run it gets for saving alone, and shows in a cage if it is made to.
func serve(content io.ReadSeeker, name string, modified time.Time, show bool, c io.Closer) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer c.Close()
		r, w := humago.Unwrap(hc)
		h := w.Header()
		kind := mime.TypeByExtension(path.Ext(name))
		if strings.HasPrefix(kind, "text/") || strings.Contains(kind, "javascript") || strings.Contains(kind, "xml") && kind != "image/svg+xml" {
			kind = "text/plain; charset=utf-8" // shown as what it is made of
		}
		if kind == "" {
			kind = "application/octet-stream"
		}
		h.Set("Content-Type", kind)
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:")
		h.Set("Cache-Control", "no-cache")
		disposition := "attachment"
		if show && inline(kind) {
			disposition = "inline"
		}
		h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": name}))
		http.ServeContent(w, r, name, modified, content)
	}}
}

// inline reports whether a browser may show content of this kind in a page.
func inline(kind string) bool {
	switch kind, _, _ = strings.Cut(kind, ";"); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml", "text/plain", "application/pdf":
		return true
	}
	return false
}

type uploadRequest struct {
	FileRequest
	RawBody []byte
}

// upload replaces a file of the workspace, or makes it and the directories to
// it.
func (s *Server) upload(ctx context.Context, in *uploadRequest) (*struct{}, error) {
	root, err := s.workspaceOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := in.clean()
	if err != nil {
		return nil, err
	}
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return nil, outside(err)
		}
	}
	part := path.Join(path.Dir(name), "."+ids.New()+".part")
	if err := root.WriteFile(part, in.RawBody, 0o644); err != nil {
		return nil, outside(err)
	}
	if err := root.Rename(part, name); err != nil {
		return nil, outside(errors.Join(err, root.Remove(part)))
	}
	return nil, nil
}

type blobRequest struct {
	OneSession
	Ref string `path:"ref" pattern:"^sha256:[0-9a-f]{64}$"`
}

// blob returns what an event of the session speaks of, and nothing else.
func (s *Server) blob(ctx context.Context, in *blobRequest) (*huma.StreamResponse, error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	if spoken, err := s.speaksOf(ctx, in.ID, openmanus.Ref(in.Ref)); err != nil || !spoken {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	data, err := openmanus.ReadBlob(ctx, s.Store, openmanus.Ref(in.Ref))
	if err != nil {
		return nil, err
	}
	return serve(strings.NewReader(string(data)), in.Ref[7:]+".txt", time.Time{}, true, io.NopCloser(nil)), nil
}

func (s *Server) speaksOf(ctx context.Context, id string, ref openmanus.Ref) (bool, error) {
	for ev, err := range s.Store.Events(ctx, id, 0) {
		if err != nil {
			return false, err
		}
		if d, ok := ev.Body.(openmanus.CallDone); ok && (d.Whole == ref || strings.Contains(string(d.Detail), string(ref))) {
			return true, nil
		}
	}
	return false, nil
}
