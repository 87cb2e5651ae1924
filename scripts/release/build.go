package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// command runs a program in a directory and returns what it printed.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return out.Bytes(), nil
}

// newestOf returns the newest version in a change log: that of its first heading with one.
func newestOf(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`(?m)^## (v\d+\.\d+\.\d+\S*)`).FindSubmatch(data)
	if found == nil {
		return "", fmt.Errorf("%s has no heading with a version", file)
	}
	return string(found[1]), nil
}

// commitOf returns the commit of a checkout in which nothing has changed since, and its time.
func commitOf(ctx context.Context, root string) (string, time.Time, error) {
	changed, err := command(ctx, root, nil, "git", "status", "--porcelain")
	if err != nil {
		return "", time.Time{}, err
	}
	if len(changed) > 0 {
		return "", time.Time{}, fmt.Errorf("what is not committed would be in no history:\n%s", changed)
	}
	out, err := command(ctx, root, nil, "git", "log", "-1", "--format=%H %cI")
	if err != nil {
		return "", time.Time{}, err
	}
	commit, date, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	at, err := time.Parse(time.RFC3339, date)
	return commit, at.UTC(), err
}

// build builds the program for a system, once.
func (r *releaser) build(ctx context.Context, work string, t target) ([]byte, error) {
	file := filepath.Join(work, "openmanus-"+t.os+"-"+t.arch)
	if program, err := os.ReadFile(file); err == nil { // the one of this machine was needed before
		return program, nil
	}
	keys := strings.ReplaceAll(strings.TrimSpace(r.keys), "\n", ",")
	flags := []string{
		"-s", "-w", "-X", "main.version=" + r.version, "-X", "main.commit=" + r.commit, "-X", "main.date=" + r.time.Format(time.RFC3339),
		"-X", "'main.releaseKeys=" + keys + "'",
	}
	env := []string{"CGO_ENABLED=0", "GOFLAGS=", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT="}
	if _, err := command(ctx, r.root, env, "go", "build", "-trimpath", "-buildvcs=false", "-gcflags", "all=-dwarf=false",
		"-ldflags", strings.Join(flags, " "), "-o", file, "./cmd/openmanus"); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// shells are the shells that have a completion, and the file of each.
var shells = map[string]string{
	"bash": "completions/openmanus.bash", "zsh": "completions/_openmanus", "fish": "completions/openmanus.fish", "powershell": "completions/openmanus.ps1",
}

// collect collects what comes beside the program. The program of this machine writes its manual pages
// and completions.
func (r *releaser) collect(ctx context.Context, work string) error {
	add := func(name string, data []byte, err error) error {
		r.extras = append(r.extras, extra{name, data})
		return err
	}
	var errs []error
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md", "deploy/openmanus.service"} {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		errs = append(errs, add(filepath.Base(name), data, err))
	}
	here := target{runtime.GOOS, runtime.GOARCH}
	if _, err := r.build(ctx, work, here); err != nil {
		return err
	}
	program := filepath.Join(work, "openmanus-"+here.os+"-"+here.arch)
	home := []string{"HOME=" + work, "XDG_DATA_HOME=", "XDG_CONFIG_HOME="}
	if _, err := command(ctx, work, home, program, "man", "--dir", work); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(work, "*.1"))
	errs = append(errs, err)
	for _, page := range pages {
		data, err := os.ReadFile(page)
		errs = append(errs, add("man/man1/"+filepath.Base(page), data, err))
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		data, err := command(ctx, work, home, program, "completion", shell)
		errs = append(errs, add(shells[shell], data, err))
	}
	return errors.Join(errs...)
}
