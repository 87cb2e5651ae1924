package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// openRoot opens the directory of the user's workspaces, and creates it if it
// does not exist.
func (u User) openRoot() (*os.Root, error) {
	if err := os.MkdirAll(u.Root, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(u.Root)
}

// workspace returns the absolute path of a workspace, without symbolic links,
// and creates the directory if it does not exist. The name is relative to the
// user's directory, or an absolute path below it. No name, and no link that it
// passes, leads out of the user's directory.
func (u User) workspace(name string) (string, error) {
	root, err := u.openRoot()
	if err != nil {
		return "", err
	}
	defer root.Close()
	if filepath.IsAbs(name) {
		if name, err = filepath.Rel(root.Name(), name); err != nil {
			return "", err
		}
	}
	name = filepath.Clean(name)
	if !filepath.IsLocal(name) {
		return "", errors.New("it is outside your directory of workspaces")
	}
	if err := root.MkdirAll(name, 0o700); err != nil {
		return "", err
	}
	sub, err := root.OpenRoot(name) // fails if a link leads out of root
	if err != nil {
		return "", err
	}
	if err := sub.Close(); err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(root.Name(), name))
	if err == nil && filepath.IsAbs(u.relative(dir)) { // a link was put there meanwhile
		return "", errors.New("it leads out of your directory of workspaces")
	}
	return dir, err
}

// openWorkspace opens a workspace of the user that makes the request, with the files that
// other machines have recorded.
func (s *Server) openWorkspace(ctx context.Context, dir string) (*os.Root, error) {
	if t, ok := s.Host.(Traveller); ok {
		if err := t.Look(ctx, dir); err != nil {
			return nil, err
		}
	}
	return userOf(ctx).openWorkspace(dir)
}

// openWorkspace opens the workspace dir of a session of the user. Files are reached
// only through it, so that no path and no link leads out of it. A directory that
// was the workspace, and that a session in a directory above it has replaced by a
// link, is not opened: the error is [errMoved].
func (u User) openWorkspace(dir string) (*os.Root, error) {
	if !filepath.IsAbs(dir) {
		return nil, huma.Error404NotFound("the session has no workspace")
	}
	if err := checkWorkspace(dir); err != nil {
		return nil, err
	}
	name := u.relative(dir)
	if filepath.IsAbs(name) {
		return regular.OpenDir(dir)
	}
	root, err := u.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenRoot(filepath.FromSlash(name))
}

// checkWorkspace returns errMoved if the directory dir, which had no symbolic link
// in its path when a session was opened in it, has one now. The agent would follow
// the link to files that are not the user's.
func checkWorkspace(dir string) error {
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		return errMoved
	}
	return nil
}

// errMoved is the error for a workspace that is not the directory any more that
// the session was opened in.
var errMoved = huma.Error409Conflict("the session's workspace has been replaced by a symbolic link: " +
	"put the directory back, or create a session in another workspace")

// relative returns the name of the workspace dir relative to the user's
// directory, with slashes. A directory elsewhere, which another program may
// have chosen for the session, keeps its path.
func (u User) relative(dir string) string {
	root, err := filepath.EvalSymlinks(u.Root)
	if err != nil {
		root = u.Root
	}
	if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}
