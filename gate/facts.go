package gate

import (
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// facts are what is known of a call before it runs.
type facts struct {
	tool      string
	script             // of a shell's command
	paths     []string // slash-separated: relative to the workspace, or absolute if outside
	real      []string // those of them that links lead to
	named     []string // words of a script that may be paths
	hosts     []string
	edits     bool // it changes files of the workspace, and nothing else
	changes   bool // it may change something
	destroys  bool
	protected bool // it may change what programs outside a sandbox obey
}

// touched are the paths that a call may be about.
func (f facts) touched() []string { return slices.Concat(f.paths, f.real, f.named, f.writes) }

// The tools that run what the model writes. The argument "command" of the
// first is a script.
const (
	shellTool  = "bash"
	pythonTool = "python_execute"
)

// look finds out what a call does. dir is the workspace.
func look(dir string, call openmanus.Call, h openmanus.Hints) facts {
	f := facts{tool: call.Name, edits: h.Edits, changes: !h.ReadOnly, destroys: h.Destructive}
	var args map[string]any
	if json.Unmarshal([]byte(call.Input), &args) != nil {
		return f // arguments are an object: they were checked
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		f.argument(dir, name, args[name])
	}
	for _, p := range f.paths {
		if real := resolved(dir, p); real != p {
			f.real = append(f.real, real)
		}
	}
	f.protected = f.changes && slices.ContainsFunc(slices.Concat(f.paths, f.real), Protected)
	return f
}

// argument looks at one argument.
func (f *facts) argument(dir, name string, value any) {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			f.argument(dir, strings.TrimSuffix(name, "s"), e)
		}
	case string:
		switch {
		case f.tool == shellTool && name == "command":
			f.script = readScript(v, 0)
			f.words(dir)
		case slices.Contains([]string{"path", "file_path", "file", "filename", "directory", "dir", "folder", "destination", "source"}, name):
			f.paths = append(f.paths, relative(dir, v))
		case slices.Contains([]string{"host", "hostname", "domain"}, name):
			f.hosts = append(f.hosts, strings.ToLower(v))
		default:
			f.url(v)
		}
	}
}

// words finds paths and hosts among the words of a script.
func (f *facts) words(dir string) {
	for i, w := range f.writes {
		f.writes[i] = relative(dir, w)
	}
	for _, c := range f.commands {
		for _, w := range c.words[min(1, len(c.words)):] {
			f.url(w)
			_, value, ok := strings.Cut(w, "=") // --file=name
			if !ok {
				value = w
			}
			if value != "" && !strings.HasPrefix(value, "-") && !strings.Contains(value, "://") {
				f.named = append(f.named, relative(dir, value))
			}
		}
	}
}

// url finds the host of an address.
func (f *facts) url(text string) {
	if !strings.Contains(text, "://") {
		return
	}
	if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
		f.hosts = append(f.hosts, strings.ToLower(u.Hostname()))
	}
}

// relative is how rules call the file name: from the workspace dir, if it is
// in there.
func relative(dir, name string) string {
	p := filepath.FromSlash(name)
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	rel, err := filepath.Rel(dir, filepath.Clean(p))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(filepath.Clean(p))
	}
	return filepath.ToSlash(rel)
}

// resolved is name with the symbolic links on its way followed, as far as it
// exists.
func resolved(dir, name string) string {
	p := filepath.FromSlash(name)
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	rest := ""
	for at := p; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			if home, err := filepath.EvalSymlinks(dir); err == nil {
				dir = home
			}
			return relative(dir, filepath.Join(real, rest))
		}
		if at == filepath.Dir(at) {
			return name
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// Protected reports whether the file or directory name, slash-separated and
// relative to a workspace, is one that programs outside a sandbox read and
// obey: what git, shells, editors and agents run when they are started there.
// Whoever may write it may run what they like later.
func Protected(name string) bool {
	name = strings.ToLower(path.Clean(name))
	for at := name; at != "." && at != "/"; at = path.Dir(at) {
		base := path.Base(at)
		if slices.Contains([]string{".git", ".vscode", ".idea", ".fleet", ".zed", ".claude", ".cursor", ".codex", ".gemini", ".openmanus", ".husky", ".devcontainer", ".direnv"}, base) {
			return true
		}
	}
	base := path.Base(name)
	return slices.Contains([]string{".gitmodules", ".gitconfig", ".gitattributes", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".inputrc", ".envrc", ".npmrc", ".pypirc", ".netrc", ".mcp.json", "mcp.json", "openmanus.toml", ".ripgreprc",
		".tool-versions", "sitecustomize.py", "usercustomize.py"}, base) || strings.HasSuffix(base, ".code-workspace") || strings.HasSuffix(base, ".pth")
}
