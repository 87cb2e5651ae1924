package sandbox

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Tools write where they keep what they downloaded: locks, indexes, records of use.
// So those that would fail on a directory that is read-only get one in the private
// home directory, which has links to what is shown, and settings without anything
// that could be a key. A command can exchange these links; what they lead to stays
// read-only.

// privateBin is the directory of programs in the private home directory.
const privateBin = ".local/bin"

// maxHomeLinks is how many links a directory of packages gets; what is beyond is not
// there.
const maxHomeLinks = 20_000

// toolPrograms are programs in ~/.local/bin that are tools of development and come
// as one file.
var toolPrograms = []string{"uv", "uvx", "pipx", "poetry", "pdm", "hatch", "rye", "mise", "rtx", "fnm", "volta", "deno",
	"bun", "pnpm", "micromamba", "just", "task", "ruff", "cmake", "ninja"}

// programs links the programs of the directory bin that belong to a toolchain, if
// bin is ~/.local/bin. It reports whether there are any.
func (s *finder) programs(bin string) bool {
	if s.real == "" || bin != filepath.Join(s.real, ".local/bin") {
		return false
	}
	entries, _ := os.ReadDir(bin) // none: there are no programs
	t := tool{Toolchain{Name: "programs", Why: "PATH names their directory"}, bin, nil}
	any := false
	for _, e := range entries {
		path := filepath.Join(bin, e.Name())
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err != nil:
			continue
		case s.sees(real):
		case real == path && (slices.Contains(toolPrograms, e.Name()) || s.isEntryPoint(path)) && s.harmless(real) &&
			(s.o.Deny == nil || !s.o.Deny(real)):
			t.Shown = append(t.Shown, real)
		default:
			continue
		}
		s.links[filepath.Join(privateBin, e.Name())] = real
		any = true
	}
	if len(t.Shown) > 0 {
		s.found = append(s.found, t)
	}
	return any
}

// isEntryPoint reports whether a file is one of those that pip writes for a
// package: a few lines that call a function of it, for a Python that commands see.
func (s *finder) isEntryPoint(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 2048 || info.Mode()&0o111 == 0 {
		return false
	}
	data, _ := os.ReadFile(path) // what cannot be read is none
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	python, ok := bytes.CutPrefix(first, []byte("#!"))
	return ok && strings.HasPrefix(filepath.Base(string(python)), "python") && s.sees(string(python)) &&
		bytes.Contains(rest, []byte("import ")) && bytes.Contains(rest, []byte("sys.exit("))
}

// fillHome decides what is in the private home directory, and the variables that
// lead tools to it.
func (s *finder) fillHome() {
	for _, t := range s.found {
		switch t.Name {
		case "cargo":
			s.env = append(s.env, "CARGO_HOME={HOME}/.cargo")
			s.cargo(t.root)
		case "Go modules":
			// Modules are unpacked into a private cache, from the person's and, where there is a
			// network, from others. The person's own copy was verified.
			cache := "GOPROXY=file://" + filepath.Join(t.root, "cache/download") + ","
			s.env = append(s.env, "GOMODCACHE={HOME}/go/pkg/mod")
			s.offline = append(s.offline, cache+"off", "GONOSUMDB=*")
			s.online = append(s.online, cache+s.goProxy())
		case "Maven":
			s.maven(t.root)
		case "npm":
			s.linkTree(".npm/_cacache/content-v2", filepath.Join(t.root, "_cacache/content-v2"))
			s.copies[".npm/_cacache/index-v5"] = filepath.Join(t.root, "_cacache/index-v5")
		case "mise":
			s.settings(".config/mise/config.toml", ".config/mise/config.toml", func(m map[string]any) map[string]any {
				return pick(m, "tools")
			})
		case "asdf":
			if data, err := os.ReadFile(filepath.Join(s.home, ".tool-versions")); err == nil && s.home != "" {
				s.files[".tool-versions"] = data
			}
		case "python packages of the user":
			dirs, _ := filepath.Glob(filepath.Join(t.root, "python3.*", "site-packages")) // the pattern is valid
			for _, dir := range dirs {
				s.linkAll(".local/lib/"+filepath.Base(filepath.Dir(dir))+"/site-packages", dir)
			}
		}
	}
}

// linkAll puts links to everything in dir into a directory of the home directory.
func (s *finder) linkAll(name, dir string) {
	if !s.sees(dir) {
		return
	}
	entries, _ := os.ReadDir(dir) // none: there is nothing to link
	for _, e := range entries[:min(len(entries), maxHomeLinks)] {
		s.links[filepath.Join(name, e.Name())] = filepath.Join(dir, e.Name())
	}
}

// linkTree makes the directories that are below dir, with links to the files in them,
// so that a tool can add to them. It stops at maxHomeLinks.
func (s *finder) linkTree(name, dir string) {
	if !s.sees(dir) {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || len(s.links) > maxHomeLinks:
			return fs.SkipAll
		case d.Name() == ".git":
			s.links[filepath.Join(name, strings.TrimPrefix(path, dir))] = path
			return fs.SkipDir
		case !d.IsDir():
			s.links[filepath.Join(name, strings.TrimPrefix(path, dir))] = path
		}
		return nil
	}) // the function returns no other error
}

// cargo links the registry, so that packages can be added and unpacked beside what is
// there.
func (s *finder) cargo(root string) {
	s.linkTree(".cargo/registry/index", filepath.Join(root, "registry/index"))
	s.linkAll(".cargo/git/db", filepath.Join(root, "git/db"))
	s.linkAll(".cargo/git/checkouts", filepath.Join(root, "git/checkouts"))
	for _, kind := range []string{"cache", "src"} {
		dirs, _ := os.ReadDir(filepath.Join(root, "registry", kind)) // none: there are no packages
		for _, d := range dirs {
			name := filepath.Join("registry", kind, d.Name())
			s.linkAll(filepath.Join(".cargo", name), filepath.Join(root, name))
		}
	}
	rel, err := filepath.Rel(s.home, root)
	if err != nil || s.home == "" {
		return
	}
	for _, name := range []string{"config", "config.toml"} {
		s.settings(filepath.Join(rel, name), ".cargo/"+name, cargoSettings)
	}
}

// cargoSettings returns of cargo's settings those that say where packages come from
// and how they are built. Tokens, commands that print one, variables and wrappers of
// the compiler are left out.
func cargoSettings(m map[string]any) map[string]any {
	kept := pick(m, "source", "build", "target", "profile", "net", "alias", "term", "patch", "unstable", "registry",
		"registries", "resolver", "paths")
	if build, ok := kept["build"].(map[string]any); ok {
		kept["build"] = pick(build, "jobs", "target", "rustflags", "rustdocflags", "incremental", "dep-info-basedir")
	}
	if registry, ok := kept["registry"].(map[string]any); ok {
		kept["registry"] = pick(registry, "default", "index")
	}
	if registries, ok := kept["registries"].(map[string]any); ok {
		for name, r := range registries {
			if table, ok := r.(map[string]any); ok {
				registries[name] = pick(table, "index", "protocol")
			}
		}
	}
	return kept
}

// settings puts a file of settings in TOML into the private home directory: what
// keep leaves of the person's own, without addresses that have a password. One that
// cannot be read is left out.
func (s *finder) settings(from, to string, keep func(map[string]any) map[string]any) {
	data, err := os.ReadFile(filepath.Join(s.home, from))
	if err != nil || s.home == "" {
		return
	}
	var m map[string]any
	if toml.Unmarshal(data, &m) != nil {
		return
	}
	if data, err = toml.Marshal(withoutPasswords(keep(m))); err == nil {
		s.files[to] = data
	}
}

// pick returns the named keys of a table.
func pick(m map[string]any, names ...string) map[string]any {
	kept := make(map[string]any)
	for _, name := range names {
		if v, ok := m[name]; ok {
			kept[name] = v
		}
	}
	return kept
}

// withoutPasswords takes the user and password from all addresses in v, a value
// of TOML.
func withoutPasswords(v any) any {
	switch v := v.(type) {
	case string:
		return withoutUser(v)
	case []any:
		for i := range v {
			v[i] = withoutPasswords(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = withoutPasswords(v[k])
		}
	}
	return v
}

// withoutUser takes the user and the password, if there are any, from an address. A
// text that has an address in it that cannot be read is dropped.
func withoutUser(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !strings.Contains(rest, "@") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || strings.ContainsAny(scheme, " \t") {
		return ""
	}
	u.User = nil
	return u.String()
}

// goProxy returns where modules are downloaded from, without passwords.
func (s *finder) goProxy() string {
	list := os.Getenv("GOPROXY")
	if list == "" {
		list = s.goEnv()["GOPROXY"]
	}
	if list == "" || strings.Contains(list, "@") {
		return "https://proxy.golang.org,direct"
	}
	return list
}

// maven makes Maven look for its home directory where commands have theirs, which
// Java asks the system for, and use the person's repository. With a network Maven
// needs one that it can write; from 3.9 on the person's can stand behind it.
func (s *finder) maven(root string) {
	home, repository := "MAVEN_OPTS=-Duser.home={HOME} ", filepath.Join(root, "repository")
	behind := home + "-Dmaven.repo.local.tail=" + repository
	s.online = append(s.online, behind)
	lib := filepath.Join(filepath.Dir(filepath.Dir(realOr(s.lookPath("mvn")))), "lib")
	if hasAnyLike(lib, "maven-core-3.9*.jar", "maven-core-4*.jar") {
		s.offline = append(s.offline, behind)
	} else {
		s.offline = append(s.offline, home+"-Dmaven.repo.local="+repository)
	}
	s.linkAll(".m2/wrapper/dists", filepath.Join(root, "wrapper/dists"))
	data, err := os.ReadFile(filepath.Join(root, "settings.xml"))
	if err != nil {
		return
	}
	if data, err = mavenSettings(data); err == nil {
		s.files[".m2/settings.xml"] = data
	}
}

// mavenKept are the elements of Maven's settings that say where packages come from.
// Servers and proxies have passwords, and properties may be anything.
var mavenKept = []string{"settings", "mirrors", "mirror", "id", "name", "url", "mirrorOf", "blocked", "layout",
	"mirrorOfLayouts", "profiles", "profile", "activation", "activeByDefault", "repositories", "repository",
	"pluginRepositories", "pluginRepository", "releases", "snapshots", "enabled", "updatePolicy", "checksumPolicy",
	"activeProfiles", "activeProfile", "pluginGroups", "pluginGroup", "offline"}

// mavenSettings returns the elements of a settings.xml that are in mavenKept.
func mavenSettings(data []byte) ([]byte, error) {
	var out bytes.Buffer
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict = true
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && out.Len() > 0 {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if !slices.Contains(mavenKept, t.Name.Local) {
				if err := d.Skip(); err != nil {
					return nil, err
				}
				continue
			}
			out.WriteString("<" + t.Name.Local + ">")
		case xml.EndElement:
			out.WriteString("</" + t.Name.Local + ">")
		case xml.CharData:
			if text := strings.TrimSpace(string(t)); text != "" {
				if err := xml.EscapeText(&out, []byte(withoutUser(text))); err != nil {
					return nil, err
				}
			}
		}
	}
}

// write makes the links and files in the directory home.
func (t *toolchains) write(home string) error {
	for _, name := range sorted(t.links) {
		at := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(t.links[name], at); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, name := range sorted(t.copies) {
		if err := copyTree(t.copies[name], filepath.Join(home, name)); err != nil {
			return err
		}
	}
	for _, name := range sorted(t.files) {
		at := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, t.files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// environ returns the variables for commands whose home directory is home.
func (t *toolchains) environ(home string, networked bool) []string {
	more := t.offline
	if networked {
		more = t.online
	}
	var env []string
	for _, kv := range slices.Concat([]string{"PATH=" + strings.Join(t.path, ":")}, t.env, more) {
		env = append(env, strings.ReplaceAll(kv, "{HOME}", home))
	}
	return env
}
