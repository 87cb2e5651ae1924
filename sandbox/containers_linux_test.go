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
	"syscall"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
	"github.com/openmanus-go/openmanus/workspace/workspacetest"
)

// A daemon is a Docker daemon of our own.
type daemon struct {
	socket string
	cmd    *exec.Cmd
}

// startDocker starts a Docker daemon that is not in anybody's way, with the
// test image in it, for make containers: what is tried there starts hundreds of
// containers, which takes minutes.
func startDocker(t *testing.T) *daemon {
	t.Helper()
	program, err := exec.LookPath("dockerd")
	if err != nil || os.Getuid() != 0 {
		t.Fatalf("a Docker daemon of our own needs dockerd in PATH and root: dockerd %q, user %d", program, os.Getuid())
	}
	dir, err := os.MkdirTemp("/tmp", "sandbox-docker-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{socket: filepath.Join(dir, "docker.sock")}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	config := filepath.Join(dir, "daemon.json")
	if err := os.WriteFile(config, []byte(`{"runtimes": {"runsc": {"path": "runsc", "runtimeArgs": ["--network=none"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.Command(program, "--config-file", config, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"), "--host", "unix://"+d.socket, "--iptables=false", "--ip6tables=false", "--bridge=none")
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // its mounts are in nobody's way
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	died := make(chan struct{})
	go func() {
		defer close(died)
		_ = d.cmd.Wait() // what it had to say stands in its log
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Signal(os.Interrupt) // it may have ended
		<-died
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	said := func() string {
		text, _ := os.ReadFile(log.Name()) // none: it said nothing
		return string(text[max(0, len(text)-2000):])
	}
	for deadline := time.Now().Add(90 * time.Second); ; {
		if out, err := d.docker("version"); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("dockerd does not answer: %s\n%s", out, said())
		}
		select {
		case <-died:
			t.Fatalf("dockerd does not run here:\n%s", said())
		case <-time.After(50 * time.Millisecond): // it tells nobody when it is ready
		}
	}
	if out, err := exec.Command("bash", "-c", "testdata/image | docker --host unix://"+d.socket+" import - "+testImage).CombinedOutput(); err != nil {
		t.Fatalf("the image: %v: %s", err, out)
	}
	return d
}

func (d *daemon) docker(args ...string) (string, error) {
	out, err := exec.Command("docker", append([]string{"--host", "unix://" + d.socket}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// options are those of a cage of this daemon for dir, which is given to an
// ordinary user.
func (d *daemon) options(t *testing.T, dir string) sandbox.Options {
	t.Helper()
	if err := os.Chown(dir, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	return sandbox.Options{Dir: dir, Kind: sandbox.Docker, Engine: d.socket, Image: testImage}
}

// Containers are a workspace like any other, nothing gets out of them, and none
// is left.
func TestDocker(t *testing.T) {
	d := startDocker(t)
	t.Run("conforms", func(t *testing.T) {
		workspacetest.Run(t, func(t *testing.T, dir string) workspace.Workspace { return open(t, d.options(t, dir)) })
	})
	t.Run("attempts", func(t *testing.T) {
		cage := cageFor(t, sandbox.Docker)
		cage.Engine, cage.Image = d.socket, testImage
		hold(t, cage)
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
	if _, err := exec.LookPath("runsc"); err != nil {
		t.Skipf("there is no runsc here, so NOTHING IS KNOWN of gVisor: %v", err)
	}
	d := startDocker(t)
	o := d.options(t, t.TempDir())
	o.Kind = sandbox.GVisor
	ws := open(t, o)
	var out strings.Builder
	err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", "uname -r; cat; echo made > file; exit 3"}, Stdin: strings.NewReader("input"), Stdout: &out})
	if err == nil || err.Error() != "exit status 3" || out.String() != "4.4.0\ninput" {
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
	d.empty(t)
}

// onWrite calls a function when something is written.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) { f(); return len(p), nil }

// Containers die with whoever had them made, however that ends, and those that
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
		t.Errorf("%v, left are %s, want that of somebody elsewhere, %s", err, left, stranger)
	}
	if out, err := d.docker("rm", stranger); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
