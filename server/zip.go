package server

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/journal"
)

// A zipRequest asks for files of a workspace in one zip.
type zipRequest struct {
	OneSession
	Path []string `query:"path,explode" maxItems:"1000" doc:"A file, or a directory with all in it, relative to the workspace. Those that are no longer there are left out. Default: everything that the list of files has."`
}

// maxArchive is the most bytes of files in an archive, before they are compressed.
const maxArchive = 2 << 30

// zip responds with a zip of files of the workspace. It is made while it is sent; if a file
// cannot be read, or there are too many, the connection breaks off, so that no one takes a part
// for the whole.
func (s *Server) zip(ctx context.Context, info journal.SessionInfo, in *zipRequest) (*huma.StreamResponse, error) {
	for i, p := range in.Path {
		if strings.ContainsRune(p, 0) || !filepath.IsLocal(filepath.FromSlash(p)) {
			return nil, &FieldError{"query.path", errors.New("a path is not within the workspace")}
		}
		in.Path[i] = path.Clean(p)
	}
	root, err := s.openWorkspace(ctx, info.Workspace)
	if err != nil {
		return nil, err
	}
	names, err := chosenFiles(ctx, root, in.Path)
	if err != nil {
		return nil, errors.Join(pathError(err), root.Close())
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer root.Close()
		_, w := humago.Unwrap(hc)
		h := w.Header()
		h.Set("Content-Type", "application/zip")
		name := path.Base(filepath.ToSlash(info.Workspace)) + ".zip"
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
		h.Set("Cache-Control", "no-store")
		if err := writeZip(ctx, w, root, names); err != nil {
			s.Log.Info("an archive broke off", "session", info.ID, "error", err)
			panic(http.ErrAbortHandler)
		}
	}}, nil
}

// chosenFiles returns the regular files at paths and below them, or all if there are none. Paths at
// which nothing is are left out; that there is nothing at any is an error.
func chosenFiles(ctx context.Context, root *os.Root, paths []string) (names []string, err error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	seen := make(map[string]bool)
	for _, p := range paths {
		err := fs.WalkDir(root.FS(), p, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil && name == p:
				return err
			case err != nil, ctx.Err() != nil:
				return ctx.Err() // an unreadable directory is left out, as in the list of files
			case d.IsDir() && name != p && leftOut(d.Name()):
				return fs.SkipDir
			case d.Type().IsRegular() && !seen[name]:
				seen[name] = true
				names = append(names, name)
			}
			if len(names) > maxEntries {
				return errors.New("there are too many files for one archive: choose some")
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(names) == 0 && paths[0] != "." {
		return nil, fs.ErrNotExist
	}
	return names, nil
}

// leftOut reports whether a directory is one of version control or of dependencies, which lists
// and archives leave out.
func leftOut(name string) bool {
	switch name {
	case ".git", "node_modules", "__pycache__", ".venv":
		return true
	}
	return false
}

// writeZip writes an archive of files, up to a limit of bytes. Files that were removed
// meanwhile are left out; any other error ends it.
func writeZip(ctx context.Context, w io.Writer, root *os.Root, names []string) error {
	z := zip.NewWriter(w)
	left := int64(maxArchive)
	for _, name := range names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f, stat, err := regular.Open(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed since
		}
		if err != nil {
			return err
		}
		n, err := addToZip(z, name, stat, io.LimitReader(f, left+1))
		f.Close()
		if err != nil {
			return err
		}
		if left -= n; left < 0 {
			return errors.New("the files are too large for one archive")
		}
	}
	return z.Close()
}

// addToZip adds one file, and returns how many bytes it had.
func addToZip(z *zip.Writer, name string, stat fs.FileInfo, content io.Reader) (int64, error) {
	h, err := zip.FileInfoHeader(stat)
	if err != nil {
		return 0, err
	}
	h.Name, h.Method = name, zip.Deflate
	w, err := z.CreateHeader(h)
	if err != nil {
		return 0, err
	}
	return io.Copy(w, content)
}
