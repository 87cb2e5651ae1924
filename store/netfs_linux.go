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
		return "", fmt.Errorf("which file system it is on: %w", err)
	}
	name := magicFS(uint32(st.Type))
	if name != fuse {
		return name, nil
	}
	var file unix.Stat_t
	if err := unix.Stat(dir, &file); err != nil {
		return "", fmt.Errorf("which device it is on: %w", err)
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("which program serves it: %w", err)
	}
	defer f.Close()
	kind, err := mountType(f, fmt.Sprintf("%d:%d", unix.Major(uint64(file.Dev)), unix.Minor(uint64(file.Dev))))
	if err != nil || !namedFS(kind) {
		return "", err
	}
	return kind, nil
}

// mountType returns the type of the file system on a device, as
// /proc/self/mountinfo has it, or "" if it is not there. See proc(5).
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
