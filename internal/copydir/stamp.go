package copydir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Stamp returns a text that differs from an earlier one if anything in dir was
// created, changed, renamed or deleted in between. It looks at names, kinds,
// permissions, sizes and times, among them the change times of the kernel where
// there are some, and reads no file. Moving dir itself changes nothing, putting
// another directory in its place does.
func Stamp(ctx context.Context, dir string) (string, error) {
	h := sha256.New()
	top, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !top.IsDir() {
		return "", fmt.Errorf("%s is no directory", dir)
	}
	fmt.Fprintln(h, identity(top))
	err = Options{}.walk(ctx, os.DirFS(dir), func(name string, info fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v", name, info.Mode())
		if !info.IsDir() { // the names in a directory say what changes its time
			fmt.Fprintf(h, " %d %d %s %d", info.Size(), info.ModTime().UnixNano(), identity(info), changeTime(info))
		}
		fmt.Fprintln(h)
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Identity returns a text that tells the directory dir from every other one on its
// file system, wherever it is moved. It is "" if there is none, and where the system
// does not say.
func Identity(dir string) string {
	info, err := os.Lstat(dir)
	if err != nil {
		return ""
	}
	return identity(info)
}

// IsMount reports whether dir is the top of a file system that is mounted there.
func IsMount(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	up, err := os.Stat(filepath.Dir(dir))
	return err == nil && !sameDevice(info, up)
}
