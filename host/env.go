package host

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// An Env is what a host has of the program around it. Its zero value has no
// variables and no user, and discards warnings. The functions may be called
// from any goroutine.
type Env struct {
	// Lookup returns an environment variable. Nil: there are none.
	Lookup func(name string) (string, bool)

	// Dir is the directory in which the program was started, an absolute path.
	Dir string

	// Version is the program's own, which it sends to other programs.
	Version string

	// Warn shows the user something that is not an error. The text is one or
	// more lines that may hold control characters. Nil discards it.
	Warn func(text string)

	// Ask asks the user a question and returns the line that they typed. Nil:
	// no user is attached, and whatever needs an answer is left out.
	Ask func(ctx context.Context, question string) (string, error)

	// ShowLink shows the user the page on which to sign in to an MCP server.
	// Nil: servers that need it cannot be used.
	ShowLink func(server, link string)
}

func (e Env) lookup(name string) (string, bool) {
	if e.Lookup == nil {
		return "", false
	}
	return e.Lookup(name)
}

// Getenv returns the value of an environment variable, or "" if it is not set. It reads
// the environment that the program passed in, not that of the process.
func (e Env) Getenv(name string) string {
	v, _ := e.lookup(name)
	return v
}

func (e Env) warnf(format string, a ...any) {
	if e.Warn != nil {
		e.Warn(fmt.Sprintf(format, a...))
	}
}

// mistake makes err an [act.Error], unless it is nil: a mistake in the configuration, the
// command line or a spec, which the user can correct.
func mistake(err error) error {
	if err == nil {
		return nil
	}
	return &act.Error{Err: err}
}

// Memory returns the file of remembered decisions, which stands beside the
// user's configuration. It is nil where there is no home directory.
func (e Env) Memory() *gate.Memory {
	dir, err := config.UserDir("", e.lookup)
	if err != nil {
		return nil
	}
	return gate.Open(filepath.Join(dir, "approvals.jsonl"))
}

// Gate returns a gate with the rules of cfg and the remembered decisions; o has
// the rest of its options. The error names the rule that cannot be used and where
// it stands.
func (e Env) Gate(cfg *config.Config, o gate.Options) (*gate.Gate, error) {
	o.Rules, o.Memory = gate.Rules(cfg.Approval), e.Memory()
	g, err := gate.New(o)
	if err != nil {
		key, _, _ := strings.Cut(err.Error(), ":")
		return nil, mistake(fmt.Errorf("%s: approval.%w", cfg.Origin("approval."+key), err))
	}
	return g, nil
}

// TrustKey is the key under which the user's trust in a configuration file is
// remembered. It is bound to the file's path and content.
func TrustKey(path string, content []byte) string { return gate.Key("config", path, string(content)) }

// Trusts reports whether the user trusts the configuration file with this
// content. It is a [config.Sources].Trusted.
func (e Env) Trusts(path string, content []byte) bool {
	d, known, err := e.Memory().Recall(TrustKey(path, content))
	if err != nil {
		e.warnf("warning: %v", err)
	}
	return known && d.Allow
}

// Sources returns src with the program's directory and variables, the files
// that the user trusts and, unless src lists others, the providers that are
// built in.
func (e Env) Sources(src config.Sources) config.Sources {
	src.Dir, src.Env, src.Trusted = e.Dir, e.lookup, e.Trusts
	if ring, ok := e.Keyring(); ok && src.Keyring == nil {
		src.Keyring = ring.Get
	}
	if src.Providers == nil {
		src.Providers = providers.All()
	}
	return src
}

// Load reads the configuration from the sources that [Env.Sources] makes of
// src, and checks the approval rules in it. The catalogue fills in what the
// configuration leaves open about models. Warnings go to Warn.
func (e Env) Load(src config.Sources) (*config.Config, error) {
	cfg, warnings, err := config.Load(e.Sources(src))
	if err != nil {
		return nil, mistake(err)
	}
	cfg.Catalogue = catalogued
	cfg.Learned = (&endpointBook{dir: cfg.DataDir}).facts
	if _, err := e.Gate(cfg, gate.Options{}); err != nil {
		return nil, err
	}
	for _, w := range warnings {
		e.warnf("warning: %v", w)
	}
	return cfg, nil
}
