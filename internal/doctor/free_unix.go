//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// free returns how many bytes this user can still write below dir.
func free(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
