package sandbox_test

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/sandbox/egress"
	"github.com/openmanus-go/openmanus/workspace"
)

//go:embed testdata/commands.txt
var commands string

//go:embed testdata/landlock.txt
var notWithLandlock string

// The daily work of developers runs in the sandbox, or they would switch it
// off. What Landlock cannot give is listed, with the reason, and does not work.
func TestOrdinaryCommandsWork(t *testing.T) {
	testbed.Need(t, "python3", "matplotlib", "node", "npm", "gcc", "make", "sqlite3", "jq", "curl", "ps", "xz")
	if n := len(linesOf(commands)); n < 200 {
		t.Errorf("there are %d commands, want 200", n)
	}
	cache := goCache(t)
	for _, kind := range kinds(t) {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			cannot := make(map[string]bool)
			if kind == sandbox.Landlock {
				for _, line := range linesOf(notWithLandlock) {
					cannot[line] = true
				}
			}
			dir := t.TempDir()
			inside := filepath.Join(dir, ".go-cache")
			if err := os.CopyFS(inside, os.DirFS(cache)); err != nil {
				t.Fatal(err)
			}
			ws := open(t, sandbox.Options{Dir: dir, Kind: kind, Env: goEnv(inside)})
			defer ws.Close()
			for _, line := range linesOf(commands) {
				var out strings.Builder
				limited, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // that one hangs is to fail; some compile
				err := ws.Run(limited, &workspace.Cmd{Args: []string{"bash", "-c", line}, Stdout: &out, Stderr: &out})
				cancel()
				switch {
				case err != nil && !cannot[line]:
					t.Errorf("%s\n%v: %s", line, err, out.String())
				case err == nil && cannot[line]:
					t.Errorf("%s: it works, and testdata/landlock.txt says that it does not", line)
				}
				delete(cannot, line)
			}
			for line := range cannot {
				t.Errorf("testdata/landlock.txt has a command that is not among the others: %s", line)
			}
		})
	}
}

// goCache makes a cache of the compiler that has of the standard library what
// a test of a small program needs, from that of whoever runs this: to compile
// it takes longer than all other commands together.
func goCache(t *testing.T) string {
	t.Helper()
	program := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/x\n", "main.go": "package main\n\nimport _ \"fmt\"\n\nfunc main() {}\n", "main_test.go": "package main\n\nimport _ \"testing\"\n",
	} {
		if err := os.WriteFile(filepath.Join(program, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list := exec.Command("go", "list", "-deps", "-test", "-export", "-f", "{{if .Standard}}{{.BuildID}} {{.Export}}{{end}}", ".")
	list.Dir = program
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	cache := t.TempDir()
	for line := range strings.Lines(string(out)) {
		id, file, ok := strings.Cut(strings.TrimSpace(line), " ")
		action, _, _ := strings.Cut(id, "/")
		key, err := base64.RawURLEncoding.DecodeString(action)
		if !ok || err != nil {
			continue // unsafe has none
		}
		prefix := hex.EncodeToString(key)
		from := filepath.Dir(filepath.Dir(file))
		names, _ := filepath.Glob(filepath.Join(from, prefix[:2], prefix+"*-a")) // the pattern is right
		for _, name := range append(names, file) {
			data, err := os.ReadFile(name)
			to := filepath.Join(cache, strings.TrimPrefix(name, from))
			if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cache
}

// goEnv returns what makes Go use a copy of goCache: what was compiled with other flags it
// would not find there.
func goEnv(cache string) []string {
	return []string{"GOCACHE=" + cache, "GOFLAGS=" + os.Getenv("GOFLAGS")}
}

// linesOf are the lines that are neither empty nor comments.
func linesOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// With the network "hosts", what is listed is reached through the proxy, and
// nothing else.
func TestTheProxyIsTheWayOut(t *testing.T) {
	testbed.Need(t, "curl")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }))
	defer server.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	d, err := egress.New(egress.Policy{Mode: egress.Hosts, Hosts: []string{strings.TrimPrefix(server.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	ws := open(t, sandbox.Options{Dir: t.TempDir(), Kind: sandbox.Bubblewrap, Network: sandbox.Hosts,
		Proxy: func(ctx context.Context, l net.Listener) error { return (&egress.Proxy{Dialer: d}).Serve(ctx, l) }})
	defer ws.Close()
	var out strings.Builder
	script := "for p in $http_proxy $ALL_PROXY; do curl -s --noproxy '' -x $p " + server.URL + " && echo; done; curl -sf --noproxy '' -x $http_proxy " + other.URL + " || echo refused; exit 3"
	err = ws.Run(t.Context(), &workspace.Cmd{Args: []string{"bash", "-c", script}, Stdout: &out, Stderr: &out})
	if err == nil || err.Error() != "exit status 3" || out.String() != "hello\nhello\nrefused\n" {
		t.Errorf("%v, %s", err, out.String())
	}
}
