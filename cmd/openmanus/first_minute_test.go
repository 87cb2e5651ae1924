package main

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/cli"
)

// A task needs no command: it is for chat where the terminal can show it,
// and run elsewhere.
func TestWithoutCommand(t *testing.T) {
	for _, c := range []struct{ typed, screen, line string }{
		{"", "chat", ""},
		{"run|x", "run|x", "run|x"},
		{"do this", "chat|do this", "run|do this"},
		{"--model|m", "chat|--model|m", "run|--model|m"},
		{"--model=m|do this", "chat|--model=m|do this", "run|--model=m|do this"},
		{"--approve|all|--model|m|do this", "chat|--approve|all|--model|m|do this", "run|--approve|all|--model|m|do this"},
		{"do this|--model|m", "chat|do this|--model|m", "run|do this|--model|m"},
		{"--output|json|do this", "run|--output|json|do this", "run|--output|json|do this"},
		{"do this|--output|json", "run|do this|--output|json", "run|do this|--output|json"},
		{"-q|do this", "run|-q|do this", "run|-q|do this"},
		{"--plain", "chat|--plain", "chat|--plain"},
		{"--attach|http://x", "chat|--attach|http://x", "chat|--attach|http://x"},
		{"--data-dir|d", "chat|--data-dir|d", "--data-dir|d"},
		{"--data-dir|d|sessions|list", "--data-dir|d|sessions|list", "--data-dir|d|sessions|list"},
		{"--model|m|run|x", "run|--model|m|x", "run|--model|m|x"},
		{"--model|m|sessions|list", "sessions|--model|m|list", "sessions|--model|m|list"},
		{"--model|m|rnu|x", "--model|m|rnu|x", "--model|m|rnu|x"},
		{"--|do this", "chat|--|do this", "run|--|do this"},
		{"--help", "--help", "--help"},
		{"--version", "--version", "--version"},
		{"--nonsense", "--nonsense", "--nonsense"},
		{"nonsense", "nonsense", "nonsense"},
	} {
		for _, on := range []bool{true, false} {
			want := map[bool]string{true: c.screen, false: c.line}[on]
			var args []string
			if c.typed != "" {
				args = strings.Split(c.typed, "|")
			}
			got := strings.Join(withoutCommand(cli.New("openmanus", about, new(commands)), args, on), "|")
			if got != want {
				t.Errorf("%s, screen %v: %s, want %s", c.typed, on, got, want)
			}
		}
	}
}

// Words of other programs are commands of this one.
func TestSpelled(t *testing.T) {
	for typed, want := range map[string]string{
		"": "--help", "help": "--help", "help run": "run --help", "run help": "run --help", "help help": "--help",
		"help examples": "docs cheatsheet --print", "-v": "version", "--version": "version", "run this": "run this",
	} {
		if got := strings.Join(spelled(strings.Fields(typed)), " "); got != want {
			t.Errorf("%q is %q, want %q", typed, got, want)
		}
	}
}
