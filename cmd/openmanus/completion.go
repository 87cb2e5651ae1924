package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/cli"
	"github.com/openmanus-go/openmanus/internal/termtext"

	"github.com/openmanus-go/openmanus/journal"
)

// completionCmd is openmanus completion. The scripts run "openmanus completion
// words" for each completion, so they fit every version of the program.
type completionCmd struct {
	Bash       completionBashCmd       `cmd:"" help:"For bash: source <(openmanus completion bash)"`
	Zsh        completionZshCmd        `cmd:"" help:"For zsh: source <(openmanus completion zsh), after compinit."`
	Fish       completionFishCmd       `cmd:"" help:"For fish: openmanus completion fish | source"`
	PowerShell completionPowerShellCmd `cmd:"" name:"powershell" help:"For PowerShell: openmanus completion powershell | Out-String | Invoke-Expression"`
	Words      completionWordsCmd      `cmd:"" hidden:"" help:"Print what may stand for the last word of a command line."`
}

type (
	completionBashCmd       struct{}
	completionZshCmd        struct{}
	completionFishCmd       struct{}
	completionPowerShellCmd struct{}
)

// Run implements the command.
func (completionBashCmd) Run(_ context.Context, t *terminal, _ *globals) error {
	return t.script("bash")
}

// Run implements the command.
func (completionZshCmd) Run(_ context.Context, t *terminal, _ *globals) error { return t.script("zsh") }

// Run implements the command.
func (completionFishCmd) Run(_ context.Context, t *terminal, _ *globals) error {
	return t.script("fish")
}

// Run implements the command.
func (completionPowerShellCmd) Run(_ context.Context, t *terminal, _ *globals) error {
	return t.script("powershell")
}

func (t *terminal) script(shell string) error {
	text, err := cli.Script(shell, "openmanus")
	if err == nil {
		_, err = fmt.Fprint(t.out, text)
	}
	return err
}

// completionWordsCmd prints what may stand for the last of the words.
type completionWordsCmd struct {
	Words []string `arg:"" optional:""`
}

// Run implements the command, which the scripts of shells call. Each line is a word and,
// after a tab, its description. It never fails: a shell has no use for errors.
func (c *completionWordsCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	line := cli.New("openmanus", about, new(commands))
	values := func(v *cli.Value) []cli.Candidate { return t.valuesOf(ctx, g, v) }
	for _, found := range line.Complete(c.Words, values) {
		text := termtext.OneLine(found.Text, 200)
		if found.Help != "" {
			text += "\t" + termtext.OneLine(found.Help, 100)
		}
		fmt.Fprintln(t.out, text)
	}
	return nil
}

// valuesOf returns the values that v may have, as far as they are known. An
// error offers nothing: there is no place for it in the middle of a command
// line.
func (t *terminal) valuesOf(ctx context.Context, g *globals, v *cli.Value) []cli.Candidate {
	var cs []cli.Candidate
	kind := cmp.Or(v.Placeholder, v.Name)
	switch {
	case v.Enum != nil:
		for _, word := range v.Enum {
			if word != "" {
				cs = append(cs, cli.Candidate{Text: word})
			}
		}
	case kind == "ID", kind == "id":
		cs = t.sessionsFor(ctx, g)
	case kind == "FILE", kind == "file":
		return cli.Files
	case kind == "DIR":
		return cli.Dirs
	case v.Name == "agent", v.Name == "agents", v.Name == "delegate":
		for _, k := range t.host().ReadTeam(t.dir, agents.Kinds()).Kinds {
			if k.Hidden {
				continue
			}
			cs = append(cs, cli.Candidate{Text: k.Name, Help: k.Description})
		}
	case v.Name == "model":
		if cfg, _, err := t.read(g); err == nil {
			list, _ := host.ListModels(ctx, cfg)
			for _, m := range list {
				cs = append(cs, cli.Candidate{Text: m.Name, Help: m.Model.String()})
			}
		}
	}
	return cs
}

// sessionsFor returns the ids of the 50 newest sessions, with their titles. Errors mean
// that there are none to offer.
func (t *terminal) sessionsFor(ctx context.Context, g *globals) []cli.Candidate {
	a, err := t.open(g, map[string]string{})
	if err != nil {
		return nil
	}
	defer a.Close()
	cs := []cli.Candidate{{Text: "last", Help: "the newest"}}
	for in, err := range a.db.Sessions(ctx, journal.ListOptions{Limit: 50, Roots: true}) {
		if err != nil {
			break
		}
		cs = append(cs, cli.Candidate{Text: in.ID, Help: in.Title})
	}
	return cs
}
