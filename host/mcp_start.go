package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/mcp"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// How MCP servers that are programs start.
//
// A server runs with the rights of the person, and often with a key. Interpreters and
// package managers obey what they find where they start: modules, package.json, .npmrc,
// pyproject.toml. A workspace has files of strangers and of the agent. So a server starts
// in a directory of its own, outside; the workspace is told to it as a root. Only its own
// entry names another directory.

// caged reports whether servers that are programs run in the sandbox. There they have the
// rights of commands.
func caged(cfg *config.Config) bool {
	return cfg.MCP.Sandbox && cfg.Sandbox.Kind != string(sandbox.None)
}

// serverFinder finds the program of a server, and what it may load. The person named it,
// so it may be in a virtual environment that is not the workspace's.
func serverFinder(s config.MCPServer, more ...string) hostexec.Finder {
	if s.Found {
		more = append(more, homeOf(s))
	}
	f := hostexec.Outside(more...)
	f.Projects, f.List = true, s.Env["PATH"]
	return f
}

// homeOf returns the workspace in which the file of a server was found. Paths on the
// command line begin at it.
func homeOf(s config.MCPServer) string {
	dir := filepath.Dir(s.Source.Name)
	if s.Found && filepath.Base(dir) == "config" { // config/mcp.json
		dir = filepath.Dir(dir)
	}
	return dir
}

// absolute makes paths on the command line absolute, since the server starts elsewhere:
// those of files that are there, and for a server that was found in a workspace those of
// directories that are written as paths. A server with a directory of its own finds them
// itself.
func absolute(s config.MCPServer) config.MCPServer {
	if s.URL != "" {
		return s
	}
	home := cmp.Or(s.Dir, homeOf(s))
	if strings.ContainsAny(s.Command, `/\`) && !filepath.IsAbs(s.Command) {
		s.Command = filepath.Join(home, s.Command)
	}
	if s.Dir != "" {
		return s
	}
	s.Args = slices.Clone(s.Args)
	for i, arg := range s.Args {
		if filepath.IsAbs(arg) || strings.HasPrefix(arg, "-") || !strings.ContainsAny(arg, `./\`) {
			continue // a word such as test is more often a command than a file
		}
		path := filepath.Join(home, arg)
		info, err := os.Stat(path)
		if err == nil && (info.Mode().IsRegular() || info.IsDir() && s.Found && dotted.MatchString(arg)) {
			s.Args[i] = path
		}
	}
	return s
}

// dotted matches what is written as the path of a directory.
var dotted = regexp.MustCompile(`^\.{1,2}([/\\]|$)`)

// resolved says what the command line of a server that was found in a workspace stands
// for at this moment: the program, and the files of the workspace with their content. An
// approval is of exactly that. s is expanded.
func resolved(s config.MCPServer) []string {
	home := hostexec.RealPath(homeOf(s))
	s = absolute(s)
	f := serverFinder(s)
	var list []string
	path, err := f.Look(s.Command)
	if err != nil {
		list = append(list, "its program is not there: "+err.Error())
	} else {
		list = append(list, "runs "+path)
	}
	words := append([]string{path}, s.Args...)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		words = append(words, strings.FieldsFunc(s.Env[name], func(r rune) bool {
			return r == filepath.ListSeparator || r == ' ' || r == ','
		})...)
	}
	if s.Dir != "" {
		words = append(words, s.Dir)
	}
	for _, w := range words {
		if _, value, ok := strings.Cut(w, "="); ok { // --config=FILE
			words = append(words, value)
		}
	}
	for _, w := range words {
		if w == "" {
			continue
		}
		if !filepath.IsAbs(w) {
			w = filepath.Join(cmp.Or(s.Dir, homeOf(s)), w)
		}
		real := hostexec.RealPath(w)
		if in, err := filepath.Rel(home, real); err != nil || !filepath.IsLocal(in) {
			continue
		}
		info, err := os.Stat(real)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			w = "with whatever is in " + real
		case info.Mode().IsRegular():
			w = "with the content of " + real + " (" + digest(real) + ")"
		}
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// digest returns a hash of a file's content, or why there is none.
func digest(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("sha256 %x", h.Sum(nil)[:16])
}

// started returns how a server is started. It is expanded, and c is it as package mcp has
// it. In the sandbox only its directory is another, which the client knows.
func (e Env) started(cfg *config.Config, s config.MCPServer, c mcp.ServerConfig) (mcp.ServerConfig, error) {
	if s.URL != "" {
		return c, nil
	}
	s = absolute(s)
	c.Command, c.Args, c.Env = s.Command, s.Args, map[string]string{}
	name, safe, _ := strings.Cut(hostexec.SafePython, "=")
	c.Env[name] = safe
	f := serverFinder(s, agentDirs(cfg, e.Dir)...)
	if !caged(cfg) {
		if path, err := f.Look(s.Command); err == nil { // startCheck says why it is not there
			c.Command = path
		}
		if dir := scriptDir(s.Args, f); dir != "" {
			c.Env["PYTHONPATH"] = dir
		}
		c.Env["PATH"] = f.Clean(cmp.Or(s.Env["PATH"], os.Getenv("PATH")))
	}
	if tmp := os.Getenv("TMPDIR"); tmp != "" && !caged(cfg) && f.Within(tmp) != "" {
		var err error
		if c.Env["TMPDIR"], err = f.Dir(); err != nil {
			return c, err
		}
	}
	for k, v := range s.Env {
		if k != "PATH" || caged(cfg) {
			c.Env[k] = v
		}
	}
	if c.Dir != "" || caged(cfg) {
		return c, nil
	}
	for _, arg := range s.Args {
		if dotted.MatchString(arg) {
			e.warnf("mcp: %s: %q on its command line is now below a directory of its own, and not the workspace: name a whole path, or a \"cwd\"", s.Name, arg)
		}
	}
	var err error
	c.Dir, err = e.serverDir(cfg, s.Name, c.ID)
	return c, err
}

// scriptDir returns the directory of a script in Python on the command line, for the
// modules beside it, which a Python that is safe does not load by itself. It is "" if
// others can write there.
func scriptDir(args []string, f hostexec.Finder) string {
	for _, arg := range args {
		if filepath.IsAbs(arg) && strings.HasSuffix(arg, ".py") {
			return f.Clean(filepath.Dir(hostexec.RealPath(arg)))
		}
	}
	return ""
}

// serverDir makes the directory in which a server starts: outside of every workspace,
// empty at first, and the same each time, so that a server finds what it wrote there.
func (e Env) serverDir(cfg *config.Config, name, id string) (string, error) {
	letters := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, name)
	own := fmt.Sprintf("%.40s-%x", letters, sha256.Sum256([]byte(name+" "+id)))[:min(40, len(letters))+13]
	var wanted []string
	if cfg.DataDir != "" {
		wanted = append(wanted, filepath.Join(cfg.DataDir, "mcp", "servers", own))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		wanted = append(wanted, filepath.Join(cache, "openmanus", "servers", own))
	}
	for _, temporary := range []string{os.TempDir(), "/var/tmp"} { // if it is another user's, it does not do
		wanted = append(wanted, filepath.Join(temporary, fmt.Sprintf("openmanus-%d", os.Getuid()), own))
	}
	dir, err := hostexec.Outside(agentDirs(cfg, e.Dir)...).Dir(wanted...)
	if err == nil && filepath.Base(dir) != own {
		err = fmt.Errorf("there is no place for a directory of its own: each of %s is in a workspace, or others can write it", strings.Join(wanted, ", "))
	}
	return dir, err
}

// ownDir returns the directory in which a caged server starts: one of the cage, which no
// command of a session writes.
func ownDir(runner workspace.Runner) string {
	ws, ok := runner.(*workspace.Dir)
	if !ok || ws.Cage == nil {
		return ""
	}
	if home, ok := ws.Cage.(interface{ Home() string }); ok {
		return home.Home()
	}
	return ""
}

// errChanged says that a server that a person approved is another one now.
var errChanged = errors.New("what it runs has changed since it was approved")

// startCheck returns a check that is made before each start of a server: its program is
// there, what its command line stands for is what was approved, and it runs what it ran
// then. current returns the
// servers as they are configured; nil: they were approved just now.
func (e Env) startCheck(cfg *config.Config, current func() []config.MCPServer) func(context.Context, mcp.ServerConfig) error {
	return func(_ context.Context, c mcp.ServerConfig) error {
		if current != nil {
			for _, s := range current() {
				if s.Name == c.Name && s.Found && c.ID != "" && ServerConfig(s).ID != c.ID {
					return fmt.Errorf("%w: openmanus mcp approve %s", errChanged, c.Name)
				}
			}
		}
		if caged(cfg) {
			return nil
		}
		f := hostexec.Outside(agentDirs(cfg, e.Dir)...)
		f.Projects = true
		if _, err := f.Look(c.Command); err != nil {
			return err
		}
		key := serverKey(cfg, c)
		if key == "" {
			return nil
		}
		changed, err := bindings(cfg).Holds(key, c.Shown(), e.serverRuns(cfg, c))
		if err == nil && changed != "" {
			err = fmt.Errorf("%w: %s; if that is as it should be: openmanus mcp approve %s", errChanged, changed, c.Name)
		}
		return err
	}
}
