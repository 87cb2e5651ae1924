package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// configCmd is openmanus config.
type configCmd struct {
	Path  configPathCmd  `cmd:"" help:"Show which files are read, and where sessions are kept."`
	Show  configShowCmd  `cmd:"" help:"Show every setting and where it comes from. Secrets are masked."`
	Init  configInitCmd  `cmd:"" help:"Write a file to begin with: every setting, explained and commented out."`
	Check configCheckCmd `cmd:"" help:"Look for mistakes in the configuration, or in one file."`
	Trust configTrustCmd `cmd:"" help:"Trust the configuration file of a working directory with its present content."`
}

// configPathCmd is openmanus config path.
type configPathCmd struct {
	listing
}

// A place is a file or directory that the program uses.
type place struct {
	Role  string `json:"role"`
	Path  string `json:"path"`
	Found bool   `json:"found"`
}

// Run implements the command. It works with a configuration that is broken.
func (c *configPathCmd) Run(_ context.Context, t *terminal, g *globals) error {
	places := t.configFiles(g)
	if cfg, _, err := t.read(g); err == nil {
		places = append(places, place{"data", cfg.DataDir, exists(cfg.DataDir)})
	}
	tb := &table{head: []string{"WHAT", "STATE", "PATH"}}
	for _, p := range places {
		tb.add(p.Role, map[bool]string{true: "there", false: "not there"}[p.Found], p.Path)
	}
	return c.print(t, g, places, tb, "There is no home directory, so no file is read; name one with --config.")
}

// configFiles returns the files that are read. Later ones override earlier ones. A file
// that was named, by --config or OPENMANUS_CONFIG, is the only one.
func (t *terminal) configFiles(g *globals) []place {
	named, _ := t.env("OPENMANUS_CONFIG")
	if file := cmp.Or(g.Config, named); file != "" {
		file = t.abs(file)
		return []place{{"named", file, exists(file)}}
	}
	places := []place{}
	if user, err := t.userConfig(); err == nil {
		places = append(places, place{"user", user, exists(user)})
	}
	file := filepath.Join(t.dir, "openmanus.toml")
	return append(places, place{"workspace", file, exists(file)})
}

// read reads the configuration without printing warnings.
func (t *terminal) read(g *globals) (*config.Config, []config.Warning, error) {
	return config.Load(t.sources(g, map[string]string{}))
}

// userConfig returns the path of the user's configuration file.
func (t *terminal) userConfig() (string, error) {
	dir, err := config.UserDir("", t.env)
	return filepath.Join(dir, "config.toml"), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// configShowCmd is openmanus config show.
type configShowCmd struct {
	listing
}

// configured implements the command. It prints every setting with its source, and masks secrets.
func (c *configShowCmd) configured(_ context.Context, t *terminal, g *globals, cfg *config.Config) error {
	values := []config.Value{}
	tb := &table{head: []string{"KEY", "VALUE", "SOURCE"}}
	for v := range cfg.Values() {
		values = append(values, v)
		from := v.From
		if v.Hides != "" {
			from += ", before " + v.Hides
		}
		if v.Note != "" {
			from += "; " + v.Note
		}
		tb.add(v.Key, v.Value, from)
	}
	return c.print(t, g, values, tb, "There are no settings.")
}

// configInitCmd is openmanus config init.
type configInitCmd struct {
	File string `arg:"" optional:"" help:"The file. Default: your own configuration file."`
}

// Run implements the command. It never overwrites a file.
func (c *configInitCmd) Run(_ context.Context, t *terminal, g *globals) error {
	file := cmp.Or(c.File, g.Config)
	if file == "" {
		var err error
		if file, err = t.userConfig(); err != nil {
			return usage(fmt.Errorf("%w; say where to write: openmanus config init FILE", err))
		}
	}
	file = t.abs(file)
	switch err := config.Create(file); {
	case errors.Is(err, fs.ErrExist):
		return usage(fmt.Errorf("%s exists already and is unchanged; openmanus config check looks for mistakes in it", file))
	case err != nil:
		return usage(err)
	}
	fmt.Fprintf(t.out, "wrote %s\n", file)
	fmt.Fprintln(t.err, "· every line of it is a comment; openmanus config show prints the settings in effect")
	return nil
}

// configCheckCmd is openmanus config check.
type configCheckCmd struct {
	File string `arg:"" optional:"" help:"Check this file alone. Default: all that is read."`
}

// Run implements the command. With a file it checks that alone; otherwise it checks what a
// run would read. Rules are checked too. It sends no request.
func (c *configCheckCmd) Run(_ context.Context, t *terminal, g *globals) error {
	if c.File != "" {
		file := t.abs(c.File)
		if !exists(file) {
			return usage(fmt.Errorf("%s is not there", file))
		}
		cfg, warnings, err := config.Check(file, t.env, providers.All())
		if err == nil {
			_, err = t.host().Gate(cfg, gate.Options{})
		}
		for _, w := range warnings {
			fmt.Fprintf(t.err, "openmanus: warning: %v\n", w)
		}
		if err != nil {
			return usage(err)
		}
		fmt.Fprintf(t.out, "%s has no mistakes\n", file)
		return nil
	}
	if _, err := t.load(g, map[string]string{}); err != nil {
		return err
	}
	var read []string
	for _, p := range t.configFiles(g) {
		if p.Found {
			read = append(read, p.Path)
		}
	}
	what := "the environment has no mistakes, and there is no file (openmanus config init writes one)"
	if len(read) > 0 {
		what = strings.Join(read, ", ") + " and the environment have no mistakes"
	}
	_, err := fmt.Fprintln(t.out, what)
	return err
}
