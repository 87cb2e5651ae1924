// Package regular reads files of directories that someone else can write to,
// such as a workspace: the agent, an archive or another user may have put
// anything there. Opening a named pipe blocks until its other end is opened, a
// device may have effects or never end, and a link may lead anywhere.
//
// Everything in this program that reads a file of a workspace by name opens it
// here. The functions never block, follow no link out of the [os.Root], and
// open regular files only, also if the file is replaced while they look at it.
package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Err is in the chain of the error if a file is a pipe, a socket or a device,
// and, for [Open] and [Read], if it is a directory.
var Err = errors.New("it is not a regular file (a pipe, a socket or a device)")

// Open opens a regular file of root for reading. The error is an [*fs.PathError].
func Open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	return open(root, name, fs.FileMode.IsRegular)
}

// OpenOrDir is [Open] for regular files and directories.
func OpenOrDir(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	return open(root, name, func(m fs.FileMode) bool { return m.IsRegular() || m.IsDir() })
}

// open checks the type of a file before it opens it, because opening a device can
// have effects, and after that, because the file may have been replaced.
func open(root *os.Root, name string, admits func(fs.FileMode) bool) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	refused := &fs.PathError{Op: "open", Path: name, Err: Err}
	if !admits(info.Mode()) {
		return nil, nil, refused
	}
	f, err := root.OpenFile(name, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !admits(info.Mode()) {
		err = refused
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Read returns the content of a regular file of root, or its first limit bytes
// if it has more.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	f, _, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// FS returns the regular files and the directories of root as a file system,
// which can be used until root is closed.
func FS(root *os.Root) fs.FS { return files{root} }

type files struct{ root *os.Root }

// Open implements [fs.FS].
func (d files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, _, err := OpenOrDir(d.root, name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stat implements [fs.StatFS]: it looks at any file without opening it.
func (d files) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return d.root.Stat(name)
}
