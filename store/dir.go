package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultDir returns the data directory of the person who runs us:
// $XDG_DATA_HOME/openmanus or ~/.local/share/openmanus, on macOS
// ~/Library/Application Support/openmanus, on Windows
// %LocalAppData%\openmanus. It makes nothing.
func DefaultDir() (string, error) {
	return defaultDir(runtime.GOOS, os.Getenv, os.UserHomeDir)
}

func defaultDir(system string, getenv func(string) string, home func() (string, error)) (string, error) {
	switch system {
	case "windows":
		if d := getenv("LocalAppData"); d != "" {
			return filepath.Join(d, "openmanus"), nil
		}
		return "", errors.New("the environment has no LocalAppData: name a data directory")
	case "darwin":
		h, err := home()
		if err != nil {
			return "", fmt.Errorf("no home directory: %w; name a data directory", err)
		}
		return filepath.Join(h, "Library", "Application Support", "openmanus"), nil
	}
	if d := getenv("XDG_DATA_HOME"); filepath.IsAbs(d) { // others are to be ignored, says the standard
		return filepath.Join(d, "openmanus"), nil
	}
	h, err := home()
	if err != nil {
		return "", fmt.Errorf("no home directory: %w; set XDG_DATA_HOME or name a data directory", err)
	}
	return filepath.Join(h, ".local", "share", "openmanus"), nil
}

// prepareDir makes the data directory and checks that it is ours alone to
// write and on a disk of this machine.
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
		return fmt.Errorf("the data directory %s is on a network file system (%s), where file locks cannot be relied on and journals get damaged: "+
			"use a directory on a disk of this machine", dir, name)
	}
	for _, sub := range []string{"locks", "blobs", filepath.Join("blobs", heldDir)} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
	}
	return nil
}

// makeFile makes a file for its owner alone, if there is none. SQLite gives
// the files that it makes beside a database the mode of the database.
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

// tighten takes from others the access to a file that they should not have.
func tighten(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("journal: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("journal %s: it is no file but a %s: move it away, or use another data directory", path, info.Mode().Type())
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return os.Chmod(path, 0o600)
	}
	return nil
}
