package store

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// networkFS returns the name of the network file system that dir is on, or "".
func networkFS(dir string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("find its file system: %w", err)
	}
	name := magics[uint32(st.Type)]
	if name != fuse {
		return name, nil
	}
	var file unix.Stat_t
	if err := unix.Stat(dir, &file); err != nil {
		return "", fmt.Errorf("find its device: %w", err)
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("read the mount table: %w", err)
	}
	defer f.Close()
	kind, err := mountType(f, fmt.Sprintf("%d:%d", unix.Major(uint64(file.Dev)), unix.Minor(uint64(file.Dev))))
	if err != nil || !namedFS(kind) {
		return "", err
	}
	return kind, nil
}

// mountType returns the type of the file system on a device, by the lines of
// /proc/self/mountinfo, or "" if the device is not listed. See proc(5).
func mountType(mounts io.Reader, device string) (string, error) {
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		mount, rest, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(mount)
		if kind := strings.Fields(rest); ok && len(fields) > 2 && len(kind) > 0 && fields[2] == device {
			return kind[0], nil
		}
	}
	return "", lines.Err()
}
