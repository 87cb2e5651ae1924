package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// testImage is the image that testdata/image makes.
const testImage = "openmanus-sandbox-test:latest"

// Errors name what is missing, and what to do.
func TestDockerThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	silent, err := net.Listen("unix", filepath.Join(dir, "dead.sock"))
	if err != nil {
		t.Fatal(err)
	}
	silent.(*net.UnixListener).SetUnlinkOnClose(false)
	silent.Close()
	t.Setenv("PATH", "/nowhere")
	for engine, want := range map[string]string{
		filepath.Join(dir, "no.sock"):               "Docker is not installed",
		filepath.Join(dir, "dead.sock"):             "the Docker daemon does not run",
		"tcp://10.0.0.1:2375":                       "not on a socket of this machine",
		"unix://" + filepath.Join(dir, "none.sock"): "apt-get install docker.io",
	} {
		_, err := sandbox.Open(t.Context(), sandbox.Options{Dir: dir, Kind: sandbox.Docker, Engine: engine})
		if !errors.Is(err, sandbox.ErrNone) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrNone and %q", engine, err, want)
		}
	}
}

// Options that an engine cannot or must not fulfil are refused.
func TestDockerRefuses(t *testing.T) {
	for _, test := range []struct{ info, want string }{
		{`{"OSType":"windows"}`, "Linux is needed"},
		{`{"OSType":"linux","SecurityOptions":["name=seccomp,profile=default","name=rootless"]}`, "name=rootless"},
		{`{"OSType":"linux","Runtimes":{"runc":{}}}`, "does not know gVisor"},
	} {
		socket := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			_, _ = io.WriteString(w, test.info) // the client sees what is missing
		})}
		done := make(chan error, 1)
		go func() { done <- server.Serve(l) }()
		_, err = sandbox.Open(t.Context(), sandbox.Options{Dir: t.TempDir(), Kind: sandbox.GVisor, Engine: socket})
		if !errors.Is(err, sandbox.ErrNone) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want ErrNone and %q", test.info, err, test.want)
		}
		server.Close()
		<-done
	}
}

// dockerOf makes a test binary a holder of a container; see
// TestContainersDieWithUs.
const dockerOf = "SANDBOX_TEST_ENGINE"

// holdContainer runs a command in a container until it is killed.
func holdContainer(engine string) {
	ctx := context.Background()
	ws, err := sandbox.Open(ctx, sandbox.Options{Dir: os.Getenv("SANDBOX_TEST_DIR"), Kind: sandbox.Docker, Engine: engine, Image: testImage})
	if err == nil {
		err = ws.Run(ctx, &workspace.Cmd{Args: []string{"sh", "-c", "trap '' TERM; echo ready; sleep 1000"}, Stdout: os.Stdout})
	}
	fmt.Println(err)
	os.Exit(1)
}
