package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/doctor"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/release"
)

// updateCmd is openmanus update.
type updateCmd struct {
	Check    bool   `help:"Only say whether there is a newer version."`
	Rollback bool   `help:"Put the program before the last update in its place again."`
	From     string `help:"Where the release is, an address or a directory. Default: the newest one that was published." placeholder:"URL|DIR"`
}

// Help implements the help of the command line.
func (updateCmd) Help() string {
	return `A release is believed only if it is signed by a key that this program was built with. The new program is written beside this one and tried: it has to name its version, and its doctor may miss nothing that is not missing today. Then it takes this one's name, and this one is kept as openmanus.old.

OpenManus never looks for versions by itself. Sessions that run go on with the program that they began with, and journals of older versions open in newer ones.

A program that came as a package is updated by a package: then the new one is fetched and verified, and the command that installs it is printed.`
}

// Run implements the command.
func (c *updateCmd) Run(ctx context.Context, t *terminal, _ *globals) error {
	in := &release.Install{Disk: release.Files{}, Path: t.program, Aside: runtime.GOOS == "windows"}
	kind, err := packaged(t.program)
	if err != nil {
		return err
	}
	if c.Rollback {
		if c.Check || c.From != "" {
			return usage(errors.New("--rollback puts the program before in its place: it takes neither --check nor --from"))
		}
		if kind != "" {
			return usage(fmt.Errorf("%s was installed by a package (%s): install the package of the version that you want", t.program, kind))
		}
		in.Try = func(next string) error { _, err := versionOf(ctx, next); return err }
		if err := in.Back(); err != nil {
			return explained(err)
		}
		v, err := versionOf(ctx, t.program)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(t.out, "%s is openmanus %s again\n", t.program, v)
		return err
	}
	keys, from, err := t.releases(cmp.Or(c.From, repository+"/releases/latest/download"))
	if err != nil {
		return err
	}
	m, key, err := release.Read(ctx, from, keys)
	if err != nil {
		return err
	}
	there := thisBuild().Version
	switch {
	case !release.Newer(there, m.Version):
		_, err := fmt.Fprintf(t.out, "openmanus %s is the newest; published is %s\n", there, m.Version)
		return err
	case c.Check:
		_, err := fmt.Fprintf(t.out, "openmanus %s is there, signed by %s; this is %s. To install it: openmanus update\n", m.Version, key, there)
		return err
	case kind != "":
		return t.fetchPackage(ctx, m, from, release.Kind(kind))
	}
	program, err := m.Program(ctx, from, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	sweep(in.Path)
	in.Try = func(next string) error { return try(ctx, in.Path, next, m.Version) }
	if err := in.Put(program); err != nil {
		return explained(err)
	}
	_, err = fmt.Fprintf(t.out, "%s is openmanus %s now; %s is kept as %s. Back: openmanus update --rollback\n", in.Path, m.Version, there, in.Old())
	return err
}

// explained adds to an error of the disk what to do.
func explained(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: run this as the user who installed openmanus, such as with sudo", err)
	}
	return err
}

// sweep removes what updates left behind that a power cut ended.
func sweep(program string) {
	for _, pattern := range []string{".new-*", ".old-*"} {
		names, _ := filepath.Glob(program + pattern)
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(name) // the next update tries again
			}
		}
	}
}

// packaged returns the kind of package that the program came in, "" for none. Packages have
// a file that says so.
func packaged(program string) (string, error) {
	data, err := os.ReadFile(filepath.Join(filepath.Dir(program), "..", "lib", "openmanus", "package"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

// installers are the commands that install a package that is a file.
var installers = map[release.Kind]string{
	release.Deb: "apt install", release.RPM: "dnf install", release.APK: "apk add --allow-untrusted",
}

// fetchPackage fetches the package of a version, and says how it is installed.
func (t *terminal) fetchPackage(ctx context.Context, m *release.Manifest, from release.Source, kind release.Kind) error {
	installer, ok := installers[kind]
	if !ok {
		return fmt.Errorf("openmanus %s is there, and this program was installed with %s: update it with that", m.Version, kind)
	}
	f, err := m.Find(kind, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	cache, err := t.cacheDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, "updates")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var data bytes.Buffer
	if err := f.Fetch(ctx, from, &data); err != nil {
		return err
	}
	name := filepath.Join(dir, f.Name)
	if err := errors.Join(release.Files{}.Remove(name), release.Files{}.Write(name, data.Bytes()), os.Chmod(name, 0o644)); err != nil {
		return err
	}
	fmt.Fprintf(t.err, "This program came in a package. %s is fetched and verified; to install it:\n", m.Version)
	_, err = fmt.Fprintf(t.out, "sudo %s %s\n", installer, name)
	return err
}

// try says whether a program works here: it has to be of this version, and nothing essential
// may be missing that the program there does not miss.
func try(ctx context.Context, there, next, version string) error {
	v, err := versionOf(ctx, next)
	if err != nil {
		return err
	}
	if v != version {
		return fmt.Errorf("it says that it is %s, not %s", v, version)
	}
	after, err := missing(ctx, next)
	if err != nil {
		return err
	}
	before, err := missing(ctx, there)
	if err != nil {
		return fmt.Errorf("the doctor of the program that is there, for comparison: %w", err)
	}
	after = slices.DeleteFunc(after, func(name string) bool { return slices.Contains(before, name) })
	if len(after) > 0 {
		return fmt.Errorf("its doctor misses %s", strings.Join(after, ", "))
	}
	return nil
}

// versionOf runs a program to ask for its version.
func versionOf(ctx context.Context, program string) (string, error) {
	var b build
	if err := ask(ctx, program, &b, "version", "--json"); err != nil {
		return "", err
	}
	return b.Version, nil
}

// missing returns what the doctor of a program misses.
func missing(ctx context.Context, program string) (names []string, err error) {
	var found []doctor.Finding
	if err := ask(ctx, program, &found, "doctor", "--offline", "--json"); err != nil {
		return nil, err
	}
	for _, f := range found {
		if f.State == doctor.Missing {
			names = append(names, f.Name)
		}
	}
	return names, nil
}

// ask runs a program and reads the JSON that it prints. A doctor that misses something
// fails, and prints it all the same.
func ask(ctx context.Context, program string, into any, args ...string) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	cmd := hostexec.Finder{}.PersonsCommand(ctx, program, args...)
	cmd.Dir = "" // it reads the same configuration as this one
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	err := cmd.Run()
	if e := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &e) || out.Len() == 0) {
		return fmt.Errorf("%s %s: %w %s", program, strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		return fmt.Errorf("%s %s printed no JSON: %w", program, strings.Join(args, " "), err)
	}
	return nil
}
