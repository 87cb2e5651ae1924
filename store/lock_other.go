//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package store

import (
	"errors"
	"os"
)

var errNoLocks = errors.New("file locks are not supported on this system: use Linux, macOS or Windows")

func tryLock(*os.File) (bool, error) { return false, errNoLocks }

func tryShare(*os.File) (bool, error) { return false, errNoLocks }

func unlock(f *os.File, path string) error { return errors.Join(removeIfThere(path), f.Close()) }
