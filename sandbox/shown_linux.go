package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// checkShown returns an error if the first process of a sandbox that bwrap has made, child,
// sees another directory than the workspace at its path. bwrap mounts what is there when it
// mounts, and a session in a directory above may have put a link there a moment before. The
// command has not begun: bwrap waits when everything is mounted.
//
// It is mounted when the root is. If the child cannot be looked at, because it has ended or
// this system does not let us, the look before the start has to do.
func (b *bubblewrap) checkShown(p *process, child int) error {
	if b.o.root == nil {
		return nil
	}
	root, err := os.Stat(b.private.path("root"))
	if err != nil {
		return err
	}
	at := fmt.Sprintf("/proc/%d/root", child)
	for begin := time.Now(); ; {
		now, err := os.Stat(at)
		if err != nil {
			return nil
		}
		if os.SameFile(root, now) {
			break
		}
		select {
		case <-p.ended:
			return nil // and says why itself
		case <-time.After(100 * time.Microsecond):
		}
		if time.Since(begin) > time.Minute {
			return errNotMade
		}
	}
	ws, err := os.Stat(at + b.view.ws)
	if err == nil && !os.SameFile(b.o.root, ws) {
		return &workspace.ReplacedError{Path: b.view.ws}
	}
	return b.checkCovered(at)
}

// checkCovered returns an error if a directory that is hidden is not covered in the sandbox
// whose root is at a path: a command may have given a directory above it another name before
// bwrap mounted the cover. A directory that is covered stays so wherever it is moved.
func (b *bubblewrap) checkCovered(at string) error {
	if len(b.view.hide) == 0 {
		return nil
	}
	cover, err := os.Stat(b.private.path("empty"))
	if err != nil {
		return err
	}
	for i, dir := range b.view.hide {
		up, err := os.OpenFile(at+filepath.Dir(dir), unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return b.view.movedError(i)
		}
		is, err := up.Stat()
		if err != nil || !os.SameFile(is, b.view.hideUp[i]) || !covered(up, filepath.Base(dir), cover) {
			return errors.Join(b.view.movedError(i), up.Close())
		}
		up.Close()
	}
	return nil
}

// covered reports whether a name in an open directory shows another directory, by a mount.
func covered(dir *os.File, name string, cover fs.FileInfo) bool {
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false
	}
	is, ok := cover.Sys().(*syscall.Stat_t)
	return ok && uint64(is.Dev) == uint64(st.Dev) && is.Ino == st.Ino
}

// keeps says why a directory of the workspace keeps its name and its place, as a phrase, or
// "": the cover of a file or directory that commands must not see has the path that it had
// when the command started, and the next command's would have it, too.
func (b *bubblewrap) keeps(path string, open func() (*os.Root, error)) string {
	for _, dir := range b.view.hide {
		if within(path, dir) {
			return "commands must not see " + dir
		}
	}
	if b.o.Deny == nil {
		return ""
	}
	root, err := open()
	if err != nil {
		return "it cannot be looked at"
	}
	defer root.Close()
	why, count := "", 0
	err = fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(b.view.ws, filepath.Join(path, name))
		switch {
		case rerr == nil && b.o.Deny(filepath.ToSlash(rel)):
			why = "a rule denies " + filepath.ToSlash(rel)
		case err != nil:
			return nil //nolint:nilerr // what this process cannot read, commands cannot read
		default:
			if count++; count <= maxMoved {
				return nil
			}
			why = fmt.Sprintf("rules deny paths, and it has more than %d files", maxMoved)
		}
		return fs.SkipAll
	})
	if err != nil {
		return "it cannot be looked at"
	}
	return why
}
