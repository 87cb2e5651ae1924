package sandbox_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// leastRows is how many commands of projects run where everything is installed.
const leastRows = 200

// TestProjects holds that what a person's commands do in small projects they do in the
// sandbox too, with toolchains where version managers have them: the same exit code and
// the same output. The projects are in testdata/projects, the layouts of toolchains in
// testdata/layouts.sh: one in four of each project's, drawn by the seed, and with
// PROJECTS=all every one. Projects whose tools this machine lacks are skipped, which is a
// failure in CI.
func TestProjects(t *testing.T) {
	files, err := filepath.Glob("testdata/projects/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no projects: ", err)
	}
	layouts, err := os.ReadFile("testdata/layouts.sh")
	if err != nil {
		t.Fatal(err)
	}
	pytest := pytestParts()
	m := &projectMaker{layouts: string(layouts), cache: goCache(t), env: []string{"PYTEST_PARTS=" + pytest, "PROXY=" + moduleProxy(t),
		"RUSTUP_HOME=" + rustupHome()}}
	rows, all := 0, os.Getenv("PROJECTS") == "all"
	for _, file := range files {
		p, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var needs, names []string
		var runs []projectRow
		for line := range strings.Lines(string(p.Comment)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch key {
			case "needs":
				needs = strings.Fields(value)
			case "layouts":
				names = strings.Fields(value)
			case "run", "fails":
				runs = append(runs, projectRow{value, key == "fails"})
			}
		}
		rows += len(names) * len(runs)
		if i := slices.IndexFunc(needs, func(name string) bool {
			if name == "pytest" {
				return pytest == ""
			}
			return testbed.Runs(name) != nil
		}); i >= 0 {
			if os.Getenv("CI") != "" {
				t.Errorf("%s: %s does not run here, so what this test holds was not seen: see scripts/deps", file, needs[i])
			}
			t.Logf("%s: %s does not run here", file, needs[i])
			continue
		}
		for i, layout := range names {
			if !all && !testbed.Drawn(i, min(len(names), 4)) {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+layout, func(t *testing.T) {
				m.make(t, p, layout).compare(t, runs)
			})
		}
	}
	if rows < leastRows {
		t.Errorf("there are %d commands, want %d", rows, leastRows)
	}
}

// A projectRow is a command in a project.
type projectRow struct {
	command string
	fails   bool // its exit code is not 0, in the sandbox and outside
}

// A projectMaker has what all projects are made with.
type projectMaker struct {
	layouts string   // a script
	cache   string   // of Go's compiler
	env     []string // of the script
}

// A project is a workspace and the environment of the person whose it is.
type project struct {
	home, ws string
	pristine string // a copy of ws as it was made
	cache    string // of Go's compiler, to begin with; "": none
	env      []string
}

// make makes a project with the files of p, and lets the layout make its toolchain.
func (m *projectMaker) make(t *testing.T, p *txtar.Archive, layout string) *project {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &project{home: filepath.Join(top, "home"), ws: filepath.Join(top, "ws"), pristine: filepath.Join(top, "pristine")}
	if strings.HasPrefix(layout, "go") {
		r.cache = m.cache
	}
	files, err := txtar.FS(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(r.home, ".cargo"), 0o755), os.CopyFS(r.ws, files)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run.sh"} {
		_ = os.Chmod(filepath.Join(r.ws, name), 0o755) // most have none
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-s", layout)
	cmd.Stdin = strings.NewReader(m.layouts)
	cmd.Env = append([]string{"HOME=" + r.home, "WS=" + r.ws, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"GOFLAGS=", "GOTOOLCHAIN=local", "GOCACHE=" + m.cache,
		"GIT_CONFIG_GLOBAL=/dev/null", "CARGO_TERM_COLOR=never"}, m.env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("layout %s: %v: %s", layout, err, said.String())
	}
	for kv := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if name, _, _ := strings.Cut(kv, "="); !slices.Contains([]string{"PWD", "SHLVL", "_", "PROXY", "WS", "PYTEST_PARTS"}, name) {
			r.env = append(r.env, kv)
		}
	}
	if r.cache != "" {
		if err := os.CopyFS(filepath.Join(r.ws, ".cache-of-go"), os.DirFS(r.cache)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", r.ws, r.pristine).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// compare runs the commands in each sandbox and then outside, each time in the
// workspace as it was at first.
func (r *project) compare(t *testing.T, rows []projectRow) {
	t.Setenv("GOMODCACHE", "") // the person has the modules in their home directory
	for _, kv := range r.env {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	env := []string{"CARGO_TERM_COLOR=never", "NODE_PATH=" + os.Getenv("NODE_PATH")}
	if r.cache != "" {
		env = append(env, goEnv(filepath.Join(r.ws, ".cache-of-go"))...)
	}
	got := make(map[sandbox.Kind][]string)
	for _, kind := range kinds(t) {
		ws := open(t, sandbox.Options{Dir: r.ws, Kind: kind, Toolchains: []string{sandbox.AutoToolchains}, Env: env})
		for _, row := range rows {
			var out strings.Builder
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // that one hangs is to fail
			err := ws.Run(ctx, &workspace.Cmd{Args: []string{"bash", "-c", row.command}, Stdout: &out, Stderr: &out})
			cancel()
			got[kind] = append(got[kind], r.normal(out.String())+exitOf(err))
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
		r.restore(t)
	}
	for i, row := range rows {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", row.command)
		cmd.Dir, cmd.Env = r.ws, append(slices.Clone(r.env), env...)
		out, err := cmd.CombinedOutput()
		want := r.normal(string(out)) + exitOf(err)
		if (err != nil) != row.fails {
			t.Errorf("%s\noutside:\n%s", row.command, want)
		}
		for _, kind := range kinds(t) {
			if got := got[kind][i]; got != want {
				t.Errorf("%s\n%s:\n%s\noutside:\n%s", row.command, kind, got, want)
			}
		}
	}
}

// restore makes the workspace what it was. Its directory stays.
func (r *project) restore(t *testing.T) {
	entries, err := os.ReadDir(r.ws)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(r.ws, e.Name())))
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", r.pristine+"/.", r.ws).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// exitOf returns a line with the exit code of a command.
func exitOf(err error) string {
	var outside *exec.ExitError
	var inside *workspace.ExitError
	switch {
	case err == nil:
		return "[exit code 0]"
	case errors.As(err, &inside):
		return fmt.Sprintf("[exit code %d]", inside.Code)
	case errors.As(err, &outside):
		return fmt.Sprintf("[exit code %d]", outside.ExitCode())
	}
	return err.Error()
}

// Output that differs from one run to the next, or is about the caches.
var (
	runTimes   = regexp.MustCompile(`\(cached\)|\b\d+\.\d+ ?m?s\b|\b0x[0-9a-f]+|pytest-\d+`)
	downloads  = regexp.MustCompile(`(?m)^go: downloading .*\n`)
	insideHome = regexp.MustCompile(`/home/agent\b|/[^\s:'"]*/openmanus-cage-\d+/home\b`)
	severalSpc = regexp.MustCompile(`[ \t]+`)
)

// normal returns an output without times, and with one name for the home directory.
func (r *project) normal(out string) string {
	out = downloads.ReplaceAllString(out, "")
	out = runTimes.ReplaceAllString(out, "T")
	out = strings.ReplaceAll(insideHome.ReplaceAllString(out, "HOME"), r.home, "HOME")
	return severalSpc.ReplaceAllString(out, " ")
}

// pytestParts returns the packages of pytest that a Python of this machine or
// scripts/deps has, or "".
func pytestParts() string {
	own, err := filepath.Abs("../bin/pytest")
	if err != nil {
		return ""
	}
	cmd := exec.Command("python3", "-c", `import os, sys, importlib.util as u
for m in "pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments":
    f = u.find_spec(m).origin
    print(os.path.dirname(f) if f.endswith("__init__.py") else f)
import pytest
assert pytest.version_tuple >= (8,)`)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+own)
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// moduleProxy makes a directory from which Go downloads the module example.com/adder.
func moduleProxy(t *testing.T) string {
	dir := t.TempDir()
	at := filepath.Join(dir, "example.com/adder/@v")
	const mod = "module example.com/adder\n\ngo 1.24\n"
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range map[string]string{"go.mod": mod,
		"adder.go": "package adder\n\n// Add adds.\nfunc Add(all ...int) (sum int) {\n\tfor _, n := range all {\n\t\tsum += n\n\t}\n\treturn sum\n}\n"} {
		w, err := z.Create("example.com/adder@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(z.Close(), os.MkdirAll(at, 0o755))
	for name, data := range map[string]string{"list": "v1.0.0\n", "v1.0.0.info": `{"Version":"v1.0.0"}`, "v1.0.0.mod": mod,
		"v1.0.0.zip": archive.String()} {
		err = errors.Join(err, os.WriteFile(filepath.Join(at, name), []byte(data), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// rustupHome returns where the toolchains of Rust are.
func rustupHome() string {
	if dir := os.Getenv("RUSTUP_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(os.Getenv("HOME"), ".rustup")
}
