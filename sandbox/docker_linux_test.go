package sandbox_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
	"github.com/openmanus-go/openmanus/workspace/workspacetest"
)

// testImage is the image that testdata/image makes.
const testImage = "openmanus-sandbox-test:latest"

// A daemon is a Docker daemon of our own.
type daemon struct {
	socket string
	cmd    *exec.Cmd
}

// startDocker starts a Docker daemon that is not in anybody's way, with the
// test image in it. Where that cannot be, the tests with containers are left
// out, and say so: the machine has no dockerd, or we are not root.
func startDocker(t *testing.T, args ...string) *daemon {
	t.Helper()
	program, err := exec.LookPath("dockerd")
	if err != nil || os.Getuid() != 0 {
		t.Skipf("no Docker daemon of our own can be started here, so NOTHING IS KNOWN of containers: dockerd %q, user %d", program, os.Getuid())
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
	d.cmd = exec.Command(program, append([]string{"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "--pidfile", filepath.Join(dir, "pid"),
		"--host", "unix://" + d.socket, "--iptables=false", "--ip6tables=false", "--bridge=none"}, args...)...)
	d.cmd.Stdout, d.cmd.Stderr = log, log
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
			t.Skipf("dockerd does not run here, so NOTHING IS KNOWN of containers:\n%s", said())
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
	t.Run("nothing is left", func(t *testing.T) { d.empty(t) })
}

// empty fails if there is a container.
func (d *daemon) empty(t *testing.T) {
	t.Helper()
	if out, err := d.docker("ps", "-aq"); err != nil || out != "" {
		t.Errorf("%v, there are containers: %s", err, out)
	}
}

var _ = context.Background
var _ = errors.New
var _ sync.Mutex
