package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// prepareDir creates the data directory and checks that it belongs to the user,
// that no others may write to it, and that it is not on a network file system.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := checkOwner(dir, info); err != nil {
		return err
	}
	name, err := networkFS(dir)
	if err != nil {
		return fmt.Errorf("data directory %s: %w", dir, err)
	}
	if name != "" {
		return fmt.Errorf("the data directory %s is on a network file system (%s), "+
			"where file locks are unreliable and the database gets damaged: use a directory on a disk of this machine", dir, name)
	}
	for _, sub := range []string{"locks", "blobs", filepath.Join("blobs", linksDir)} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
	}
	return nil
}

// makeFile creates the database file with mode 0600 if it does not exist. SQLite
// gives the files that it creates beside it the same mode.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return tighten(path)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return f.Close()
}

// tighten removes the permissions of others from a file.
func tighten(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("journal: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("journal %s: not a regular file but %s: move it away, or use another data directory",
			path, info.Mode().Type())
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return os.Chmod(path, 0o600)
	}
	return nil
}
