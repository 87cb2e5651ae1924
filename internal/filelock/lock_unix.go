//go:build unix

package filelock

import (
	"os"

	"golang.org/x/sys/unix"
)

// Lock waits for the lock on a file that other processes of this program take too, and makes
// the file if it is not there. unlock gives the lock back.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
