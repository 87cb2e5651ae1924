package sandbox

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// toolchains are what commands see of the tools that the person has outside of
// the directories of the system, all of it read-only. It is found once, when the
// sandbox is made, by looking at names alone: no program is started.
//
// Three sources say what there may be, and none of them is enough by itself:
//
//   - variables of this process: PATH, and those in which managers have their
//     root. They are the person's own.
//   - the places in the home directory where managers are by default.
//   - the workspace: pyvenv.cfg and the interpreters of virtual environments.
//     Anybody may have written these.
//
// What is shown is decided by what is there: the parts of a root that the table
// managers lists, or the parts of a directory that looks like a toolchain by the
// table layouts. One that only the workspace names must be Python, and must not be
// in the home directory of anyone.
type toolchains struct {
	found           []tool
	path            []string          // directories of PATH, by the names that commands know
	env             []string          // of commands, in which {HOME} stands for their home directory
	offline, online []string          // the same of commands without and with a network
	links           map[string]string // of their home directory: name there, what it leads to
	copies          map[string]string // of their home directory: name there, directory of which it is a copy
	files           map[string][]byte // of their home directory: name there, content
	unseen          []string          // directories of PATH that commands do not see
	masked          []string          // what a rule denies in what is shown
}

// A tool is a toolchain with what makes it work.
type tool struct {
	Toolchain
	root string
	vars []string // NAME=VALUE for commands; {} is the root
}

// shown returns the directories and files that commands see, without those that
// are in others.
func (t *toolchains) shown() (list []string) {
	for _, f := range t.found {
		list = append(list, f.Shown...)
	}
	slices.Sort(list)
	return slices.CompactFunc(list, within)
}

// A finder finds toolchains.
type finder struct {
	toolchains
	o     Options
	ws    string
	home  string                 // as the variable says, clean; "": there is none
	real  string                 // the same without symbolic links
	homes []string               // of all users of this machine
	base  func(path string) bool // reports whether commands see a path anyway
}

// findToolchains looks for what o.Toolchains asks for. base reports whether
// commands see a path already.
func findToolchains(o Options, ws string, base func(string) bool) (*toolchains, error) {
	s := &finder{o: o, ws: ws, homes: homes(), base: base}
	s.links, s.copies, s.files = make(map[string]string), make(map[string]string), make(map[string][]byte)
	if home := os.Getenv("HOME"); filepath.IsAbs(home) && filepath.Clean(home) != "/" {
		s.home = filepath.Clean(home)
		s.real = realOr(s.home)
	}
	if len(o.Toolchains) == 0 {
		s.searchPath(nil)
		return &s.toolchains, nil
	}
	only, err := s.only()
	if err != nil {
		return nil, err
	}
	for _, m := range managers {
		s.manager(m)
	}
	dirs := filepath.SplitList(os.Getenv("PATH"))
	for _, dir := range only {
		s.prefix(dir, "[sandbox] toolchains names it")
		dirs = append([]string{filepath.Join(dir, "bin")}, dirs...)
	}
	for _, name := range passedTools {
		if dir := os.Getenv(name); filepath.IsAbs(dir) && name != "CONDA_EXE" && name != "NVM_BIN" {
			s.prefix(filepath.Clean(dir), "the variable "+name+" names it")
		}
	}
	for _, dir := range dirs {
		if filepath.Base(dir) == "bin" && filepath.IsAbs(dir) {
			s.prefix(filepath.Dir(filepath.Clean(dir)), "PATH names it")
		}
	}
	if only == nil {
		s.workspace()
	} else if err := s.keep(only); err != nil {
		return nil, err
	}
	s.found = slices.DeleteFunc(s.found, func(t tool) bool { return !s.obeys(t) })
	s.searchPath(dirs)
	s.environment()
	s.fillHome()
	return &s.toolchains, nil
}

// only returns the directories that the option lists, or nil for those that are
// found.
func (s *finder) only() (dirs []string, err error) {
	if slices.Equal(s.o.Toolchains, []string{AutoToolchains}) {
		return nil, nil
	}
	for _, dir := range s.o.Toolchains {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("[sandbox] toolchains: %s is not an absolute path", dir)
		}
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("[sandbox] toolchains: %w", err)
		}
		dirs = append(dirs, filepath.Clean(dir))
	}
	return dirs, nil
}

// keep drops what is not in the listed directories. One in which there is no
// toolchain is an error.
func (s *finder) keep(only []string) error {
	for _, dir := range only {
		has := func(t tool) bool {
			return slices.ContainsFunc(t.Shown, func(path string) bool { return within(dir, path) || within(path, dir) })
		}
		if !slices.ContainsFunc(s.found, has) && !s.base(dir) {
			return fmt.Errorf("[sandbox] toolchains: no toolchain was recognised in %s: to show it as it is, list it in "+
				"[sandbox] read", dir)
		}
	}
	for i, t := range s.found {
		s.found[i].Shown = slices.DeleteFunc(t.Shown, func(path string) bool {
			return !withinAny(only, path)
		})
	}
	s.found = slices.DeleteFunc(s.found, func(t tool) bool { return len(t.Shown) == 0 })
	return nil
}

// manager looks for the roots of m: the one that its variable or the home directory
// has, and those that PATH leads into.
func (s *finder) manager(m manager) {
	known := false
	for _, at := range m.root {
		if dir, why := s.place(at); !known && dir != "" {
			known = s.root(m, dir, why, m.vars)
		}
	}
	for _, at := range m.root {
		rest, ok := strings.CutPrefix(at, "~/")
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			for ; ok && filepath.IsAbs(dir) && dir != "/"; dir = filepath.Dir(dir) {
				if strings.HasSuffix(dir, "/"+rest) && !s.sees(filepath.Join(dir, "bin")) {
					vars := m.vars
					if known {
						vars = nil
					}
					known = s.root(m, dir, "PATH names it", vars) || known
				}
			}
		}
	}
}

// root shows what m lists of a root, if it is one.
func (s *finder) root(m manager, root, why string, vars []string) bool {
	if m.mark != "" && !hasAny(root, []string{m.mark}) {
		return false
	}
	t := tool{Toolchain{Name: m.name, Why: why}, root, vars}
	for _, pattern := range m.show {
		names, _ := filepath.Glob(filepath.Join(root, pattern)) // the patterns are valid
		for _, name := range names {
			t.Shown = append(t.Shown, s.allowed(name)...)
		}
	}
	if m.list != "" {
		t.Of = m.of
		entries, _ := os.ReadDir(filepath.Join(root, m.list)) // none: there are no versions
		for _, e := range entries {
			if name := e.Name(); name[0] != '.' && (e.IsDir() || m.of == "python") && name != "current" {
				t.Versions = append(t.Versions, name)
			}
		}
	}
	if len(t.Shown) > 0 {
		s.found = append(s.found, t)
	}
	return len(t.Shown) > 0
}

// place returns the directory that a root of the table means, and why it is
// looked at, or "" if it means none.
func (s *finder) place(at string) (dir, why string) {
	if rest, ok := strings.CutPrefix(at, "~/"); ok {
		if s.home == "" {
			return "", ""
		}
		return filepath.Join(s.home, rest), "it is in your home directory"
	}
	if name, ok := strings.CutPrefix(at, "$"); ok {
		name, rest, _ := strings.Cut(name, "/")
		dir, _, _ = strings.Cut(os.Getenv(name), ":") // GOPATH is a list
		if !filepath.IsAbs(dir) {
			return "", ""
		}
		return filepath.Join(dir, rest), "the variable " + name + " names it"
	}
	return at, "it is there"
}

// allowed returns the paths under which path is shown: its own, and where it
// really is if that is elsewhere. There are none if commands must not see it or
// see it already.
func (s *finder) allowed(path string) []string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || s.base(real) && s.base(path) || !s.harmless(real) {
		return nil
	}
	if real == path || within(s.ws, path) {
		return []string{real}
	}
	return []string{path, real}
}

// harmless reports whether a path without symbolic links may be shown: it is no
// directory of the system that has settings, has and is no home directory, holds
// no keys, and is not one that the options hide.
func (s *finder) harmless(real string) bool {
	if strings.Count(real, "/") < 2 || within(real, s.ws) ||
		withinAny([]string{"/etc", "/proc", "/sys", "/dev", "/boot", "/run", "/var/run"}, real) {
		return false
	}
	for _, home := range append(s.homes, s.real) {
		if home != "" && within(real, home) {
			return false
		}
	}
	for _, name := range neverShown {
		if s.real != "" && within(real, filepath.Join(s.real, name)) {
			return false
		}
	}
	for _, name := range neverBelow {
		if s.real != "" && within(filepath.Join(s.real, name), real) {
			return false
		}
	}
	for _, dir := range s.o.Hide {
		if dir = realOr(dir); within(dir, real) || within(real, dir) {
			return false
		}
	}
	return true
}

// obeys takes from t what rules deny. They are asked about what is shown, the
// directories above it, and everything in it; a toolchain with more files than can
// be asked about is not shown.
func (s *finder) obeys(t tool) bool {
	if s.o.Deny == nil {
		return true
	}
	for _, top := range t.Shown {
		for at := top; at != "/"; at = filepath.Dir(at) {
			if s.o.Deny(at) {
				return false
			}
		}
		count := 0
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if count++; count > maxDenied {
				return fs.ErrInvalid
			}
			if err != nil || d.Type()&fs.ModeSymlink != 0 || !s.o.Deny(path) {
				return nil //nolint:nilerr // what this process cannot read, commands cannot read
			}
			s.masked = append(s.masked, path)
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			return false
		}
	}
	return true
}

// sees reports whether commands see path, with what was found until now.
func (s *finder) sees(path string) bool {
	return s.base(path) || withinAny(s.shown(), path)
}

// prefix looks at a directory that the person names and shows it if it is a
// toolchain by what it has.
func (s *finder) prefix(dir, why string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || within(s.ws, real) || s.sees(filepath.Join(real, "bin")) && s.sees(filepath.Join(dir, "bin")) {
		return
	}
	if l := layoutOf(real); l != "" {
		s.showPrefix(l, dir, why)
	}
}

// showPrefix shows the parts of a toolchain that are listed in ofPrefix.
func (s *finder) showPrefix(name, dir, why string) {
	real := realOr(dir)
	if !s.harmless(real) {
		return
	}
	t := tool{Toolchain{Name: name, Why: why, Of: name, Versions: versionOf(real)}, dir, nil}
	for _, name := range ofPrefix {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Shown = append(t.Shown, s.allowed(filepath.Join(dir, name))...)
			if real != dir {
				t.Shown = append(t.Shown, s.allowed(filepath.Join(real, name))...)
			}
		}
	}
	if len(t.Shown) > 0 {
		s.found = append(s.found, t)
	}
	// A virtual environment needs the Python that it was made with.
	if name == layouts[0].name {
		if of := pythonOf(real); of != "" && !s.sees(of) {
			s.prefix(of, why)
		}
	}
}

// layoutOf returns the name of the layout that a directory has, or "".
func layoutOf(dir string) string {
	for _, l := range layouts {
		if !slices.ContainsFunc(l.marks, func(pattern string) bool { return !hasAnyLike(dir, pattern) }) {
			return l.name
		}
	}
	return ""
}

// versionOf returns the version that a file of a toolchain names.
func versionOf(dir string) []string {
	if data, err := os.ReadFile(filepath.Join(dir, "VERSION")); err == nil {
		line, _, _ := strings.Cut(string(data), "\n")
		return []string{strings.TrimPrefix(line, "go")}
	}
	data, _ := os.ReadFile(filepath.Join(dir, "release")) // none: no Java
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "JAVA_VERSION="); ok {
			return []string{strings.Trim(strings.TrimSpace(v), `"`)}
		}
	}
	names, _ := filepath.Glob(filepath.Join(dir, "lib", "python3.*")) // the pattern is valid
	for i, name := range names {
		names[i] = strings.TrimPrefix(filepath.Base(name), "python")
	}
	return names
}

// maxEnvironments is how many directories at the top of a workspace are looked at
// for virtual environments.
const maxEnvironments = 500

// workspace shows the Pythons of the virtual environments that are at the top of
// the workspace. Their files may say anything: only a directory that is outside of
// all home directories, and has what Python has and nothing that a home directory
// has, is believed. Pythons that managers keep are shown already.
func (s *finder) workspace() {
	entries, _ := os.ReadDir(s.ws) // none: there are no environments
	for i, e := range entries {
		dir := filepath.Join(s.ws, e.Name())
		if i == maxEnvironments {
			return
		}
		if info, err := os.Lstat(filepath.Join(dir, "pyvenv.cfg")); err != nil || !info.Mode().IsRegular() {
			continue
		}
		prefixes := []string{pythonOf(dir)}
		for _, name := range []string{"python", "python3"} {
			if real, err := filepath.EvalSymlinks(filepath.Join(dir, "bin", name)); err == nil {
				prefixes = append(prefixes, filepath.Dir(filepath.Dir(real)))
			}
		}
		for _, prefix := range prefixes {
			if real := realOr(prefix); filepath.IsAbs(real) && !s.sees(real) && s.isForeignPython(real) {
				s.showPrefix("python", real, e.Name()+"/pyvenv.cfg of the workspace names it")
			}
		}
	}
}

// isForeignPython reports whether a directory that anybody may have named is an
// installation of Python and nothing else. A toolchain that is in another user's
// home directory, or beside what only a home directory has, is that user's.
func (s *finder) isForeignPython(real string) bool {
	if layoutOf(real) != "python" || within(s.ws, real) || within("/home", real) || within("/root", real) {
		return false
	}
	for at := real; at != "/"; at = filepath.Dir(at) {
		if slices.Contains(s.homes, at) || at == s.real || hasAny(at, atHome) {
			return false
		}
	}
	return s.harmless(real)
}

// pythonOf returns the directory of the Python that a virtual environment was made
// with, as its pyvenv.cfg says, or "".
func pythonOf(dir string) string {
	f, err := os.Open(filepath.Join(dir, "pyvenv.cfg"))
	if err != nil {
		return ""
	}
	defer f.Close()
	data := make([]byte, 1<<14)
	n, _ := f.Read(data) // an empty file names none
	lines := bufio.NewScanner(bytes.NewReader(data[:n]))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), "=")
		if value = strings.TrimSpace(value); strings.TrimSpace(key) == "home" && filepath.IsAbs(value) {
			value = filepath.Clean(value)
			if filepath.Base(value) == "bin" {
				return filepath.Dir(value)
			}
			return value
		}
	}
	return ""
}

// searchPath decides which directories PATH has inside. A directory of the home
// directory in which the person keeps programs of many kinds is replaced by one
// with links to those of them that belong to a toolchain.
func (s *finder) searchPath(dirs []string) {
	if dirs == nil {
		dirs = filepath.SplitList(os.Getenv("PATH"))
	}
	add := func(dir string) {
		if !slices.Contains(s.path, dir) {
			s.path = append(s.path, dir)
		}
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		real := realOr(dir)
		switch {
		case s.sees(dir):
			add(dir)
		case s.sees(real):
			add(real)
		case len(s.o.Toolchains) > 0 && s.programs(real):
			add(filepath.Join("{HOME}", privateBin))
			s.unseen = append(s.unseen, dir)
		default:
			s.unseen = append(s.unseen, dir)
		}
	}
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		add(dir)
	}
	s.unseen = slices.DeleteFunc(s.unseen, func(dir string) bool { return !isDir(dir) })
}

// environment sets the variables that tools need to find what is shown.
func (s *finder) environment() {
	seen := s.shown()
	for _, t := range s.found {
		for _, kv := range t.vars {
			s.env = append(s.env, strings.ReplaceAll(kv, "{}", t.root))
		}
	}
	for _, name := range passedTools {
		if value := os.Getenv(name); filepath.IsAbs(value) && (s.base(value) || within(s.ws, value) ||
			withinAny(seen, value) || withinAny(seen, filepath.Join(value, "bin"))) {
			s.env = append(s.env, name+"="+value)
		}
	}
	for _, name := range passedSettings {
		if value := os.Getenv(name); value != "" {
			s.env = append(s.env, name+"="+value)
		}
	}
	stored := s.goEnv()
	for _, name := range goSettings {
		if value := cmp.Or(os.Getenv(name), stored[name]); value != "" {
			s.env = append(s.env, name+"="+value)
		}
	}
	s.offline = slices.Clone(atOnce)
}

// atOnce are the variables with which tools use what they have and say at once
// that they cannot download, instead of trying for minutes.
var atOnce = []string{"CARGO_NET_OFFLINE=true", "GOPROXY=off", "UV_OFFLINE=1", "UV_PYTHON_DOWNLOADS=never",
	"MISE_OFFLINE=1", "PIP_RETRIES=0", "PIP_DISABLE_PIP_VERSION_CHECK=1", "npm_config_fetch_retries=0",
	"npm_config_prefer_offline=true", "npm_config_update_notifier=false", "npm_config_audit=false",
	"npm_config_fund=false"}

// goEnv returns the settings that `go env -w` stored.
func (s *finder) goEnv() map[string]string {
	file := os.Getenv("GOENV")
	if dir, err := os.UserConfigDir(); file == "" && err == nil {
		file = filepath.Join(dir, "go", "env")
	}
	data, _ := os.ReadFile(file) // none: there are no settings
	settings := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			settings[name] = value
		}
	}
	return settings
}

// realOr returns path without symbolic links, or path itself if it does not exist.
func realOr(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// hasAnyLike reports whether a directory has a name that matches one of the patterns.
func hasAnyLike(dir string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		names, _ := filepath.Glob(filepath.Join(dir, pattern)) // the patterns are valid
		return len(names) > 0
	})
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
