package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/sandbox/egress"
	"github.com/openmanus-go/openmanus/workspace"
)

// Workspace opens the workspace dir. Its commands run in a sandbox of the given
// kind with the settings of cfg. The caller closes it. The error is that of
// [Env.CheckWorkspace] if dir is refused.
func (e Env) Workspace(ctx context.Context, cfg *config.Config, dir, kind string) (*workspace.Dir, error) {
	if err := e.checkOwnUser(cfg, dir); err != nil {
		return nil, err
	}
	return e.openWorkspace(ctx, cfg, openmanus.Spec{Workspace: dir, SandboxKind: kind})
}

// workspaceOf is Workspace for the sessions of a spec.
func (e Env) workspaceOf(ctx context.Context, cfg *config.Config, spec openmanus.Spec) (*workspace.Dir, error) {
	if err := e.checkOwnUser(cfg, spec.Workspace); err != nil {
		return nil, err
	}
	return e.openWorkspace(ctx, cfg, spec)
}

// openWorkspace is Workspace for the sessions of a spec, in a directory that need not be
// one to work in.
func (e Env) openWorkspace(ctx context.Context, cfg *config.Config, spec openmanus.Spec) (*workspace.Dir, error) {
	dir := spec.Workspace
	o, err := e.Sandbox(cfg, dir, spec.SandboxKind)
	if err != nil {
		return nil, mistake(err)
	}
	o.Read = append(o.Read, borrowed(spec)...)
	if spec.Worktree != nil {
		o.NotIn = append(o.NotIn, spec.Worktree.Repository)
	}
	if commandsLook(spec) {
		shut(&o)
	}
	if err := checkDir(cfg, dir); err != nil {
		return nil, err
	}
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse("the workspace %s is not there: make it, or name another with --workspace", dir)
	}
	if err != nil {
		return nil, mistake(err)
	}
	g, err := e.Gate(cfg, gate.Options{Workspace: real})
	if err != nil {
		return nil, err
	}
	if g.DeniesPaths() {
		o.Deny = g.DeniesPath
	}
	ws, err := sandbox.Open(ctx, o)
	if err != nil {
		return nil, mistake(err)
	}
	restrict(ws, g)
	return ws, nil
}

// shut has the commands of a sandbox change nothing. They have no network then, also
// where others have one: by it they could.
func shut(o *sandbox.Options) { o.ReadOnly, o.Network, o.Proxy = true, sandbox.NoNetwork, nil }

// restrict keeps from the tools of a workspace the files that rules of g deny,
// however a tool comes across them.
func restrict(ws *workspace.Dir, g *gate.Gate) {
	if !g.HasPathRules() {
		return
	}
	ws.Access = func(name string) workspace.Access {
		switch {
		case g.DeniesPath(name):
			return workspace.Hidden
		case g.AsksAboutPath(name):
			return workspace.ByName
		}
		return workspace.Free
	}
	guard := ws.Guard
	ws.Guard = func(name string) error {
		if g.DeniesEdit(name) {
			return fmt.Errorf("a rule denies changes of it: %w", fs.ErrPermission)
		}
		if guard == nil {
			return nil
		}
		return guard(name)
	}
}

// Files opens the workspace dir for reading and writing its files, without
// commands and without the program's own directories. The caller closes it.
func (e Env) Files(cfg *config.Config, dir string) (*workspace.Dir, error) {
	if err := checkDir(cfg, dir); err != nil {
		return nil, err
	}
	ws, err := workspace.NewDir(dir)
	if err == nil {
		ws.Hide(e.ownDirs(cfg)...)
	}
	return ws, err
}

// Sandbox returns the options of the sandbox that cfg describes, for commands in
// dir. The program's own directories are hidden: they have keys, approvals and all
// sessions. One that dir contains and that does not exist is made, so that
// commands cannot make it. If only some hosts may be reached, the options have a
// proxy that lets these through and warns of others.
func (e Env) Sandbox(cfg *config.Config, dir, kind string) (sandbox.Options, error) {
	c, own := cfg.Sandbox, e.ownDirs(cfg)
	for _, o := range own {
		if placeOf(o).in(dir) {
			if err := os.MkdirAll(o, 0o700); err != nil {
				return sandbox.Options{}, err
			}
		}
	}
	o := sandbox.Options{
		Dir: dir, Kind: sandbox.Kind(kind), Network: sandbox.Network(c.Network),
		Read: e.atHome(c.Read), Toolchains: e.atHome(c.Toolchains), Hide: own,
		Memory: c.Memory, CPUs: c.CPUs, Image: c.Image, WorkDir: c.WorkDir,
		NotIn:      agentDirs(cfg, e.Dir),
		Private:    filepath.Join(cfg.DataDir, "sandboxes"),
		ProbeCache: filepath.Join(cfg.DataDir, "sandbox.works"),
		Warn:       e.Warn,
	}
	if slices.Equal(o.Toolchains, []string{"none"}) {
		o.Toolchains = nil
	}
	o.Engine, _ = e.lookup("DOCKER_HOST")
	if o.Network != sandbox.Hosts {
		return o, nil
	}
	dialer, err := egress.New(egress.Policy{Mode: egress.Hosts, Hosts: c.Hosts, Section: "[sandbox]"})
	if err != nil {
		return o, err
	}
	rules, err := e.Gate(cfg, gate.Options{})
	if err != nil {
		return o, err
	}
	// The list of hosts says whom commands may ask; only rules that deny are left.
	dialer.Judge = func(host string, _ bool) error { return rules.CheckHost(host, true) }
	o.Proxy = (&egress.Proxy{Dialer: dialer, Refused: func(err error) {
		if errors.As(err, new(*egress.Refused)) { // clients that use CONNECT do not show the reason
			e.warnf("%s", err)
		}
	}}).Serve
	return o, nil
}

// atHome replaces ~/ at the beginning of paths by the user's home directory.
func (e Env) atHome(paths []string) []string {
	home := e.home()
	var out []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			p = filepath.Join(home, rest)
		}
		out = append(out, p)
	}
	return out
}
