//go:build unix

package mcp

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile waits for the lock on a file that other processes of this program
// take too. unlock gives it back.
func lockFile(path string) (unlock func(), err error) {
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
