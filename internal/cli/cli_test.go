package cli_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/cli"
)

type everywhere struct {
	Dir   string `help:"Where." placeholder:"DIR"`
	Plain bool   `help:"No colour."`
}

type shared struct {
	MaxSteps int           `help:"Stop then." placeholder:"N"`
	Wait     time.Duration `help:"So long." default:"10m"`
}

type tree struct {
	Do struct {
		Task  string   `arg:"" optional:"" help:"What."`
		Kind  string   `help:"How." enum:"fast,slow" default:"slow"`
		With  []string `help:"Who helps." placeholder:"NAME,…"`
		File  []string `help:"What goes with it." sep:"none"`
		Quiet bool     `short:"q" help:"Nothing is shown."`
		Force bool     `short:"f" help:"At once."`
		Limit int64    `short:"n" default:"20" help:"At most."`
		shared
	} `cmd:"" help:"Do it."`
	Try struct {
		Name    string   `arg:"" help:"What to call it."`
		Command []string `arg:"" passthrough:"" help:"The command."`
		BaseURL string   `help:"The endpoint."`
	} `cmd:"" help:"Run something."`
	List struct {
		All struct {
			JSON bool `name:"json" help:"JSON."`
		} `cmd:"" default:"1" help:"All there are."`
		One struct {
			ID string `arg:"" help:"Which."`
		} `cmd:"" help:"One."`
	} `cmd:"" help:"List them."`
	Secret struct{} `cmd:"" hidden:"" help:"Not for you."`

	everywhere
}

// TestParse checks the command and the values of each command line, or the error.
func TestParse(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"do", "do Kind=slow Limit=20 Wait=10m0s"},
		{"do task", "do Task=task Kind=slow Limit=20 Wait=10m0s"},
		{"do -q task --kind fast --plain", "do Task=task Kind=fast Quiet Limit=20 Wait=10m0s Plain"},
		{"--dir d do --dir=e", "do Kind=slow Limit=20 Wait=10m0s Dir=e"},
		{"do --with a,b --with=c", "do Kind=slow With=[a b c] Limit=20 Wait=10m0s"},
		{"do --file a,b --file c", "do Kind=slow File=[a,b c] Limit=20 Wait=10m0s"},
		{"do -qf -n5 --wait 90s --max-steps -3", "do Kind=slow Quiet Force Limit=5 MaxSteps=-3 Wait=1m30s"},
		{"do -n=7", "do Kind=slow Limit=7 Wait=10m0s"},
		{"do -- --kind", "do Task=--kind Kind=slow Limit=20 Wait=10m0s"},
		{"do - ", "do Task=- Kind=slow Limit=20 Wait=10m0s"},
		{"do --plain=false --quiet=true", "do Kind=slow Quiet Limit=20 Wait=10m0s"},
		{"try --base-url u name ls -l --base-url x", "try Name=name Command=[ls -l --base-url x] BaseURL=u"},
		{"try name -- ls -- -l", "try Name=name Command=[ls -- -l]"},
		{"list", "list all"},
		{"list --json", "list all JSON"},
		{"list one x", "list one ID=x"},
		{"secret", "secret"},

		{"", "! expected one of do, try, list"},
		{"dp", `! unexpected argument dp, did you mean "do"?`},
		{"do a b", "do ! unexpected argument b"},
		{"do --knid fast", `do ! unknown flag --knid, did you mean "--kind"?`},
		{"do --kind medium", `do ! --kind: "medium" is not one of fast, slow`},
		{"do --kind", "do ! --kind needs a value: --kind=KIND"},
		{"do --dir --quiet", "do ! --dir needs a value, and --quiet is a flag: if you mean the value, write --dir=--quiet"},
		{"do --max-steps", "do ! --max-steps needs a value: --max-steps=N"},
		{"do --max-steps x", `do ! --max-steps: "x" is not a whole number`},
		{"do --limit 99999999999999999999", `do ! --limit: "99999999999999999999" is too large`},
		{"do --wait soon", `do ! --wait: "soon" is not a duration such as 90s, 10m or 1h`},
		{"do --quiet=perhaps", `do ! --quiet: "perhaps" is neither true nor false`},
		{"do -x", "do ! unknown flag -x"},
		{"try name", "try ! expected <command> ..."},
		{"try", "try ! expected <name> <command> ..."},
		{"list ine", `list all ! unexpected argument ine, did you mean "one"?`},
		{"list one", "list one ! expected <id>"},
		{"do --help --nonsense", "do ! help requested"},
		{"-h", "! help requested"},
	} {
		var into tree
		at, err := cli.New("program", "", &into).Parse(strings.Fields(tc.line))
		got := at.Path()
		if err != nil {
			got = strings.TrimSpace(got + " ! " + err.Error())
		} else {
			got += given(&into, at.Path())
		}
		if got != tc.want {
			t.Errorf("program %s\n got %s\nwant %s", tc.line, got, tc.want)
		}
		if errors.Is(err, cli.ErrHelp) != strings.Contains(tc.want, "help requested") {
			t.Errorf("program %s: %v", tc.line, err)
		}
	}
}

// given returns the values in the struct of a command.
func given(into *tree, path string) string {
	var b strings.Builder
	say := func(name string, v any) {
		switch s := fmt.Sprint(v); s {
		case "", "0", "0s", "[]", "false":
		case "true":
			b.WriteString(" " + name)
		default:
			b.WriteString(" " + name + "=" + s)
		}
	}
	switch d := &into.Do; path {
	case "do":
		say("Task", d.Task)
		say("Kind", d.Kind)
		say("With", d.With)
		say("File", d.File)
		say("Quiet", d.Quiet)
		say("Force", d.Force)
		say("Limit", d.Limit)
		say("MaxSteps", d.MaxSteps)
		say("Wait", d.Wait)
	case "try":
		say("Name", into.Try.Name)
		say("Command", into.Try.Command)
		say("BaseURL", into.Try.BaseURL)
	case "list all":
		say("JSON", into.List.All.JSON)
	case "list one":
		say("ID", into.List.One.ID)
	}
	say("Dir", into.Dir)
	say("Plain", into.Plain)
	return b.String()
}

func TestWriteHelp(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"-h", `Usage: program COMMAND [FLAGS]

It does things.

Two lines
  stay two lines

Commands:
  do      Do it.
  try     Run something.
  list    List them.

Flags of every command:
  -h, --help       This help.
      --dir=DIR    Where.
      --plain      No colour.

More of each: program COMMAND --help
`},
		{"do -h", `Usage: program do [<task>] [FLAGS]

Do it.

Arguments:
  [<task>]    What.

Flags:
      --kind=KIND      How. Default:
                       slow.
      --with=NAME,…    Who helps.
      --file=VALUE     What goes with
                       it.
  -q, --quiet          Nothing is shown.
  -f, --force          At once.
  -n, --limit=VALUE    At most. Default:
                       20.
      --max-steps=N    Stop then.
      --wait=VALUE     So long. Default:
                       10m.

Flags of every command:
  -h, --help       This help.
      --dir=DIR    Where.
      --plain      No colour.
`},
		{"list -h", `Usage: program list [COMMAND] [FLAGS]

List them.

Commands:
  all    All there are.
  one    One.

Flags of every command:
  -h, --help       This help.
      --dir=DIR    Where.
      --plain      No colour.

More of each: program list COMMAND
--help
`},
	} {
		at, err := cli.New("program", "It does\nthings.\n\nTwo lines\n  stay two lines\n", new(tree)).Parse(strings.Fields(tc.line))
		if !errors.Is(err, cli.ErrHelp) {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := at.WriteHelp(&b, 40); err != nil {
			t.Fatal(err)
		}
		if b.String() != tc.want {
			t.Errorf("program %s\n%s\nwant\n%s", tc.line, b.String(), tc.want)
		}
	}
}

// An invalid description panics when the program starts.
func TestNewPanics(t *testing.T) {
	for _, wrong := range []any{
		&struct{ Rate float64 }{},
		&struct{ Of []int }{},
		&struct {
			N int `default:"many"`
		}{},
		&struct {
			K string `enum:"a,b" default:"c"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T is taken", wrong)
				}
			}()
			cli.New("program", "", wrong)
		}()
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"do -q task", "try a -- b", "list --json", "do --kind", "-", "--", "---", "-=", "--=", "do -qn5", "do -q-", "do -\xff"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		before := slices.Clone(words)
		at, err := cli.New("program", "", new(tree)).Parse(words)
		if at == nil {
			t.Fatal("no command")
		}
		if err == nil && at.Target() == nil {
			t.Fatal("nothing to run")
		}
		if !slices.Equal(words, before) {
			t.Fatal("the words were changed")
		}
	})
}
