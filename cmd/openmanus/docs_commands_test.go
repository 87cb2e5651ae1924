package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/openmanus-go/openmanus/internal/cli"
)

// inlineCode finds commands with arguments within sentences.
var inlineCode = regexp.MustCompile("`(openmanus [^`\n]*)`")

var codeBlock = regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```")

// TestDocumentedCommands parses every command line of ours in the documentation: it has to be one that there is,
// with flags and arguments that there are.
func TestDocumentedCommands(t *testing.T) {
	lines := 0
	named := regexp.MustCompile(`^expected |needs a value`) // by a sentence, without what follows
	parses := func(file, text string, sentence bool) {
		script, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), file)
		if err != nil {
			t.Errorf("%s: %v:\n%s", file, err, text)
			return
		}
		syntax.Walk(script, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "openmanus" {
				return true
			}
			var words []string
			for _, w := range call.Args[1:] {
				words = append(words, plainWord(w))
			}
			lines++
			root := cli.New("openmanus", about, new(commands))
			if _, err := root.Parse(withoutCommand(root, spelled(words), true)); err != nil && !errors.Is(err, cli.ErrHelp) && len(words) > 0 && !(sentence && named.MatchString(err.Error())) {
				t.Errorf("%s: openmanus %s: %v", file, strings.Join(words, " "), err)
			}
			return true
		})
	}
	check := func(file string) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range codeBlock.FindAllStringSubmatch(string(data), -1) {
			text := block[2]
			if block[1] == "console" { // what was typed, and what came
				var typed []string
				for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
					if command, ok := strings.CutPrefix(line, "$ "); ok {
						typed = append(typed, command)
					}
				}
				text = strings.Join(typed, "\n")
			}
			parses(file, text, false)
		}
		for _, m := range inlineCode.FindAllStringSubmatch(string(data), -1) {
			parses(file, strings.NewReplacer(`"…"`, `"two words"`, "…", "x", "COMMAND", "run").Replace(m[1]), true)
		}
	}
	check("../../README.md")
	err := filepath.WalkDir("../../docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".md" {
			check(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if lines < 90 {
		t.Errorf("%d command lines are too few to say anything", lines)
	}
}

// TestCommandsAreListed compares docs/commands/README.md with the commands that there are, for people who
// read the pages where the source is: openmanus docs has a page for each instead. UPDATE=1 in the environment writes it.
func TestCommandsAreListed(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Commands\n\nA test writes this list. `openmanus docs` has a page for each command, and `openmanus COMMAND --help` prints its flags.\n\n")
	for _, p := range cli.New("openmanus", about, new(commands)).Pages()[1:] {
		fmt.Fprintf(&b, "- `openmanus %s`: %s\n", strings.ReplaceAll(p.Path(), "/", " "), p.Help)
	}
	file := filepath.Join("..", "..", "docs", "commands", "README.md")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != b.String() {
		t.Errorf("docs/commands/README.md is not what there is (%v): UPDATE=1 go test ./cmd/openmanus -run TestCommandsAreListed", err)
	}
}

// plainWord returns a word as a program gets it, with what is expanded left out.
func plainWord(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(plainWord(&syntax.Word{Parts: p.Parts}))
		default:
			b.WriteString("x")
		}
	}
	return b.String()
}
