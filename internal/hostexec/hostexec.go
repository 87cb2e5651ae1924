// Package hostexec finds the programs of this machine that openmanus itself starts, and
// the directories in which it keeps what they work with.
//
// PATH often leads into a project: an activated virtual environment, node_modules/.bin, a
// direnv. Commands of the agent write there, in their sandbox. A program that openmanus
// started from there would run what they wrote with all rights of the person. So a
// program is found only where nobody but the person and root can write, and in no
// workspace; and what it is started with leads it to no other place.
package hostexec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Finder finds programs outside of workspaces. The zero value knows of no workspace.
type Finder struct {
	// NotIn are directories that the agent's commands write: no program in or below one
	// is found. The person's home directory and those of the system, such as "/", exclude
	// nothing: no sandbox has them as its workspace.
	NotIn []string

	// Projects says that programs count also if they are in the virtual environment or
	// the node_modules of a project outside of NotIn. It is for programs that the person
	// named.
	Projects bool

	// List is what to search, like the value of PATH. "": PATH itself.
	List string
}

// Outside returns a finder that finds nothing in the workspaces. Those that are "" are
// left out.
func Outside(workspaces ...string) Finder {
	return Finder{NotIn: slices.DeleteFunc(slices.Clone(workspaces), func(dir string) bool { return dir == "" })}
}

// Look returns the absolute path of the program with the name. It passes over the
// directories of PATH in which others than the person and root could have put it. An
// absolute path is returned as it is: somebody chose that very file. The error matches
// [exec.ErrNotFound], and says if there is such a program in a directory that does not
// count.
func (f Finder) Look(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if name == "" || strings.ContainsAny(name, `/\`) {
		return "", notFoundError(fmt.Sprintf("%q is no name of a program and no absolute path: give the whole path", name))
	}
	var passed []string
	off := f.places()
	for _, dir := range filepath.SplitList(cmp.Or(f.List, os.Getenv("PATH"))) {
		at, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		path, err := exec.LookPath(filepath.Join(at, name))
		if err != nil {
			continue
		}
		why := f.wrong(dir, off)
		if why == "" {
			why = untrusted(path, off, false)
		}
		if why == "" {
			return path, nil
		}
		passed = append(passed, fmt.Sprintf("%s is not used, because %s", path, why))
	}
	if len(passed) > 0 {
		return "", notFoundError(fmt.Sprintf("the program %s is not in PATH where only you and root can write: %s",
			name, strings.Join(passed, "; ")))
	}
	return "", notFoundError("the program " + name + " is not in PATH")
}

// A notFoundError is an [exec.ErrNotFound] that says what was looked for.
type notFoundError string

func (e notFoundError) Error() string { return string(e) }

func (e notFoundError) Is(target error) bool { return target == exec.ErrNotFound }

// Command returns a command that starts the program with the name, as [exec.CommandContext]
// does, where [Finder.Look] finds it. It serves openmanus, and so gets only the [Usual]
// variables, as [Finder.Environ] leaves them: no key, and no option by which a project has
// its programs load code. It starts in "/", where nobody leaves files for it, unless the
// caller sets Dir. If it is not found, starting the command fails with the error of Look.
func (f Finder) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	usual := Usual()
	return f.command(ctx, slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(usual, name) && (runtime.GOOS != "windows" || !slices.Contains(usual, strings.ToUpper(name)))
	}), name, args)
}

// PersonsCommand is Command for a program that the person works with, such as an editor:
// it gets all variables, as [Finder.Environ] leaves them.
func (f Finder) PersonsCommand(ctx context.Context, name string, args ...string) *exec.Cmd {
	return f.command(ctx, os.Environ(), name, args)
}

func (f Finder) command(ctx context.Context, env []string, name string, args []string) *exec.Cmd {
	path, err := f.Look(name)
	cmd := exec.CommandContext(ctx, cmp.Or(path, name), args...)
	cmd.Err = err // exec has looked the name up, too, and found what does not count
	cmd.Env = f.Environ(env)
	if runtime.GOOS != "windows" {
		cmd.Dir = "/"
	}
	return cmd
}

// Usual returns the names of the variables without which programs of a system do not find
// their files, their language or their screen. None holds a secret, or an option for a
// program.
func Usual() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LOCALE_ARCHIVE", "FONTCONFIG_FILE", "FONTCONFIG_PATH",
		"LANG", "LANGUAGE", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
		"LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
		"XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
		"__CF_USER_TEXT_ENCODING",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "OS", "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
		"PUBLIC", "COMPUTERNAME", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432",
		"COMMONPROGRAMFILES", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
	}
}

// lists are the variables that are lists of directories from which programs load code.
var lists = []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB"}

// single are the variables that name a file or an option by which a program loads code
// before its own.
var single = []string{"LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "PYTHONSTARTUP", "PYTHONHOME"}

// options are the variables whose value is options or commands of a program, by which it
// loads code before its own or starts another.
var options = []string{
	"NODE_OPTIONS", "RUBYOPT", "PERL5OPT", "PYTHONWARNINGS", "PYTHONBREAKPOINT", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "LESSOPEN", "LESSCLOSE", "LESS", "MANPAGER", "PAGER", "BROWSER",
	"VIMINIT", "EXINIT", "VIM", "VIMRUNTIME", "NANORC", "EMACSLOADPATH", "PROMPT_COMMAND", "CDPATH", "GCONV_PATH", "LOCPATH", "OPENSSL_CONF",
	"OPENSSL_MODULES", "ENGINE_DIR", "GTK_MODULES", "GTK_PATH", "GIO_EXTRA_MODULES", "QT_PLUGIN_PATH", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS",
	"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TERMINFO", "TERMINFO_DIRS", "RUSTC_WRAPPER", "GOFLAGS",
}

// leads reports whether a value has a word that is a path in a workspace, or one that
// begins at the directory in which a program starts.
func (f Finder) leads(value string) bool {
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n\"'=,;|&:", r) })
	return slices.ContainsFunc(words, func(w string) bool {
		at := w
		if i := strings.IndexByte(w, '/'); i > 0 && w[0] == '-' { // -I/DIR
			at = w[i:]
		}
		return strings.HasPrefix(w, "./") || strings.Contains(w, "../") || filepath.IsAbs(at) && f.Within(at) != ""
	})
}

// Environ returns the environment without what leads a program to code in a directory
// that others can write: entries of PATH and of the paths of libraries, and options that
// name a file in a workspace or one where a program starts; without functions of a
// shell; and without a directory for temporary files in a workspace. A Python does not
// load modules from the directory that it starts in.
func (f Finder) Environ(env []string) []string {
	off := f.places()
	var out []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case slices.Contains(lists, strings.ToUpper(name)) && (runtime.GOOS == "windows" || name == strings.ToUpper(name)):
			if value = f.clean(value, off); value != "" {
				out = append(out, name+"="+value)
			}
		case slices.Contains(single, name):
			if filepath.IsAbs(value) && untrusted(value, off, false) == "" {
				out = append(out, kv)
			}
		case slices.Contains(temporary, name) && f.Within(value) != "":
		case (slices.Contains(options, name) || strings.HasPrefix(name, "GIT_")) && f.leads(value):
		case strings.HasPrefix(name, "BASH_FUNC_"): // a function that each bash would have in place of a program
		default:
			out = append(out, kv)
		}
	}
	return append(out, SafePython)
}

// temporary are the variables that name a directory for temporary files.
var temporary = []string{"TMPDIR", "TMP", "TEMP"}

// SafePython is a variable by which a Python (3.11 and newer) loads no module from the
// directory that it starts in, nor from that of its script.
const SafePython = "PYTHONSAFEPATH=1"

// Clean returns a list of directories like the value of PATH without those that others
// can write.
func (f Finder) Clean(list string) string { return f.clean(list, f.places()) }

func (f Finder) clean(list string, off []place) string {
	var out []string
	for _, dir := range filepath.SplitList(list) {
		if f.wrong(dir, off) == "" {
			out = append(out, dir)
		}
	}
	return strings.Join(out, string(filepath.ListSeparator))
}

// A Passed is a directory of PATH in which no program is looked for.
type Passed struct{ Dir, Why string }

// Passed returns the directories of PATH that do not count, although they exist or are
// relative, each with the reason as a clause.
func (f Finder) Passed() (list []Passed) {
	off := f.places()
	for _, dir := range filepath.SplitList(cmp.Or(f.List, os.Getenv("PATH"))) {
		if _, err := os.Stat(dir); err != nil && filepath.IsAbs(dir) {
			continue
		}
		if why := f.wrong(dir, off); why != "" {
			list = append(list, Passed{cmp.Or(dir, "the empty entry"), why})
		}
	}
	return list
}

// wrong says why a directory of PATH does not count, as a clause, or "".
func (f Finder) wrong(dir string, off []place) string {
	if !filepath.IsAbs(dir) {
		return "its place depends on the working directory"
	}
	if why := untrusted(dir, off, true); why != "" || f.Projects {
		return why
	}
	for _, name := range strings.Split(filepath.ToSlash(filepath.Clean(dir)), "/") {
		if slices.Contains(ofProjects, name) {
			return "it belongs to a project (" + name + ")"
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Clean(dir)), "pyvenv.cfg")); err == nil {
		return "it belongs to a project (a virtual environment of Python)"
	}
	return ""
}

// ofProjects are the names of directories in which projects keep programs.
var ofProjects = []string{"node_modules", ".venv", "venv", ".direnv", ".tox", ".nox"}

// Within says which of the workspaces path leads into, by links or not, or "".
func (f Finder) Within(path string) string {
	off := f.places()
	for at := RealPath(path); ; at = filepath.Dir(at) {
		info, _ := os.Stat(at) // none: only its path counts
		if in := inside(at, info, off); in != "" {
			return in
		}
		if filepath.Dir(at) == at {
			return ""
		}
	}
}

// A place is a directory that commands write.
type place struct {
	real string
	info fs.FileInfo // nil: it is not there
}

// ofSystem are the directories that exclude nothing: the programs of the system are below
// them.
var ofSystem = []string{"/", "/usr", "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local", "/usr/local/bin", "/opt", "/snap"}

func (f Finder) places() (list []place) {
	home, _ := os.UserHomeDir() // none: there is nothing to leave out
	for _, dir := range f.NotIn {
		abs, err := filepath.Abs(dir)
		if dir == "" || err != nil {
			continue
		}
		p := place{real: RealPath(abs)}
		if slices.Contains(ofSystem, p.real) || filepath.Dir(p.real) == p.real || home != "" && p.real == RealPath(home) {
			continue
		}
		p.info, _ = os.Stat(p.real)
		list = append(list, p)
	}
	return list
}

// inside returns the place that path, which is without links, is or is below, or "". A
// directory can be mounted twice, and its name written in two ways: so its identity
// counts, too.
func inside(path string, info fs.FileInfo, off []place) string {
	for _, p := range off {
		if rel, err := filepath.Rel(p.real, path); err == nil && filepath.IsLocal(rel) ||
			info != nil && p.info != nil && os.SameFile(info, p.info) {
			return p.real
		}
	}
	return ""
}

// RealPath returns the path without symbolic links, as far as it exists.
func RealPath(path string) string {
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(RealPath(up), filepath.Base(path))
	}
	return path
}

// errUntrusted is the error of [Finder.Dir].
var errUntrusted = errors.New("no directory for openmanus's own files that only you and root can write")

// Dir returns a directory for files that commands must not change, without links: the
// first of the wanted ones, made if it is missing, or of a few others, that lies in no
// workspace and on whose path only the person and root can write. Those that are "" are
// left out. It may be one that others use as well, such as /tmp: make a directory in it.
func (f Finder) Dir(wanted ...string) (string, error) {
	others := []string{os.TempDir()}
	if cache, err := os.UserCacheDir(); err == nil {
		others = append(others, filepath.Join(cache, "openmanus"))
	}
	if runtime.GOOS != "windows" {
		others = append(others, "/var/tmp", "/tmp")
	}
	var tried []string
	off := f.places()
	for _, dir := range append(wanted, others...) {
		if dir == "" {
			continue
		}
		real, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		real = RealPath(real)
		why := ""
		if in := inside(real, nil, off); in != "" {
			why = "it is in " + in
		} else if err := os.MkdirAll(real, 0o700); err != nil {
			why = err.Error()
		} else {
			why = untrusted(real, off, false)
		}
		if why == "" {
			return real, nil
		}
		tried = append(tried, fmt.Sprintf("%s does not do, because %s", dir, why))
	}
	return "", fmt.Errorf("%w: %s", errUntrusted, strings.Join(tried, "; "))
}
