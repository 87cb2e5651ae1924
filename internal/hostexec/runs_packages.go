package hostexec

import (
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// packages adds the packages that a package manager is given to run. For npx, what it has
// installed of them counts, too; others do not say where they keep what.
func (r *reader) packages(manager string, named []string, cache string) {
	for _, spec := range named {
		if strings.HasPrefix(spec, ".") || filepath.IsAbs(spec) {
			r.given(spec)
			continue
		}
		p := Part{Kind: Package, Name: spec}
		name, version := cutVersion(spec)
		p.Version = version
		if manager == "npx" || manager == "npm" {
			dir := r.npxDir(named, cache)
			if v := npmVersion(filepath.Join(dir, "node_modules", filepath.FromSlash(name))); v != "" {
				p.Version = v
			}
			if data, err := os.ReadFile(filepath.Join(dir, "node_modules", ".package-lock.json")); err == nil { // none: it is not installed yet
				sum := sha256.Sum256(data)
				p.Sum = hex.EncodeToString(sum[:])
			}
		}
		r.add(p)
	}
}

// cutVersion cuts the exact version off a package, as npm and Python write it.
func cutVersion(spec string) (name, version string) {
	at := strings.LastIndex(spec, "@")
	switch {
	case strings.Contains(spec, "=="):
		name, version, _ = strings.Cut(spec, "==")
	case at > 0:
		name, version = spec[:at], spec[at+1:]
	default:
		return spec, ""
	}
	if version == "" || version[0] < '0' || version[0] > '9' || strings.ContainsAny(version, " <>|*x") {
		version = "" // a range, or a word such as latest
	}
	return name, version
}

// npxDir returns the directory in which npx installs these packages.
func (r *reader) npxDir(named []string, cache string) string {
	list := slices.Clone(named)
	slices.Sort(list)
	sum := sha512.Sum512([]byte(strings.Join(list, "\n")))
	home := r.env["HOME"]
	if home == "" {
		home, _ = os.UserHomeDir() // none: nothing is found
	}
	cache = cmp.Or(cache, r.env["npm_config_cache"], r.env["NPM_CONFIG_CACHE"], filepath.Join(home, ".npm"))
	return filepath.Join(cache, "_npx", hex.EncodeToString(sum[:])[:16])
}

// npmVersion returns the version of a package that is installed in a directory, or "".
func npmVersion(dir string) string {
	var file struct {
		Version string `json:"version"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil || json.Unmarshal(data, &file) != nil {
		return ""
	}
	return file.Version
}

// installed returns the package of which a program or script was installed, with its version:
// that of npm, or of a virtual environment of Python with a program of its name. Its name is
// "" if there is none.
func installed(real string) Part {
	const modules = "/node_modules/"
	if i := strings.LastIndex(filepath.ToSlash(real), modules); i >= 0 {
		at, rest := i+len(modules), real[i+len(modules):]
		n := strings.IndexByte(rest, filepath.Separator)
		if n > 0 && rest[0] == '@' {
			if m := strings.IndexByte(rest[n+1:], filepath.Separator); m >= 0 {
				n += 1 + m
			}
		}
		if n > 0 {
			if v := npmVersion(real[:at+n]); v != "" {
				return Part{Kind: Package, Name: filepath.ToSlash(rest[:n]), Version: v}
			}
		}
		return Part{}
	}
	top := filepath.Dir(filepath.Dir(real))
	if _, err := os.Stat(filepath.Join(top, "pyvenv.cfg")); err != nil {
		return Part{}
	}
	name := filepath.Base(real)
	list, _ := filepath.Glob(filepath.Join(top, "lib", "python*", "site-packages", strings.ReplaceAll(name, "-", "_")+"-*.dist-info"))
	for _, dir := range list {
		_, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(dir), ".dist-info"), "-")
		return Part{Kind: Package, Name: name, Version: version}
	}
	return Part{}
}
