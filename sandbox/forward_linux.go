package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Where the way out is, inside.
const (
	proxyDir      = "/run/openmanus"
	proxyName     = "proxy.sock"
	forwarderPath = "/run/openmanus-forward"
	forwarderPort = "3128"
)

// forwarderName is the name by which this program is called to be a forwarder.
const forwarderName = "openmanus-forward"

// wrapped are the arguments of a command with what has to run around it.
func (b *base) wrapped(args []string) []string {
	if b.o.Network != Hosts {
		return args
	}
	return append([]string{forwarderPath, "--"}, args...)
}

// proxyEnv has programs use the proxy.
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

// forward runs a command, and beside it carries what is said on a port of the
// cage to the proxy's socket. It returns the command's exit status.
func forward(args []string) int {
	if len(args) < 2 || args[0] != "--" {
		fmt.Fprintln(os.Stderr, "sandbox: a forwarder without a command")
		return 2
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+forwarderPort)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: the way to the proxy:", err)
		return 1
	}
	go accept(l)
	x := exec.Command(args[1], args[2:]...)
	x.Stdin, x.Stdout, x.Stderr = os.Stdin, os.Stdout, os.Stderr
	signal.Ignore(unix.SIGINT, unix.SIGTERM) // they are for the command, which gets them too
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

func accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // the command ends, or there are no descriptors
		}
		go carry(c)
	}
}

func carry(c net.Conn) {
	defer c.Close()
	out, err := net.Dial("unix", filepath.Join(proxyDir, proxyName))
	if err != nil {
		return // the proxy has ended, and so will the cage
	}
	defer out.Close()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{c, out}, {out, c}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // who hung up hung up
			if half, ok := way[0].(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite() // likewise
			}
		})
	}
	both.Wait()
}
