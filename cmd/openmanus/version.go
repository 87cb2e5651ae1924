package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/openmanus-go/openmanus/internal/release"
)

// versionCmd is openmanus version. It reads no configuration and opens no store.
type versionCmd struct {
	Verify bool   `help:"Compare this program with the signed release of its version."`
	From   string `help:"With --verify: where the release is, an address or a directory. Default: where it was published." placeholder:"URL|DIR"`
	listing
}

// A build describes how this binary was built.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`  // "" if it is not known
	Changed  bool   `json:"changed"` // the tree was not the commit's
	Time     string `json:"time"`    // of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Run implements the command.
func (c *versionCmd) Run(ctx context.Context, t *terminal, _ *globals) error {
	b := thisBuild()
	if c.Verify {
		return c.verify(ctx, t, b)
	}
	if c.From != "" {
		return usage(errors.New("--from says where the release is that --verify compares with"))
	}
	if c.JSON {
		return t.printJSON(b)
	}
	commit := b.Commit
	if commit != "" {
		commit = " (" + commit[:min(12, len(commit))] + map[bool]string{true: ", changed"}[b.Changed] + ")"
	}
	_, err := fmt.Fprintf(t.out, "openmanus %s%s %s %s\n", b.Version, commit, b.Go, b.Platform)
	return err
}

// verify compares this program with the one of the release.
func (c *versionCmd) verify(ctx context.Context, t *terminal, b build) error {
	m, key, err := readRelease(ctx, t, cmp.Or(c.From, repository+"/releases/download/"+b.Version))
	if err != nil {
		return err
	}
	f, err := os.Open(t.program)
	if err != nil {
		return err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	if sum != m.Programs[b.Platform] {
		return fmt.Errorf("%s is not the program of %s for %s: its SHA-256 is %s", t.program, m.Version, b.Platform, sum)
	}
	if c.JSON {
		return t.printJSON(map[string]string{"version": m.Version, "program": t.program, "sha256": sum, "key": key})
	}
	_, err = fmt.Fprintf(t.out, "%s is the program of openmanus %s for %s, as signed by %s\n", t.program, m.Version, b.Platform, key)
	return err
}

// readRelease reads what is published at a place, if it is signed by a key of this program.
func readRelease(ctx context.Context, t *terminal, place string) (*release.Manifest, string, error) {
	keys, from, err := t.releases(place)
	if err != nil {
		return nil, "", err
	}
	return release.Read(ctx, from, keys)
}

// releases returns the keys that this program believes, and a place where a release is.
func (t *terminal) releases(place string) (release.Keys, release.Source, error) {
	keys, err := release.ParseKeys(releaseKeys)
	if err != nil {
		return nil, nil, err
	}
	if len(keys) == 0 {
		return nil, nil, usage(errors.New("this program was built without the key of a release, so it can verify none: it is not from a release"))
	}
	if info, err := os.Stat(t.abs(place)); err == nil && info.IsDir() {
		place = t.abs(place)
	}
	from, err := release.From(place, http.DefaultClient)
	if err != nil {
		return nil, nil, usage(fmt.Errorf("--from: %w", err))
	}
	return keys, from, nil
}

// Set by the linker: version and date for releases, the public keys of SSH, separated by commas, that
// releases are signed by, and the commit, since Go itself names none of a linked work tree.
var version, commit, date, releaseKeys string

func thisBuild() build {
	b := build{Version: version, Commit: commit, Time: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, "unknown")
		return b
	}
	b.Version = cmp.Or(b.Version, info.Main.Version, "unknown")
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		case "vcs.time":
			b.Time = s.Value
		}
	}
	return b
}
