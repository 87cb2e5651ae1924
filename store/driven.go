package store

import "os"

// Driven reports whether a process drives a session: it holds the session's lease. Looking
// keeps nobody from taking the lease.
func (db *DB) Driven(session string) bool {
	path := db.lockPath(session)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false // a process that ends properly removes its file
	}
	free, err := tryShare(f)
	there := isFile(f, path)
	if f.Close() != nil || err != nil {
		return false
	}
	if free && !there { // the holder has just ended, and another one may have begun
		_, err := os.Stat(path)
		return err == nil
	}
	return !free
}
