package tui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/termtext"
)

// A Theme says in which colours the screen is drawn. Its fields are parameters of the
// escape sequence SGR, such as "1;36". An empty one leaves text as it is.
type Theme struct {
	Name   string
	Accent string // marks, borders and names
	Person string // what the person said
	Dim    string // what matters less
	Good   string // what was added, or went well
	Bad    string // what was removed, or went wrong
	Ask    string // what waits for the person
}

// Themes returns those that are built in. The first one has the terminal's own colours.
func Themes() []Theme {
	return []Theme{
		{Name: "terminal", Accent: "36", Person: "1", Dim: "2", Good: "32", Bad: "31", Ask: "33"},
		{Name: "dark", Accent: "38;5;110", Person: "1;38;5;255", Dim: "38;5;245", Good: "38;5;114", Bad: "38;5;210", Ask: "38;5;222"},
		{Name: "light", Accent: "38;5;25", Person: "1;38;5;16", Dim: "38;5;243", Good: "38;5;28", Bad: "38;5;124", Ask: "38;5;130"},
		{Name: "none"},
	}
}

// NewTheme returns a theme of the person's own: base is the theme whose colours it has
// where set says nothing. set has colours by the names of the fields of a [Theme] in small
// letters. See [ParseColour].
func NewTheme(name, base string, set map[string]string) (Theme, error) {
	all := Themes()
	i := slices.IndexFunc(all, func(t Theme) bool { return t.Name == cmp.Or(base, all[0].Name) })
	if i < 0 {
		return Theme{}, fmt.Errorf("there is no theme %q to begin with: base is one of %s", base, names(all))
	}
	if slices.ContainsFunc(all, func(t Theme) bool { return t.Name == name }) {
		return Theme{}, fmt.Errorf("%q is built in: give it another name", name)
	}
	t := all[i]
	t.Name = name
	fields := map[string]*string{"accent": &t.Accent, "person": &t.Person, "dim": &t.Dim, "good": &t.Good, "bad": &t.Bad, "ask": &t.Ask}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		to := fields[key]
		if to == nil {
			return Theme{}, fmt.Errorf("%q is no part of a theme: there are base, %s", key, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		code, err := ParseColour(set[key])
		if err != nil {
			return Theme{}, fmt.Errorf("%s: %w", key, err)
		}
		*to = code
	}
	return t, nil
}

// ParseColour returns the parameters of SGR for words such as "bold #88c0d0", "bright-blue",
// "208" or "none": a colour by name, number or red, green and blue, and how letters look.
func ParseColour(text string) (string, error) {
	looks := map[string]string{"none": "", "bold": "1", "dim": "2", "italic": "3", "underline": "4", "reverse": "7"}
	colours := []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}
	var codes []string
	for _, w := range strings.Fields(strings.ToLower(text)) {
		plain, bright := strings.CutPrefix(w, "bright-")
		code, known := looks[w]
		hex, isHex := strings.CutPrefix(w, "#")
		rgb, notHex := strconv.ParseUint(hex, 16, 24)
		number, notNumber := strconv.ParseUint(w, 10, 8)
		switch i := slices.Index(colours, plain); {
		case known:
		case i >= 0 && bright:
			code = strconv.Itoa(90 + i)
		case i >= 0:
			code = strconv.Itoa(30 + i)
		case isHex && len(hex) == 6 && notHex == nil:
			code = fmt.Sprintf("38;2;%d;%d;%d", rgb>>16, rgb>>8&0xff, rgb&0xff)
		case notNumber == nil:
			code = fmt.Sprintf("38;5;%d", number)
		default:
			return "", fmt.Errorf("%q is no colour: write a name such as red or bright-blue, #rrggbb, or a number up to 255", clip.Text(clip.Clean(w), 40))
		}
		if code != "" {
			codes = append(codes, code)
		}
	}
	return strings.Join(codes, ";"), nil
}

// names returns the names of themes, for people.
func names(all []Theme) string {
	var list []string
	for _, t := range all {
		list = append(list, t.Name)
	}
	return strings.Join(list, ", ")
}

// themeFile is where the name of the chosen theme is kept in a data directory.
const themeFile = "theme"

// ChosenTheme returns the one of themes that the person chose last, or the first.
func ChosenTheme(dataDir string, themes []Theme) Theme {
	data, _ := os.ReadFile(filepath.Join(dataDir, themeFile)) // without a file there was no choice
	i := slices.IndexFunc(themes, func(t Theme) bool { return t.Name == strings.TrimSpace(string(data)) })
	return themes[max(i, 0)]
}

// setTheme changes the colours, and keeps the choice for later runs. Without a name it
// lists the themes with a sample of each.
func (p *program) setTheme(name string) tea.Cmd {
	all := append(Themes(), p.o.Themes...)
	if name == "" {
		l := &list{title: "Themes"}
		for _, t := range all {
			sample := t.accent("accent ") + t.good("+added ") + t.bad("-removed ") + t.ask("question ") + t.dim("less")
			l.items = append(l.items, item{text: t.Name, sample: sample, run: func(p *program) tea.Cmd { return p.setTheme(t.Name) }})
		}
		p.push(l)
		return nil
	}
	i := slices.IndexFunc(all, func(t Theme) bool { return t.Name == name })
	if i < 0 {
		return p.notice(true, "there is no theme %s: %s", name, names(all))
	}
	p.theme = all[i]
	if p.o.DataDir == "" {
		return nil
	}
	return p.act(func(context.Context) error {
		err := os.MkdirAll(p.o.DataDir, 0o700) // the sessions may be those of a server
		if err == nil {
			err = os.WriteFile(filepath.Join(p.o.DataDir, themeFile), []byte(name+"\n"), 0o600)
		}
		if err != nil {
			return fmt.Errorf("the theme holds until you leave: %w", err)
		}
		return nil
	})
}

// paint returns text in a colour.
func (t Theme) paint(code, text string) string {
	return termtext.Style{On: code != ""}.Paint(code, text)
}

// style returns how Markdown is drawn.
func (t Theme) style() termtext.Style { return termtext.Style{On: t != Theme{Name: t.Name}} }

func (t Theme) dim(text string) string    { return t.paint(t.Dim, text) }
func (t Theme) accent(text string) string { return t.paint(t.Accent, text) }
func (t Theme) bad(text string) string    { return t.paint(t.Bad, text) }
func (t Theme) good(text string) string   { return t.paint(t.Good, text) }
func (t Theme) ask(text string) string    { return t.paint(t.Ask, text) }
func (t Theme) bold(text string) string {
	if t.Dim == "" {
		return text
	}
	return t.paint("1", text)
}

// columns returns how many columns a line of ours takes, which may have colours.
func columns(line string) int {
	if !strings.Contains(line, "\x1b") {
		return clip.Width(line)
	}
	return clip.Width(clip.Clean(line))
}

// pad returns a line of ours with spaces up to a width.
func pad(line string, width int) string {
	if n := width - columns(line); n > 0 {
		return line + strings.Repeat(" ", n)
	}
	return line
}
