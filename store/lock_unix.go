//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package store

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks an open file, and reports false if another process has the lock.
func tryLock(f *os.File) (bool, error) { return flock(f, syscall.LOCK_EX) }

// tryShare locks an open file together with others that share it, and reports false if
// another process has it for itself.
func tryShare(f *os.File) (bool, error) { return flock(f, syscall.LOCK_SH) }

func flock(f *os.File, how int) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}

// unlock removes, unlocks and closes a file that we have locked. Closing alone
// would not do: a child process that is being started may have the file open
// for a moment, and keep the lock.
func unlock(f *os.File, path string) error {
	var removed error
	if isFile(f, path) { // unless the user has removed it
		removed = removeIfThere(path)
	}
	return errors.Join(removed, syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
