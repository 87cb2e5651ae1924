package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// swap exchanges the names of two files at one moment. The error is
// [errors.ErrUnsupported] where the file system cannot do that.
func swap(parent *os.Root, a, b string) error {
	dir, err := parent.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	err = unix.Renameat2(int(dir.Fd()), a, int(dir.Fd()), b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
		return errors.ErrUnsupported
	}
	return err
}
