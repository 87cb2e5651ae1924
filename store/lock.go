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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
)

// Lock implements [openmanus.Locker] with a lock of the kernel on a file, which
// is void when its holder dies, however it dies. The children of who holds it
// do not inherit it, and it is never lost otherwise. The error of who comes
// second names the process that drives.
func (db *DB) Lock(ctx context.Context, session string) (openmanus.Lease, error) {
	if err := checkName(session); err != nil {
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
		if !isFile(f, path) { // who had it removed it between our opening and our locking
			if err := f.Close(); err != nil {
				return nil, fmt.Errorf("lock session %s: %w", session, err)
			}
			continue
		}
		if !got {
			return nil, errors.Join(driven(session, holder(f)), f.Close())
		}
		l := &lease{file: f, path: path}
		if err := l.sign(); err != nil {
			return nil, errors.Join(fmt.Errorf("lock session %s: %w", session, err), l.Release())
		}
		return l, nil
	}
	return nil, ctx.Err()
}

// lockPath names the file by a hash: session ids may have any characters, and
// differ by case alone where file names do not.
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

func driven(session string, pid int) error {
	switch pid {
	case 0:
		return fmt.Errorf("session %s: %w", session, openmanus.ErrDriven)
	case os.Getpid():
		return fmt.Errorf("session %s: %w (pid %d: this very process, elsewhere in it)", session, openmanus.ErrDriven, pid)
	}
	return fmt.Errorf("session %s: %w (pid %d)", session, openmanus.ErrDriven, pid)
}

// holder returns the process that signed a lock file, or 0 if it has not yet.
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

// A lease is a lock on a file that exists while somebody drives.
type lease struct {
	path     string
	file     *os.File
	once     sync.Once
	released error
}

// Lost implements [openmanus.Lease]: the kernel does not take locks away.
func (l *lease) Lost() <-chan struct{} { return nil }

// Release implements [openmanus.Lease]. It removes the file, so that they do
// not pile up; whoever has opened it meanwhile sees that and begins again.
func (l *lease) Release() error {
	l.once.Do(func() {
		if err := letGo(l.file, l.path); err != nil {
			l.released = fmt.Errorf("release of a session's lock: %w", err)
		}
	})
	return l.released
}

// sign writes down who holds the lock, for the message to who comes second.
func (l *lease) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// waitLock waits for the lock on a file that stays, for as long as the work of
// another process at start-up may take.
func waitLock(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, busy)
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
			return func() { _ = f.Close() }, nil // nothing was written to it
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("another process (see who has %s open) has been preparing the database for %v", path, busy), f.Close())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// removeIfThere removes a file that somebody else may have removed.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
