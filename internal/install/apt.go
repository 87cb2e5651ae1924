package install

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// A plan is how a program would be installed.
type plan struct {
	commands [][]string // in this order; none: the user has to do it
	from     string     // where the packages come from
	size     string
	byHand   string // what the user has to run
	why      string // why the program cannot do it, to complete a sentence, or ""
}

// shown returns the commands as a user would type them.
func (p plan) shown() (lines []string) {
	for _, args := range p.commands {
		lines = append(lines, strings.Join(args, " "))
	}
	return lines
}

// plan returns how p would be installed here. It changes nothing.
func (i *Installer) plan(ctx context.Context, p Program, byHand string) plan {
	look, goos := i.lookPath(), cmp.Or(i.GOOS, runtime.GOOS)
	if byHand != "" {
		return plan{byHand: byHand, size: p.Size}
	}
	hand := plan{byHand: p.Advice(look, goos), size: p.Size}
	if _, err := look("apt-get"); err != nil || goos != "linux" {
		return hand
	}
	hand.byHand = "apt-get install " + strings.Join(p.Debian, " ")
	ctx, cancel := context.WithTimeout(ctx, planTime)
	defer cancel()
	size, from, err := i.simulate(ctx, p)
	hand.size = cmp.Or(size, p.Size)
	if err != nil {
		hand.why = ", because apt does not offer it"
		return hand
	}
	var sudo []string
	if !i.Root {
		hand.why, hand.byHand = ", because that needs the password of an administrator", "sudo "+hand.byHand
		if i.answer(ctx, "sudo", "-n", "true") != nil {
			return hand
		}
		sudo = []string{"sudo", "-n"}
	}
	return plan{
		commands: [][]string{append(slices.Clip(sudo), aptUpdate...), append(slices.Clip(sudo), aptInstall(p)...)},
		from:     cmp.Or(from, "the package sources of this system"), size: hand.size,
	}
}

// aptUpdate makes apt read what its sources offer: old lists name packages that are
// not there any more.
var aptUpdate = []string{"apt-get", "update"}

// aptInstall returns the command that installs p without asking anything.
func aptInstall(p Program) []string {
	args := []string{"apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "--no-install-recommends"}
	return append(args, p.Debian...)
}

// simulate asks apt how large p is with what it needs, and from which hosts it would
// come, as far as apt knows: "" is unknown. An error means that apt's lists do not
// have it, although they are there.
func (i *Installer) simulate(ctx context.Context, p Program) (size, from string, err error) {
	args := []string{"apt-get", "install", "--no-install-recommends", "-o", "Debug::NoLocking=1"}
	// This ends with 1, as it was told no.
	said, _ := i.output(ctx, append(append(slices.Clip(args), "--assume-no"), p.Debian...))
	uris, err := i.output(ctx, append(append(slices.Clip(args), "--print-uris", "-qq", "-y"), p.Debian...))
	if err != nil {
		lists, _ := filepath.Glob(filepath.Join(cmp.Or(i.Lists, "/var/lib/apt/lists"), "*_Packages*"))
		if len(lists) == 0 {
			return "", "", nil // apt has not read its sources yet, as in a fresh image of a container
		}
		return "", "", err
	}
	return aptSize(said), aptHosts(uris), nil
}

// aptSize returns what apt says of sizes: "Need to get 196 MB of archives. After this
// operation, 713 MB of additional disk space will be used."
func aptSize(said string) string {
	after := func(mark, end string) string {
		_, rest, ok := strings.Cut(said, mark)
		value, _, closed := strings.Cut(rest, end)
		if !ok || !closed || strings.Contains(value, "\n") {
			return ""
		}
		return value
	}
	get := after("Need to get ", " of archives")
	disk := after("After this operation, ", " of additional disk space")
	if _, all, ok := strings.Cut(get, "/"); ok { // 12 MB/196 MB: a part is there already
		get = all
	}
	switch {
	case get == "" && disk == "":
		return ""
	case disk == "":
		return get + " to download"
	case get == "":
		return disk + " on disk"
	}
	return get + " to download, " + disk + " on disk"
}

// aptHosts returns the hosts in apt's list of addresses: a line for each package
// begins with 'ADDRESS'.
func aptHosts(uris string) string {
	var hosts []string
	for line := range strings.Lines(uris) {
		address, _, _ := strings.Cut(strings.TrimPrefix(line, "'"), "'")
		u, err := url.Parse(address)
		if err != nil || !strings.HasPrefix(line, "'") {
			continue
		}
		host := u.Host
		if host == "" {
			host = u.Scheme + " sources of this system"
		}
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return strings.Join(hosts, ", ")
}

// output runs a command that changes nothing and returns what it prints.
func (i *Installer) output(ctx context.Context, args []string) (string, error) {
	var out bytes.Buffer
	run := i.runner()
	err := run(ctx, &out, args...)
	return out.String(), err
}

// answer runs a command of which only the exit code matters.
func (i *Installer) answer(ctx context.Context, args ...string) error {
	_, err := i.output(ctx, args)
	return err
}

// execute is the default of [Installer].Run. Nothing asks the user anything, and apt
// speaks English, which is read here.
func (i *Installer) execute(ctx context.Context, w io.Writer, args ...string) error {
	cmd := hostexec.Outside(i.NotIn...).Command(ctx, args[0], args[1:]...)
	for _, name := range []string{"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"} {
		if v := os.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Env = append(cmd.Env, "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_MODE=a", "LC_ALL=C")
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = w, w, 5*time.Second
	apart(cmd)
	return cmd.Run()
}
