//go:build !linux

package regular

import "os"

// statExact describes the file at path, to which no symbolic link leads.
func statExact(path string) (os.FileInfo, error) { return statByName(path) }
