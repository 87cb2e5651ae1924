package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host/local"
	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/internal/tui"
)

// ownCommands returns the commands in the person's configuration, for a server's sessions:
// those of a workspace are where the server is.
func (t *terminal) ownCommands(notices chan<- tui.Notice) func(context.Context) ([]tui.Custom, error) {
	return func(ctx context.Context) ([]tui.Custom, error) {
		all, problems := t.host().OwnCommands()
		for _, p := range problems {
			select {
			case notices <- tui.Notice{Text: p.Error()}:
			case <-ctx.Done():
			}
		}
		return local.Customs(all), nil
	}
}

// colour gives the full screen the themes that there are, and the one that was chosen.
func (t *terminal) colour(o *tui.Options, g *globals, notices chan<- tui.Notice) {
	var problems []error
	o.Theme, o.Themes, problems = t.themes(g, o.DataDir)
	for _, p := range problems[:min(len(problems), cap(notices)/2)] { // there is room: nothing was said yet
		notices <- tui.Notice{Text: p.Error(), Bad: true}
	}
}

// themes returns the theme that the person chose, and those of their own. The problems are
// about files that are none.
func (t *terminal) themes(g *globals, dataDir string) (chosen tui.Theme, own []tui.Theme, problems []error) {
	if dir, err := config.UserDir("", t.env); err == nil {
		own, problems = ownThemes(dir)
	}
	chosen = tui.ChosenTheme(dataDir, append(tui.Themes(), own...))
	if none, _ := t.env("NO_COLOR"); none != "" || g.NoColor {
		chosen = tui.Theme{Name: "none"}
	}
	return chosen, own, problems
}

// ownThemes reads the themes of the person: themes/NAME.toml in their configuration.
func ownThemes(config string) (all []tui.Theme, problems []error) {
	root, err := os.OpenRoot(config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, []error{err}
	}
	defer root.Close()
	dir := regular.FS(root)
	files, err := fs.Glob(dir, "themes/*.toml")
	if err != nil {
		return nil, []error{err}
	}
	for _, file := range files {
		data, err := fs.ReadFile(dir, file)
		if err == nil {
			var theme tui.Theme
			if theme, err = readTheme(strings.TrimSuffix(path.Base(file), ".toml"), data); err == nil {
				all = append(all, theme)
				continue
			}
		}
		problems = append(problems, fmt.Errorf("%s in %s: %w", file, config, err))
	}
	return all, problems
}

// readTheme reads a theme, a table of colours: see [tui.NewTheme].
func readTheme(name string, data []byte) (tui.Theme, error) {
	var set map[string]string
	if err := toml.Unmarshal(data, &set); err != nil {
		return tui.Theme{}, fmt.Errorf("a theme has lines such as accent = \"#88c0d0\": %w", err)
	}
	base := set["base"]
	delete(set, "base")
	return tui.NewTheme(name, base, set)
}
