//go:build unix

package main

import (
	"io/fs"
	"syscall"
	"time"
)

// cpuTime is how long this process has been computing: on a machine that others
// use, it says more than the time that passed.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // there is always an answer about oneself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// blocks returns the bytes that a file takes on the disk.
func blocks(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
