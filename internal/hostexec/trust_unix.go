//go:build unix

package hostexec

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links a path may have.
const maxLinks = 40

// untrusted says why a file or directory could be exchanged by others than the person and
// root, as a clause, or "". It looks at every directory and every link on the way. In a
// directory with the sticky bit nobody exchanges what is another's; with strict, the last
// one may not even be one to which others can add.
func untrusted(path string, off []place, strict bool) string {
	at, rest := "/", parts(path)
	links := 0
	info, err := os.Lstat(at)
	for {
		if err != nil {
			return err.Error()
		}
		if in := inside(at, info, off); in != "" {
			return "it is in " + in + ", where commands of the agent write"
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if why := exchangeable(at, info, strict && len(rest) == 0); why != "" {
				return why
			}
		} else {
			if links++; links > maxLinks {
				return "it has too many symbolic links"
			}
			if why := owned(at, info); why != "" {
				return why
			}
			target, err := os.Readlink(at)
			if err != nil {
				return err.Error()
			}
			at = filepath.Dir(at)
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(parts(target), rest...)
		}
		if len(rest) == 0 {
			return ""
		}
		next := rest[0]
		rest = rest[1:]
		at = filepath.Join(at, next) // at has no links, so .. is the directory above
		info, err = os.Lstat(at)
	}
}

// parts returns the names in a path.
func parts(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// exchangeable says why others could exchange what is in a directory, or the content of a
// file.
func exchangeable(path string, info fs.FileInfo, strict bool) string {
	if why := owned(path, info); why != "" {
		return why
	}
	mode := info.Mode()
	if mode&fs.ModeSticky != 0 && mode.IsDir() && !strict {
		return ""
	}
	if mode.Perm()&0o002 != 0 {
		return "everybody can write " + path
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && mode.Perm()&0o020 != 0 && !ownGroup(st.Gid) {
		return fmt.Sprintf("the members of the group %d can write %s", st.Gid, path)
	}
	return ""
}

// owned says why a file belongs to somebody else.
func owned(path string, info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 || int(st.Uid) == os.Geteuid() || st.Uid == overflowUser && unmapped() {
		return ""
	}
	return fmt.Sprintf("%s belongs to the user %d", path, st.Uid)
}

// onlyRoot reports whether nobody but root can change a file, whose path is without links,
// or put another in its place. For root that is no file: it is the person.
func onlyRoot(path string) bool {
	if os.Geteuid() == 0 {
		return false
	}
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 || info.Mode()&fs.ModeSymlink != 0 || info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 ||
			info.Mode().Perm()&0o020 != 0 && !ownGroup(st.Gid) {
			return false
		}
		if filepath.Dir(at) == at {
			return true
		}
	}
}

// overflowUser is the number of all users that a user namespace does not know.
const overflowUser = 65534

// unmapped reports whether this process is in a user namespace that does not know every
// user of the machine: there the files of root belong to nobody.
func unmapped() bool {
	data, err := os.ReadFile("/proc/self/uid_map")
	f := strings.Fields(string(data))
	return err == nil && !(len(f) == 3 && f[0] == "0" && f[1] == "0" && f[2] == "4294967295")
}

// ownGroup reports whether nobody but the person and root is in a group.
func ownGroup(gid uint32) bool {
	if gid == 0 || runtime.GOOS == "darwin" && gid == 80 { // its administrators, who can be root
		return true
	}
	id, own := strconv.FormatUint(uint64(gid), 10), map[string]bool{"root": true}
	found := false
	groups, err := os.ReadFile("/etc/group")
	accounts, err2 := os.ReadFile("/etc/passwd")
	if err != nil || err2 != nil {
		return false
	}
	user := strconv.Itoa(os.Geteuid())
	for line := range strings.Lines(string(accounts)) { // NAME:PASSWORD:UID:GID:…
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 {
			continue
		}
		if f[2] == user {
			own[f[0]] = true
		} else if f[3] == id && f[2] != "0" {
			return false
		}
	}
	for line := range strings.Lines(string(groups)) { // NAME:PASSWORD:GID:MEMBER,…
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 || f[2] != id {
			continue
		}
		found = true
		for _, member := range strings.Split(f[3], ",") {
			if member != "" && !own[member] {
				return false
			}
		}
	}
	return found
}
