// Command provider adds a provider of models. Everything that OpenManus knows
// of a provider is one value; configuration, traces and the host work with the
// list of them:
//
//	go run ./examples/provider
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/store"
)

// parrot is the provider: its models are named parrot/NAME, and it needs a key.
var parrot = provider.Provider{
	Name:      "parrot",
	BaseURL:   "https://parrot.example.org/v1",
	Hosts:     []string{"parrot.example.org"}, // the key goes nowhere else
	KeyVars:   []string{"PARROT_API_KEY"},
	TraceName: "parrot",
	New: func(o provider.Options) (llm.Model, error) {
		if o.Key == "" {
			return nil, &llm.Error{Kind: llm.Auth, Err: errors.New("parrot has no key: set PARROT_API_KEY")}
		}
		return model{name: o.Model}, nil
	},
}

// A model repeats what it hears. A real one sends the request to Options.BaseURL.
type model struct{ name string }

// Stream implements [llm.Model].
func (m model) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		parts := req.Messages[len(req.Messages)-1].Parts
		heard := parts[len(parts)-1:].Text() // the parts before it say where the session works
		if !yield(llm.Delta{Piece: llm.Text{Text: m.name + " says: "}}, nil) || !yield(llm.Delta{Piece: llm.Text{Text: heard}}, nil) {
			return
		}
		yield(llm.Delta{Stop: llm.End, Usage: &llm.Usage{Input: len(heard) / 4, Output: len(heard) / 4}}, nil)
	}
}

func main() {
	sandbox.Main() // parts of a sandbox are this program again
	if err := do(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// do runs one session whose model is the parrot's.
func do(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "parrot")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	variables := map[string]string{"PARROT_API_KEY": "a-key-of-the-parrot", "PATH": os.Getenv("PATH")}
	env := host.Env{Dir: dir, Lookup: func(name string) (string, bool) { v, ok := variables[name]; return v, ok }}
	cfg, err := env.Load(config.Sources{
		Providers: append(providers.All(), &parrot), // the one line
		Flags:     map[string]string{"model": "parrot/polly", "data-dir": filepath.Join(dir, "data"), "workspace": work},
	})
	if err != nil {
		return err
	}
	db, err := store.Open(cfg.DataDir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h, err := host.New(host.Options{Env: env, Config: cfg, Store: db})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	spec, err := h.Spec(ctx)
	if err != nil {
		return err
	}
	said := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "hello")}
	if _, err := h.Open(ctx, "s", host.Opening{Spec: spec, Said: &said}); err != nil {
		return err
	}
	if err := h.Local.Wake(ctx, "s"); err != nil {
		return err
	}
	s, err := openmanus.Load(ctx, db, "s")
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", s.Config.Model, s.Answer)
	return nil
}
