package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/protected"
)

// Explain returns a text for people about what commands can and cannot do in the
// sandbox that o describes. It makes the sandbox to find out, and removes it
// again.
func Explain(ctx context.Context, o Options) (text string, err error) {
	ws, err := Open(ctx, o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, ws.Close()) }()
	switch s := ws.Cage.(type) {
	case *bubblewrap:
		return s.explain(s.Name(),
			"Commands have namespaces of their own for processes, network, IPC, mounts and users,",
			"a list of allowed system calls, and no privileges."), nil
	case *landlock:
		return s.explain(s.Name(),
			"Landlock limits the files that commands reach. They have a list of allowed system calls and no",
			"privileges. There are no namespaces: /proc and sockets are closed instead, so a server on localhost",
			"does not work."), nil
	case *container:
		how := []string{
			"Each command has a container of the image " + s.o.Image + ": no capabilities, no new privileges,",
			"not root, a read-only file system, a list of allowed system calls.",
		}
		if s.kind == GVisor {
			how = append(how, "It has a kernel of its own, gVisor.")
		}
		return s.explain(s.Name(), how...), nil
	}
	return "There is no sandbox: commands can do whatever you can do.\n", nil
}

// explain returns the text. A blank line parts its sections, each of which has a
// heading and indented lines.
func (b *base) explain(name string, how ...string) string {
	if b.o.because != "" {
		how = append(how, "It was chosen because bubblewrap is not available: "+b.o.because)
	}
	sections := [][]string{
		append(append([]string{"The sandbox is " + name + "."}, how...),
			"Everything that a command started ends with it, and with this program."),
		b.explainWriting(),
		b.explainReading(),
		b.explainToolchains(),
		{"They see nothing else: not the rest of your home directory, no other disks, no other processes."},
		b.explainProtected(),
		{"Network: " + map[Network]string{
			NoNetwork:  "none, except their own loopback interface",
			Hosts:      "the listed hosts, through a proxy, and nothing else",
			AllNetwork: "everything that this machine reaches; you are asked about each command",
		}[b.o.Network] + "."},
		b.explainLimits(),
		{"Their environment has:", strings.Join(b.variables(), ", ")},
	}
	var text []string
	for _, s := range sections {
		text = append(text, strings.Join(s, "\n  "))
	}
	return strings.Join(text, "\n\n") + "\n"
}

func (b *base) explainWriting() []string {
	lines := []string{"Commands can write:", b.view.ws + " (the workspace)",
		b.view.home + " (HOME: private, removed afterwards)", "a temporary directory of their own"}
	if b.o.ReadOnly {
		return slices.Delete(lines, 1, 2)
	}
	return lines
}

// explainProtected lists the protected names, a line for each class.
func (b *base) explainProtected() []string {
	lines := []string{"They cannot change or make these names, which programs outside obey, in any directory:"}
	for _, r := range protected.Rules() {
		class := r.Class + ": "
		switch last := len(lines) - 1; {
		case !r.Protected:
		case strings.HasPrefix(lines[last], class):
			lines[last] += ", " + r.Pattern
		default:
			lines = append(lines, class+r.Pattern)
		}
	}
	lines = append(lines, "git: in any git directory what committing does not need: "+
		strings.Join(protectedInGit, ", ")+" …")
	if b.prevents {
		return append(lines, "A command that tries gets \"Permission denied\", and a line that says so.")
	}
	return append(lines, "Where these cannot be mounted read-only, any change is undone at once.")
}

func (b *base) explainReading() []string {
	etc := "what programs need of /etc: certificates, the time zone, the loader, but no accounts or keys"
	if b.limits == nil {
		etc = "the image"
	}
	read := slices.DeleteFunc(slices.Clone(b.view.read), func(path string) bool {
		return slices.Contains(b.view.tooled, path)
	})
	return append(append([]string{"Commands can also read:"}, read...), etc)
}

// explainToolchains lists the toolchains, and the directories of PATH that commands
// do not see.
func (b *base) explainToolchains() []string {
	t := b.view.tools
	switch {
	case b.limits == nil:
		return []string{"Your toolchains are not shown: commands have those of the image."}
	case len(b.o.Toolchains) == 0:
		return []string{"Toolchains outside of the system's directories are not shown: [sandbox] toolchains is none."}
	}
	lines := []string{"Of your toolchains they see, read-only:"}
	if len(t.found) == 0 {
		lines[0] = "There is no toolchain outside of the system's directories."
	}
	for _, f := range t.found {
		line := f.Name
		if len(f.Versions) > 0 && f.Name == f.Of {
			line += " " + strings.Join(f.Versions, ", ")
		} else if len(f.Versions) > 0 {
			line += " (" + f.Of + " " + strings.Join(f.Versions, ", ") + ")"
		}
		lines = append(lines, line+", because "+f.Why+":")
		for _, path := range f.Shown {
			lines = append(lines, "  "+path)
		}
	}
	for _, dir := range t.unseen {
		lines = append(lines, "not shown, although PATH names it: "+dir)
	}
	return lines
}

func (b *base) explainLimits() []string {
	head, by := "All commands together have:", "by the container engine"
	if b.limits == nil {
		head = "Each command has:"
	} else {
		by = b.limits.describe()
	}
	cpus := "all processors"
	if b.o.CPUs > 0 {
		cpus = fmt.Sprintf("%g processors", b.o.CPUs)
	}
	return []string{head,
		fmt.Sprintf("%d MB of memory, %d processes, %s (enforced %s)", b.o.Memory>>20, b.o.Processes, cpus, by),
		fmt.Sprintf("files of at most %d MB; %d MB stay free on the disk", b.o.FileSize>>20, b.o.Reserve>>20)}
}

// variables returns the names of the variables that commands have.
func (b *base) variables() []string {
	var names []string
	for _, kv := range lastWins(slices.Concat(b.toolEnv(false), b.env)) {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	return names
}
