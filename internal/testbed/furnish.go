package testbed

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// furnish makes a home directory and changes the environment of the process. remove
// deletes the directory.
func furnish() (remove func() error, err error) {
	set := tools()
	home, err := os.MkdirTemp("", "home-")
	if err != nil {
		return nil, err
	}
	if home, err = filepath.EvalSymlinks(home); err == nil {
		err = fill(home)
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); personal(name) {
			err = errors.Join(err, os.Unsetenv(name))
		}
	}
	set["HOME"], set["LANG"], set["PATH"] = home, "C.UTF-8", path()
	set["GIT_CONFIG_NOSYSTEM"] = "1"
	if runtime.GOOS == "windows" {
		set["USERPROFILE"], set["AppData"], set["LocalAppData"] = home, filepath.Join(home, "AppData"), filepath.Join(home, "LocalAppData")
	}
	for name, value := range set {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return func() error { return os.RemoveAll(home) }, err
}

// fill writes what a home directory needs: who commits, and that Go counts nothing, which
// it does in the background.
func fill(home string) (err error) {
	for name, text := range map[string]string{
		".gitconfig": "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n" +
			"[safe]\n\tdirectory = *\n", // the checkout of the module may be another user's
		".config/go/telemetry/mode": "off 2024-01-01\n",
	} {
		at := filepath.Join(home, filepath.FromSlash(name))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644))
	}
	return err
}

// tools returns the variables that name where the toolchains of this machine are: mostly
// in the home directory that the tests do not see. Settings and credentials of a toolchain
// are not among them.
func tools() map[string]string {
	set := make(map[string]string)
	names := []string{"GOCACHE", "GOMODCACHE"}
	if out, err := exec.Command("go", append([]string{"env"}, names...)...).Output(); err == nil { // without Go, no test needs them
		for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			if i < len(names) && value != "" {
				set[names[i]] = strings.TrimSpace(value)
			}
		}
	}
	for name, dir := range map[string]string{"RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "VOLTA_HOME": ".volta", "ASDF_DATA_DIR": ".asdf"} {
		at := filepath.Join(os.Getenv("HOME"), dir)
		if _, err := os.Stat(at); err == nil && os.Getenv(name) == "" && filepath.IsAbs(at) {
			set[name] = at
		}
	}
	return set
}

// path returns PATH without what depends on the working directory or is not there, and
// with the directories of the system, of which a person's may lack those for root.
func path() string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if runtime.GOOS != "windows" {
		dirs = append(dirs, "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
	}
	var own []string
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err == nil && info.IsDir() && filepath.IsAbs(dir) && !slices.Contains(own, dir) {
			own = append(own, dir)
		}
	}
	return strings.Join(own, string(filepath.ListSeparator))
}

// personal reports whether a variable says something of the person, or is a setting of a
// program that tests start: they set what they mean themselves.
func personal(name string) bool {
	upper := strings.ToUpper(name)
	for _, begin := range []string{
		"OPENMANUS_", "XDG_", "LC_", "GIT_", "SSH_", "GPG_", "NPM_CONFIG_", "PIP_", "PYTHON", "CARGO_",
		"OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "AZURE_", "AWS_", "OLLAMA_",
	} {
		if strings.HasPrefix(upper, begin) {
			return true
		}
	}
	for _, end := range []string{"_PROXY", "_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD"} {
		if strings.HasSuffix(upper, end) {
			return true
		}
	}
	return slices.Contains([]string{"LANGUAGE", "GOPATH", "GOBIN", "GOENV", "BROWSER", "EDITOR", "VISUAL", "PAGER", "DISPLAY", "WAYLAND_DISPLAY",
		"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM"}, upper)
}
