// Command release makes what is published: archives, packages, container images, the files of
// package managers, a list of what is in them, checksums and one signature. It needs Go, git,
// and for images mmdebstrap; no service.
//
//	release -version v1.2.3 -key ~/.ssh/release -out dist
//
// Two runs of the same commit by the same Go make the same bytes, wherever they run: files carry
// the time of the commit and belong to root. For images that holds as long as Debian's packages
// are the same.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	published "github.com/openmanus-go/openmanus/internal/release"
)

// A releaser makes one release.
type releaser struct {
	root    string // of the checkout
	out     string
	version string // v1.2.3
	commit  string
	time    time.Time
	keys    string // the public keys that the programs believe, one a line
	sign    signer // nil: the release is not signed

	targets []target
	images  []string // small, full
	sources string   // of apt for images, or ""

	extras   []extra // what comes beside the program, the same for all systems
	manifest published.Manifest
}

// A target is a system that the program is built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// An extra is a file that comes beside the program.
type extra struct {
	name string // in an archive: man/man1/openmanus.1
	data []byte
}

var everywhere = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", ".", "the checkout")
	out := flags.String("out", "dist", "where the release is written; it must not be there, or be empty")
	version := flags.String("version", "", "v1.2.3; default: the newest version of CHANGELOG.md")
	key := flags.String("key", "", "the private key of SSH that signs; a file NAME.pub is asked for at the agent of SSH. Without it nothing is signed, and the programs believe no release")
	trust := flags.String("trust", "", "a file of further public keys that the programs believe: those of the next releases")
	only := flags.String("targets", "", "linux/amd64,…; default: all")
	images := flags.String("images", "small,full", "the container images: small, full, or none")
	sources := flags.String("image-sources", "", "a file of apt sources for the images; default: those of Debian")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &releaser{root: *root, out: *out, version: *version, sources: *sources}
	if err := r.prepare(ctx, *key, *trust, *only, *images); err != nil {
		return err
	}
	return r.make(ctx)
}

// prepare checks what was asked for.
func (r *releaser) prepare(ctx context.Context, key, trust, only, images string) (err error) {
	if r.version == "" {
		if r.version, err = newestOf(filepath.Join(r.root, "CHANGELOG.md")); err != nil {
			return err
		}
	}
	if !semver.IsValid(r.version) || semver.Canonical(r.version) != r.version {
		return fmt.Errorf("-version %s: a version looks like v1.2.3", r.version)
	}
	for name := range strings.SplitSeq(images, ",") {
		switch name {
		case "small", "full":
			r.images = append(r.images, name)
		case "none", "":
		default:
			return fmt.Errorf("-images %s: allowed are small, full and none", name)
		}
	}
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(everywhere, func(t target) bool { return t.String() == name })
		switch {
		case i >= 0:
			r.targets = append(r.targets, everywhere[i])
		case name != "":
			return fmt.Errorf("-targets %s: allowed are %v", name, everywhere)
		}
	}
	if r.targets == nil {
		r.targets = everywhere
	}
	if key != "" {
		if r.sign, err = newSigner(key); err != nil {
			return err
		}
		r.keys = r.sign.public()
	}
	if trust != "" {
		data, err := os.ReadFile(trust)
		if err != nil {
			return err
		}
		r.keys += string(data)
	}
	if _, err := published.ParseKeys(r.keys); err != nil {
		return err
	}
	if r.commit, r.time, err = commitOf(ctx, r.root); err != nil {
		return err
	}
	entries, err := os.ReadDir(r.out)
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty: a release is not made over another one", r.out)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.MkdirAll(r.out, 0o755)
}

// make makes everything.
func (r *releaser) make(ctx context.Context) error {
	r.manifest = published.Manifest{
		Version: r.version, Commit: r.commit, Time: r.time, Go: runtime.Version(), Programs: make(map[string]string),
	}
	work, err := os.MkdirTemp("", "openmanus-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := r.collect(ctx, work); err != nil {
		return err
	}
	programs := make(map[target][]byte)
	for _, t := range r.targets {
		begin := time.Now()
		program, err := r.build(ctx, work, t)
		if err != nil {
			return err
		}
		programs[t] = program
		r.manifest.Programs[t.String()] = sum(program)
		fmt.Printf("%-14s %5.1f MB, %.0f s\n", t, float64(len(program))/1e6, time.Since(begin).Seconds())
	}
	if err := r.bill(ctx, programs); err != nil {
		return err
	}
	for _, t := range r.targets {
		if err := r.archive(t, programs[t]); err != nil {
			return err
		}
		if t.os == "linux" {
			if err := r.packages(t, programs[t]); err != nil {
				return err
			}
		}
	}
	for _, name := range r.images {
		if err := r.image(ctx, work, name, programs[target{"linux", "amd64"}]); err != nil {
			return err
		}
	}
	if err := r.channels(); err != nil {
		return err
	}
	return r.seal()
}

// write writes a file of the release, and lists it.
func (r *releaser) write(name string, kind published.Kind, t target, data []byte) error {
	r.manifest.Files = append(r.manifest.Files, published.File{
		Name: name, Kind: kind, OS: t.os, Arch: t.arch, Size: int64(len(data)), SHA256: sum(data),
	})
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// seal writes the manifest, the checksums and the signature.
func (r *releaser) seal() error {
	manifest, err := json.MarshalIndent(r.manifest, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, published.ManifestFile), append(manifest, '\n'), 0o644); err != nil {
		return err
	}
	lines := []string{sum(append(manifest, '\n')) + "  " + published.ManifestFile + "\n"}
	for _, f := range r.manifest.Files {
		lines = append(lines, f.SHA256+"  "+f.Name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	sums := []byte(strings.Join(lines, ""))
	if err := os.WriteFile(filepath.Join(r.out, published.SumsFile), sums, 0o644); err != nil {
		return err
	}
	if r.sign == nil {
		fmt.Println("not signed: -key names the key that signs")
		return nil
	}
	signature, err := r.sign.over(sums)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, published.SignatureFile), signature, 0o644)
}
