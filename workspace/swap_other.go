//go:build !linux

package workspace

import (
	"errors"
	"os"
)

// swap is not there: a file is compared just before it is replaced.
func swap(*os.Root, string, string) error { return errors.ErrUnsupported }
