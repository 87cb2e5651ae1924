package sandbox

import (
	"fmt"
	"os"
	"strings"

	"github.com/openmanus-go/openmanus/internal/wholefile"
)

// A probeCache remembers, in a file, that bubblewrap worked on this machine: for
// this program, this user and these namespaces, since the machine was started.
// To find out takes longer than everything else that happens before the first
// request to a model.
//
// It says whether there is a sandbox, never what the sandbox allows. If it is
// wrong, commands fail with the error of bwrap, and the file is removed.
type probeCache struct {
	file    string // "": there is no cache
	program string // the path of bwrap
}

// hit reports whether bubblewrap worked under the same conditions.
func (c probeCache) hit() bool {
	now := c.fingerprint()
	if now == "" {
		return false
	}
	before, err := os.ReadFile(c.file)
	return err == nil && string(before) == now
}

// store remembers that it did. Errors are ignored: then the next Open probes
// again.
func (c probeCache) store() {
	if text := c.fingerprint(); text != "" {
		_ = wholefile.Write(c.file, 0o600, []byte(text))
	}
}

// drop makes the next Open probe again, and report what is wrong.
func (c probeCache) drop() {
	if c.file != "" {
		os.Remove(c.file)
	}
}

// fingerprint returns the conditions as text, or "" if they cannot be found out.
func (c probeCache) fingerprint() string {
	if c.file == "" {
		return ""
	}
	info, err := os.Stat(c.program)
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("bubblewrap worked: %s %d %d, user %d\n", c.program, info.Size(),
		info.ModTime().UnixNano(), os.Getuid())
	for _, name := range []string{"user", "mnt", "pid", "net"} {
		ns, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			return ""
		}
		text += ns + "\n"
	}
	for _, name := range []string{
		"/proc/sys/kernel/random/boot_id", "/proc/sys/user/max_user_namespaces",
		"/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		"/proc/self/attr/current",
	} {
		value, _ := os.ReadFile(name) // not every kernel has all of them
		text += strings.TrimRight(string(value), "\x00\n") + "\n"
	}
	return text
}
