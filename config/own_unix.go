//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ownFile returns an error if another user may have placed the file at path,
// which is read without being named: another user owns it or its directory, or
// every user may replace it.
func ownFile(path string) error {
	wrong := func(text, hint string) error {
		return &Error{Source: Source{From: File, Name: path}, Text: text + ", and so is not read", Hint: hint}
	}
	info, err := os.Stat(path)
	if err != nil {
		return wrong("cannot be looked at: "+cause(err), "")
	}
	if uid, other := owner(info); other {
		return wrong(fmt.Sprintf("belongs to another user (%d)", uid), "if you know what is in it, name it: --config "+path)
	}
	dir := filepath.Dir(path)
	if info, err = os.Stat(dir); err != nil {
		return wrong("cannot be looked at: "+cause(err), "")
	}
	if uid, other := owner(info); other {
		return wrong(fmt.Sprintf("is in a directory that belongs to another user (%d)", uid), "if you know what is in it, name it: --config "+path)
	}
	if info.Mode()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return wrong("is in a directory that every user of this machine can write", "chmod o-w "+dir)
	}
	return nil
}

// owner returns the user who owns a file, and whether that is neither this user
// nor root.
func owner(info fs.FileInfo) (uid uint32, other bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Uid, st.Uid != 0 && int(st.Uid) != os.Geteuid()
}
