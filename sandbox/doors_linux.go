package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// A person's servers on localhost, from inside.
//
// A command of bubblewrap has a loopback interface of its own. For a port that is
// opened, a helper (this program again, started by nsenter in the namespaces of the
// command's network and of no more) makes sockets there that listen, hands them to this
// process, and ends. This process accepts connections on them and carries each to the
// same port of its own loopback interface. Inside there is nothing but a port: no
// process, no file, and no descriptor of a network outside.
//
// A command of Landlock has no network of its own, and so no sockets of the internet.
// See local_linux.go for how it gets a connection.

// listenerName is the name under which this program is started to make the sockets. Its
// arguments are ports; the sockets go to descriptor 3.
const listenerName = "openmanus-listen"

// Opens reports whether [process.Forward] works here: see [workspace.Opens].
func (b *bubblewrap) Opens() bool {
	_, err := b.o.outside().Look("nsenter")
	return err == nil && b.o.Network != AllNetwork && !b.o.ReadOnly
}

// forward is the [process.Forward] of bubblewrap: it listens on the ports within the
// sandbox's network, and carries each connection to the same port of this machine.
func (b *bubblewrap) forward(p *process, ports []int) (func(), error) {
	sockets, err := b.socketsIn(p, ports)
	if err != nil {
		return nil, err
	}
	c := newCarrier()
	for _, s := range sockets {
		c.serve(s)
	}
	return c.Close, nil
}

// nsGetUserns is NS_GET_USERNS of linux/nsfs.h: the user namespace that owns another
// namespace.
const nsGetUserns = 0xb701

// socketsIn returns sockets that listen on the ports in the network namespace of p. The
// user namespace in which that was made is not always that of the command: bwrap makes
// a second one where the users differ.
func (b *bubblewrap) socketsIn(p *process, ports []int) (sockets []net.Listener, err error) {
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", p.root))
	if err != nil {
		return nil, err
	}
	defer network.Close()
	if !p.alive() {
		return nil, fmt.Errorf("ports %v: the command has ended", ports)
	}
	owner, err := unix.IoctlRetInt(int(network.Fd()), nsGetUserns)
	if err != nil {
		return nil, fmt.Errorf("the user namespace of the sandbox: %w", err)
	}
	users := os.NewFile(uintptr(owner), "users")
	defer users.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "sockets"), os.NewFile(uintptr(pair[1]), "sockets")
	defer ours.Close()
	x, err := b.listener(ports)
	if err != nil {
		theirs.Close()
		return nil, err
	}
	var said strings.Builder
	x.Stderr, x.ExtraFiles = &said, []*os.File{theirs, users, network} // 3, 4 and 5
	err = x.Run()
	theirs.Close()
	if err != nil {
		text := strings.TrimPrefix(strings.TrimSpace(said.String()), "sandbox: ")
		if strings.Contains(text, workspace.ErrTaken.Error()) {
			return nil, fmt.Errorf("ports %v: %w", ports, workspace.ErrTaken)
		}
		return nil, fmt.Errorf("ports %v cannot be opened in the sandbox: %w: %s", ports, err, text)
	}
	return receiveSockets(ours, 2*len(ports))
}

// listener returns the command of the helper. It is found by a link, since its name says
// what it is.
func (b *bubblewrap) listener(ports []int) (*exec.Cmd, error) {
	program, err := b.ownProgram(true)
	if err != nil {
		return nil, err
	}
	link := b.private.path(listenerName)
	if err := os.Symlink(program, link); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	x := b.o.outside().Command(context.Background(), "nsenter", "--user=/proc/self/fd/4", "--net=/proc/self/fd/5", "--preserve-credentials", "--", link)
	for _, port := range ports {
		x.Args = append(x.Args, strconv.Itoa(port))
	}
	x.Env = []string{} // it needs none
	return x, nil
}

// listenInside is the main function of the helper that enters the sandbox's network: it
// opens the listeners and sends their descriptors back. It returns its exit status.
func listenInside(args []string) int {
	var fds []int
	for _, arg := range args {
		port, err := strconv.Atoi(arg)
		if err == nil {
			var fd int
			if fd, err = listenOn(unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err == nil {
				fds = append(fds, fd)
			}
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "sandbox: port %s: %v\n", arg, err)
			return 1
		}
		// A machine need not have the newer protocol.
		fd, err := listenOn(unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}})
		if err == nil {
			fds = append(fds, fd)
		}
	}
	if err := unix.Sendmsg(3, []byte{byte(len(fds))}, unix.UnixRights(fds...), nil, 0); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: the sockets cannot be handed on:", err)
		return 1
	}
	return 0
}

// listenOn returns a socket that listens at an address.
func listenOn(family int, at unix.Sockaddr) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) // connections of before may linger
	if family == unix.AF_INET6 {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1) // likewise, it is only tidier
	}
	if err = unix.Bind(fd, at); err == nil {
		err = unix.Listen(fd, 64)
	}
	if errors.Is(err, unix.EADDRINUSE) {
		err = workspace.ErrTaken
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// receiveSockets reads at most n sockets that the helper has sent.
func receiveSockets(from *os.File, n int) (sockets []net.Listener, err error) {
	oob := make([]byte, unix.CmsgSpace(4*n))
	_, got, _, _, err := unix.Recvmsg(int(from.Fd()), make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return nil, fmt.Errorf("the sockets of the sandbox: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:got])
	for _, m := range messages {
		fds, badly := unix.ParseUnixRights(&m)
		err = errors.Join(err, badly)
		for _, fd := range fds {
			f := os.NewFile(uintptr(fd), "listener")
			l, badly := net.FileListener(f)
			err = errors.Join(err, badly, f.Close())
			if l != nil {
				sockets = append(sockets, l)
			}
		}
	}
	if err != nil {
		for _, l := range sockets {
			l.Close()
		}
		return nil, err
	}
	return sockets, nil
}

// maxCarried is how many connections of a command are carried at a time. More wait.
const maxCarried = 256

// A carrier carries connections from sockets in a sandbox to the same ports of this
// machine's loopback interface.
type carrier struct {
	listeners []net.Listener
	all       sync.WaitGroup
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc

	mu     sync.Mutex
	conns  map[net.Conn]bool // of both sides
	closed bool
}

func newCarrier() *carrier {
	c := &carrier{conns: make(map[net.Conn]bool)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// serve carries the connections that come to l, at most maxCarried at a time.
func (c *carrier) serve(l net.Listener) {
	c.listeners = append(c.listeners, l)
	room := make(chan struct{}, maxCarried)
	c.all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // it was closed
			}
			room <- struct{}{}
			c.all.Go(func() {
				defer func() { <-room }()
				c.carry(in)
			})
		}
	})
}

// dialTime is how long a server on this machine may take to accept a connection.
const dialTime = 10 * time.Second

// carry carries one connection. A server that listens at 127.0.0.1 alone is also
// reached by ::1, and the other way round: inside, both are there.
func (c *carrier) carry(in net.Conn) {
	defer c.forget(in)
	at, ok := in.LocalAddr().(*net.TCPAddr)
	if !ok || !c.keep(in) {
		return
	}
	hosts := []string{"127.0.0.1", "::1"}
	if at.IP.To4() == nil {
		hosts = []string{"::1", "127.0.0.1"}
	}
	for _, host := range hosts {
		d := net.Dialer{Timeout: dialTime}
		out, err := d.DialContext(c.ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(at.Port)))
		if err != nil {
			continue
		}
		if c.keep(out) {
			join(in, out)
		}
		c.forget(out)
		return
	}
}

// keep notes a connection for Close, and reports false if it is closed already.
func (c *carrier) keep(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.conns[conn] = true
	}
	return !c.closed
}

func (c *carrier) forget(conn net.Conn) {
	conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, conn)
}

// Close closes the listeners and all connections, and returns when nothing is left. It may
// be called twice.
func (c *carrier) Close() {
	c.cancel()
	for _, l := range c.listeners {
		l.Close()
	}
	c.mu.Lock()
	c.closed = true
	for conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.all.Wait()
}

// join copies between two connections until both have ended. An end that is only
// half closed is half closed on the other side.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // an end that hung up ends the copy
			if half, ok := way[0].(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite() // likewise
			}
		})
	}
	both.Wait()
}
