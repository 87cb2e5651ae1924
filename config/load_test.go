package config

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
)

var update = flag.Bool("update", false, "write what was seen into testdata and docs")

func TestMain(m *testing.M) { testbed.Main(m) }

// A machine is a directory of files, an environment and flags, as an archive
// in testdata/load sets them up:
//
//	env, flags   NAME=VALUE on each line; without dashes for flags
//	file         what --config names
//	home/…       files below the home directory
//	work/…       files below the working directory
//	mode         MODE FILE on each line
//
// and what is to be seen there:
//
//	error, warnings    of Load
//	show               the values that are not defaults: KEY = VALUE (SOURCE)
//	model, model NAME  what Model("") and Model("NAME") return
//	at NAME URL        what ModelAt returns
//	choose a,b         what Choose returns where Ollama has these models
//	limits             of the model
//	secrets            by name
//
// $WORK stands for the root of it all.
func machine(t *testing.T, ar *txtar.Archive) (Sources, string) {
	t.Helper()
	root := t.TempDir()
	src := Sources{Dir: filepath.Join(root, "work"), GOOS: "linux", Flags: map[string]string{}}
	env := map[string]string{"HOME": filepath.Join(root, "home")}
	if err := os.Mkdir(src.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range ar.Files {
		text := strings.ReplaceAll(string(f.Data), "$WORK", root)
		switch {
		case f.Name == "env":
			maps.Copy(env, pairs(text))
		case f.Name == "flags":
			src.Flags = pairs(text)
		case f.Name == "file":
			src.File = strings.TrimSpace(text)
		case strings.HasPrefix(f.Name, "home/"), strings.HasPrefix(f.Name, "work/"):
			write(t, filepath.Join(root, filepath.FromSlash(f.Name)), text)
		case f.Name == "mode":
			for line := range strings.Lines(text) {
				var mode uint32
				var name string
				if _, err := fmt.Sscanf(line, "%o %s", &mode, &name); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(filepath.Join(root, name), os.FileMode(mode)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	src.Env = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	src.EnvNames = slices.Sorted(maps.Keys(env))
	return src, root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func pairs(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			m[name] = value
		}
	}
	return m
}

func TestLoad(t *testing.T) {
	files, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases in testdata/load", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			src, root := machine(t, ar)
			cfg, warnings, err := load(src)
			seen := map[string]bool{}
			for i, f := range ar.Files {
				got, ok := look(f.Name, cfg, warnings, err)
				if !ok {
					continue
				}
				seen[f.Name] = true
				got = strings.ReplaceAll(got, root, "$WORK")
				if got != string(f.Data) {
					if ar.Files[i].Data = []byte(got); !*update {
						t.Errorf("%s:\n got:\n%swant:\n%s", f.Name, got, f.Data)
					}
				}
			}
			if !seen["error"] && err != nil {
				t.Errorf("Load: %v", err)
			}
			if !seen["warnings"] && !seen["error"] && len(warnings) > 0 {
				t.Errorf("warnings that the case says nothing of: %v", warnings)
			}
			if len(seen) == 0 {
				t.Error("the case looks at nothing")
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// look returns what is to be seen under a name of an archive, if it is one of
// those that are compared.
func look(name string, cfg *Config, warnings []Warning, err error) (string, bool) {
	verb, arg, _ := strings.Cut(name, " ")
	switch {
	case verb == "error":
		return fmt.Sprintln(err), true
	case verb == "warnings":
		return lines(warnings), true
	case !slices.Contains([]string{"show", "model", "limits", "secrets", "choose", "at"}, verb):
		return "", false
	case cfg == nil:
		return "there is no configuration\n", true
	case verb == "show":
		return show(cfg), true
	case verb == "secrets":
		var all []string
		for name, value := range cfg.Secrets() {
			all = append(all, name+" = "+value)
		}
		slices.Sort(all)
		return lines(all), true
	case verb == "at":
		name, base, _ := strings.Cut(arg, " ")
		return model(cfg.ModelAt(name, base)), true
	case verb == "limits":
		m, _ := cfg.Model(arg)
		return fmt.Sprintf("%+v\n", cfg.Limits(m)), true
	case verb == "choose":
		return model(cfg.Choose(func(base string, _ Secret) ([]string, error) {
			if arg == "" {
				return nil, fmt.Errorf("nobody is there")
			}
			return strings.FieldsFunc(arg, func(r rune) bool { return r == ',' }), nil
		})), true
	}
	return model(cfg.Model(arg)), true
}

func lines[T any](list []T) string {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

func show(cfg *Config) string {
	var b strings.Builder
	for v := range cfg.Values() {
		if v.From == "default" {
			continue
		}
		fmt.Fprintf(&b, "%s = %s (%s", v.Key, v.Value, v.From)
		if v.Hides != "" {
			fmt.Fprintf(&b, ", not %s", v.Hides)
		}
		fmt.Fprintln(&b, ")")
	}
	return b.String()
}

func model(m Model, err error) string {
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, m)
	if m.BaseURL != "" {
		fmt.Fprintf(&b, "at %s (%s)\n", m.BaseURL, m.BaseAt)
	}
	if m.API != "" && m.API != "chat" {
		fmt.Fprintf(&b, "by %s\n", m.API)
	}
	if m.Key != "" {
		fmt.Fprintf(&b, "with key %s (%s)\n", string(m.Key), m.KeyAt)
	}
	s := m.Settings
	if s.MaxTokens != 0 || s.Effort != "" || s.Temperature != nil {
		fmt.Fprintf(&b, "max_tokens %d, effort %q", s.MaxTokens, s.Effort)
		if s.Temperature != nil {
			fmt.Fprintf(&b, ", temperature %g", *s.Temperature)
		}
		fmt.Fprintln(&b)
	}
	if m.Info.Window != 0 || m.Info.PriceIn != 0 {
		p := m.Prices()
		fmt.Fprintf(&b, "window %d, output %d, prices {%v %v %v %v %v}\n", m.Info.Window, m.Info.Output, p.Input, p.Output, p.Cached, p.CacheWrite, p.Free)
	}
	for _, n := range m.Notes {
		fmt.Fprintln(&b, "note:", n)
	}
	return b.String()
}

// The prices of a million tokens are whole numbers of billionths of a dollar
// per token, exactly.
func TestPrice(t *testing.T) {
	for _, c := range []struct {
		text string
		want openmanus.Money
	}{
		{"2.5", 2500}, {"2.50", 2500}, {"0.025", 25}, {"0.001", 1}, {"15", 15000}, {"0", 0}, {"0.1", 100}, {"1000000", 1e9},
		{"0.0375", -1}, {"-1", -1}, {"1e3", -1}, {"NaN", -1}, {"", -1}, {"1/3", -1}, {"0x10", -1}, {".5", -1}, {"1000001", -1}, {"$2", -1},
	} {
		v, err := parsePrice(c.text)
		if (err != nil) != (c.want < 0) || err == nil && v != c.want {
			t.Errorf("%q: %v, %v; want %d", c.text, v, err, c.want)
		}
	}
}
