//go:build !unix

package gate

import "io/fs"

// notOwn says why the file with this info may be somebody else's work. Where
// there are no modes, a user's own directory is theirs.
func notOwn(info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return "is no regular file"
	}
	return ""
}
