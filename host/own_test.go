package host_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
)

// Which directories are workspaces: those of the program never, those with keys
// or settings only if the user says so, whatever link or .. leads there.
func TestCheckWorkspace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the table has Unix paths and links")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	for _, dir := range []string{"home/.ssh/keys", "home/.config/openmanus", "home/.local/share/openmanus/workspaces/ann/1",
		"home/.local/share/openmanus/attempts/s1/1/before", "home/.local/share/proj", "home/code/app", "home/other/nvim", "srv/users/bob/w"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"toSSH": "home/.ssh", "toOwn": "home/.config/openmanus", "toApp": "home/code/app", "home/code/up": "home"} {
		if err := os.Symlink(at(to), at(name)); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"HOME": at("home"), "XDG_CONFIG_HOME": at("home/.config")}
	e := host.Env{Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
	cfg := &config.Config{DataDir: at("home/.local/share/openmanus"), Serve: config.Serve{Root: at("srv/users")}}
	const never, flag, fine = "OpenManus keeps its own", "choose a directory for the work alone", ""
	for dir, want := range map[string]string{
		"home/code/app": fine, "toApp": fine, "home/code/app/new": fine, "home/.local/share/proj": fine, "srv/users/bob/w": fine,
		"home/.local/share/openmanus/workspaces/ann/1":     fine,
		"home/.local/share/openmanus/attempts/s1/1/before": fine,
		"home/.config/openmanus":                           never, "home/.config/openmanus/agents": never, "toOwn": never,
		"home/.local/share/openmanus": never, "home/.local/share/openmanus/blobs": never,
		"home/.local/share/openmanus/workspaces": never, "home/code/../.config/openmanus": never, "home/code/up/.config/openmanus": never,
		"home": flag, "home/code/up": flag, "home/code/..": flag, "home/.ssh": flag, "home/.ssh/keys": flag, "toSSH": flag, "toSSH/keys": flag,
		"home/.config": flag, "home/.config/nvim": flag, "home/.local": flag, "home/.local/share": flag, "home/.aws": flag, "home/.gnupg/x": flag,
	} {
		check(t, e, cfg, at(dir), want, never)
	}
	for dir, want := range map[string]string{"/": flag, "/etc": flag, "/etc/ssh": flag, "/usr": flag, "/usr/src/app": fine, "/var/lib": flag} {
		check(t, e, cfg, dir, want, never)
	}
	// Where the settings are elsewhere, they are sensitive there.
	vars["XDG_CONFIG_HOME"] = at("home/other")
	check(t, e, cfg, at("home/other/nvim"), flag, never)
	check(t, e, cfg, at("home/other/openmanus/x"), never, never)
	vars["XDG_CONFIG_HOME"] = at("home")
	check(t, e, cfg, at("home/code/app"), fine, never)
}

// check holds what CheckWorkspace says of dir: want, and with the user's consent
// only what is never.
func check(t *testing.T, e host.Env, cfg *config.Config, dir, want, never string) {
	t.Helper()
	for _, sensitive := range []bool{false, true} {
		if sensitive && want != never {
			want = ""
		}
		err := e.CheckWorkspace(cfg, dir, sensitive)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s (sensitive ones allowed: %v): %v, want %q", dir, sensitive, err, want)
		}
	}
}
