package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// networkFS returns the name of the network file system that dir is on, or "".
func networkFS(dir string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("find its file system: %w", err)
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	if namedFS(name) {
		return name, nil
	}
	return "", nil
}
