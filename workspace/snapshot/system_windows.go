package snapshot

import (
	"errors"
	"syscall"
)

func isNotDir(err error) bool    { return errors.Is(err, syscall.ERROR_PATH_NOT_FOUND) }
func isNotEmpty(err error) bool  { return errors.Is(err, syscall.ERROR_DIR_NOT_EMPTY) }
func unsupported(err error) bool { return false }
