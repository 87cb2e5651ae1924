//go:build unix

package mcp

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// npm is a directory of what `make deps` installs for these tests.
func npm(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("../bin", name, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		testbed.Lacks(t, fmt.Errorf("make deps installs what this needs: %w", err))
	}
	return dir
}

// node is the program that runs JavaScript.
func node(t *testing.T) string {
	t.Helper()
	return testbed.Node(t, npm(t, "mcp"))
}

// suite runs the official conformance suite, in the version that is in the
// directory, with the arguments, and returns what it printed.
func suite(t *testing.T, version string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node(t), append([]string{filepath.Join(npm(t, version), "@modelcontextprotocol/conformance/dist/index.js")}, args...)...)
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// Every scenario that a revision requires, of both sides; and all that the
// suite before it scores.
func TestConformance(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ side, version, which, value string }{
		{"server", "mcp", "--requirements", "2026-07-28"},
		{"client", "mcp", "--requirements", "2026-07-28"},
		{"server", "mcp", "--requirements", "2025-11-25"},
		{"client", "mcp", "--requirements", "2025-11-25"},
		{"server", "mcp-before", "--suite", "active"},
		{"client", "mcp-before", "--suite", "all"},
	} {
		t.Run(strings.Join([]string{c.side, c.version, c.value}, " "), func(t *testing.T) {
			t.Parallel()
			if c.side == "client" {
				judge(t, c.version, "client", "--command", self, c.which, c.value)
				return
			}
			s := conformanceServer()
			defer s.Close() // whoever is gone by now is gone
			srv := httptest.NewServer(s.Handler(HTTPOptions{}))
			defer srv.Close()
			judge(t, c.version, "server", "--url", srv.URL, c.which, c.value)
		})
	}
}

// judge fails unless everything passes that is not left out for a reason.
func judge(t *testing.T, version string, args ...string) {
	t.Helper()
	known := filepath.Join(t.TempDir(), "known.yml")
	var b strings.Builder
	b.WriteString("client:\n")
	for _, name := range notOurs {
		b.WriteString("  - " + name + "\n")
	}
	if err := os.WriteFile(known, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if args[len(args)-2] != "--requirements" {
		args = append(args, "--expected-failures", known)
	}
	out, err := suite(t, version, args...)
	if failed := unexpected(out); err != nil && len(failed) > 0 && args[0] == "client" {
		alone(t, version, args[2], failed)
	} else if err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	}
	if !strings.Contains(out, "passed") {
		t.Errorf("%v: nothing was looked at\n%s", args, out)
	}
}

// unexpected are the scenarios that failed and should not have.
func unexpected(out string) []string {
	_, list, _ := strings.Cut(out, "Unexpected failures (not in baseline):")
	var names []string
	for line := range strings.Lines(list) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "✗ "); ok {
			names = append(names, name)
		}
	}
	return names
}

// alone fails unless the scenarios pass one at a time. The suite plays all of
// them at once, and some measure how soon a client comes back: on a busy
// machine that is the machine's time.
func alone(t *testing.T, version, command string, scenarios []string) {
	t.Helper()
	for _, name := range scenarios {
		t.Logf("%s failed among the others", name)
		if out, err := suite(t, version, "client", "--command", command, "--scenario", name); err != nil {
			t.Errorf("%s, alone: %v\n%s", name, err, out)
		}
	}
}

// notOurs are scenarios of extensions and of a version before ours that no
// revision requires: OAuth without a person, and for a company's own identity
// provider; and metadata as it was in March 2025. The newer suite says itself
// which scenarios a revision does not require, so that they do not count: DPoP,
// identity of workloads, and tasks, none of which we have.
var notOurs = []string{
	"auth/client-credentials-basic", "auth/client-credentials-jwt", "auth/cross-app-access-complete-flow",
	"auth/2025-03-26-oauth-metadata-backcompat",
}
