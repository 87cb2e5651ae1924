package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A memo remembers, in a file, that bubblewrap worked here: for this program,
// this user and these namespaces, since the machine was started. To try it out
// takes longer than all else that comes before the first request to a model.
//
// It is about whether there is a cage, never about what the cage lets through:
// where it is wrong, commands fail with what bwrap says.
type probeCache struct {
	file    string // "": nothing is remembered
	program string
}

// holds says whether bubblewrap worked.
func (c probeCache) hit() bool {
	now := c.fingerprint()
	if now == "" {
		return false
	}
	before, err := os.ReadFile(c.file)
	return err == nil && string(before) == now
}

// keep remembers that it did. What cannot be kept is tried again next time.
func (c probeCache) store() {
	text := c.fingerprint()
	if text == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(c.file), 0o700); err != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(c.file), filepath.Base(c.file)+"-")
	if err != nil {
		return
	}
	_, err = f.WriteString(text)
	if f.Close() != nil || err != nil || os.Rename(f.Name(), c.file) != nil {
		os.Remove(f.Name())
	}
}

// forget lets the next one try again, and say what is wrong.
func (c probeCache) drop() {
	if c.file != "" {
		os.Remove(c.file)
	}
}

// here is what must be as it was; "": it cannot be told.
func (c probeCache) fingerprint() string {
	if c.file == "" {
		return ""
	}
	info, err := os.Stat(c.program)
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("bubblewrap worked: %s %d %d, user %d\n", c.program, info.Size(), info.ModTime().UnixNano(), os.Getuid())
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
		value, _ := os.ReadFile(name) // not every kernel has each
		text += strings.TrimRight(string(value), "\x00\n") + "\n"
	}
	return text
}
