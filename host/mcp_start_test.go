package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/mcp"
)

// A place with a workspace, whose mcp.json names servers.
type serverPlace struct {
	t   *testing.T
	ws  string
	cfg *config.Config
	env Env
}

func newServerPlace(t *testing.T) *serverPlace {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &serverPlace{t: t, ws: filepath.Join(top, "ws"), cfg: &config.Config{DataDir: filepath.Join(top, "data")}}
	p.cfg.Run.Workspace = p.ws
	p.env = Env{Dir: p.ws, Lookup: os.LookupEnv}
	p.write("server.py", "print()")
	return p
}

func (p *serverPlace) write(name, text string) string {
	p.t.Helper()
	file := filepath.Join(p.ws, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		p.t.Fatal(err)
	}
	return file
}

// found is a server that the workspace's file names.
func (p *serverPlace) found(command string, args ...string) config.MCPServer {
	return config.MCPServer{Name: "s", Found: true, Command: command, Args: args,
		Source: config.Source{From: config.File, Name: filepath.Join(p.ws, "mcp.json")}}
}

// An approval is of what the command line stands for: a change of that makes it another
// server, and a change of what it does not name does not.
func TestAnApprovalIsOfWhatRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		server func(p *serverPlace) config.MCPServer
		change func(p *serverPlace)
		same   bool
	}{
		{"a script", func(p *serverPlace) config.MCPServer { return p.found("sh", "server.py") },
			func(p *serverPlace) { p.write("server.py", "other") }, false},
		{"a script by a path", func(p *serverPlace) config.MCPServer { return p.found("sh", "./server.py") },
			func(p *serverPlace) { p.write("server.py", "other") }, false},
		{"a script by a whole path", func(p *serverPlace) config.MCPServer { return p.found("sh", filepath.Join(p.ws, "server.py")) },
			func(p *serverPlace) { p.write("server.py", "other") }, false},
		{"a script behind a link", func(p *serverPlace) config.MCPServer {
			p.write("real/a.py", "a")
			if err := os.Symlink("real/a.py", filepath.Join(p.ws, "link.py")); err != nil {
				p.t.Fatal(err)
			}
			return p.found("sh", "link.py")
		}, func(p *serverPlace) { p.write("real/a.py", "b") }, false},
		{"a script that comes to be", func(p *serverPlace) config.MCPServer { return p.found("sh", "new.py") },
			func(p *serverPlace) { p.write("new.py", "x") }, false},
		{"an option", func(p *serverPlace) config.MCPServer {
			p.write("c.json", "{}")
			return p.found("sh", "--config=c.json")
		},
			func(p *serverPlace) { p.write("c.json", "[]") }, false},
		{"a variable", func(p *serverPlace) config.MCPServer {
			s := p.found("sh")
			s.Env = map[string]string{"NODE_OPTIONS": "--require ./hook.js"}
			p.write("hook.js", "1")
			return s
		}, func(p *serverPlace) { p.write("hook.js", "2") }, false},
		{"the program itself", func(p *serverPlace) config.MCPServer { p.write("bin/run", "#!/bin/sh"); return p.found("bin/run") },
			func(p *serverPlace) { p.write("bin/run", "#!/bin/bash") }, false},
		{"below its own directory", func(p *serverPlace) config.MCPServer {
			s := p.found("sh", "a.py")
			s.Dir = filepath.Join(p.ws, "sub")
			p.write("sub/a.py", "1")
			return s
		}, func(p *serverPlace) { p.write("sub/a.py", "2") }, false},
		{"a file that it does not name", func(p *serverPlace) config.MCPServer { return p.found("sh", "server.py") },
			func(p *serverPlace) { p.write("other.py", "x") }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newServerPlace(t)
			s := c.server(p)
			before := ServerConfig(s)
			if again := ServerConfig(s); again.ID != before.ID {
				t.Error("the same server has two identities")
			}
			check := p.env.startCheck(p.cfg, func() []config.MCPServer { return []config.MCPServer{s} })
			started, err := p.env.Expand(p.cfg, s)
			if err != nil {
				t.Fatal(err)
			}
			if err := check(t.Context(), started); err != nil {
				t.Error(err)
			}
			c.change(p)
			if now := ServerConfig(s); (now.ID == before.ID) != c.same {
				t.Errorf("before: %s\nnow: %s", before.Shown(), now.Shown())
			}
			if err := check(t.Context(), started); (err == nil) != c.same {
				t.Errorf("it starts again: %v", err)
			}
		})
	}
}

// Where programs start, and with what.
func TestHowAServerStarts(t *testing.T) {
	p := newServerPlace(t)
	venv := p.write(".venv/bin/sh", "#!/bin/sh")
	p.write(".venv/bin/only", "#!/bin/sh")
	t.Setenv("PATH", filepath.Dir(venv)+":"+os.Getenv("PATH"))
	start := func(s config.MCPServer) mcp.ServerConfig {
		t.Helper()
		c, err := p.env.Expand(p.cfg, s)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := start(p.found("sh", "server.py", "test", "./.venv", "-x"))
	if !filepath.IsAbs(c.Command) || c.Command == venv || strings.Contains(c.Env["PATH"], p.ws) || c.Env["PYTHONSAFEPATH"] != "1" {
		t.Errorf("%+v", c)
	}
	if want := []string{filepath.Join(p.ws, "server.py"), "test", filepath.Join(p.ws, ".venv"), "-x"}; !slices.Equal(c.Args, want) {
		t.Errorf("its arguments are %q, want %q", c.Args, want)
	}
	if c.Env["PYTHONPATH"] != "" {
		t.Errorf("it loads modules of the workspace: %s", c.Env["PYTHONPATH"])
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil || len(entries) > 0 || hostexec.Outside(p.ws).Within(c.Dir) != "" {
		t.Errorf("it starts in %s, which has %v, %v", c.Dir, entries, err)
	}
	if again := start(p.found("sh", "server.py", "test", "./.venv", "-x")); again.Dir != c.Dir {
		t.Errorf("it starts in another directory: %s", again.Dir)
	}
	own := p.found("sh")
	own.Found, own.Dir, own.Env = false, p.ws, map[string]string{"PYTHONSAFEPATH": "", "A": "b"}
	if c = start(own); c.Dir != p.ws || c.Env["PYTHONSAFEPATH"] != "" || c.Env["A"] != "b" {
		t.Errorf("what its entry says does not count: %+v", c)
	}
	only := start(p.found("only"))
	if err := p.env.startCheck(p.cfg, nil)(t.Context(), only); err == nil || !strings.Contains(err.Error(), "only is not used, because it is in "+p.ws) {
		t.Errorf("a program that is only in the workspace: %v", err)
	}
	p.cfg.DataDir = filepath.Join(p.ws, "data")
	t.Setenv("TMPDIR", p.ws)
	if c = start(p.found("sh")); hostexec.Outside(p.ws).Within(c.Dir) != "" {
		t.Errorf("it starts in the workspace: %s", c.Dir)
	}
}
