package cli_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/cli"
)

// tricky is a command line whose texts roff and Markdown could misread.
type tricky struct {
	Plain plain  `cmd:"" help:"Say .words, and 'more' of C:\\dir."`
	Level string `help:"A *level* of a_b | c. Default: -1." short:"l"`
}

type plain struct {
	Below struct {
		Name string `arg:"" help:".It begins with a dot."`
	} `cmd:"" help:"A command within."`
}

func (plain) Help() string {
	return ".first\n'second\n\n  exact   text --flag\n\nA last one."
}

// TestMan reads pages as man does, and as the linter of mandoc does where it is there.
func TestMan(t *testing.T) {
	root := cli.New("x", "Does *things*.\n\nMore of it.", new(tricky))
	pages := map[string]string{}
	for _, p := range root.Pages() {
		var b bytes.Buffer
		if err := p.WriteMan(&b, "v1-2", time.Date(2026, 11, 28, 23, 0, 0, 0, time.FixedZone("", 3600))); err != nil {
			t.Fatal(err)
		}
		pages[p.Page()] = b.String()
		if _, err := exec.LookPath("mandoc"); err == nil {
			lint := exec.Command("mandoc", "-T", "lint", "-W", "warning")
			lint.Stdin = &b
			if out, err := lint.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s\n%s", p.Page(), err, out, pages[p.Page()])
			}
		}
	}
	for name, want := range map[string][]string{
		"x": {
			`.TH "X" 1 2026-11-28 "x v1\-2" "User Commands"`, `x \- Does *things*`, ".B plain\n", `.B \-l, \-\-level=VALUE`, ".BR x\\-plain (1)",
		},
		"x-plain": {
			`\&.first`, `\&'second`, ".nf\n  exact   text \\-\\-flag\n.fi", `.SS "x plain below <name> [FLAGS]"`, `\&.It begins with a dot.`, `C:\edir`,
		},
	} {
		for _, text := range want {
			if !strings.Contains(pages[name], text) {
				t.Errorf("%s lacks %q:\n%s", name, text, pages[name])
			}
		}
	}
}

// TestReference says that a page in Markdown shows the texts as they are.
func TestReference(t *testing.T) {
	var b bytes.Buffer
	if err := cli.New("x", "Does *things*.", new(tricky)).WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# x\n", "\\*things\\*", "## x plain\n", "### x plain below\n", "```\n  exact   text --flag\n```", "- `-l, --level=VALUE`: A \\*level\\* of a\\_b \\| c.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the reference lacks %q:\n%s", want, b.String())
		}
	}
}
