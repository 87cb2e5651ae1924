//go:build unix

package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// short reports whether the process has opened half of the files that it may, or less than a
// tenth of the memory is left, of the machine or of the container in which the process runs.
// A resource that cannot be measured does not count as short.
func short() bool {
	var most syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most); err == nil {
		if open, err := os.ReadDir("/dev/fd"); err == nil && uint64(len(open)) > uint64(most.Cur)/2 {
			return true
		}
	}
	if littleOfContainer(os.DirFS("/sys/fs/cgroup")) {
		return true
	}
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return false
	}
	defer f.Close()
	return littleMemory(f)
}

// littleOfContainer reports whether less than a tenth of the memory of a control group, of
// version 2, is left. The page cache, which the kernel may drop, counts as free. In a
// container its control group is the root of what is mounted.
func littleOfContainer(group fs.FS) bool {
	most, err := numberIn(group, "memory.max")
	used, uerr := numberIn(group, "memory.current")
	if err != nil || uerr != nil || most == 0 {
		return false // no limit, or no control group
	}
	stat, err := fs.ReadFile(group, "memory.stat")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(stat)) {
		var dropped uint64
		if n, _ := fmt.Sscanf(line, "inactive_file %d", &dropped); n == 1 {
			used -= min(used, dropped)
		}
	}
	return used > most-most/10
}

func numberIn(dir fs.FS, name string) (uint64, error) {
	data, err := fs.ReadFile(dir, name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
}

// littleMemory reports whether less than a tenth of the memory is available, according to
// the text of /proc/meminfo.
func littleMemory(meminfo io.Reader) bool {
	var total, available uint64
	for lines := bufio.NewScanner(meminfo); lines.Scan(); {
		name, rest, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		var kib uint64
		for _, c := range bytes.TrimSpace(rest) {
			if c < '0' || c > '9' {
				break
			}
			kib = kib*10 + uint64(c-'0')
		}
		switch string(name) {
		case "MemTotal":
			total = kib
		case "MemAvailable":
			available = kib
		}
	}
	return available > 0 && available < total/10
}
