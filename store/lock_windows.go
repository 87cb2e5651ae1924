package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// beyond is an offset where no content is: locks are mandatory here, and who
// comes second is to read who holds it.
const beyond = 1 << 30

// tryLock takes the lock on an open file, if nobody has it.
func tryLock(f *os.File) (bool, error) {
	at := &windows.Overlapped{OffsetHigh: beyond}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return false, err
}

// letGo lets go of a file whose lock we hold, and removes it unless
// somebody has opened it meanwhile, whose business it is then.
func letGo(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	if err := removeIfThere(path); err != nil && !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return err
	}
	return nil
}
