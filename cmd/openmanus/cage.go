package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/egress"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// workspace opens the workspace in dir, with commands in a sandbox of that
// kind.
func (a *app) workspace(dir, kind string) (*workspace.Dir, error) {
	o, err := a.t.cage(a.cfg, dir, kind)
	if err != nil {
		return nil, err
	}
	return sandbox.Open(context.Background(), o)
}

// cage is the sandbox that the configuration asks for.
func (t *terminal) cage(cfg *config.Config, dir, kind string) (sandbox.Options, error) {
	c := cfg.Sandbox
	o := sandbox.Options{
		Dir: dir, Kind: sandbox.Kind(kind), Network: sandbox.Network(c.Network),
		Read: t.atHome(c.Read), Hide: []string{cfg.DataDir},
		Memory: c.Memory, CPUs: c.CPUs, Image: c.Image, WorkDir: c.WorkDir,
		ProbeCache: filepath.Join(cfg.DataDir, "sandbox.works"),
		Warn:       func(text string) { fmt.Fprintf(t.err, "openmanus: %s\n", plain(text)) },
	}
	o.Engine, _ = t.env("DOCKER_HOST")
	if o.Network != sandbox.Hosts {
		return o, nil
	}
	dialer, err := egress.New(egress.Policy{Mode: egress.Hosts, Hosts: c.Hosts, Section: "[sandbox]"})
	if err != nil {
		return o, err
	}
	o.Proxy = (&egress.Proxy{Dialer: dialer, Refused: func(err error) {
		if errors.As(err, new(*egress.Refused)) { // clients of CONNECT do not show why
			o.Warn(err.Error())
		}
	}}).Serve
	return o, nil
}

// kindOf is the kind of sandbox with which a session goes on that recorded
// name: one of this machine, whichever it has, or the one that somebody chose.
func kindOf(name string) string {
	switch sandbox.Kind(name) {
	case sandbox.None, sandbox.Docker, sandbox.GVisor:
		return name
	}
	return string(sandbox.Auto)
}

// atHome replaces ~/ at the beginning of paths.
func (t *terminal) atHome(paths []string) []string {
	home, _ := t.env("HOME")
	var out []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			p = filepath.Join(home, rest)
		}
		out = append(out, p)
	}
	return out
}
