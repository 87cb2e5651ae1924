package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// passed reports whether commands see the variable of this process with that
// name. The list is short because any other variable may hold a secret.
func passed(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE":
		return true
	}
	return strings.HasPrefix(name, "LC_") ||
		runtime.GOOS == "windows" && passedOnWindows(strings.ToUpper(name))
}

// passedOnWindows reports whether programs on Windows commonly fail without the
// variable. name is in upper case.
func passedOnWindows(name string) bool {
	switch name {
	case "PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP", "OS",
		"USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "PUBLIC", "COMPUTERNAME", "APPDATA", "LOCALAPPDATA",
		"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES",
		"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE":
		return true
	}
	return false
}

// NoBytecode is a variable of every command. Python compares the bytecode that it keeps
// with its source by the source's length and by its time in seconds. A program edits a
// file twice in a second, and Python would run what the file said before. So it keeps
// none: it compiles a project's own modules at every start, those of packages that were
// installed with their bytecode not.
const NoBytecode = "PYTHONDONTWRITEBYTECODE=1"

// environ returns the environment of a command: this process's variables that are
// passed on, then NoBytecode, Env, extra, and mark. If two entries have one name, the
// later one wins.
func (d *Dir) environ(extra []string, mark string) []string {
	env := []string{NoBytecode}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); passed(name) {
			env = append(env, kv)
		}
	}
	env = append(env, d.Env...)
	env = append(env, extra...)
	return append(env, mark)
}

// LookPath returns the path of the program name for a command with the
// environment env. A name with a slash is a path already. Unlike
// [exec.LookPath] it searches the PATH of env, not that of this process, and
// ignores relative directories there. If it finds nothing, the error is
// [exec.ErrNotFound]. On Windows it returns name, and os/exec looks it up.
func LookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') || runtime.GOOS == "windows" {
		return name, nil // os/exec does the rest
	}
	var dirs string
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			dirs = v
			break
		}
	}
	for _, dir := range filepath.SplitList(dirs) {
		if !filepath.IsAbs(dir) {
			continue // or a program in the working directory could run by accident
		}
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("there is no program %q in PATH (%s): install it, or give its path: %w",
		name, dirs, exec.ErrNotFound)
}
