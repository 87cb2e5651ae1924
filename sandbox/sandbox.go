// Package sandbox puts the commands of a workspace into a cage: they see the
// workspace, the toolchains of the system and nothing else, reach no network
// unless they are let, and end with everything that they started.
//
//	ws, err := sandbox.Open(ctx, sandbox.Options{Dir: dir})
//
// The cage is made with bubblewrap, or with Landlock and seccomp where
// bubblewrap or its namespaces cannot be had; containers (Docker, gVisor) are
// used if they are asked for. Where nothing can be had, Open fails and says
// what to install: a command is never run uncaged in silence.
//
// A program that uses this package calls [Main] at the beginning of its main:
// parts of a cage are this program again.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/openmanus-go/openmanus/workspace"
)

// A Kind is a way to make a cage.
type Kind string

// The kinds.
const (
	Auto       Kind = "auto"       // the first of the next two that can be had; Warn hears why it is not the first
	Bubblewrap Kind = "bubblewrap" // namespaces, seccomp
	Landlock   Kind = "landlock"   // Landlock, seccomp; no namespaces
	Docker     Kind = "docker"     // a container
	GVisor     Kind = "gvisor"     // a container with a kernel of its own
	None       Kind = "none"       // no cage
)

// Kinds are the names of all kinds.
func Kinds() []string {
	return []string{string(Auto), string(Bubblewrap), string(Landlock), string(Docker), string(GVisor), string(None)}
}

// A Network says what commands reach.
type Network string

// The networks.
const (
	NoNetwork  Network = "none"  // nothing but their own loopback interface
	AllNetwork Network = "allow" // what this machine reaches
	Hosts      Network = "hosts" // what the proxy lets through
)

// Options say what a cage is like. The zero value of a field means what its
// comment says.
type Options struct {
	Dir  string // the workspace; required
	Kind Kind   // "": Auto

	Network Network // "": NoNetwork

	// Proxy serves an HTTP and SOCKS5 proxy on the listener until ctx ends.
	// It is the only way out of the cage if Network is Hosts.
	Proxy func(ctx context.Context, l net.Listener) error

	Read []string // directories and files that are visible besides, read-only
	Hide []string // directories that are not, even where they lie below what is
	Env  []string // KEY=VALUE, added to the environment of every command

	Memory    int64   // bytes that all commands have together; 0: three quarters of the machine's
	Processes int     // processes and threads, likewise; 0: 2048
	CPUs      float64 // processors, likewise; 0: all
	FileSize  int64   // bytes that a file can grow to; 0: 8 GiB
	Reserve   int64   // bytes that must stay free on the workspace's disk; 0: a twentieth, 2 GiB at most

	Image   string // of the container; "": DefaultImage
	Engine  string // the socket of the container engine, as DOCKER_HOST has it; "": Docker's own
	WorkDir string // where the workspace is in the container besides; "": nowhere else

	// ProbeCache names a file in which it is remembered that a sandbox worked on
	// this machine since it was started, so that it is not tried out each
	// time. Its directory need not exist. "": Open tries.
	ProbeCache string

	// Warn, if it is not nil, is told what a person should know. It may be
	// called at any time, from any goroutine, until the workspace is closed.
	Warn func(string)

	because string // why it is this kind and not the one before it, if that is Auto's choice
}

// DefaultImage is the container image that is used if none is named: that of
// OpenManus.
const DefaultImage = "python:3.12-slim"

// ErrNone is in every error that says that a cage cannot be had.
var ErrNone = errors.New("no sandbox")

// Open returns the workspace o.Dir. Its commands run in the cage that o asks
// for; [workspace.Dir.Sandbox] names it.
func Open(ctx context.Context, o Options) (*workspace.Dir, error) {
	ws, err := workspace.NewDir(o.Dir)
	if err != nil {
		return nil, err
	}
	if o.Kind == None {
		return ws, nil
	}
	o.Dir = ws.Dir()
	if err := o.complete(); err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	cage, err := o.cage(ctx)
	if err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	ws.Cage, ws.Guard = cage, refuseProtected
	return ws, nil
}

// cage makes the cage that o asks for.
func (o Options) cage(ctx context.Context) (workspace.Cage, error) {
	switch o.Kind {
	case Bubblewrap:
		return newBubblewrap(ctx, o)
	case Landlock:
		return newLandlock(ctx, o)
	case Docker, GVisor:
		return newContainer(ctx, o)
	case Auto, "":
	default:
		return nil, fmt.Errorf("there is no sandbox %q; there are %s", o.Kind, strings.Join(Kinds(), ", "))
	}
	first, err := newBubblewrap(ctx, o)
	if err == nil {
		return first, nil
	}
	o.because = strings.TrimPrefix(err.Error(), ErrNone.Error()+": ")
	second, err2 := newLandlock(ctx, o)
	if err2 == nil {
		o.Warn("the sandbox is landlock, since bubblewrap cannot be had: " + o.because)
		return second, nil
	}
	return nil, fmt.Errorf("%w can be had here, so nothing was run:\n  bubblewrap: %w\n  landlock: %w\n%s", ErrNone, err, err2, advice())
}

func (o *Options) complete() error {
	switch o.Network {
	case "":
		o.Network = NoNetwork
	case NoNetwork, AllNetwork:
	case Hosts:
		if o.Proxy == nil {
			return errors.New(`the sandbox's network is "hosts", and there is no proxy to filter it`)
		}
	default:
		return fmt.Errorf("there is no network %q; there are none, allow, hosts", o.Network)
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Processes == 0 {
		o.Processes = 2048
	}
	if o.FileSize == 0 {
		o.FileSize = 8 << 30
	}
	return o.machine()
}
