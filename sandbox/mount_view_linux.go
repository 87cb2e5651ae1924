package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// systemDirs are where systems keep programs and libraries. Those that exist are
// visible. One that is a symbolic link, as /bin is on most systems, is a link
// inside too.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
	"/gnu/store"}

// etcNames are the patterns of what is copied from /etc: what programs need to
// run and to find their parts, but no accounts, hosts, keys or services. Files
// that not everyone may read are left out.
var etcNames = []string{
	"ca-certificates", "ssl/certs/ca-certificates.crt", "ssl/openssl.cnf", "pki/tls/certs",
	"pki/tls/cert.pem", "pki/ca-trust/extracted", "crypto-policies/back-ends", "ld.so.cache",
	"ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "protocols", "services", "mime.types",
	"os-release", "lsb-release", "debian_version", "alpine-release", "redhat-release", "java*",
	"python*", "matplotlibrc", "perl", "terminfo", "magic", "magic.mime", "inputrc", "gprofng.rc",
	"ImageMagick*", "maven", "ruby*", "php", "R",
}

// etcMounts are directories of /etc that are mounted instead of copied, because
// they have hundreds of links to programs and fonts. There is nothing else in
// them.
var etcMounts = []string{"/etc/alternatives", "/etc/fonts"}

// A mountView says which files of this machine a command sees, and which
// environment it has. It is made once; the kind of the sandbox then sets home,
// and for containers what the image replaces. All paths are absolute.
type mountView struct {
	ws       string      // the workspace
	shut     bool        // commands may not write the workspace
	read     []string    // directories and files that are visible, read-only
	asked    []string    // those of them that Options.Read names
	tools    *toolchains // what there is of the person's toolchains; those of read that are its own are in tooled
	tooled   []string
	links    map[string]string // symbolic links of this machine: path, target
	hide     []string          // directories that are shown empty, all in the workspace
	hideIs   []fs.FileInfo     // which directories those of hide were when the view was made
	hideUp   []fs.FileInfo     // and which those above them
	home     string            // HOME inside: a private directory
	env      []string
	uid, gid int
}

// newMountView looks at the system. It fails if the workspace is a directory
// that commands must not write.
func newMountView(o Options) (*mountView, error) {
	v := &mountView{ws: o.Dir, shut: o.ReadOnly, links: make(map[string]string), uid: os.Getuid(),
		gid: os.Getgid()}
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
	v.showOpt()
	tools, err := findToolchains(o, v.ws, v.visible)
	if err != nil {
		return nil, err
	}
	v.tools, v.tooled = tools, tools.shown()
	v.read = append(v.read, v.tooled...)
	v.env = v.environ(o)
	return v, nil
}

// refuse returns an error if the workspace is, or is part of, what a command
// must not reach. If the workspace only contains such a directory, that is
// hidden.
func (v *mountView) refuse(o Options) error {
	home, _ := os.UserHomeDir() // none: there is nothing to hide
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	switch {
	case v.ws == "/" || slices.Contains(systemDirs, v.ws) || v.ws == "/etc" || within("/proc", v.ws) ||
		within("/sys", v.ws) || within("/dev", v.ws) && !within("/dev/shm", v.ws):
		return fmt.Errorf("the workspace %s is a directory of the system: choose another", v.ws)
	case home == v.ws:
		return fmt.Errorf("the workspace %s is your home directory, which commands in the sandbox must not see: "+
			"choose a directory in it", v.ws)
	}
	for _, dir := range append([]string{home}, o.Hide...) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() && dir != v.ws && within(v.ws, dir) &&
			!v.isHidden(dir) {
			up, err := os.Stat(filepath.Dir(dir))
			if err != nil {
				return err
			}
			v.hide, v.hideIs, v.hideUp = append(v.hide, dir), append(v.hideIs, info), append(v.hideUp, up)
		}
	}
	return nil
}

// checkHidden returns an error if a directory that is hidden is no longer where
// it was. A command can rename a directory above it, and the next command would
// see what is in it.
func (v *mountView) checkHidden() error {
	for i, was := range v.hideIs {
		if info, err := os.Stat(v.hide[i]); err != nil || !os.SameFile(info, was) {
			return v.movedError(i)
		}
	}
	return nil
}

// movedError says that a directory that is hidden has another place now.
func (v *mountView) movedError(i int) error {
	return fmt.Errorf("%s, which commands must not see, was moved or replaced: put it back, "+
		"and begin the session anew", v.hide[i])
}

// isHidden reports whether path is in a directory that is hidden.
func (v *mountView) isHidden(path string) bool { return withinAny(v.hide, path) }

// within reports whether path is dir or is below it. Both are clean and
// absolute.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// withinAny reports whether path is in one of the directories.
func withinAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(dir, path) })
}

// passedOn are the variables of this process that commands have too.
var passedOn = []string{"LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TERM", "TZ"}

// environ returns the environment of every command, without what depends on the
// kind of the sandbox and on its home directory: see toolchains.environ.
func (v *mountView) environ(o Options) []string {
	env := []string{"USER=agent", "LOGNAME=agent", "SHELL=/bin/bash", workspace.NoBytecode}
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, file := range []string{os.Getenv("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt"} {
		if _, err := os.Stat(file); err == nil && (v.visible(file) || within("/etc", file)) {
			env = append(env, "SSL_CERT_FILE="+file)
			break
		}
	}
	return append(env, o.Env...)
}

// showOpt makes the toolchains below /opt visible that PATH names: see toolchain.
func (v *mountView) showOpt() {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if dir = filepath.Clean(dir); within("/opt", dir) && !v.visible(dir) {
			if shown := toolchain("/opt", dir, homes()); shown != "" {
				v.read = append(v.read, shown)
			}
		}
	}
}

// homes returns the home directories of this machine's users, without symbolic
// links.
func homes() []string {
	list := []string{os.Getenv("HOME")}
	accounts, _ := os.ReadFile("/etc/passwd") // none: there are no others
	for line := range strings.Lines(string(accounts)) {
		if f := strings.Split(line, ":"); len(f) > 5 {
			list = append(list, f[5])
		}
	}
	var real []string
	for _, dir := range list {
		if dir, err := filepath.EvalSymlinks(dir); err == nil && dir != "/" {
			real = append(real, dir)
		}
	}
	return real
}

// atHome are names that a home directory has, and a toolchain has not.
var atHome = []string{".ssh", ".gnupg", ".aws", ".kube", ".docker", ".config", ".cache", ".local", ".netrc",
	".pypirc", ".npmrc", ".git-credentials", ".bashrc", ".bash_history", ".bash_profile", ".profile", ".zshrc",
	".zsh_history", ".viminfo", ".env"}

// ofToolchain are names of directories beside bin in a toolchain.
var ofToolchain = []string{"lib", "lib64", "libexec", "share", "include", "pkg", "src", "jre", "jmods"}

// toolchain returns what has to be visible for the programs in dir, which is
// below top: the directory above it, if that has what a toolchain has and nothing
// of a home directory, else dir alone, or "" if dir is in a home directory.
// Accounts of services have home directories below /opt too, and not all of these
// are in /etc/passwd, so what is in a directory decides.
func toolchain(top, dir string, homes []string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !within(top, real) || real == top || workspace.IsDir(real) != nil {
		return ""
	}
	for at := real; at != top; at = filepath.Dir(at) {
		if slices.Contains(homes, at) || hasAny(at, atHome) {
			return ""
		}
	}
	prefix := filepath.Dir(real)
	if base := filepath.Base(real); prefix == top || base != "bin" && base != "sbin" || !hasAny(prefix, ofToolchain) ||
		slices.ContainsFunc(homes, func(home string) bool { return within(prefix, home) }) {
		prefix = real
	}
	if slices.ContainsFunc(homes, func(home string) bool { return within(prefix, home) }) {
		return ""
	}
	if above, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil && above == prefix {
		return filepath.Dir(dir) // by the name that PATH has for it
	}
	return dir
}

// hasAny reports whether the directory has one of the names.
func hasAny(dir string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// visible reports whether commands see path, or would if it existed.
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

// measureMachine sets the defaults that depend on this machine.
func (o *Options) measureMachine() error {
	if o.Memory == 0 {
		var info unix.Sysinfo_t
		if err := unix.Sysinfo(&info); err != nil {
			return fmt.Errorf("cannot find out how much memory there is: %w", err)
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

// reserve returns how many bytes must stay free on the disk of dir by default: a
// twentieth of it, at most 2 GiB and at most half of what is free now.
func reserve(dir string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 0, fmt.Errorf("cannot find out how much room the disk of %s has: %w", dir, err)
	}
	size := int64(disk.Bsize)
	return min(2<<30, int64(disk.Blocks)*size/20, int64(disk.Bavail)*size/2), nil
}

// advice says how to get a sandbox, or how to do without.
func advice() string {
	return "Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap; " +
		"Alpine: apk add bubblewrap), " +
		"and let users make namespaces (Ubuntu 24.04: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or " +
		"an AppArmor profile for bwrap). " +
		"In a container, give it a writable cgroup or run as an ordinary user, with Linux 6.12 or later. " +
		"Or choose to go without: --sandbox none lets commands do whatever you can do."
}
