package store

import "os"

// Driven reports whether a process drives a session: it holds the session's lease. The
// lease itself is not touched. A file that a killed process has left is removed.
func (db *DB) Driven(session string) bool {
	path := db.lockPath(session)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false // a process that ends properly removes its file
	}
	got, err := tryLock(f)
	if err != nil || !got {
		return f.Close() == nil && err == nil
	}
	l := &lease{file: f, path: path}
	if !isFile(f, path) {
		_ = f.Close() // the holder has just ended, and another one may have begun
		_, err := os.Stat(path)
		return err == nil
	}
	return l.Release() != nil
}
