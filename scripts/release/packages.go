package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"

	published "github.com/openmanus-go/openmanus/internal/release"
)

const about = `General AI agent that runs on your own machine
You describe a task; a language model solves it with tools: a shell, Python,
files, a browser, search, charts. Commands run in a sandbox, and the agent
asks before it does anything that reaches beyond it.`

const maintainer = "The OpenManus authors <maintainers@openmanus.example.org>"

// A format is one of packages.
type format struct {
	name     string
	kind     published.Kind
	arch     map[string]string // as this format names it
	needs    []string          // programs that most tasks need
	suggests []string          // programs that some tasks need
}

var formats = []format{
	{"deb", published.Deb, map[string]string{"amd64": "amd64", "arm64": "arm64"},
		[]string{"bubblewrap", "ca-certificates", "git"}, []string{"chromium", "python3-matplotlib"}},
	{"rpm", published.RPM, map[string]string{"amd64": "x86_64", "arm64": "aarch64"},
		[]string{"bubblewrap", "ca-certificates", "git"}, []string{"chromium", "python3-matplotlib"}},
	{"apk", published.APK, map[string]string{"amd64": "x86_64", "arm64": "aarch64"}, nil, nil},
}

// packages makes the packages of a system.
func (r *releaser) packages(t target, program []byte) error {
	dir, err := os.MkdirTemp("", "openmanus-package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, f := range formats {
		contents, err := r.contents(dir, f, program)
		if err != nil {
			return err
		}
		info := &nfpm.Info{
			Name: "openmanus", Arch: t.arch, Platform: "linux", Version: strings.TrimPrefix(r.version, "v"), VersionSchema: "semver", Release: "1",
			Section: "utils", Priority: "optional", Maintainer: maintainer,
			Description: about, Homepage: "https://github.com/openmanus-go/openmanus", License: "MIT", MTime: r.time,
			Overridables: nfpm.Overridables{
				Contents: contents, Umask: 0o022,
				RPM: nfpm.RPM{BuildHost: "localhost", Group: "Applications/System", Summary: "General AI agent that runs on your own machine"},
				Deb: nfpm.Deb{Compression: "xz"},
			},
		}
		info = nfpm.WithDefaults(info)
		info.Recommends, info.Suggests = f.needs, f.suggests
		if f.kind == published.APK {
			info.Release = "r0"
		}
		if err := nfpm.PrepareForPackager(info, f.name); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		packager, err := nfpm.Get(f.name)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := packager.Package(info, &b); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := r.write(packager.ConventionalFileName(info), f.kind, t, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// contents returns what a package installs, from files that are written into dir.
func (r *releaser) contents(dir string, f format, program []byte) (files.Contents, error) {
	var all files.Contents
	n := 0
	add := func(to string, mode os.FileMode, data []byte) error {
		n++
		from := filepath.Join(dir, fmt.Sprintf("%s-%d", f.name, n))
		all = append(all, &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.time, Owner: "root", Group: "root"}})
		return os.WriteFile(from, data, 0o644)
	}
	if f.kind == published.RPM { // which removes only what is listed
		for _, dir := range []string{"/usr/lib/openmanus", "/usr/share/doc/openmanus", "/usr/share/doc/openmanus/examples", "/usr/share/fish", "/usr/share/fish/vendor_completions.d", "/usr/share/zsh/site-functions"} {
			all = append(all, &files.Content{Destination: dir, Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.time, Owner: "root", Group: "root"}})
		}
	}
	if err := add("/usr/bin/openmanus", 0o755, program); err != nil {
		return nil, err
	}
	if err := add("/usr/lib/openmanus/package", 0o644, []byte(f.name+"\n")); err != nil { // what openmanus update reads
		return nil, err
	}
	if f.kind == published.Deb { // which has a form of its own
		text := fmt.Sprintf("openmanus (%s-1) unstable; urgency=medium\n\n  * What is new in this version: changelog.gz\n\n -- %s  %s\n",
			strings.TrimPrefix(r.version, "v"), maintainer, r.time.Format(time.RFC1123Z))
		if err := add("/usr/share/doc/openmanus/changelog.Debian.gz", 0o644, r.gzip([]byte(text))); err != nil {
			return nil, err
		}
	}
	for _, e := range r.extras {
		to, data := r.placed(e, f)
		if to == "" {
			continue
		}
		if err := add(to, 0o644, data); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// placed says where a package installs a file, and its contents there: "" if not at all.
func (r *releaser) placed(e extra, f format) (string, []byte) {
	const doc = "/usr/share/doc/openmanus/"
	switch {
	case strings.HasPrefix(e.name, "man/"):
		return "/usr/share/" + e.name + ".gz", r.gzip(e.data)
	case e.name == shells["bash"]:
		return "/usr/share/bash-completion/completions/openmanus", e.data
	case e.name == shells["zsh"] && f.kind == published.Deb:
		return "/usr/share/zsh/vendor-completions/_openmanus", e.data
	case e.name == shells["zsh"]:
		return "/usr/share/zsh/site-functions/_openmanus", e.data
	case e.name == shells["fish"]:
		return "/usr/share/fish/vendor_completions.d/openmanus.fish", e.data
	case e.name == shells["powershell"]:
		return "", nil
	case e.name == "openmanus.service": // an example: each server has its own
		return doc + "examples/openmanus.service", e.data
	case e.name == "LICENSE" && f.kind == published.Deb:
		return doc + "copyright", e.data
	case e.name == "CHANGELOG.md" && f.kind == published.Deb:
		return doc + "changelog.gz", r.gzip(e.data)
	}
	return doc + e.name, e.data
}

// gzip compresses a file of a package, which has no name and no time in it.
func (r *releaser) gzip(data []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a level that there is
	_, _ = z.Write(data)                                  // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
