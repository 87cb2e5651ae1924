package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// The way to the proxy. Inside there is no network but the loopback interface,
// on which a forwarder listens; it connects to the proxy's socket in a mounted
// directory.
const (
	proxyDir      = "/run/openmanus"
	proxyName     = "proxy.sock"
	forwarderPath = "/run/openmanus-forward"
	forwarderPort = "3128"
)

// forwarderName is the name under which this program is started to be a
// forwarder.
const forwarderName = "openmanus-forward"

// wrapped returns the arguments of a command with those of the forwarder around
// them, if it needs one.
func (b *base) wrapped(c *workspace.Spawn) []string {
	if b.o.Network != Hosts || c.Networked {
		return c.Args
	}
	return append([]string{forwarderPath, "--"}, c.Args...)
}

// wayOut returns the variables by which a command finds the proxy, if it needs it.
func (b *base) wayOut(c *workspace.Spawn) []string {
	if b.o.Network != Hosts || c.Networked {
		return nil
	}
	return proxyEnv()
}

// proxyEnv returns the variables that have programs use the proxy. They write
// and read them in different ways.
func proxyEnv() []string {
	const at = "127.0.0.1:" + forwarderPort
	var env []string
	for name, url := range map[string]string{
		"http_proxy": "http://" + at, "https_proxy": "http://" + at, "all_proxy": "socks5h://" + at,
		"HTTP_PROXY": "http://" + at, "HTTPS_PROXY": "http://" + at, "ALL_PROXY": "socks5h://" + at,
		"no_proxy": "localhost,127.0.0.1,::1", "NO_PROXY": "localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY": "1",
	} {
		env = append(env, name+"="+url)
	}
	return env
}

// forward runs a command and carries connections from the port of the forwarder
// to the proxy's socket. It returns the command's exit status. The forwarder
// runs inside the sandbox, with the rights of the command: it decides nothing.
// The proxy outside decides which connections are allowed.
func forward(args []string) int {
	if len(args) < 2 || args[0] != "--" {
		fmt.Fprintln(os.Stderr, "sandbox: the forwarder needs a command")
		return 2
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+forwarderPort)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: cannot listen for the proxy:", err)
		return 1
	}
	go accept(l)
	x := exec.Command(args[1], args[2:]...)
	x.Stdin, x.Stdout, x.Stderr = os.Stdin, os.Stdout, os.Stderr
	signal.Ignore(unix.SIGINT, unix.SIGTERM) // the command gets them too, and decides
	err = x.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &ended):
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		return 127
	}
	if status, ok := ended.Sys().(unix.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return ended.ExitCode()
}

// accept carries every connection to the proxy.
func accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // the command has ended, or there are no more descriptors
		}
		go carry(c)
	}
}

// carry carries one connection in both directions.
func carry(c net.Conn) {
	defer c.Close()
	out, err := net.Dial("unix", filepath.Join(proxyDir, proxyName))
	if err != nil {
		return // the proxy has ended, and the sandbox is about to
	}
	defer out.Close()
	join(c, out)
}
