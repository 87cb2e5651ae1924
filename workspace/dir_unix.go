//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f to the owner and group of old, and reports whether this process could.
func keepOwner(f *os.File, old fs.FileInfo) (kept bool, err error) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return true, nil
	}
	if now, err := f.Stat(); err == nil {
		if at, ok := now.Sys().(*syscall.Stat_t); ok && at.Uid == st.Uid && at.Gid == st.Gid {
			return true, nil
		}
	}
	err = f.Chown(int(st.Uid), int(st.Gid))
	if errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	return err == nil, err
}

// linkCount returns how many names a file has, 0 if there is none.
func linkCount(file fs.FileInfo) int {
	if file == nil {
		return 0
	}
	if st, ok := file.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 1
}

// syncDir makes the names in dir durable, on file systems that can do so.
func syncDir(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
