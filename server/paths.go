package server

import (
	"errors"
	"os"
	"path/filepath"
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
	return filepath.EvalSymlinks(filepath.Join(root.Name(), name))
}

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
