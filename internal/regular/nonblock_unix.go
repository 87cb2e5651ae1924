//go:build unix

package regular

import "syscall"

// Nonblock is a flag for opening a file that keeps the open from waiting for the
// other end of a pipe.
const Nonblock = syscall.O_NONBLOCK
