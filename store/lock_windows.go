package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is an offset behind the content. Locks on Windows are mandatory, and
// other processes must be able to read the holder's id.
const lockOffset = 1 << 30

// tryLock locks an open file, and reports false if another process has the lock.
func tryLock(f *os.File) (bool, error) { return lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// tryShare locks an open file together with others that share it, and reports false if
// another process has it for itself.
func tryShare(f *os.File) (bool, error) { return lockFile(f, 0) }

func lockFile(f *os.File, how uint32) (bool, error) {
	at := &windows.Overlapped{OffsetHigh: lockOffset}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return false, err
}

// unlock closes a file that we have locked, and removes it unless another process
// has opened it meanwhile, which will remove it.
func unlock(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	err := removeIfThere(path)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return nil
	}
	return err
}
