package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// trusting loads what stands in the user's file and the workspace's.
func trusting(t *testing.T, user, workspace string, trusted func(string, []byte) bool) (*Config, error) {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, "openmanus", "config.toml"), user)
	write(filepath.Join(dir, "openmanus.toml"), workspace)
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"XDG_CONFIG_HOME": home, "HOME": home}[name]
		return v, ok
	}
	cfg, _, err := load(Sources{Dir: dir, Env: env, GOOS: "linux", Trusted: trusted})
	return cfg, err
}

// A file that was found may deny more and ask more, and the user's own rules
// stay; it may not allow anything.
func TestWorkspaceAddsRulesAndAllowsNothing(t *testing.T) {
	const user = "[approval]\ndeny = [\"command:rm *\"]\nallow = [\"command:ls *\"]\n"
	cfg, err := trusting(t, user, "[approval]\ndeny = [\"path:.env\"]\nask = [\"command:make *\"]\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := cfg.Approval; !slices.Equal(a.Deny, []string{"command:rm *", "path:.env"}) || !slices.Equal(a.Ask, []string{"command:make *"}) || !slices.Equal(a.Allow, []string{"command:ls *"}) {
		t.Errorf("%+v", a)
	}
	for _, wider := range []string{"[approval]\nallow = [\"tool:*\"]\n", "[run]\napprove = \"all\"\n", "[approval]\nallow = []\n"} {
		if _, err := trusting(t, user, wider, nil); err == nil || !strings.Contains(err.Error(), "openmanus config trust") {
			t.Errorf("%q: %v", wider, err)
		}
	}
}

// Consent is to what stands in the file: to its content, not to its place.
func TestConsentIsToTheContent(t *testing.T) {
	const wider = "[approval]\nallow = [\"tool:bash\"]\n[run]\napprove = \"all\"\n"
	asked := 0
	consent := func(path string, content []byte) bool {
		asked++
		return filepath.Base(path) == "openmanus.toml" && string(content) == wider
	}
	cfg, err := trusting(t, "", wider, consent)
	if err != nil || cfg.Run.Approve != "all" || !slices.Equal(cfg.Approval.Allow, []string{"tool:bash"}) || asked != 1 {
		t.Fatalf("%v, asked %d times", err, asked)
	}
	if files := cfg.Files(); !files[1].Trusted || files[0].Trusted {
		t.Errorf("files: %+v", files)
	}
	if _, err := trusting(t, "", wider+"# one letter more", consent); err == nil {
		t.Error("another content was taken for the one that was vouched for")
	}
}

// A file that another user could have put where the configuration is looked for
// is not read (CVE-2026-35603).
func TestFileOfSomebodyElse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	home := t.TempDir()
	dir := filepath.Join(home, "openmanus")
	file := filepath.Join(dir, "config.toml")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	load := func() error {
		env := func(name string) (string, bool) { return home, name == "XDG_CONFIG_HOME" || name == "HOME" }
		_, _, err := load(Sources{Dir: t.TempDir(), Env: env, GOOS: "linux"})
		return err
	}
	check := func(what, why string, change ...error) {
		t.Helper()
		for _, err := range change {
			if err != nil {
				t.Fatal(err)
			}
		}
		err := load()
		if why == "" && err != nil || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%s: %v, want %q", what, err, why)
		}
	}
	check("mine", "", os.WriteFile(file, []byte("[run]\napprove = \"all\"\n"), 0o600))
	check("writable by all", "can be written by every user", os.Chmod(file, 0o622))
	check("in a directory that all can write", "is in a directory that every user", os.Chmod(file, 0o600), os.Chmod(dir, 0o777))
	check("where only owners rename", "", os.Chmod(dir, os.ModeSticky|0o777))
	if os.Geteuid() != 0 {
		return // the rest needs somebody else's files
	}
	check("of another user", "belongs to another user (12345)", os.Chmod(dir, 0o700), os.Chown(file, 12345, 12345))
	check("in another's directory", "is in a directory that belongs to another user", os.Chown(file, 0, 0), os.Chown(dir, 12345, 12345))
	check("mine again", "", os.Chown(dir, 0, 0))
}
