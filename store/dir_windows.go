package store

import "io/fs"

// checkOwner checks nothing: Windows has no modes, and the default directory is
// inside the user's profile.
func checkOwner(string, fs.FileInfo) error { return nil }

// syncDir does nothing: Windows cannot sync directories, and NTFS journals names.
func syncDir(string) error { return nil }
