package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/doctor"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// setupCmd is openmanus setup.
type setupCmd struct{}

// Help is more of the command.
func (setupCmd) Help() string {
	return `It asks for the provider, the key and the model, tries them with one short question, and saves them: the key in the system's keyring, if there is one, and everything else in your configuration file (openmanus config path), which only you can read. Nothing is saved that does not work.`
}

// Run implements the command.
func (c *setupCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	file, err := t.ownConfig(g)
	if err != nil {
		return err
	}
	if !isTerminal(t.in) || !isTerminal(t.err) {
		return usage(fmt.Errorf("setup asks questions, and no terminal is attached. Set the key in the environment instead, "+
			"such as OPENAI_API_KEY or ANTHROPIC_API_KEY, and the model in OPENMANUS_MODEL or with --model PROVIDER/NAME; "+
			"or write [llm] with model, base_url and api_key into %s", file))
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err = (&setup{t: t, g: g, file: file}).run(ctx)
	if ctx.Err() != nil {
		fmt.Fprintln(t.err)
		return exit{code: exitInterrupted, err: errors.New("nothing was saved")}
	}
	return err
}

// A setup is the conversation of openmanus setup.
type setup struct {
	t    *terminal
	g    *globals
	file string

	first    *provider.Provider // for which there is a key; nil: none
	found    config.Model       // the endpoint that is named without a model, or none
	provider *provider.Provider
	base     string // "": the provider's own address
	key      string // "": none is needed, or the environment has it
	keyEnv   string // the variable that key is from; "": none
	model    string // without the provider
}

func (s *setup) say(format string, a ...any) { fmt.Fprintf(s.t.err, format+"\n", a...) }

func (s *setup) run(ctx context.Context) error {
	if again, err := s.configured(ctx); err != nil || !again {
		return err
	}
	if err := s.askProvider(ctx); err != nil {
		return err
	}
	if err := s.askKey(ctx); err != nil {
		return err
	}
	if err := s.askModel(ctx); err != nil {
		return err
	}
	const tries = 3
	for n := 1; ; n++ {
		s.say("Trying %s …", s.name())
		err := s.try(ctx)
		if err == nil {
			break
		}
		if llm.KindOf(err) != llm.Auth || s.key == "" || n == tries || ctx.Err() != nil {
			return exit{code: exitUsage, err: fmt.Errorf("%w\nnothing was saved; openmanus setup begins again", err)}
		}
		s.say("! %s", clip.Plain(err.Error()))
		if err := s.askKey(ctx); err != nil {
			return err
		}
	}
	return s.save()
}

// configured says what is configured already, and asks whether to go on.
func (s *setup) configured(ctx context.Context) (again bool, err error) {
	cfg, err := s.t.load(s.g, map[string]string{})
	if err != nil {
		return false, err
	}
	if found := cfg.FoundText(); found != "" {
		s.say("In the environment: %s.", clip.Plain(found))
	}
	if keys := cfg.FoundKeys(); len(keys) > 0 && keys[0].Model != "" {
		s.first = keys[0].Provider
	}
	if at, ok := cfg.Nameless(); ok {
		s.found = at
	}
	m, err := cfg.Model("")
	if err != nil || m.Unnamed && m.Key == "" {
		return true, nil
	}
	with := "no key"
	if m.Key != "" {
		with = "the key from " + m.KeyAt.String()
	}
	s.say("Configured already: %s, with %s.", m, with)
	line, err := s.t.ask(ctx, "Set up another model in its place? [y/N] ")
	if err != nil {
		return false, err
	}
	if !host.IsYes(line) {
		s.say(`Nothing was changed. Begin: openmanus run "what you want done"`)
		return false, nil
	}
	return true, nil
}

// askProvider asks the first question.
func (s *setup) askProvider(ctx context.Context) error {
	all := providers.All()
	var names []string
	for _, p := range all {
		if p.BaseURL != "" && !p.Script || p.Local {
			names = append(names, p.Name)
		}
	}
	std := all.Default().Name
	if s.first != nil {
		std = s.first.Name
	}
	std = cmp.Or(s.found.Address(), std)
	for {
		line, err := s.t.ask(ctx, fmt.Sprintf("1. Provider: %s, or the URL of an endpoint that speaks as OpenAI does [%s]: ", strings.Join(names, ", "), std))
		if err != nil {
			return err
		}
		line = cmp.Or(strings.TrimSpace(line), std)
		if strings.Contains(line, "://") {
			if err := provider.CheckURL(line); err != nil {
				s.say("! %v", err)
				continue
			}
			if s.provider = all.At(line); s.provider == nil {
				s.provider = all.Compatible()
			}
			if base, cut := provider.WithoutCall(line); cut != "" {
				s.say("· %s is left out: an address ends before it", cut)
				line = base
			}
			if s.base = line; s.base == s.found.Address() {
				s.base = s.found.BaseURL
			}
			return nil
		}
		if i := slices.Index(names, strings.ToLower(line)); i >= 0 {
			s.provider = all.Named(names[i])
			return nil
		}
		if p := all.Named(line); p != nil && !p.Script {
			s.say("! %s needs more than a key: see [llm] in docs/configuration.md", p.Name)
			continue
		}
		s.say("! there is no provider %q", clip.Plain(line))
	}
}

// askKey asks the second question, unless the environment has the key or none is
// needed.
func (s *setup) askKey(ctx context.Context) error {
	if s.key == "" && s.base == "" {
		for _, name := range s.provider.KeyVars {
			if config.KeyIn(s.t.env, name) != "" {
				s.say("2. Key: that of %s.", name)
				return nil
			}
		}
	}
	if s.key == "" && s.base == s.found.BaseURL && s.found.Key != "" {
		s.key = string(s.found.Key)
		if s.found.KeyAt.From == config.Environment {
			s.keyEnv = s.found.KeyAt.Name
		}
		s.say("2. Key: that of %s.", s.found.KeyAt)
		return nil
	}
	if s.provider.Local {
		return nil
	}
	optional := ""
	if s.base != "" {
		optional = ", or Enter if it needs none"
	}
	for {
		key, err := s.t.secret(ctx, fmt.Sprintf("2. Key for %s (it is not shown%s): ", cmp.Or(s.base, s.provider.Name), optional))
		if err != nil {
			return err
		}
		s.keyEnv = ""
		if s.key = config.BareKey(key); s.key != "" || optional != "" {
			return nil
		}
		s.say("! %s needs a key", s.provider.Name)
	}
}

// askModel asks the third question. Where the endpoint lists its models, they are
// shown.
func (s *setup) askModel(ctx context.Context) error {
	std := cmp.Or(s.provider.Suggested, s.provider.DefaultModel)
	if s.provider.Lists || s.base != "" {
		quick, cancel := context.WithTimeout(ctx, 5*time.Second)
		told, err := doctor.Probe(quick, s.address(), s.key, std)
		cancel()
		if err != nil && s.base != "" {
			s.say("! %s does not say which models it has: %s (most addresses end in /v1)", clip.Plain(s.base), clip.Plain(err.Error()))
		}
		if names := told.Models; err == nil && len(names) > 0 {
			slices.Sort(names)
			if !slices.Contains(names, std) {
				std = names[0]
			}
			const most = 12
			shown := names[:min(most, len(names))]
			more := ""
			if n := len(names) - len(shown); n > 0 {
				more = fmt.Sprintf(" and %d more", n)
			}
			s.say("   It has %s%s.", clip.Plain(strings.Join(shown, ", ")), more)
		}
	}
	for {
		prompt := "3. Model: "
		if std != "" {
			prompt = fmt.Sprintf("3. Model [%s]: ", clip.Plain(std))
		}
		line, err := s.t.ask(ctx, prompt)
		if err != nil {
			return err
		}
		s.model = strings.TrimPrefix(cmp.Or(strings.TrimSpace(line), std), s.provider.Name+"/")
		if s.model != "" {
			return nil
		}
	}
}

// address returns where the models are.
func (s *setup) address() string {
	if s.base != "" {
		return s.base
	}
	if s.provider.Local {
		if cfg, _, err := s.t.read(s.g); err == nil {
			if m, err := cfg.Model(s.provider.ModelName("x")); err == nil {
				return m.BaseURL
			}
		}
	}
	return s.provider.BaseURL
}

// name returns the name of the model, as it is configured.
func (s *setup) name() string { return s.provider.ModelName(s.model) }

// try asks the model as it would be configured.
func (s *setup) try(ctx context.Context) error {
	return host.TryNewModel(ctx, s.t.sources(s.g, map[string]string{}), s.configuredAs())
}

// configuredAs returns the model as it will be configured.
func (s *setup) configuredAs() config.NewModel {
	return config.NewModel{Model: s.name(), BaseURL: s.base, Key: config.Secret(s.key), KeyEnv: s.keyEnv}
}

// save keeps what works, and says where.
func (s *setup) save() error {
	inRing, gone, ringErr, err := s.t.host().SaveModel(s.file, s.provider, s.configuredAs())
	if ringErr != nil {
		s.say("· the keyring does not take the key (%s)", clip.Plain(ringErr.Error()))
	}
	if err != nil {
		return err
	}
	where := ""
	if inRing {
		where = "; the key is in the keyring of your system"
	}
	for _, line := range gone {
		s.say("· replaced: %s", clip.Plain(line))
	}
	s.say("It works. Saved in %s, which only you can read%s.", s.file, where)
	if cfg, err := s.t.load(s.g, map[string]string{}); err == nil {
		if m, _, err := host.ProbeModel(context.Background(), cfg, ""); err == nil && cfg.Told(m) != "" {
			s.say("Its endpoint says: %s.", clip.Plain(cfg.Told(m)))
		}
		if m, err := cfg.Model(""); err == nil && m.String() != s.name() {
			s.say("· %s is used before it: %s names it", m, cfg.Origin("run.model"))
		}
	}
	s.say(`Begin: openmanus run "what you want done", or openmanus chat`)
	return nil
}

// secret reads a line that the terminal does not show. If ctx ends, the terminal
// shows again what is typed.
func (t *terminal) secret(ctx context.Context, prompt string) (string, error) {
	fd := int(t.in.Fd())
	state, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	if err := echoOff(fd); err != nil { // before anybody is asked to type
		return "", err
	}
	fmt.Fprint(t.err, prompt)
	type read struct {
		text []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		done <- read{text, err}
	}()
	select {
	case r := <-done:
		fmt.Fprintln(t.err)
		return string(r.text), errors.Join(r.err, term.Restore(fd, state))
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(fd, state))
	}
}
