package server

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/journal"
)

// A zipRequest names files of a workspace.
type zipRequest struct {
	OneSession
	Paths []string `query:"path,explode" required:"true" minItems:"1" maxItems:"500" doc:"Relative to the workspace. Files that are no longer there are left out."`
}

// zip responds with files of the workspace as one ZIP archive, in the order in
// which they are asked for. If one cannot be read to its end, the archive has
// no directory, so that no program takes it for a whole one.
func (s *Server) zip(ctx context.Context, info journal.SessionInfo, in *zipRequest) (*huma.StreamResponse, error) {
	names, err := in.clean()
	if err != nil {
		return nil, err
	}
	root, err := userOf(ctx).openWorkspace(info.Workspace)
	if err != nil {
		return nil, err
	}
	found := names[:0]
	for _, name := range names {
		f, _, err := regular.Open(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(pathError(err), root.Close())
		}
		f.Close()
		found = append(found, name)
	}
	if len(found) == 0 {
		return nil, errors.Join(fs.ErrNotExist, root.Close())
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer root.Close()
		hc.SetHeader("Content-Type", "application/zip")
		hc.SetHeader("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": info.ID + ".zip"}))
		if err := writeZip(hc.BodyWriter(), root, found); err != nil { // the status is sent
			s.Log.Error("archive incomplete", "session", info.ID, "error", err)
		}
	}}, nil
}

// clean returns the names, with slashes, each once.
func (in *zipRequest) clean() ([]string, error) {
	var names []string
	seen := make(map[string]bool)
	for i, p := range in.Paths {
		name, err := url.PathUnescape(p)
		if err != nil || strings.ContainsRune(name, 0) || !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, &FieldError{fmt.Sprintf("query.path[%d]", i), fmt.Errorf("%q is not a path within the workspace", p)}
		}
		if name = path.Clean(name); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, nil
}

// writeZip writes the files of root to w.
func writeZip(w io.Writer, root *os.Root, names []string) error {
	z := zip.NewWriter(w)
	for _, name := range names {
		if err := addToZip(z, root, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return z.Close()
}

// addToZip adds one file with its time.
func addToZip(z *zip.Writer, root *os.Root, name string) error {
	f, stat, err := regular.Open(root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	part, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: stat.ModTime()})
	if err != nil {
		return err
	}
	_, err = io.Copy(part, f)
	return err
}
