//go:build containers

package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
	"github.com/openmanus-go/openmanus/workspace/workspacetest"
)

// dockerSocket names the socket of a Docker daemon with the test image in it and
// without containers of others. scripts/containers starts one.
const dockerSocket = "SANDBOX_TEST_DOCKER"

// A daemon is a Docker daemon.
type daemon struct{ socket string }

func newDaemon(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{socket: os.Getenv(dockerSocket)}
	if d.socket == "" {
		t.Fatalf("%s is not set: run make containers", dockerSocket)
	}
	return d
}

func (d *daemon) docker(args ...string) (string, error) {
	out, err := exec.Command("docker", append([]string{"--host", "unix://" + d.socket}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// options are those of a sandbox of this daemon for dir, which is given to an
// ordinary user.
func (d *daemon) options(t *testing.T, dir string) sandbox.Options {
	t.Helper()
	if err := os.Chown(dir, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	return sandbox.Options{Dir: dir, Kind: sandbox.Docker, Engine: d.socket, Image: testImage}
}

// openInContainers are the attempts that only a broker prevents, and there is none in
// containers: docs/rough_edges.md names them.
var openInContainers = []string{
	"links in the git directory", "hooks by another name", "submodules and worktrees", "other files that git obeys",
	"files that the configuration names", "a path that changes while it is judged", "what a protected link leads to",
	"a rebase that runs a program", "an index with a path in the git directory", "a pipe with a reader outside",
}

// Containers are a workspace like any other, nothing gets out of them, and none
// is left.
func TestDocker(t *testing.T) {
	d := newDaemon(t)
	o := optionsFor(t, sandbox.Docker)
	o.Engine, o.Image = d.socket, testImage
	var attempts sync.WaitGroup
	attempts.Go(func() { hold(t, o, openInContainers...) }) // meanwhile: both wait most of the time
	t.Run("conforms", func(t *testing.T) {
		workspacetest.Run(t, func(t *testing.T, dir string) workspace.Workspace { return open(t, d.options(t, dir)) })
	})
	attempts.Wait()
	t.Run("both names", func(t *testing.T) {
		o := sandbox.Options{Kind: sandbox.Docker, Engine: d.socket, Image: testImage}
		bothNames(t, o)
		o.WorkDir = "/workspace"
		bothNames(t, o)
	})
	t.Run("die with us", func(t *testing.T) { testContainersDieWithUs(t, d) })
	t.Run("nothing is left", func(t *testing.T) { d.empty(t) })
}

// empty fails if there is a container.
func (d *daemon) empty(t *testing.T) {
	t.Helper()
	if out, err := d.docker("ps", "-aq"); err != nil || out != "" {
		t.Errorf("%v, there are containers: %s", err, out)
	}
}

// In gVisor, commands run, and are killed. The suites do not hold there: pipes
// are not shared with this side, by which they know what is alive.
func TestGVisor(t *testing.T) {
	d := newDaemon(t)
	o := d.options(t, t.TempDir())
	o.Kind = sandbox.GVisor
	ws := open(t, o)
	var out strings.Builder
	err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", "uname -r; cat; echo made > file; exit 3"}, Stdin: strings.NewReader("input"), Stdout: &out})
	kernel, rest, _ := strings.Cut(out.String(), "\n")
	if err == nil || err.Error() != "exit status 3" || kernel != "4.4.0" && !strings.HasSuffix(kernel, "-gvisor") || rest != "input" {
		t.Errorf("%v, %q: want the kernel of gVisor", err, out.String())
	}
	if data, err := os.ReadFile(filepath.Join(ws.Dir(), "file")); err != nil || string(data) != "made\n" {
		t.Errorf("%v, %q", err, data)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = ws.Run(ctx, &workspace.Cmd{Args: []string{"sh", "-c", "echo ready; sleep 1000"}, Stdout: onWrite(cancel)})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := ws.Close(); err != nil {
		t.Error(err)
	}
	bothNames(t, sandbox.Options{Kind: sandbox.GVisor, Engine: d.socket, Image: testImage})
	d.empty(t)
}

// onWrite calls a function when something is written.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) { f(); return len(p), nil }

// Containers die with the process that made them, however that ends, and those that
// could not are removed by the next.
func testContainersDieWithUs(t *testing.T, d *daemon) {
	o := d.options(t, t.TempDir())
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), dockerOf+"="+d.socket, "SANDBOX_TEST_DIR="+o.Dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%v, %q", err, line)
	}
	id, err := d.docker("ps", "-q", "--no-trunc")
	if err != nil || id == "" {
		t.Fatalf("%v, the container is %q", err, id)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, one := range strings.Fields(id) {
		// It says so at once if it is not there any more.
		if out, err := d.docker("wait", one); err != nil && !strings.Contains(out, "No such container") {
			t.Errorf("%v: %s", err, out)
		}
	}
	// One that did not start, and so could not end.
	label := "openmanus.place="
	host, _ := os.Hostname()
	mounts, _ := os.Readlink("/proc/self/ns/mnt")
	if out, err := d.docker("create", "--label", "openmanus.cage=/tmp/openmanus-cage-gone", "--label", label+host+" "+mounts, testImage, "sh"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	stranger, err := d.docker("create", "--label", "openmanus.cage=/tmp/openmanus-cage-gone", "--label", label+"elsewhere", testImage, "sh")
	if err != nil {
		t.Fatalf("%v: %s", err, stranger)
	}
	if err := open(t, o).Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := d.docker("ps", "-aq", "--no-trunc"); err != nil || left != stranger {
		t.Errorf("%v, left are %s, want the one from elsewhere, %s", err, left, stranger)
	}
	if out, err := d.docker("rm", stranger); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
