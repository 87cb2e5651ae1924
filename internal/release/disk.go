package release

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Files is the disk of this machine.
type Files struct{}

// Read implements [Disk].
func (Files) Read(name string) ([]byte, error) { return os.ReadFile(name) }

// Write implements [Disk].
func (Files) Write(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o755) // whatever the umask is
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), syncDir(filepath.Dir(name)))
}

// Rename implements [Disk].
func (Files) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// Remove implements [Disk].
func (Files) Remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir puts the names in a directory on the disk. Windows does that by itself.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
