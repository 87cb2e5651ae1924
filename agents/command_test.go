package agents

import (
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

func TestCommands(t *testing.T) {
	files := fstest.MapFS{
		"commands/review.md": {Data: []byte("---\ndescription: Review a change\nargument-hint: FILE [WHAT]\nmode: plan\nmodel: openai/gpt-5\nagent: swe\n---\nReview $1 for \"$2\". All: $ARGUMENTS. It costs $$5 or $x.\n")},
		"commands/plain.md":  {Data: []byte("Tidy up.")},
		"commands/README.md": {Data: []byte("no command")},
		"commands/notes.txt": {Data: []byte("no command")},
		"commands/Bad.md":    {Data: []byte("text")},
		"commands/empty.md":  {Data: []byte("---\ndescription: x\n---\n")},
		"commands/mode.md":   {Data: []byte("---\nmode: never\n---\ntext")},
		"commands/open.md":   {Data: []byte("---\nmode: [\n---\ntext")},
	}
	all, problems := Commands(files, "user")
	if len(all) != 2 || len(problems) != 4 {
		t.Fatalf("%v, %v", all, problems)
	}
	c := all[1]
	if c.Name != "review" || c.Arguments != "FILE [WHAT]" || c.Mode != "plan" || c.Model != "openai/gpt-5" || c.Agent != "swe" || c.From != "user" {
		t.Errorf("%+v", c)
	}
	for _, tc := range []struct {
		command         *Command
		arguments, want string
	}{
		{c, `a.go 'data races' $1`, `Review a.go for "data races". All: a.go 'data races' $1. It costs $5 or $x.`},
		{c, "", `Review  for "". All: . It costs $5 or $x.`},
		{all[0], " the cellar ", "Tidy up.\n\nthe cellar"},
		{all[0], "", "Tidy up."},
		{&Command{Text: "$10 $9 $"}, "a", "$10  $"},
		{&Command{Text: "$1|$2"}, `"" "b c`, "|b c"},
	} {
		if got := tc.command.Expand(tc.arguments); got != tc.want {
			t.Errorf("%q with %q: %q, want %q", tc.command.Text, tc.arguments, got, tc.want)
		}
	}
}

// A command is text of anyone and arguments of anyone: nothing that is put in is looked
// at again, and what has no arguments loses none.
func FuzzCommand(f *testing.F) {
	f.Add("---\nmode: ask\n---\nDo $1 and $ARGUMENTS for $$2", "a 'b c' $1")
	f.Fuzz(func(t *testing.T, file, arguments string) {
		c, err := ParseCommand("commands/x.md", []byte(file))
		if err != nil {
			return
		}
		got := c.Expand(arguments)
		if utf8.ValidString(c.Text) && utf8.ValidString(arguments) && !utf8.ValidString(got) {
			t.Errorf("%q with %q is %q", c.Text, arguments, got)
		}
		if !strings.Contains(c.Text, "$") {
			want := strings.TrimSpace(c.Text)
			if a := strings.TrimSpace(arguments); a != "" {
				want = strings.TrimSpace(want + "\n\n" + a)
			}
			if got != want {
				t.Errorf("%q with %q is %q", c.Text, arguments, got)
			}
		}
	})
}
