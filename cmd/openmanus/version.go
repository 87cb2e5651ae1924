package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCmd is openmanus version. It reads no configuration and opens no store.
type versionCmd struct {
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
func (c *versionCmd) Run(_ context.Context, t *terminal, _ *globals) error {
	b := thisBuild()
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

// commit is set by the linker: Go itself names no commit of a linked work tree.
var commit string

func thisBuild() build {
	b := build{Version: "unknown", Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" {
		b.Version = v
	}
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
