package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// systemDirs are where systems keep their programs. A name that is a symbolic
// link, as /bin is on most, stays one.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}

// etcNames are what is copied from /etc: what programs need to run, and to
// find their parts. No accounts, hosts, keys or services. Files that are not
// readable for everybody are left out.
var etcNames = []string{
	"ca-certificates", "ssl/certs/ca-certificates.crt", "ssl/openssl.cnf", "pki/tls/certs", "pki/tls/cert.pem", "pki/ca-trust/extracted",
	"crypto-policies/back-ends", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "protocols",
	"services", "mime.types", "os-release", "lsb-release", "debian_version", "alpine-release", "redhat-release", "java*",
	"python*", "matplotlibrc", "perl", "terminfo", "magic", "magic.mime", "inputrc", "gprofng.rc", "ImageMagick*", "maven", "ruby*", "php", "R",
}

// etcMounts are directories of /etc that are mounted instead: they have hundreds
// of links to programs and fonts, and nothing else.
var etcMounts = []string{"/etc/alternatives", "/etc/fonts"}

// A view is what a command sees, and what it is told.
type mountView struct {
	ws       string            // read-write
	read     []string          // read-only directories and files
	asked    []string          // those of them that were asked for
	links    map[string]string // symbolic links to make: name, target
	hide     []string          // empty directories instead of what is there
	home     string            // HOME, a private directory
	env      []string
	uid, gid int
}

// newMountView looks at the system.
func newMountView(o Options) (*mountView, error) {
	v := &mountView{ws: o.Dir, links: make(map[string]string), uid: os.Getuid(), gid: os.Getgid()}
	for _, dir := range systemDirs {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(dir); err == nil {
				v.links[dir] = target
			}
		case info.IsDir():
			v.read = append(v.read, dir)
		}
	}
	for _, dir := range o.Read {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(abs); err != nil {
			return nil, fmt.Errorf("[sandbox] read: %w", err)
		}
		v.asked = append(v.asked, abs)
	}
	v.read = append(v.read, v.asked...)
	if err := v.refuse(o); err != nil {
		return nil, err
	}
	v.env = v.environ(o)
	return v, nil
}

// refuse refuses a workspace that is, or contains, what a command must not
// reach, and notes what is to be hidden in it.
func (v *mountView) refuse(o Options) error {
	home, _ := os.UserHomeDir() // none: nothing to hide
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	switch {
	case v.ws == "/" || slices.Contains(systemDirs, v.ws) || v.ws == "/etc" || within("/proc", v.ws) || within("/sys", v.ws) || within("/dev", v.ws) && !within("/dev/shm", v.ws):
		return fmt.Errorf("the workspace %s is a directory of the system: choose another", v.ws)
	case home == v.ws:
		return fmt.Errorf("the workspace %s is your home directory, which commands in the sandbox must not see: choose a directory in it", v.ws)
	}
	for _, dir := range append([]string{home}, o.Hide...) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() && dir != v.ws && within(v.ws, dir) && !v.isHidden(dir) {
			v.hide = append(v.hide, dir)
		}
	}
	return nil
}

func (v *mountView) isHidden(path string) bool {
	return slices.ContainsFunc(v.hide, func(dir string) bool { return within(dir, path) })
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// passedOn are the variables of this process that commands see.
var passedOn = []string{"LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TERM", "TZ"}

// environ is the environment of every command, but for what depends on the
// kind of the cage.
func (v *mountView) environ(o Options) []string {
	env := []string{"PATH=" + v.path(), "USER=agent", "LOGNAME=agent", "SHELL=/bin/bash"}
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, file := range []string{os.Getenv("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"} {
		if _, err := os.Stat(file); err == nil && (v.visible(file) || within("/etc", file)) {
			env = append(env, "SSL_CERT_FILE="+file)
			break
		}
	}
	return append(env, o.Env...)
}

// path is the PATH of this process as far as commands see what is there. A
// toolchain below /opt becomes visible by being there.
func (v *mountView) path() string {
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if parts := strings.SplitN(dir, "/", 4); len(parts) > 2 && parts[1] == "opt" && !v.visible(dir) {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				v.read = append(v.read, "/opt/"+parts[2])
			}
		}
		if v.visible(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}

// visible reports whether commands see path, or would if it were there.
func (v *mountView) visible(path string) bool {
	for link := range v.links {
		if within(link, path) {
			return true
		}
	}
	for _, dir := range append([]string{v.ws}, v.read...) {
		if within(dir, path) {
			return !v.isHidden(path)
		}
	}
	return false
}

// machine fills in what depends on the machine.
func (o *Options) machine() error {
	if o.Memory == 0 {
		var info unix.Sysinfo_t
		if err := unix.Sysinfo(&info); err != nil {
			return fmt.Errorf("how much memory is there: %w", err)
		}
		o.Memory = int64(info.Totalram*uint64(info.Unit)) / 4 * 3
	}
	if o.Reserve == 0 {
		var err error
		if o.Reserve, err = reserve(o.Dir); err != nil {
			return err
		}
	}
	return nil
}

// reserve is how many bytes are to stay free on the disk of dir, if nobody said.
func reserve(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("how much room is on the disk of %s: %w", dir, err)
	}
	return min(2<<30, int64(fs.Blocks)*int64(fs.Bsize)/20, int64(fs.Bavail)*int64(fs.Bsize)/2), nil
}

func advice() string {
	return "Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap; Alpine: apk add bubblewrap), " +
		"and let users make namespaces (Ubuntu 24.04: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap). " +
		"In a container, give it a writable cgroup or run as an ordinary user, with Linux 6.12 or later. " +
		"Or choose to go without: --sandbox none lets commands do whatever you can do."
}
