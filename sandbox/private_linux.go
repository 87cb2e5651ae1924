package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// privatePrefix begins the names of private directories and of cgroups.
const privatePrefix = "openmanus-cage-"

// A private directory has what a sandbox is made of: tmp and home, which
// commands write; etc and root, which they see read-only; empty and nothing, which
// stand for directories and files that are hidden; the proxy's socket. Its mode keeps other users out.
//
// The directory is removed with the sandbox. A lock on a file in it is held as
// long as this process lives; if it is killed, the next sandbox of the same user
// finds the directory unlocked and removes it.
type private struct {
	dir  string
	lock *os.File
}

// newPrivate makes a private directory in parent, which is without links and which no
// command can write, and removes those of killed processes there.
func newPrivate(parent string) (*private, error) {
	sweepPrivate(parent)
	// sweepPrivate does not look for this name before it is locked
	dir, err := os.MkdirTemp(parent, "openmanus-new-")
	if err != nil {
		return nil, err
	}
	p := &private{dir: dir}
	if p.lock, err = os.OpenFile(p.path("lock"), os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		err = unix.Flock(int(p.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		p.dir = filepath.Join(filepath.Dir(dir), privatePrefix+filepath.Base(dir)[len("openmanus-new-"):])
		if err = os.Rename(dir, p.dir); err != nil {
			p.dir = dir
		}
	}
	for _, sub := range []string{"tmp", "home", "root", "etc", "empty", "taken"} {
		err = errors.Join(err, os.Mkdir(p.path(sub), 0o755))
	}
	err = errors.Join(err, os.WriteFile(p.path("nothing"), nil, 0o000))
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// path returns the path of what is in it under the names.
func (p *private) path(names ...string) string {
	return filepath.Join(append([]string{p.dir}, names...)...)
}

// locate returns where in it the file is that commands know as path, or "" if
// that is in none of its directories. v.home must be set.
func (p *private) locate(v *mountView, path string) string {
	for inside, name := range map[string]string{"/tmp": "tmp", "/var/tmp": "tmp", "/etc": "etc",
		v.home: "home"} {
		if within(inside, path) && path != inside {
			return p.path(name, strings.TrimPrefix(path, inside))
		}
	}
	return ""
}

// name returns a name that no other sandbox of this machine has.
func (p *private) name() string { return filepath.Base(p.dir) }

// Close removes the directory, and the lock last: if this process is killed
// meanwhile, the next sweep finds the rest.
func (p *private) Close() error {
	entries, err := os.ReadDir(p.dir)
	for _, e := range entries {
		if e.Name() != "lock" {
			err = errors.Join(err, removeAll(p.path(e.Name())))
		}
	}
	err = errors.Join(err, removeAll(p.dir))
	if p.lock != nil {
		err = errors.Join(err, p.lock.Close())
	}
	return err
}

// removeAll removes a tree, also if a command made directories in it that may
// not be entered, as Go's module cache is.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	// A directory that cannot be walked cannot be removed either: the next line
	// reports that.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// abandonedAge is the age from which a directory without a lock is removed. A younger
// one may be about to be removed by its owner; an older one is what a killed
// owner left.
const abandonedAge = 10 * time.Minute

// sweepPrivate removes what killed processes of this user left in parent.
func sweepPrivate(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, privatePrefix+"*")) // what is no pattern has nothing
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || owner(info) != os.Geteuid() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|unix.O_NOFOLLOW, 0)
		if errors.Is(err, fs.ErrNotExist) && time.Since(info.ModTime()) > abandonedAge {
			sweepOne(dir)
		}
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			sweepOne(dir)
		}
		f.Close()
	}
}

// sweepOne removes a directory that no process holds, and its cgroups. If a
// process is still dying in one of these, a later sweep does it.
func sweepOne(dir string) {
	if removeCgroups(dir) {
		_ = removeAll(dir) // another process may remove it at the same time
	}
}

// fill copies what programs need of /etc, and writes the files that differ in
// the sandbox: accounts, hosts, and git's configuration.
func (p *private) fill(v *mountView) error {
	for _, pattern := range etcNames {
		names, _ := filepath.Glob(filepath.Join("/etc", pattern)) // the patterns are valid
		for _, name := range names {
			if err := copyTree(name, p.path("etc", strings.TrimPrefix(name, "/etc"))); err != nil {
				return fmt.Errorf("a copy of %s: %w", name, err)
			}
		}
	}
	passwd := fmt.Sprintf("agent:x:%d:%d:agent:%s:/bin/bash\n", v.uid, v.gid, v.home)
	group := fmt.Sprintf("agent:x:%d:\n", v.gid)
	if v.uid != 0 {
		passwd = "root:x:0:0:root:/root:/bin/bash\n" + passwd
	}
	if v.gid != 0 {
		group = "root:x:0:\n" + group
	}
	for name, text := range map[string]string{
		"passwd":        passwd + "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"group":         group + "nogroup:x:65534:\n",
		"hosts":         "127.0.0.1 localhost\n::1 localhost\n",
		"hostname":      "openmanus\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
		"shells":        "/bin/sh\n/bin/bash\n",
	} {
		if err := os.WriteFile(p.path("etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(p.path("home", ".gitconfig"), []byte(gitConfig()), 0o644)
}

// copyTree copies the files, directories and symbolic links that everyone may
// read. Larger files than 4 MiB are left out: none of etcNames is one.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what this process cannot read is not for commands
		}
		info, err := d.Info()
		if err != nil || d.Type() != fs.ModeSymlink && info.Mode().Perm()&0o004 == 0 {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type() == fs.ModeSymlink:
			return copyLink(path, target)
		case !d.Type().IsRegular() || info.Size() > 4<<20:
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		return os.WriteFile(target, data, 0o644)
	})
}

// copyLink copies a symbolic link.
func copyLink(path, target string) error {
	text, err := os.Readlink(path)
	if err != nil {
		return nil // it was removed meanwhile
	}
	if err := os.Symlink(text, target); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
