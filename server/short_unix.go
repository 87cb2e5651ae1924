//go:build unix

package server

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"syscall"
)

// short reports whether the process has opened half of the files that it may, or the machine
// has less than a tenth of its memory left. What cannot be found out is not short.
func short() bool {
	var most syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most); err == nil {
		if open, err := os.ReadDir("/dev/fd"); err == nil && uint64(len(open)) > uint64(most.Cur)/2 {
			return true
		}
	}
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return false
	}
	defer f.Close()
	return littleMemory(f)
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
