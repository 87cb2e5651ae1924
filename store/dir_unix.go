//go:build unix

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner returns an error for a directory that belongs to another user or
// that others may write to.
func checkOwner(dir string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("the data directory %s belongs to user id %d and you are %d: "+
			"run as that user, or use another data directory", dir, st.Uid, os.Geteuid())
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return fmt.Errorf("others may write to the data directory %s (mode %04o) and change sessions and permissions: "+
			"run chmod 700 %[1]s, or use another data directory", dir, perm)
	}
	return nil
}

// syncDir makes new and removed names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
