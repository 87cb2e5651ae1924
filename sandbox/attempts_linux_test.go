package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/sandbox/attempts"
	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// Nothing gets out of any sandbox.
func TestAttempts(t *testing.T) {
	testbed.Need(t, testbed.Python)
	for _, kind := range kinds(t) {
		t.Run(string(kind), func(t *testing.T) { hold(t, optionsFor(t, kind)) })
	}
}

// hold fails unless every attempt is made, and held, but for those that are known to be
// open.
func hold(t *testing.T, o sandbox.Options, open ...string) {
	for _, name := range open {
		if !slices.ContainsFunc(attempts.All(), func(a attempts.Attempt) bool { return a.Name == name }) {
			t.Errorf("there is no attempt %q", name)
		}
	}
	for _, r := range attempts.Run(t.Context(), o, attempts.All()) {
		switch {
		case r.Fault != nil:
			t.Errorf("%s: %s: could not be tried: %v", r.Class, r.Name, r.Fault)
		case r.Breach != nil && slices.Contains(open, r.Name):
			t.Logf("open: %s: %s: %v", r.Class, r.Name, r.Breach)
		case r.Breach != nil:
			t.Errorf("%s: %s: %v", r.Class, r.Name, r.Breach)
		}
	}
}

// optionsFor returns the options that a person has who sets none but the hosts. The
// person has packages of npm, but few: a sandbox links each of them, which takes longer
// than an attempt where there are thousands.
func optionsFor(t *testing.T, kind sandbox.Kind) sandbox.Options {
	packages := t.TempDir()
	t.Setenv("NPM_CONFIG_CACHE", packages)
	for _, name := range []string{"_cacache/content-v2/sha512/00/11/a", "_cacache/index-v5/00/11/b"} {
		at := filepath.Join(packages, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("a"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := egress.New(egress.Policy{Mode: egress.Hosts, Hosts: []string{"allowed.example:*"}})
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Options{Kind: kind, Toolchains: []string{sandbox.AutoToolchains}, Proxy: (&egress.Proxy{Dialer: d}).Serve}
}

// Without a sandbox the same attempts get out, so they can fail. Only harmless
// ones are made here.
func TestAttemptsGetOutWithoutSandbox(t *testing.T) {
	testbed.Need(t, testbed.Python)
	harmless := []string{
		"a new file outside", "a file outside, overwritten", "through a symbolic link", "through a hard link", "a file outside", "our environment",
		"processes outside, listed", "a process outside, killed", "TCP to this machine's loopback", "UDP to this machine", "an abstract socket",
		"System V shared memory outside", "a hook of git", "a new git directory", "a shell's start-up file that is there",
		"editors' settings that are not there", "programs with the set-user-ID bit", "commondir in the git directory",
		"links in the git directory", "the git directory, gone for a moment", "a file .git in place of a directory", "the workspace as a git directory",
		"a directory as a git directory", "a configuration that is held open", "hooks by another name", "submodules and worktrees",
		"other files that git obeys", "files that the configuration names", "a rebase that runs a program", "an index with a path in the git directory", "a protected name, made in every way",
		"a path that changes while it is judged", "directories that are moved to protected places", "what a protected link leads to",
		"a file that comes to be there later", "every protected name: agent", "every protected name: vcs", "git's own files, by the file tools", "an endless file", "the home of an environment is no Python", "a Python beside secrets",
		"a home directory that looks like Python", "links for an interpreter", "versions that are paths",
		"a directory above what is hidden, moved while sandboxes are made", "directories of the workspace that turn into a link between two commands",
	}
	var some []attempts.Attempt
	for _, a := range attempts.All() {
		if slices.Contains(harmless, a.Name) {
			some = append(some, a)
		}
	}
	if len(some) != len(harmless) {
		t.Fatalf("%d of %d attempts are there", len(some), len(harmless))
	}
	for _, r := range attempts.Run(t.Context(), sandbox.Options{Kind: sandbox.None}, some) {
		if r.Breach == nil {
			t.Errorf("%s: it did not get out: %v", r.Name, r.Fault)
		}
	}
}
