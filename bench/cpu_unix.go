//go:build unix

package main

import (
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
