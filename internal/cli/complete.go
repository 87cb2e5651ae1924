package cli

import (
	"embed"
	"strings"
)

// Script returns the completion script of a shell ("bash", "zsh", "fish" or "powershell") for
// a program. It runs "PROGRAM completion words -- WORD…", which has to print what
// [Command.Complete] returns: a line for each candidate, with a tab and the help
// behind it.
func Script(shell, program string) (string, error) {
	data, err := scripts.ReadFile("completion/" + shell)
	return strings.ReplaceAll(string(data), "PROGRAM", program), err
}

//go:embed completion
var scripts embed.FS

// A Candidate is a word that may stand on a command line.
type Candidate struct{ Text, Help string }

// Files and Dirs are candidates in whose place the shell completes the names of
// files, or of directories.
var (
	Files = []Candidate{{":files", ""}}
	Dirs  = []Candidate{{":dirs", ""}}
)

// Complete returns what the last of the words of a command line below root may
// be. values returns what the value of a flag or an argument may be, whatever its
// beginning.
func (root *Command) Complete(words []string, values func(*Value) []Candidate) []Candidate {
	words = joined(words)
	last := words[len(words)-1]
	at, flag, n, ended := walk(root, words[:len(words)-1])
	name, value, assigned := strings.Cut(last, "=")
	switch {
	case flag != nil:
		return beginning(values(flag), last, "")
	case !ended && assigned && strings.HasPrefix(last, "-"):
		if f := at.Flag(name); f != nil {
			return beginning(values(f), value, name+"=")
		}
		return nil
	case !ended && strings.HasPrefix(last, "-"):
		return beginning(flagsOf(at), last, "")
	case len(at.Commands) > 0:
		return beginning(commandsOf(at), last, "")
	case len(at.Args) > 0:
		p := at.Args[min(n, len(at.Args)-1)]
		if n < len(at.Args) || p.Many {
			return beginning(values(p), last, "")
		}
	}
	return nil
}

// joined returns words as users see them: bash splits --flag=value into three.
// At least one word is returned.
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
func walk(root *Command, words []string) (at *Command, flag *Value, n int, ended bool) {
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

// flagsOf returns the flags of a command and of all above it.
func flagsOf(at *Command) []Candidate {
	if at == nil {
		return []Candidate{{"--help", ""}}
	}
	cs := flagsOf(at.Parent)
	for _, f := range at.Flags {
		cs = append(cs, Candidate{"--" + f.Name, f.Help})
	}
	return cs
}

// commandsOf returns the commands below a command.
func commandsOf(at *Command) []Candidate {
	var cs []Candidate
	for _, c := range at.Commands {
		if !c.Hidden {
			cs = append(cs, Candidate{c.Name, c.Help})
		}
	}
	return cs
}

// beginning returns the candidates that begin with word, with head before them.
func beginning(cs []Candidate, word, head string) []Candidate {
	var found []Candidate
	for _, c := range cs {
		switch {
		case strings.HasPrefix(c.Text, ":"):
			found = append(found, c)
		case strings.HasPrefix(c.Text, word):
			found = append(found, Candidate{head + c.Text, c.Help})
		}
	}
	return found
}
