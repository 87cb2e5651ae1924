package snapshot

import (
	"os"

	"golang.org/x/sys/unix"
)

// canSyncAll says that syncAll works.
const canSyncAll = true

// syncAll makes everything on the file system of root durable.
func syncAll(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
