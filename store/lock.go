package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// Lock implements [openmanus.Locker] with a kernel lock on a file. The kernel
// releases the lock when the process ends, even by kill -9; child processes do
// not inherit it, and the lease is never lost otherwise. If another process
// holds the lease, the error names its process id.
func (db *DB) Lock(ctx context.Context, session string) (openmanus.Lease, error) {
	if err := summary.CheckID(session); err != nil {
		return nil, err
	}
	path := db.lockPath(session)
	for ctx.Err() == nil {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock session %s: %w", session, err)
		}
		got, err := tryLock(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock session %s: %w", session, err), f.Close())
		}
		if !isFile(f, path) { // the holder removed it between our open and our lock
			if err := f.Close(); err != nil {
				return nil, fmt.Errorf("lock session %s: %w", session, err)
			}
			continue
		}
		if !got {
			err := errors.Join(lookedAt(f, session), f.Close())
			if err == nil {
				runtime.Gosched()
				continue
			}
			return nil, err
		}
		l := &lease{file: f, path: path}
		if err := l.sign(); err != nil {
			return nil, errors.Join(fmt.Errorf("lock session %s: %w", session, err), l.Release())
		}
		return l, nil
	}
	return nil, ctx.Err()
}

// lockPath returns the lock file of a session. Its name is a hash, because
// session ids may contain characters that file names may not, and may differ
// only in case.
func (db *DB) lockPath(session string) string {
	return filepath.Join(db.locks, fmt.Sprintf("%x", sha256.Sum256([]byte(session)))[:32])
}

// isFile reports whether f is the file at path.
func isFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// driven returns the error for a session that the process pid drives, or an
// unknown process if pid is 0.
func driven(session string, pid int) error {
	switch pid {
	case 0:
		return fmt.Errorf("session %s: %w", session, openmanus.ErrDriven)
	case os.Getpid():
		return fmt.Errorf("session %s: %w (pid %d, which is this process)", session, openmanus.ErrDriven, pid)
	}
	return fmt.Errorf("session %s: %w (pid %d)", session, openmanus.ErrDriven, pid)
}

// lookedAt returns an error for a session whose lock file f somebody else has locked, or nil
// if they only look whether somebody drives it, which takes no time.
func lookedAt(f *os.File, session string) error {
	switch free, err := tryShare(f); {
	case err != nil:
		return fmt.Errorf("lock session %s: %w", session, err)
	case free:
		return nil
	}
	return driven(session, holder(f))
}

// holder returns the process id in a lock file, or 0 if it is not written yet.
func holder(f *os.File) int {
	data, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	line, _, whole := strings.Cut(string(data), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil || !whole {
		return 0
	}
	return pid
}

// A lease is a locked file. The file exists while the session is driven.
type lease struct {
	path     string
	file     *os.File
	once     sync.Once
	released error
}

// Lost implements [openmanus.Lease]. The kernel does not take locks away.
func (l *lease) Lost() <-chan struct{} { return nil }

// Release implements [openmanus.Lease]. It removes the file, so that files do not
// accumulate. A process that has opened the file meanwhile notices that and
// opens it again.
func (l *lease) Release() error {
	l.once.Do(func() {
		if err := unlock(l.file, l.path); err != nil {
			l.released = fmt.Errorf("release the lock of a session: %w", err)
		}
	})
	return l.released
}

// sign writes the process id of the holder, for errors in other processes.
func (l *lease) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// waitLock waits for the lock on a file, which it does not remove, for at most
// as long as another process may take to start.
func waitLock(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		got, err := tryLock(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if got {
			return func() { _ = f.Close() }, nil // there was nothing to write
		}
		select {
		case <-ctx.Done():
			err := fmt.Errorf("another process, which has %s open, has been migrating the database for %v", path, busyTimeout)
			return nil, errors.Join(err, f.Close())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// removeIfThere removes a file if it exists.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
