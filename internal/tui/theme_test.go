package tui

import (
	"os"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestThemesOfThePerson(t *testing.T) {
	nord, err := NewTheme("nord", "dark", map[string]string{"accent": "bold #88c0d0", "good": "bright-green", "dim": "none"})
	if err != nil || nord.Accent != "1;38;2;136;192;208" || nord.Good != "92" || nord.Dim != "" || nord.Bad != Themes()[1].Bad {
		t.Errorf("%+v, %v", nord, err)
	}
	for _, tc := range []struct{ name, base, key, colour, want string }{
		{"x", "no", "", "", "base is one of terminal, dark, light, none"},
		{"dark", "", "", "", "built in"},
		{"x", "", "border", "red", "there are base, accent, ask, bad, dim, good, person"},
		{"x", "", "bad", "blurple", "no colour"},
		{"x", "", "bad", "#fff", "no colour"},
		{"x", "", "bad", "256", "no colour"},
	} {
		set := map[string]string{tc.key: tc.colour}
		delete(set, "")
		if _, err := NewTheme(tc.name, tc.base, set); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc, err)
		}
	}

	dir := t.TempDir()
	p := composing(t, dir)
	p.o.Themes = []Theme{nord}
	if doing(p, "/theme blue<enter>"); !strings.Contains(shownOf(p), "no theme blue: terminal, dark, light, none, nord") {
		t.Errorf("it shows\n%s", shownOf(p))
	}
	doing(p, "/theme<enter>nord<enter>")
	if p.theme != nord {
		t.Errorf("the theme is %+v", p.theme)
	}
	if got := ChosenTheme(dir, append(Themes(), nord)); got != nord {
		t.Errorf("the next program has %+v", got)
	}
	if got := ChosenTheme(dir, Themes()); got.Name != "terminal" {
		t.Errorf("without the file of the theme there is %+v", got)
	}
	if os.Remove(dir + "/theme"); ChosenTheme(dir, Themes()).Name != "terminal" {
		t.Error("without a choice it is not the terminal's own")
	}
	p.Update(tea.WindowSizeMsg{Width: 30, Height: 6}) // a sample that has no room is left out
	doing(p, "/theme<enter>")
}

// FuzzParseColour: whatever a file says, only parameters of SGR reach the terminal.
func FuzzParseColour(f *testing.F) {
	f.Add("bold #88c0d0")
	f.Add("bright-blue 208 none \x1b[2J")
	sgr := regexp.MustCompile(`^([0-9]{1,3}(;[0-9]{1,3})*)?$`)
	f.Fuzz(func(t *testing.T, text string) {
		if code, err := ParseColour(text); !sgr.MatchString(code) {
			t.Errorf("%q is %q, %v", text, code, err)
		}
	})
}
