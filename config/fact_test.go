package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/llm/provider"
)

// A refusal of this week counts first, then the configuration, then what the endpoint says,
// then the catalogue; the smaller window of a refusal and of the configuration counts. Each
// value has its source, with its day where it was learnt.
func TestTheOrderOfWhatIsKnown(t *testing.T) {
	now, home := time.Now(), t.TempDir()
	day := now.Format(time.DateOnly)
	refusal := func(window string, age time.Duration) Fact {
		return Fact{Key: "window", Value: window, From: "a refusal", Refusal: true, At: now.Add(-age), Why: "too long"}
	}
	says := func(key, value string) Fact { return Fact{Key: key, Value: value, From: "its list of models", At: now} }
	known := Info{Window: 128_000, Output: 16_000, Tools: new(true), Vision: new(true), Pattern: "compat/m", Day: "2026-11-30"}
	for name, c := range map[string]struct {
		facts     []Fact
		file      string
		catalogue Info
		want      string // window, tools, and the sources of both
	}{
		"nothing":                     {nil, "", Info{}, "0 <nil> from default and default"},
		"the catalogue":               {nil, "", known, "128000 true from catalogue compat/m of 2026-11-30 and catalogue compat/m of 2026-11-30"},
		"the endpoint":                {[]Fact{says("window", "16384"), says("tools", "false")}, "", known, "16384 false from endpoint: its list of models, " + day + " and endpoint: its list of models, " + day},
		"the endpoint, of one":        {[]Fact{says("tools", "false")}, "", known, "128000 false from catalogue compat/m of 2026-11-30 and endpoint: its list of models, " + day},
		"the configuration":           {[]Fact{says("window", "16384"), says("tools", "false")}, "window = 9000\ntools = true", known, "9000 true from FILE and FILE"},
		"a larger configuration":      {[]Fact{says("window", "16384")}, "window = 900000", known, "900000 true from FILE and catalogue compat/m of 2026-11-30"},
		"a refusal":                   {[]Fact{says("window", "16384"), refusal("8192", 0)}, "", known, "8192 true from endpoint: a refusal, " + day + " and catalogue compat/m of 2026-11-30"},
		"a refusal and a larger file": {[]Fact{refusal("8192", 0)}, "window = 9000", known, "8192 true from endpoint: a refusal, " + day + " and catalogue compat/m of 2026-11-30"},
		"a refusal and a smaller one": {[]Fact{refusal("8192", 0)}, "window = 4096", known, "4096 true from FILE and catalogue compat/m of 2026-11-30"},
		"an old refusal and a file":   {[]Fact{refusal("8192", 8*24*time.Hour)}, "window = 9000", known, "9000 true from FILE and catalogue compat/m of 2026-11-30"},
		"an old refusal":              {[]Fact{refusal("8192", 8*24*time.Hour)}, "", known, "8192 true from endpoint: a refusal, " + now.Add(-8*24*time.Hour).Format(time.DateOnly) + " and catalogue compat/m of 2026-11-30"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, "[llm]\nmodel = \"compat/m\"\nbase_url = \"http://127.0.0.1:1/v1\"\n[models.\"compat/m\"]\n"+c.file)
			cfg, _, err := load(Sources{File: path, Dir: home, Env: func(n string) (string, bool) { return home, n == "HOME" }})
			if err != nil {
				t.Fatal(err)
			}
			cfg.Learned = func(Model) []Fact { return c.facts }
			cfg.Catalogue = func(*provider.Provider, string) (Info, bool) { return c.catalogue, c.catalogue.Window != 0 }
			m, err := cfg.Model("")
			if err != nil {
				t.Fatal(err)
			}
			tools := "<nil>"
			if m.Info.Tools != nil {
				tools = fmt.Sprint(*m.Info.Tools)
			}
			at := func(key string) string {
				s := cfg.InfoAt(m, key).String()
				if strings.HasPrefix(s, path) {
					return "FILE"
				}
				return s
			}
			if told := cfg.Told(m); strings.Contains(name, "refusal") != strings.Contains(told, ": too long)") {
				t.Errorf("why is told as %q", told)
			}
			if got := fmt.Sprintf("%d %s from %s and %s", m.Info.Window, tools, at("window"), at("tools")); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}
