//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package store

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock on an open file, if nobody has it.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
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

// letGo removes a file whose lock we hold, and unlocks it. It does not leave
// that to closing it: a child that is being started may have the file open for
// a moment, and the lock would live as long.
func letGo(f *os.File, path string) error {
	var removed error
	if isFile(f, path) { // it is, unless somebody tidied up by hand
		removed = removeIfThere(path)
	}
	return errors.Join(removed, syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
