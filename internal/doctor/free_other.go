//go:build !linux && !darwin && !windows

package doctor

import (
	"errors"
	"runtime"
)

// free returns an error: there is no way to know on this system.
func free(string) (uint64, error) { return 0, errors.New("not known on " + runtime.GOOS) }
