package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Explain says in words what commands can and cannot do in the cage that o asks
// for. It makes one to know.
func Explain(ctx context.Context, o Options) (text string, err error) {
	ws, err := Open(ctx, o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, ws.Close()) }()
	switch cage := ws.Cage.(type) {
	case *bubblewrap:
		return cage.explain(cage.Name(), "Namespaces of their own for processes, network, IPC, mounts and users; a list of system calls; no privileges."), nil
	case *landlock:
		return cage.explain(cage.Name(), "Landlock, a list of system calls, no privileges. No namespaces: /proc and sockets are closed instead, so a server on localhost does not work."), nil
	case *container:
		how := "A container of the image " + cage.o.Image + " for each command: no capabilities, no new privileges, not root, its own file system read-only, a list of system calls."
		if cage.kind == GVisor {
			how = "gVisor, a kernel of its own. " + how
		}
		return cage.explain(cage.Name(), how), nil
	}
	return "There is no sandbox: commands can do whatever you can do.\n", nil
}

func (base *base) explain(name, how string) string {
	var b strings.Builder
	say := func(head string, lines ...string) {
		fmt.Fprintf(&b, "%s\n", head)
		for _, l := range lines {
			fmt.Fprintf(&b, "  %s\n", l)
		}
		b.WriteString("\n")
	}
	if base.o.because != "" {
		how += "\n  It was chosen since bubblewrap cannot be had: " + base.o.because
	}
	say("The sandbox is "+name+".", how, "Whatever a command started dies with it, and with this program.")
	say("Commands write", base.view.ws+" (the workspace)", base.view.home+" (HOME, private, gone afterwards)", "a temporary directory of their own")
	etc := "what programs need of /etc: certificates, time zone, loader, no accounts or keys"
	if base.limits == nil {
		etc = "the image"
	}
	say("Commands read besides", append(slices.Clone(base.view.read), etc)...)
	say("They see nothing else: not your home directory, not other disks, not other processes.")
	say("They may not change, nor make, what programs outside take orders from:", wrap(protected)+", and in a git directory "+wrap(protectedInGit)+".",
		"Where this cannot be mounted read-only, it is put back as soon as it changes.")
	network := map[Network]string{
		NoNetwork: "none, but their own loopback interface", Hosts: "the hosts that are listed, through a proxy, and nothing else",
		AllNetwork: "whatever this machine reaches; you are asked about each command",
	}[base.o.Network]
	say("Network: " + network + ".")
	who, by := "All commands together have", "by the container engine"
	if base.limits == nil {
		who = "Each command has"
	} else {
		by = base.limits.describe()
	}
	cpus := "all processors"
	if base.o.CPUs > 0 {
		cpus = fmt.Sprintf("%g processors", base.o.CPUs)
	}
	say(who, fmt.Sprintf("%d MB of memory, %d processes, %s (%s)", base.o.Memory>>20, base.o.Processes, cpus, by),
		fmt.Sprintf("files of at most %d MB, and %d MB stay free on the disk", base.o.FileSize>>20, base.o.Reserve>>20))
	var names []string
	for _, kv := range base.env {
		key, _, _ := strings.Cut(kv, "=")
		names = append(names, key)
	}
	say("Their environment has", wrap(names))
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func wrap(words []string) string { return strings.Join(words, ", ") }
