package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// A Lookup finds the value of an environment variable, as [os.LookupEnv] does.
type Lookup func(name string) (string, bool)

// get returns the value of name; "" if it is not set.
func (env Lookup) get(name string) string {
	if env == nil {
		return ""
	}
	v, ok := env(name)
	if !ok {
		return ""
	}
	return v
}

// UserDir returns the directory of the user's configuration on the system
// goos ("" is this one): openmanus below $XDG_CONFIG_HOME where that is set,
// else below ~/.config, ~/Library/Application Support or %AppData%.
func UserDir(goos string, env Lookup) (string, error) {
	return place{"XDG_CONFIG_HOME", ".config", "AppData", `AppData\Roaming`}.dir(goos, env)
}

// DataDir returns the directory where sessions are kept unless data_dir says
// otherwise: openmanus below $XDG_DATA_HOME where that is set, else below
// ~/.local/share, ~/Library/Application Support or %LocalAppData%.
func DataDir(goos string, env Lookup) (string, error) {
	return place{"XDG_DATA_HOME", ".local/share", "LocalAppData", `AppData\Local`}.dir(goos, env)
}

// A place is where systems keep files of one sort: the variables that name the
// directory, and where it is below the home directory otherwise.
type place struct{ xdg, unix, variable, windows string }

// dir returns the directory on the system goos; "" is this one.
func (p place) dir(goos string, env Lookup) (string, error) {
	goos = cmp.Or(goos, runtime.GOOS)
	if dir := env.get(p.xdg); filepath.IsAbs(dir) {
		return filepath.Join(dir, "openmanus"), nil
	}
	if dir := env.get(p.variable); goos == "windows" && dir != "" {
		return filepath.Join(dir, "openmanus"), nil
	}
	below := p.unix
	switch goos {
	case "windows":
		below = p.windows
	case "darwin":
		below = "Library/Application Support"
	}
	dir, err := home(goos, env)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.FromSlash(below), "openmanus"), nil
}

// home returns the home directory on the system goos.
func home(goos string, env Lookup) (string, error) {
	name := "HOME"
	if goos == "windows" {
		name = "USERPROFILE"
	}
	if dir := env.get(name); filepath.IsAbs(dir) || goos != runtime.GOOS && dir != "" {
		return dir, nil
	} else if dir != "" {
		return "", fmt.Errorf("%s is %q, and has to be an absolute path", name, dir)
	}
	return "", errors.New("the environment names no home directory: " + name + " is not set")
}

// absolute returns text as an absolute path. A relative path begins at dir, and ~
// is the home directory.
func (l *loader) absolute(text, dir string) (string, error) {
	if text == "~" || strings.HasPrefix(text, "~/") || strings.HasPrefix(text, `~\`) {
		h, err := home(l.goos, l.src.Env)
		if err != nil {
			return "", err
		}
		return filepath.Join(h, text[1:]), nil
	}
	if filepath.IsAbs(text) {
		return filepath.Clean(text), nil
	}
	return filepath.Join(dir, text), nil
}
