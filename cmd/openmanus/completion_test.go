package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/cli"
)

// TestCompletion says of command lines what may stand for their last word.
// The values of flags and arguments are here the names of what they are.
func TestCompletion(t *testing.T) {
	line := cli.New("openmanus", about, new(commands))
	values := func(v *cli.Value) []cli.Candidate {
		if v.Name == "workspace" {
			return cli.Dirs
		}
		return []cli.Candidate{{Text: "a-" + v.Name}, {Text: "b-" + v.Name}}
	}
	for _, tc := range []struct {
		name, line, want string // line ends with the word in question, after its last |
	}{
		{"nothing yet", "", "run flow evaluate chat research serve worker sessions schedule usage approvals trust tools agents acp mcp hooks a2a models setup config sandbox doctor demo docs man update version completion"},
		{"a beginning", "co", "config completion"},
		{"a command is whole", "config", "config"},
		{"subcommands", "sessions|re", "resume rewind redo retry replay request"},
		{"hidden ones are not offered", "completion|", "bash zsh fish powershell"},
		{"flags of a command and of all", "tools|--", "--help --config --data-dir --no-color --agent --json"},
		{"the value of a flag", "run|--model|a", "a-model"},
		{"the value after =", "run|--model=b", "--model=b-model"},
		{"as bash splits it", "run|--model|=|b", "b-model"},
		{"as bash splits it, before the value", "run|--model|=", "a-model b-model"},
		{"an unknown flag's value", "run|--nonsense=x", ""},
		{"a value is no argument", "sessions|show|--config|x|", "a-id b-id"},
		{"a flag without a value", "sessions|show|--json|", "a-id b-id"},
		{"a short flag", "sessions|log|-f|", "a-id b-id"},
		{"a second argument", "sessions|approve|x|", "a-call b-call"},
		{"no further argument", "sessions|show|x|", ""},
		{"any number of arguments", "sessions|delete|x|y|", "a-id b-id"},
		{"after --", "sessions|show|--|--", ""},
		{"a dash is an argument", "sessions|say|x|-|", ""},
		{"directories", "run|--workspace|w", ":dirs"},
		{"beyond a command that is not there", "nonsense|", "run flow evaluate chat research serve worker sessions schedule usage approvals trust tools agents acp mcp hooks a2a models setup config sandbox doctor demo docs man update version completion"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, found := range line.Complete(strings.Split(tc.line, "|"), values) {
				got = append(got, found.Text)
			}
			if !slices.Equal(got, strings.Fields(tc.want)) {
				t.Errorf("openmanus %s\n got %v\nwant %v", strings.ReplaceAll(tc.line, "|", " "), got, strings.Fields(tc.want))
			}
		})
	}
}

// TestHelp says that every command, flag and argument has a word of help, and
// that every command can be run.
func TestHelp(t *testing.T) {
	var look func(c *cli.Command)
	look = func(c *cli.Command) {
		if c.Hidden {
			return
		}
		if c.Help == "" {
			t.Errorf("%s has no help", c.Path())
		}
		for _, v := range slices.Concat(c.Flags, c.Args) {
			if v.Help == "" {
				t.Errorf("%s: %s has no help", c.Path(), v.Name)
			}
		}
		switch c.Target().(type) {
		case command, taskCommand, configCommand, appCommand, sessionCommand:
		default:
			if len(c.Commands) == 0 {
				t.Errorf("%s has no method that runs it", c.Path())
			}
		}
		for _, below := range c.Commands {
			look(c.Command(below.Name))
		}
	}
	look(cli.New("openmanus", about, new(commands)))
}

// TestWhatIsOfferedBeginsAsTheWordDoes, whatever stands on the line. (Not a
// fuzz target: to instrument the whole program takes minutes.)
func TestWhatIsOfferedBeginsAsTheWordDoes(t *testing.T) {
	line := cli.New("openmanus", about, new(commands))
	values := func(v *cli.Value) []cli.Candidate { return []cli.Candidate{{Text: "a-" + v.Name}} }
	pieces := []string{"", "run", "sessions", "delete", "--", "--model", "--x=y", "-q", "=", "a", "a-", "--output", "json", "config", "-", "é", "\x00"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		words := make([]string, 1+random.IntN(6))
		for i := range words {
			words[i] = pieces[random.IntN(len(pieces))]
		}
		for _, found := range line.Complete(words, values) {
			if last := words[len(words)-1]; last != "=" && !strings.HasPrefix(found.Text, last) {
				t.Fatalf("%q: %q", words, found.Text)
			}
		}
	}
}
