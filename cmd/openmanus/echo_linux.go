package main

import "golang.org/x/sys/unix"

// echoOff makes the terminal stop showing what is typed, until it is restored.
func echoOff(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}
