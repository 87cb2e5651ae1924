//go:build !linux && !darwin && !windows

package doctor

import (
	"errors"
	"runtime"
)

func free(string) (uint64, error) { return 0, errors.New("not known on " + runtime.GOOS) }
