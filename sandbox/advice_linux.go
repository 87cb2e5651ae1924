package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/workspace"
)

// adviceTail is how much of the end of an output is looked at for the reason why a
// command failed.
const adviceTail = 16 << 10

// The words with which tools say that something is missing. Each has a group with
// what is missing, if that is said.
var (
	noProgram = regexp.MustCompile(`(?m)(?:^|: |env: ['‘]?)([\w.+-]{1,64})(?:['’]?: (?:command )?not found|['’]: No such file or directory)$`)
	noNetwork = regexp.MustCompile(`(?i)Temporary failure in name resolution|Could not resolve host|` +
		`Name or service not known|EAI_AGAIN|\bENOTFOUND\b|no such host|Network is unreachable|ENETUNREACH|ENOTCACHED|` +
		`GOPROXY=off|offline mode|--offline|offline was specified|Failed to establish a new connection|` +
		`network connectivity is disabled|could not find a version that satisfies|socket: operation not permitted|` +
		`could not be found in registry index|lookup .*: connection refused|Couldn't connect to server`)
	noServer = regexp.MustCompile(`(?i)(?:localhost|127\.0\.0\.1|\[?::1\]?)[^\n]{0,80}(?:connection refused|` +
		`Couldn't connect)|ECONNREFUSED (?:127\.0\.0\.1|::1)|connect\w* to (?:localhost|127\.0\.0\.1)[^\n]{0,60}refused`)
	noModule = regexp.MustCompile(`No module named ['"]?([\w.]+)|Cannot find (?:module|package) ['"]([^'"\n]+)|` +
		`no required module provides package (\S+?);?(?:\s|$)|can't find crate for .(\w+)`)
	noWrite   = regexp.MustCompile(`(?i)read-only file system|EROFS|permission denied|EACCES|operation not permitted`)
	shutWrite = regexp.MustCompile(`(?i)read-only file ?system|EROFS`)
	noFile    = regexp.MustCompile(`(?i)no such file or directory|ENOENT`)
	aPath     = regexp.MustCompile(`/[\w@%+=:,./~-]+`)
)

// offer returns what a call can ask for besides, unless no command is given more.
func (b *base) offer(more string) string {
	if b.o.ReadOnly {
		return ""
	}
	return more
}

// Advise implements [workspace.Adviser]. It looks at words and at the directories of
// PATH alone, so what it says tells nothing about files that commands do not see.
func (b *base) Advise(output string, code int) string {
	if len(output) > adviceTail {
		output = output[len(output)-adviceTail:]
	}
	output = strings.TrimRight(output, "\n")
	last := output[strings.LastIndexByte(output, '\n')+1:]
	if code == 0 && !noProgram.MatchString(last) { // behind a pipe, the exit code is that of another program
		return ""
	}
	if b.limits == nil {
		return "" // a container is another system: what is missing there is not hidden
	}
	for _, advice := range []func(string) string{b.adviseProgram, b.adviseNetwork, b.adviseModule, b.advisePath} {
		if line := advice(output); line != "" {
			return line
		}
	}
	return ""
}

// adviseProgram returns a line about a program that was not found and that is in a
// directory which commands do not see, or "".
func (b *base) adviseProgram(output string) string {
	for _, m := range noProgram.FindAllStringSubmatch(output, 10) {
		for _, dir := range b.view.tools.unseen {
			if _, err := workspace.LookPath(m[1], []string{"PATH=" + dir}); err == nil {
				return fmt.Sprintf("%s is in %s, which the sandbox does not show: the person can list that directory in "+
					"[sandbox] read%s", m[1], dir, b.offer(askOutside))
			}
		}
		if len(b.o.Toolchains) == 0 {
			if _, err := workspace.LookPath(m[1], []string{"PATH=" + os.Getenv("PATH")}); err == nil {
				return m[1] + " is installed, and the sandbox does not show it: the person can set [sandbox] toolchains = " +
					`"auto"` + b.offer(askOutside)
			}
		}
	}
	return ""
}

// adviseNetwork returns a line about a connection that failed because of the sandbox, with
// the way in which it is allowed, or "".
func (b *base) adviseNetwork(output string) string {
	switch {
	case b.o.Network == AllNetwork:
		return ""
	case b.prevents && b.Contained() && noServer.MatchString(output):
		if reachesLocal(b.o) != "" {
			return "in the sandbox localhost is the sandbox itself; a server of the person's machine that they named is " +
				"reached by a bash command with its address in it, such as curl http://localhost:8000 or " +
				"BASE_URL=http://localhost:8000 npm test, if they allow it"
		}
		return "in the sandbox localhost is the sandbox itself, so servers of the person's machine cannot be reached" +
			b.offer(askNetwork)
	case !noNetwork.MatchString(output):
		return ""
	case b.o.Network == Hosts:
		return "commands reach only the hosts that the person listed in [sandbox] hosts"
	}
	return "commands have no network in the sandbox, so nothing can be downloaded: use what is installed" +
		b.offer(askNetwork)
}

// The permissions that a call can ask for: see the tools bash and
// python_execute.
const (
	askNetwork = `; if it must be, call again with "network": true and "why", and the person is asked`
	askOutside = `, or call again with "outside_sandbox": true and "why", and the person is asked`
)

// adviseModule returns a line about a package that could not be imported, if the sandbox
// may be the reason, or "".
func (b *base) adviseModule(output string) string {
	m := noModule.FindStringSubmatch(output)
	if m == nil || b.o.Network == AllNetwork {
		return ""
	}
	name := m[slices.IndexFunc(m[1:], func(s string) bool { return s != "" })+1]
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") {
		return "" // a file of the project
	}
	line := name + " is not among the packages that commands see, and they have no network to download it"
	if i := slices.IndexFunc(b.view.tools.unseen, func(dir string) bool {
		found, _ := filepath.Glob(filepath.Join(dir, "python3")) // the pattern is valid
		return len(found) > 0
	}); i >= 0 {
		return line + "; the person's Python in " + b.view.tools.unseen[i] + " is hidden: [sandbox] read can show it"
	}
	return line + b.offer(askNetwork)
}

// advisePath says where commands can write and what they see. Protected names have a
// line of their own.
func (b *base) advisePath(output string) string {
	if strings.Contains(output, "\nsandbox: ") || strings.HasPrefix(output, "sandbox: ") {
		return ""
	}
	lines := strings.Split(output, "\n")
	for _, line := range slices.Backward(lines) {
		if b.o.ReadOnly && shutWrite.MatchString(line) {
			return "the workspace is read-only for commands here: have the command write into $TMPDIR"
		}
		write := noWrite.MatchString(line)
		if !write && !noFile.MatchString(line) {
			continue
		}
		for _, path := range aPath.FindAllString(line, 5) {
			path = filepath.Clean(strings.TrimRight(path, ":,."))
			switch {
			case within(b.view.ws, path) || withinAny(sorted(b.hostPaths), path):
			case write && withinAny(b.view.tooled, path):
				return path + " is one of the person's toolchains, which commands can only read: they can write " +
					b.writes()
			case write:
				return "commands can write " + b.writes() + ", and nothing else"
			case within(realOr(os.Getenv("HOME")), path) || within(os.Getenv("HOME"), path):
				return "of the person's home directory commands see toolchains only: the person can list more in " +
					"[sandbox] read" + b.offer(askOutside)
			}
		}
	}
	return ""
}

// writes names what commands can write.
func (b *base) writes() string {
	if b.o.ReadOnly {
		return "HOME and TMPDIR"
	}
	return "the workspace, HOME and TMPDIR"
}

// tellers are the programs of the system whose presence the model learns.
var tellers = []string{"python3", "go", "cargo", "node", "npm", "pnpm", "yarn", "bun", "deno", "uv", "poetry", "java",
	"mvn", "gradle", "ruby", "gcc", "make", "cmake", "git", "rg", "jq"}

// Describe returns lines for the model about what commands reach that run in the
// sandbox that o describes. It makes no sandbox and starts no program. It returns
// nothing if o cannot be used.
func Describe(o Options) []string {
	switch {
	case o.Kind == None && o.ReadOnly:
		return nil // none runs
	case o.Kind == None:
		return []string{"commands: no sandbox, they run with all rights of the person"}
	}
	ws := realOr(o.Dir)
	lines := []string{"commands: in a sandbox; they write the workspace, TMPDIR and a private HOME, which is removed " +
		"after the session"}
	if o.ReadOnly {
		lines[0] = "commands: in a sandbox; they write TMPDIR and HOME, which are removed after the session; " +
			"the workspace is read-only"
	}
	switch o.Network {
	case AllNetwork:
		lines = append(lines, "network of commands: that of this machine")
	case Hosts:
		lines = append(lines, "network of commands: only hosts that the person listed")
	default:
		lines = append(lines, "network of commands: none: pip, npm, go cannot download; web tools and browser "+
			"reach the network"+reachesLocal(o))
	}
	if o.Kind == Docker || o.Kind == GVisor {
		return append(lines, "toolchains: those of a container image")
	}
	o.Dir = ws
	v, err := newMountView(o)
	if err != nil {
		return nil
	}
	lines = append(lines, "hidden from commands: the home directory but for toolchains"+unseenText(v.tools.unseen))
	var have []string
	for _, name := range tellers {
		if path := v.tools.lookPath(name); path != "" {
			have = append(have, strings.TrimSpace(name+" "+v.tools.versionAt(path, name, ws)))
		}
	}
	if len(have) > 0 {
		lines = append(lines, "programs: "+strings.Join(have, ", "))
	}
	return lines
}

// reachesLocal says how commands reach the person's servers on localhost.
func reachesLocal(o Options) string {
	if o.ReadOnly || o.Kind == Docker || o.Kind == GVisor {
		return ""
	}
	return "; localhost:PORT in bash reaches a server the person named"
}

// unseenText names the first directories of PATH that are hidden.
func unseenText(dirs []string) string {
	if len(dirs) == 0 {
		return ""
	}
	more := ""
	if len(dirs) > 3 {
		dirs, more = dirs[:3], " …"
	}
	return ", and of PATH " + strings.Join(dirs, " ") + more
}

// lookPath returns the path of the program that commands find under a name, or "". It may
// be a link in the private home directory.
func (t *toolchains) lookPath(name string) string {
	for _, dir := range t.path {
		if rest, ok := strings.CutPrefix(dir, "{HOME}/"); ok {
			if target := t.links[filepath.Join(rest, name)]; target != "" {
				return target
			}
			continue
		}
		if path, err := workspace.LookPath(name, []string{"PATH=" + dir}); err == nil {
			return path
		}
	}
	return ""
}

// aVersion is what is taken for a version where it stands in a file of the workspace.
var aVersion = regexp.MustCompile(`^[\w][\w.+-]{0,30}$`)

// versionAt returns the version of the program at path as far as names tell, or "".
func (t *toolchains) versionAt(path, name, ws string) string {
	real := realOr(path)
	for _, f := range t.found {
		if f.root == "" || !within(realOr(f.root), real) && !within(f.root, path) {
			continue
		}
		switch f.Name {
		case "pyenv":
			for _, file := range []string{filepath.Join(ws, ".python-version"), filepath.Join(f.root, "version")} {
				if v := firstLine(file); slices.Contains(f.Versions, v) {
					return v + " (pyenv; also " + others(f.Versions, v) + ")"
				}
			}
			return "(pyenv: " + others(f.Versions, "") + ")"
		case "cargo":
			for _, r := range t.found {
				if r.Name == "rustup" {
					return "(rustup: " + others(r.Versions, "") + ")"
				}
			}
		}
		rest := strings.TrimPrefix(real, realOr(f.root)+"/")
		for part := range strings.SplitSeq(rest, "/") {
			if slices.Contains(f.Versions, part) {
				return part
			}
		}
		if f.Name == f.Of && len(f.Versions) == 1 {
			return f.Versions[0]
		}
	}
	switch prefix := filepath.Dir(filepath.Dir(real)); name {
	case "python3":
		return strings.TrimPrefix(filepath.Base(real), "python")
	case "go":
		return strings.TrimPrefix(firstLine(filepath.Join(prefix, "VERSION")), "go")
	case "java":
		if v := versionOf(prefix); len(v) == 1 {
			return v[0]
		}
	}
	return ""
}

// others lists the first versions but for one.
func others(versions []string, but string) string {
	var list []string
	for _, v := range slices.Backward(versions) {
		v, _, _ = strings.Cut(v, "-x86_64")
		if v != but && len(list) < 4 && aVersion.MatchString(v) {
			list = append(list, v)
		}
	}
	return strings.Join(list, " ")
}

// firstLine returns the first line of a file if it looks like a version.
func firstLine(file string) string {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return ""
	}
	data, _ := os.ReadFile(file) // what cannot be read has none
	line, _, _ := strings.Cut(string(data), "\n")
	if line = strings.TrimSpace(line); !aVersion.MatchString(line) {
		return ""
	}
	return line
}
