//go:build !unix

package gate

import "io/fs"

// notOwn returns why another user may have written the file with this info, or
// "". Without permission bits, a file in the user's directory is the user's.
func notOwn(info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return "is not a regular file"
	}
	return ""
}
