// Package sandbox runs the commands of a workspace with fewer rights than this
// process has. They see the workspace, the toolchains of the system and private
// directories, and nothing else; they reach no network unless they are allowed
// to; and everything that they started ends with them.
//
//	ws, err := sandbox.Open(ctx, sandbox.Options{Dir: dir})
//
// # Kinds
//
// Bubblewrap makes Linux namespaces: its own processes, mounts, network, IPC and
// users, and a filter of system calls. Landlock needs no namespaces and works
// where those cannot be had, such as in many containers, but a command then has
// no loopback interface and cannot list processes. Docker and GVisor run each
// command in a container of its own. Options.Kind asks for exactly one of them,
// or leaves the choice between the first two to Open; the method Sandbox of the
// workspace reports which one is in use. If there is none, Open fails and says
// what to install: no command ever runs unprotected because a sandbox is
// missing.
//
// # Parts
//
// What the kinds share is the type base: a private directory, the mountView that
// says which files are visible, the limits, the guard, and a loop that watches
// the commands while there are any. mounts_linux.go has the list of what is
// mounted where, seccomp_linux.go the list of system calls.
//
// # Protected names
//
// What programs outside take orders from, no command may change or make: the
// names that internal/protected lists, at any depth of the workspace, and what
// git obeys in any directory that it takes for a repository. names_linux.go
// decides. With Bubblewrap and Landlock a broker prevents it (broker_linux.go):
// the kernel asks it before a command makes, writes, renames or removes a file,
// and the broker makes the call. In containers, and where the kernel cannot ask,
// a guard undoes it soon after, and always before the command is reported to
// have ended (guard_linux.go). A command that is refused gets EACCES and a line
// in its error output, which begins with "sandbox: " and says what is left to do.
//
// # Main
//
// Some parts of a sandbox are this program again, started under another name: the
// supervisor of Landlock, the forwarder to the proxy, the first process of a
// container. So a program that uses this package calls [Main] first thing in its
// main function, and its tests do so in TestMain.
//
// There are sandboxes on Linux alone. Elsewhere Open fails unless Kind is None.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/workspace"
)

// A Kind is a way to make a sandbox.
type Kind string

// The kinds. A kind other than Auto is made exactly as asked, or Open fails.
const (
	Auto       Kind = "auto"       // Bubblewrap, or if it cannot be had Landlock; Warn hears why
	Bubblewrap Kind = "bubblewrap" // namespaces and a filter of system calls
	Landlock   Kind = "landlock"   // Landlock and a filter of system calls, no namespaces
	Docker     Kind = "docker"     // a container for each command
	GVisor     Kind = "gvisor"     // the same, with a kernel of its own
	None       Kind = "none"       // no sandbox: commands have the rights of this process
)

// Kinds returns the names of all kinds.
func Kinds() []string {
	return []string{string(Auto), string(Bubblewrap), string(Landlock), string(Docker), string(GVisor),
		string(None)}
}

// A Network says what commands can connect to.
type Network string

// The networks.
const (
	NoNetwork  Network = "none"  // their own loopback interface alone
	AllNetwork Network = "allow" // whatever this machine reaches
	Hosts      Network = "hosts" // what Options.Proxy lets through
)

// Options describe a sandbox. Only Dir is required; the comment of each other
// field says what its zero value means.
type Options struct {
	Dir  string // the workspace, which must exist
	Kind Kind   // "": Auto

	// ReadOnly has commands change nothing: the workspace is read-only for them, and
	// so is everything else but devices and private directories, which are removed
	// with the sandbox: TMPDIR and HOME. A write fails with EROFS. Variables have
	// tools write there what they keep beside a project otherwise; see aside. The
	// file tools cannot write either. Only NoNetwork goes with it, and no command can
	// be given more ([workspace.Reach]). The kind None has no way to do it: no command
	// runs then, and the error says why.
	ReadOnly bool

	Network Network // "": NoNetwork

	// Proxy serves an HTTP and SOCKS5 proxy on the listener until ctx is done.
	// With the network Hosts it is the only way out, and required; otherwise
	// it is not called.
	Proxy func(ctx context.Context, l net.Listener) error

	Read []string // more files and directories that are visible, read-only

	// Toolchains says which toolchains that are not in directories of the
	// system are visible, read-only: {AutoToolchains} those that PATH, version
	// managers in the home directory and virtual environments of the workspace
	// name; nil none; else those in these directories. Containers have those of
	// their image only.
	Toolchains []string

	Hide []string // directories that neither commands nor the file tools see, wherever they are

	// Deny reports whether commands must not see a file or directory of the
	// workspace, by its slash-separated name there. They find an empty one that
	// they cannot change. The rules apply to the files that exist when a
	// command starts, or in containers when the sandbox is made; a file that
	// another program makes later is visible until the next command. A
	// workspace with more than 100,000 files is refused, and so is Landlock,
	// which cannot hide a file. nil: no file is denied.
	//
	// It is called with absolute paths too, about toolchains: what it reports
	// there is not shown.
	Deny func(name string) bool

	Env []string // KEY=VALUE, added to the environment of every command

	Memory    int64   // bytes for all commands together; 0: three quarters of the machine's
	Processes int     // processes and threads of all commands together; 0: 2048
	CPUs      float64 // processors of all commands together; 0: all
	FileSize  int64   // the longest file that a command can write, in bytes; 0: 8 GiB
	Reserve   int64   // bytes that stay free on the disk of the workspace; 0: a twentieth, at most 2 GiB

	Image   string // the image of containers; "": DefaultImage
	Engine  string // the socket of the container engine, as in DOCKER_HOST; "": Docker's own
	WorkDir string // a second path of the workspace in containers; "": none

	// NotIn are directories besides Dir that commands of an agent write, in this sandbox or
	// in another one: no program of the machine is taken from there, whatever PATH says.
	NotIn []string

	// Private is a directory for what sandboxes are made of, each in one of its own that
	// goes with it. It is made if it is missing. If it is in the workspace, or others
	// than this user and root can write on its path, a temporary directory of which
	// neither is true is used instead; that is also what "" means.
	Private string

	// ProbeCache names a file that remembers that a sandbox worked on this
	// machine since it was started, so that Open need not run a command to
	// find out. Its directory need not exist. "": Open always tries.
	ProbeCache string

	// Warn is called with what a person should know, as one line. Calls can
	// come at any time and from any goroutine until the workspace is closed.
	// nil: the warnings are lost.
	Warn func(string)

	root    fs.FileInfo // of the workspace: what commands must find there
	also    string      // another path of the workspace, by which it was asked for; "": none
	because string      // why Auto did not choose Bubblewrap; "" if it did
}

// AutoToolchains in Options.Toolchains stands for the toolchains that are found.
const AutoToolchains = "auto"

// A Toolchain is something that commands see of the tools outside of the
// directories of the system.
type Toolchain struct {
	Name     string   // of the manager or the language: "pyenv", "java"
	Of       string   // what its versions are versions of: "python"; "": it has no versions
	Versions []string // as far as names of directories and files tell
	Shown    []string // the directories and files, absolute
	Why      string   // why it is shown: "PATH names it"
}

// DefaultImage is the container image that OpenManus uses.
const DefaultImage = "python:3.12-slim"

// ErrNone matches every error which says that a sandbox cannot be had here.
var ErrNone = errors.New("no sandbox")

// Open returns the workspace o.Dir, whose commands run in the sandbox that o
// describes. [workspace.Dir.Sandbox] reports the kind that is in use: never
// Auto, and "" for None. Closing the workspace ends the commands and removes
// what the sandbox was made of.
//
// The error matches [ErrNone] if this machine cannot make the sandbox.
func Open(ctx context.Context, o Options) (*workspace.Dir, error) {
	ws, err := workspace.NewDir(o.Dir)
	if err != nil {
		return nil, err
	}
	ws.Hide(o.Hide...)
	if o.ReadOnly {
		ws.Guard = func(string) error { return errReadOnly }
	}
	if o.Kind == None {
		if o.ReadOnly {
			ws.Cage = noCommands{}
		}
		return ws, nil
	}
	if given, err := filepath.Abs(o.Dir); err == nil && given != ws.Dir() {
		o.also = given
	}
	o.Dir, o.root = ws.Dir(), ws.Identity()
	if err = o.complete(); err == nil {
		ws.Cage, err = o.newCage(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	if !o.ReadOnly {
		ws.Guard = refuseGit(ws.Dir())
	}
	return ws, nil
}

// errReadOnly is what the file tools say in a workspace that is read-only.
var errReadOnly = fmt.Errorf("the workspace is read-only in this session: %w", fs.ErrPermission)

// noCommands is the cage of a workspace that is read-only where there is no sandbox: it
// runs no command.
type noCommands struct{}

// ReadOnly is true: what does not run changes nothing, and no [workspace.Reach] helps.
func (noCommands) ReadOnly() bool { return true }

// Name implements [workspace.Cage]. There is none.
func (noCommands) Name() string { return "" }

// Contained implements [workspace.Cage].
func (noCommands) Contained() bool { return false }

// Start implements [workspace.Cage].
func (noCommands) Start(*workspace.Spawn) (workspace.Process, error) {
	return nil, fmt.Errorf("%w here that keeps commands from changing files, and this session changes none: "+
		"look at the files with the tools for that", ErrNone)
}

// Close implements [workspace.Cage].
func (noCommands) Close() error { return nil }

// outside finds programs and directories that no command of an agent writes.
func (o *Options) outside() hostexec.Finder {
	return hostexec.Outside(append([]string{o.Dir}, o.NotIn...)...)
}

// newCage makes the sandbox itself. With Auto, Landlock is tried only if
// Bubblewrap failed.
func (o Options) newCage(ctx context.Context) (workspace.Cage, error) {
	switch o.Kind {
	case Bubblewrap:
		return newBubblewrap(ctx, o)
	case Landlock:
		return newLandlock(ctx, o)
	case Docker, GVisor:
		return newContainer(ctx, o)
	case Auto, "":
	default:
		return nil, fmt.Errorf("there is no sandbox %q: choose one of %s", o.Kind, strings.Join(Kinds(), ", "))
	}
	first, err := newBubblewrap(ctx, o)
	if err == nil {
		return first, nil
	}
	o.because = strings.TrimPrefix(err.Error(), ErrNone.Error()+": ")
	second, err2 := newLandlock(ctx, o)
	if err2 == nil {
		o.Warn("the sandbox is landlock, because bubblewrap is not available: " + o.because)
		return second, nil
	}
	return nil, fmt.Errorf("%w is available, so the command was not run:\n  bubblewrap: %w\n  landlock: %w\n%s",
		ErrNone, err, err2, advice())
}

// complete checks the options and sets the defaults.
func (o *Options) complete() error {
	switch o.Network {
	case "":
		o.Network = NoNetwork
	case NoNetwork, AllNetwork:
	case Hosts:
		if o.Proxy == nil {
			return errors.New(`the network "hosts" needs a proxy that filters it, and there is none`)
		}
	default:
		return fmt.Errorf("there is no network %q: choose one of none, allow, hosts", o.Network)
	}
	if o.ReadOnly && o.Network != NoNetwork {
		return fmt.Errorf("a sandbox that is read-only has no network, and %q was asked for", o.Network)
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	o.Processes = cmp.Or(o.Processes, 2048)
	if o.FileSize == 0 {
		o.FileSize = 8 << 30
	}
	return o.measureMachine()
}
