package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/regular"
)

// ownDirs returns the directories that hold the configuration of the program
// and its data: approvals, keys, tokens, and all sessions. No session reads or
// writes them, whatever its workspace is.
func (e Env) ownDirs(cfg *config.Config) []string {
	dirs := []string{cfg.DataDir}
	if at, err := cfg.Store.Dir(cfg.DataDir); err == nil && at != cfg.DataDir {
		dirs = append(dirs, at)
	}
	if dir, err := config.UserDir("", e.lookup); err == nil {
		dirs = append(dirs, dir)
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
}

// agentDirs returns the directories that commands of agents write: dir, the workspace of
// the configuration, and where a server keeps those of its users.
func agentDirs(cfg *config.Config, dir string) []string {
	return []string{dir, cfg.Run.Workspace, cfg.Serve.Root}
}

// Own reports, of the name of a file in the workspace dir, whether it is one of
// the program's own directories or in one: see [Env.CheckWorkspace]. Names are
// relative to the workspace, with slashes.
func (e Env) Own(cfg *config.Config, dir string) func(name string) bool {
	var own []string
	for _, o := range e.ownDirs(cfg) {
		if rel, err := filepath.Rel(hostexec.RealPath(dir), hostexec.RealPath(o)); err == nil && filepath.IsLocal(rel) {
			own = append(own, filepath.ToSlash(rel))
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(own, func(o string) bool { return name == o || strings.HasPrefix(name, o+"/") })
	}
}

// isServed reports whether dir is in the directory with the workspaces of a server's users,
// where other sessions of a user can put links in its place.
func isServed(cfg *config.Config, dir string) bool {
	root := cmp.Or(cfg.Serve.Root, filepath.Join(cfg.DataDir, "workspaces"))
	for _, room := range []string{root, hostexec.RealPath(root)} {
		if rel, err := filepath.Rel(room, dir); err == nil && rel != "." && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// openDir opens the workspace dir of a session. One of a server's users had no symbolic link
// in its path when a session was opened in it, and must have none now. One that a person
// names may have: whoever can put links above it is that person.
func openDir(cfg *config.Config, dir string) (*os.Root, error) {
	if !isServed(cfg, dir) {
		return os.OpenRoot(dir)
	}
	root, err := regular.OpenDir(dir)
	if errors.Is(err, regular.ErrMoved) {
		err = mistake(fmt.Errorf("the workspace %s cannot be used: %w. Put the directory back, or begin a session in another workspace",
			dir, regular.ErrMoved))
	}
	return root, err
}

// checkDir returns the error of openDir.
func checkDir(cfg *config.Config, dir string) error {
	if dir == "" || !isServed(cfg, dir) {
		return nil
	}
	root, err := openDir(cfg, dir)
	if err != nil {
		return err
	}
	return root.Close()
}

// CheckWorkspace returns an error if no session may work in dir. The directories
// of the program's configuration and data are refused always, except for the
// workspaces and copies that the program itself makes in the latter. Directories
// that hold keys or the settings of programs are refused unless sensitive: the
// user's home directory, ~/.ssh, ~/.config and the like, and the system's.
//
// What counts is the directory that dir leads to, whatever links are on the way.
// A directory that only contains one of the program's is no error: there
// [Env.Sandbox] hides that one.
func (e Env) CheckWorkspace(cfg *config.Config, dir string, sensitive bool) error {
	at := placeOf(dir)
	rooms := []string{filepath.Join(cfg.DataDir, "workspaces"), filepath.Join(cfg.DataDir, "attempts")}
	if cfg.Serve.Root != "" {
		rooms = append(rooms, cfg.Serve.Root)
	}
	for _, own := range e.ownDirs(cfg) {
		isRoom := func(room string) bool { return !placeOf(room).is(own) && !at.is(room) && at.in(room) }
		if at.in(own) && !slices.ContainsFunc(rooms, isRoom) {
			return mistake(fmt.Errorf("the workspace %s is where OpenManus keeps its own configuration and data: choose another directory", dir))
		}
	}
	if what := e.sensitive(at); what != "" && !sensitive {
		return mistake(fmt.Errorf("the workspace %s %s: choose a directory for the work alone", dir, what))
	}
	return nil
}

// checkOwnUser is [Env.CheckWorkspace] for the user of this process, whose
// configuration says whether the workspace may be a sensitive one. The error says
// how to allow it.
func (e Env) checkOwnUser(cfg *config.Config, dir string) error {
	err := e.CheckWorkspace(cfg, dir, cfg.Run.AnyWorkspace)
	if err != nil && e.CheckWorkspace(cfg, dir, true) == nil {
		err = mistake(fmt.Errorf("%w, or use --any-workspace if you mean this one", err))
	}
	return err
}

// Elsewhere returns why no session of the user of this process may work in the configured
// workspace, and a new directory below the home directory that it may work in. Both are
// zero if it may. other is "" if there is none to offer.
func (e Env) Elsewhere(cfg *config.Config, day time.Time) (other string, why error) {
	if why = e.checkOwnUser(cfg, cfg.Run.Workspace); why == nil {
		return "", nil
	}
	home := e.home()
	if home == "" {
		return "", why
	}
	base := filepath.Join(home, "openmanus-work", day.Format(time.DateOnly))
	for n := 1; n < 1000; n++ {
		other = base
		if n > 1 {
			other += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Lstat(other); errors.Is(err, fs.ErrNotExist) && e.CheckWorkspace(cfg, other, false) == nil {
			return other, why
		}
	}
	return "", why
}

// The directories that are sensitive, relative to the home directory: those to
// which everything in them belongs, and those that are refused themselves only.
var (
	sensitiveTrees = []string{
		".ssh", ".gnupg", ".aws", ".azure", ".config", ".kube", ".docker", ".password-store", ".mozilla", ".thunderbird",
		".local/bin", ".local/share/keyrings", "Library/Keychains", "Library/Application Support", "AppData",
	}
	sensitiveDirs = []string{".local", ".local/share", ".cache", "Library"}
)

// The directories of the system, likewise.
var (
	systemTrees = []string{"/etc", "/boot", "/proc", "/sys"}
	systemDirs  = []string{
		"/", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin",
		"/var", "/var/lib", "/run", "/opt", "/home", "/Users", "/Library", "/System", "/Applications",
	}
)

// sensitive says what there is in a directory that agents should not work in, or
// "".
func (e Env) sensitive(at place) string {
	if runtime.GOOS != "windows" && (slices.ContainsFunc(systemTrees, at.in) || slices.ContainsFunc(systemDirs, at.is)) ||
		len(at) == 1 { // the root of a disk
		return "is a directory of the system"
	}
	home := e.home()
	if home == "" || filepath.Dir(home) == home {
		return ""
	}
	below := func(test func(string) bool) func(string) bool {
		return func(name string) bool { return test(filepath.Join(home, filepath.FromSlash(name))) }
	}
	settings, err := config.UserDir("", e.lookup)
	settings = filepath.Dir(settings) // where other programs have theirs as well
	switch {
	case at.is(home):
		return "is your home directory"
	case err == nil && !placeOf(home).in(settings) && at.in(settings),
		slices.ContainsFunc(sensitiveTrees, below(at.in)),
		slices.ContainsFunc(sensitiveDirs, below(at.is)):
		return "holds keys or the settings of programs"
	}
	return ""
}

// home returns the user's home directory, or "".
func (e Env) home() string {
	if dir := e.Getenv("HOME"); dir != "" || runtime.GOOS != "windows" {
		return dir
	}
	return e.Getenv("USERPROFILE")
}

// A place is a directory and those above it, up to the root, without symbolic
// links. Directories are told apart by their identity where they exist, since one
// can be mounted in two places, and by their paths.
type place []placed

type placed struct {
	path string
	info fs.FileInfo // nil: it does not exist
}

// placeOf returns the place to which the path dir leads.
func placeOf(dir string) (at place) {
	for path := hostexec.RealPath(dir); ; path = filepath.Dir(path) {
		info, _ := os.Stat(path)
		at = append(at, placed{path, info})
		if filepath.Dir(path) == path {
			return at
		}
	}
}

// in reports whether at is the directory dir or below it.
func (at place) in(dir string) bool {
	real := hostexec.RealPath(dir)
	info, _ := os.Stat(real)
	return slices.ContainsFunc(at, func(p placed) bool {
		return p.path == real || p.info != nil && info != nil && os.SameFile(p.info, info)
	})
}

// is reports whether at is the directory dir.
func (at place) is(dir string) bool { return at[:1].in(dir) }
