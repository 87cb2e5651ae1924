//go:build !linux

package snapshot

import (
	"errors"
	"os"
)

// canSyncAll says that syncAll works.
const canSyncAll = false

// syncAll is not called where canSyncAll is false.
func syncAll(*os.Root) error { return errors.ErrUnsupported }
