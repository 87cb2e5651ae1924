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

// passed reports whether commands see this process's variable of that name.
func passed(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE":
		return true
	}
	return strings.HasPrefix(name, "LC_") || runtime.GOOS == "windows" && passedOnWindows(strings.ToUpper(name))
}

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

// environ is the environment of a command. Later entries win.
func (d *Dir) environ(extra []string, mark string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); passed(name) {
			env = append(env, kv)
		}
	}
	env = append(env, d.Env...)
	env = append(env, extra...)
	return append(env, mark)
}

// LookPath finds the program that a command with the environment env means by
// name.
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
			continue // what lies in the working directory is not to be run by accident
		}
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("there is no program %q in PATH (%s): install it, or give its path: %w", name, dirs, exec.ErrNotFound)
}
