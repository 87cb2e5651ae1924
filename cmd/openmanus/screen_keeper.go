package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host/local"
	"github.com/openmanus-go/openmanus/host/served"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/surface"
	"github.com/openmanus-go/openmanus/internal/tui"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// settingsOf returns what sees and changes the configuration that g names.
func (a *app) settingsOf(t *terminal, g *globals, flags map[string]string) (served.Host, error) {
	sh := served.Host{Host: a.Host, File: cmp.Or(g.Config, a.Getenv("OPENMANUS_CONFIG")), From: t.sources(g, flags)}
	if sh.File == "" {
		var err error
		if sh.File, err = t.userConfig(); err != nil {
			return sh, usage(err)
		}
	}
	sh.File = t.abs(sh.File)
	return sh, nil
}

// A screenSource is the sessions of this process, and its configuration.
type screenSource struct {
	*local.Source
	surface.ServerKeeper // keeps
	keeps                served.Host
}

// Settings implements [tui.Keeper].
func (s screenSource) Settings(context.Context) (tui.Settings, error) {
	cfg, err := s.Load(s.keeps.From)
	if err != nil { // what is in effect is shown, and the mistake as the first of it
		cfg = s.Config
	}
	all := tui.Settings{File: s.keeps.File}
	if err != nil {
		all.Set = append(all.Set, tui.Value{Key: "mistake", Value: err.Error(), From: "what was read before holds"})
	}
	var standard []tui.Value
	for v := range cfg.Values() {
		to := &all.Set
		if v.Source == (config.Source{}) || v.From == "default" {
			to = &standard
		}
		*to = append(*to, tui.Value{Key: v.Key, Value: v.Value, From: v.From})
	}
	all.Set = append(all.Set, standard...)
	return all, nil
}

// Edited implements [tui.Keeper].
func (s screenSource) Edited(context.Context) (string, error) {
	if !exists(s.keeps.File) {
		return "nothing was saved", nil
	}
	if _, _, err := config.Check(s.keeps.File, s.Lookup, providers.All()); err != nil {
		return "", fmt.Errorf("what was read before still holds: %w", err)
	}
	next, err := s.Load(s.keeps.From)
	if err != nil {
		return "", fmt.Errorf("what was read before still holds: %w", err)
	}
	s.Config.Adopt(next)
	return s.keeps.File + " has no mistakes; models hold from now on, the rest from the next start", nil
}

// beginning leads to a model where there is none.
func (s screenSource) beginning(t *terminal, g *globals) *tui.Beginning {
	return &tui.Beginning{
		Missing: func(ctx context.Context) error {
			_, _, err := s.Choose(ctx)
			return err
		},
		Setup: func(ctx context.Context) error {
			if err := (&setupCmd{}).Run(ctx, t, g); err != nil {
				return pause(ctx, t, err)
			}
			next, err := s.Load(s.keeps.From)
			if err != nil {
				return pause(ctx, t, err)
			}
			s.Config.Adopt(next)
			return nil
		},
		Demo: func(ctx context.Context) error { return pause(ctx, t, (&demoCmd{}).Run(ctx, t, g)) },
		Refused: func() (string, error) {
			if s.Name() != s.Config.Run.Workspace {
				return "", nil // it has moved
			}
			return s.Elsewhere(s.Config, time.Now())
		},
		Move: func(dir string) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			s.WorkIn(dir)
			return nil
		},
	}
}

// pause keeps what a command has printed on the screen until the person presses Enter.
func pause(ctx context.Context, t *terminal, err error) error {
	if err != nil {
		fmt.Fprintln(t.err, "openmanus: "+clip.Clean(err.Error()))
	}
	_, asked := t.ask(ctx, "\nEnter goes back. ")
	return errors.Join(err, asked)
}
