package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/openmanus-go/openmanus/internal/cli"
)

var codeBlock = regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```")

// TestDocumentedCommands parses every command line of ours in the documentation: it has to be one that there is,
// with flags and arguments that there are.
func TestDocumentedCommands(t *testing.T) {
	lines := 0
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
			script, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), file)
			if err != nil {
				t.Errorf("%s: %v:\n%s", file, err, text)
				continue
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
				if _, err := cli.New("openmanus", about, new(commands)).Parse(spelled(words)); err != nil && !errors.Is(err, cli.ErrHelp) && len(words) > 0 {
					t.Errorf("%s: openmanus %s: %v", file, strings.Join(words, " "), err)
				}
				return true
			})
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
