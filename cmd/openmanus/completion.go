package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/cli"

	"github.com/openmanus-go/openmanus/journal"
)

// completionCmd is openmanus completion. The scripts ask the program itself
// what may follow, so that they are right for every version of it.
type completionCmd struct {
	Bash  completionBashCmd  `cmd:"" help:"For bash: source <(openmanus completion bash)"`
	Zsh   completionZshCmd   `cmd:"" help:"For zsh: source <(openmanus completion zsh), after compinit."`
	Fish  completionFishCmd  `cmd:"" help:"For fish: openmanus completion fish | source"`
	Words completionWordsCmd `cmd:"" hidden:"" help:"Print what may stand for the last word of a command line."`
}

type (
	completionBashCmd struct{}
	completionZshCmd  struct{}
	completionFishCmd struct{}
)

// Run implements the command.
func (completionBashCmd) Run(_ context.Context, t *terminal, _ *globals) error {
	return t.script(bashScript)
}

// Run implements the command.
func (completionZshCmd) Run(_ context.Context, t *terminal, _ *globals) error {
	return t.script(zshScript)
}

// Run implements the command.
func (completionFishCmd) Run(_ context.Context, t *terminal, _ *globals) error {
	return t.script(fishScript)
}

func (t *terminal) script(text string) error {
	_, err := fmt.Fprint(t.out, text)
	return err
}

// Bash splits words at =. Where there is nothing to say it completes files.
const bashScript = `# openmanus completion for bash. In ~/.bashrc: source <(openmanus completion bash)
_openmanus() {
	local IFS=$'\n'
	COMPREPLY=($("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | sed -e '/^:/d' -e 's/	.*//'))
}
complete -o default -F _openmanus openmanus
`

const zshScript = `#compdef openmanus
# openmanus completion for zsh. In ~/.zshrc, after compinit: source <(openmanus completion zsh)
_openmanus() {
	local value help
	local -a found
	while IFS=$'\t' read -r value help; do
		case $value in
		(:files) _files; return ;;
		(:dirs) _files -/; return ;;
		(*) found+=("${value//:/\\:}${help:+:$help}") ;;
		esac
	done < <("${(Q)words[1]}" completion words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
	_describe -V openmanus found
}
if [[ ${funcstack[1]} == _openmanus ]]; then _openmanus "$@"; else compdef _openmanus openmanus; fi
`

const fishScript = `# openmanus completion for fish. In ~/.config/fish/config.fish: openmanus completion fish | source
function __openmanus_words
	set -l before (commandline -opc)
	set -l now (commandline -ct)
	set -l found (openmanus completion words -- $before[2..-1] "$now" 2>/dev/null)
	switch "$found[1]"
		case :files
			__fish_complete_path "$now"
		case :dirs
			__fish_complete_directories "$now"
		case '*'
			string join \n -- $found
	end
end
complete -c openmanus -f -a '(__openmanus_words)'
`

// completionWordsCmd prints what may stand for the last of the words: a line
// for each, with a tab and a help text behind it if there is one; or :files or
// :dirs.
type completionWordsCmd struct {
	Words []string `arg:"" optional:""`
}

// Run implements the command.
func (c *completionWordsCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	line := completer{value: func(v *cli.Value) []candidate { return t.valuesOf(ctx, g, v) }}
	for _, found := range line.complete(cli.New("openmanus", about, new(commands)), c.Words) {
		text := oneLine(found.text, 200)
		if found.help != "" {
			text += "\t" + oneLine(found.help, 100)
		}
		if _, err := fmt.Fprintln(t.out, text); err != nil {
			return err
		}
	}
	return nil
}

// A candidate is what a word may be.
type candidate struct{ text, help string }

// What is not ours to list.
var (
	someFile = []candidate{{":files", ""}}
	someDir  = []candidate{{":dirs", ""}}
)

// A completer says what may stand on a command line.
type completer struct {
	value func(v *cli.Value) []candidate // of a flag or an argument
}

// complete returns what the last of the words may be.
func (c *completer) complete(root *cli.Command, words []string) []candidate {
	words = joined(words)
	last := words[len(words)-1]
	at, flag, n, ended := walk(root, words[:len(words)-1])
	name, value, assigned := strings.Cut(last, "=")
	switch {
	case flag != nil:
		return beginning(c.value(flag), last, "")
	case !ended && assigned && strings.HasPrefix(last, "-"):
		if f := at.Flag(name); f != nil {
			return beginning(c.value(f), value, name+"=")
		}
		return nil
	case !ended && strings.HasPrefix(last, "-"):
		return beginning(flags(at), last, "")
	case len(at.Commands) > 0:
		return beginning(children(at), last, "")
	case len(at.Args) > 0:
		p := at.Args[min(n, len(at.Args)-1)]
		if n < len(at.Args) || p.Many {
			return beginning(c.value(p), last, "")
		}
	}
	return nil
}

// joined are words as people see them: bash makes three of --flag=value. At
// least one is returned.
func joined(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if words[i] == "=" && len(out) > 0 && strings.HasPrefix(out[len(out)-1], "--") {
			if i++; i == len(words) {
				words = append(words, "")
			}
			out = append(out, words[i]) // as if there were a space: what is completed is the value alone
			continue
		}
		out = append(out, words[i])
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

// walk follows words from root. It returns the command they lead to, the flag
// whose value comes next, if one does, how many arguments there were, and
// whether flags have ended.
func walk(root *cli.Command, words []string) (at *cli.Command, flag *cli.Value, n int, ended bool) {
	at = root
	for _, w := range words {
		switch {
		case flag != nil:
			flag = nil
		case w == "--" && !ended:
			ended = true
		case strings.HasPrefix(w, "-") && w != "-" && !ended:
			if f := at.Flag(w); f != nil && !f.Switch() {
				flag = f
			}
		default:
			if below := at.Command(w); below != nil {
				at, n = below, 0
			} else {
				n++
			}
		}
	}
	return at, flag, n, ended
}

// flags are those of a command and of all above it.
func flags(at *cli.Command) []candidate {
	if at == nil {
		return []candidate{{"--help", ""}}
	}
	cs := flags(at.Parent)
	for _, f := range at.Flags {
		cs = append(cs, candidate{"--" + f.Name, f.Help})
	}
	return cs
}

func children(at *cli.Command) []candidate {
	var cs []candidate
	for _, c := range at.Commands {
		if !c.Hidden {
			cs = append(cs, candidate{c.Name, c.Help})
		}
	}
	return cs
}

// beginning returns those that begin with word, with head before them.
func beginning(cs []candidate, word, head string) []candidate {
	var found []candidate
	for _, c := range cs {
		switch {
		case strings.HasPrefix(c.text, ":"):
			found = append(found, c)
		case strings.HasPrefix(c.text, word):
			found = append(found, candidate{head + c.text, c.help})
		}
	}
	return found
}

// valuesOf returns the values that v may have, as far as they are known. What
// cannot be read offers nothing: there is nobody to tell in the middle of a
// command line.
func (t *terminal) valuesOf(ctx context.Context, g *globals, v *cli.Value) []candidate {
	var cs []candidate
	kind := cmp.Or(v.Placeholder, v.Name)
	switch {
	case v.Enum != nil:
		for _, word := range v.Enum {
			if word != "" {
				cs = append(cs, candidate{word, ""})
			}
		}
	case kind == "ID", kind == "id":
		cs = t.sessionsFor(ctx, g)
	case kind == "FILE", kind == "file":
		return someFile
	case kind == "DIR":
		return someDir
	case v.Name == "agent", v.Name == "agents", v.Name == "delegate":
		for _, k := range t.host().ReadTeam(t.dir, agents.Kinds()).Kinds {
			if k.Hidden {
				continue
			}
			cs = append(cs, candidate{k.Name, k.Description})
		}
	case v.Name == "model":
		if cfg, _, err := t.read(g); err == nil {
			list, _ := host.ListModels(ctx, cfg)
			for _, m := range list {
				cs = append(cs, candidate{m.Name, m.Model.String()})
			}
		}
	}
	return cs
}

// sessionsFor are the ids of the newest sessions.
func (t *terminal) sessionsFor(ctx context.Context, g *globals) []candidate {
	a, err := t.open(g, map[string]string{})
	if err != nil {
		return nil
	}
	defer a.Close()
	cs := []candidate{{"last", "the newest"}}
	for in, err := range a.db.Sessions(ctx, journal.ListOptions{Limit: 50, Roots: true}) {
		if err != nil {
			break
		}
		cs = append(cs, candidate{in.ID, in.Title})
	}
	return cs
}
