package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mountKind says what a mount shows.
type mountKind int

const (
	readOnly  mountKind = iota // a file or directory of this machine
	readWrite                  // the same, to write
	procFS                     // the processes of the sandbox
	devFS                      // the few devices that programs need
	tmpFS                      // memory
	sealed                     // what is mounted there already, read-only from now on
)

// A mount is one step in making the file system that commands see. A later step
// covers what an earlier one showed at the same place or below it.
//
// The lists of mounts decide what a command can read and write, so they are made
// by pure functions, which tests compare with tables; other functions make the
// mount points and write the arguments of bwrap or the container engine.
type mount struct {
	kind mountKind
	from string // on this machine; "": the kind needs no source
	to   string // in the sandbox
}

// mounts returns the whole file system of a sandbox of bubblewrap. The root is a
// directory of p, read-only, which has nothing but mount points. program is this
// program, etc lists the directories of /etc that are shown themselves and not
// as copies.
func (v *mountView) mounts(p *private, network Network, program string, etc []string) []mount {
	list := []mount{{readOnly, p.path("root"), "/"}}
	var covered []mount // what must come after the private directories
	for _, path := range v.read {
		if m := (mount{readOnly, path, path}); p.locate(v, path) == "" {
			list = append(list, m)
		} else {
			covered = append(covered, m)
		}
	}
	list = append(list, mount{readOnly, p.path("etc"), "/etc"})
	for _, dir := range etc {
		list = append(list, mount{readOnly, dir, dir})
	}
	list = append(list,
		mount{procFS, "", "/proc"}, mount{devFS, "", "/dev"}, mount{tmpFS, "", "/dev/shm"},
		mount{sealed, "", "/dev"}, mount{sealed, "", "/proc"},
		mount{readWrite, p.path("tmp"), "/tmp"}, mount{readWrite, p.path("tmp"), "/var/tmp"},
		mount{readWrite, p.path("home"), v.home})
	list = append(list, covered...)
	if v.tools != nil {
		list = append(list, v.masks(p)...)
	}
	list = append(list, mount{v.wsKind(), v.ws, v.ws})
	list = append(list, v.hidden(p)...)
	if network == Hosts {
		list = append(list, mount{readWrite, p.path("proxy"), proxyDir}, mount{readOnly, program, forwarderPath})
	}
	return list
}

// containerMounts returns what is mounted over the image of a container.
func (v *mountView) containerMounts(p *private, network Network, program string) []mount {
	list := []mount{
		{readWrite, p.path("tmp"), "/tmp"}, {readWrite, p.path("tmp"), "/var/tmp"}, {readWrite, p.path("home"),
			v.home},
		{v.wsKind(), v.ws, v.ws},
	}
	for _, name := range []string{"/etc/passwd", "/etc/group"} {
		list = append(list, mount{readOnly, p.path(name), name})
	}
	list = append(list, mount{readOnly, program, insidePath})
	for _, path := range v.read {
		list = append(list, mount{readOnly, path, path})
	}
	list = append(list, v.hidden(p)...)
	if network == Hosts {
		list = append(list, mount{readWrite, p.path("proxy"), proxyDir})
	}
	return list
}

// again returns the mounts of list that show the workspace and what is in it, for other
// paths of the workspace: a mount does not show what is mounted below its source. Paths at
// which something else is to be seen are left out.
func (v *mountView) again(list []mount, paths ...string) (more []mount) {
	for _, path := range paths {
		taken := func(m mount) bool { return within(path, m.to) }
		if path == "" || within(v.ws, path) || withinAny(v.read, path) || withinAny([]string{"/proc", "/sys", "/dev"}, path) ||
			slices.ContainsFunc(list, taken) || slices.ContainsFunc(more, taken) {
			continue
		}
		for _, m := range list {
			if within(v.ws, m.to) {
				more = append(more, mount{m.kind, m.from, filepath.Join(path, strings.TrimPrefix(m.to, v.ws))})
			}
		}
	}
	return more
}

// wsKind returns how the workspace is mounted.
func (v *mountView) wsKind() mountKind {
	if v.shut {
		return readOnly
	}
	return readWrite
}

// hidden returns the mounts that show an empty directory in place of what
// commands must not see.
func (v *mountView) hidden(p *private) (list []mount) {
	for _, dir := range v.hide {
		list = append(list, mount{readOnly, p.path("empty"), dir})
	}
	return list
}

// masks returns the mounts that show nothing in place of what rules deny in the
// toolchains.
func (v *mountView) masks(p *private) (list []mount) {
	for _, path := range v.tools.masked {
		if isDir(path) {
			list = append(list, mount{readOnly, p.path("empty"), path})
		} else {
			list = append(list, mount{readOnly, p.path("nothing"), path})
		}
	}
	return list
}

// readOnlyAt returns the mounts that make what is at the paths read-only.
func readOnlyAt(paths []string) (list []mount) {
	for _, path := range paths {
		list = append(list, mount{readOnly, path, path})
	}
	return list
}

// bwrapArgs returns the arguments of bwrap for a list of mounts.
func bwrapArgs(list []mount) (args []string) {
	for _, m := range list {
		switch m.kind {
		case readOnly:
			args = append(args, "--ro-bind", m.from, m.to)
		case readWrite:
			args = append(args, "--bind", m.from, m.to)
		case procFS:
			args = append(args, "--proc", m.to)
		case devFS:
			args = append(args, "--dev", m.to)
		case tmpFS:
			args = append(args, "--size", "268435456", "--tmpfs", m.to)
		case sealed:
			args = append(args, "--remount-ro", m.to)
		}
	}
	return args
}

// engineMounts returns the field Mounts of a container, for a list of mounts
// that have a source.
func engineMounts(list []mount) []map[string]any {
	var mounts []map[string]any
	for _, m := range list {
		mounts = append(mounts, map[string]any{
			"Type": "bind", "Source": m.from, "Target": m.to, "ReadOnly": m.kind == readOnly,
		})
	}
	return mounts
}

// mkMountPoints makes the places to mount on that are in private directories
// and below root. Without them bwrap would fail on a root that is read-only, and
// a container engine would make them as root. If root is "", only those in
// private directories are made: an image has its own root.
func (b *base) mkMountPoints(root string, list []mount) error {
	for _, m := range list {
		at := b.private.locate(b.view, m.to)
		switch {
		case m.kind == sealed || m.kind == tmpFS || at != "" && at == m.from:
			continue // it is there already
		case within(b.view.ws, m.to) && m.to != b.view.ws:
			continue // it is in the workspace
		case at == "" && (root == "" || b.view.covers(m.to)):
			continue // it is in the image, or in a directory that is shown
		case at == "":
			at = filepath.Join(root, m.to)
		}
		if err := mkMountPoint(m.from, at); err != nil {
			return err
		}
	}
	return os.Chmod(b.private.path("tmp"), 0o1777)
}

// mkMountPoint makes a file at path if from is one, else a directory.
func mkMountPoint(from, path string) error {
	if info, err := os.Stat(from); err != nil || info.IsDir() {
		return os.MkdirAll(path, 0o755)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644))
}

// covers reports whether path exists in the sandbox because a directory above it
// is shown.
func (v *mountView) covers(path string) bool {
	return slices.ContainsFunc(v.read, func(dir string) bool { return path != dir && within(dir, path) })
}
