package xattr

import (
	"bytes"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// kept reports whether an extended attribute says something of a file that a copy
// of it should have: what users set, access control lists, capabilities.
func kept(name string) bool {
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_") || name == "security.capability"
}

// Of returns the extended attributes of an open file. Those that cannot be read
// are left out.
func Of(f *os.File) map[string][]byte {
	fd := int(f.Fd())
	size, err := unix.Flistxattr(fd, nil)
	if err != nil || size == 0 {
		return nil
	}
	names := make([]byte, size)
	if size, err = unix.Flistxattr(fd, names); err != nil {
		return nil
	}
	var attrs map[string][]byte
	for name := range bytes.SplitSeq(names[:size], []byte{0}) {
		if !kept(string(name)) {
			continue
		}
		value := make([]byte, 64<<10) // the most that Linux allows
		n, err := unix.Fgetxattr(fd, string(name), value)
		if err != nil {
			continue
		}
		if attrs == nil {
			attrs = make(map[string][]byte)
		}
		attrs[string(name)] = bytes.Clone(value[:n])
	}
	return attrs
}

// OfDir is [Of] for a directory.
func OfDir(root *os.Root) map[string][]byte {
	f, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	return Of(f)
}

// Set gives an open file these extended attributes.
func Set(f *os.File, attrs map[string][]byte) error {
	for name, value := range attrs {
		if !kept(name) {
			continue
		}
		if err := unix.Fsetxattr(int(f.Fd()), name, value, 0); err != nil {
			return &os.PathError{Op: "set attribute " + name, Path: f.Name(), Err: err}
		}
	}
	return nil
}
