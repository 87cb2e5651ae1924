package store

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// networkFS returns a name for the network share or drive that dir is on, or ""
// if its drive is local.
func networkFS(dir string) (string, error) {
	volume := filepath.VolumeName(dir)
	if strings.HasPrefix(volume, `\\`) && !strings.HasPrefix(volume, `\\?\`) && !strings.HasPrefix(volume, `\\.\`) {
		return "the share " + volume, nil
	}
	root, err := windows.UTF16PtrFromString(volume + `\`)
	if err != nil {
		return "", fmt.Errorf("find its drive: %w", err)
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "the network drive " + volume, nil
	}
	return "", nil
}
