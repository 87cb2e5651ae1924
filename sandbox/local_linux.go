package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The person's servers on localhost with Landlock, where commands are in the network of
// this machine and may have no socket of the internet.
//
// While a port is open, the broker lets commands make sockets of TCP. Such a socket is of
// no use by itself: the kernel asks the broker about every connect and listen, and
// Landlock refuses to connect and to bind TCP, whatever the port. So what a command does
// between the broker's look and the call, such as exchanging a descriptor, leads nowhere.
// The broker connects the socket itself, on a duplicate, if the address is that of this
// machine and the port is open; and it has a socket listen only if it is of the file
// system. The filter refuses calls that send and connect at once (MSG_FASTOPEN).
//
// A connection that was made stays when the port is closed: it leads nowhere else.

// openPorts are the ports that are open. The supervisor reads them from its descriptor 3.
type openPorts struct{ Ports []int }

// Opens reports whether [process.Forward] works here: see [workspace.Opens].
func (l *landlock) Opens() bool { return !l.rules.Net && !l.o.ReadOnly }

// A portList is what is open for one command, by how many calls of Forward.
type portList struct {
	mu    sync.Mutex
	to    *os.File // the supervisor's descriptor 3
	count map[int]int
}

// answerTime is how long the supervisor may take to answer. A command can stop it.
const answerTime = 10 * time.Second

// forward is the [process.Forward] of Landlock. It returns when the broker knows.
func (p *portList) forward(ports []int) (func(), error) {
	if err := p.change(ports, 1); err != nil {
		return nil, fmt.Errorf("ports %v cannot be opened in the sandbox: %w", ports, err)
	}
	return func() { _ = p.change(ports, -1) }, nil // the command may have ended
}

// change adds by to the number of users of each port, and makes the ports with users the
// open ones.
func (p *portList) change(ports []int, by int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var open openPorts
	for _, port := range ports {
		p.count[port] += by
	}
	for port, n := range p.count {
		if n > 0 {
			open.Ports = append(open.Ports, port)
		}
	}
	slices.Sort(open.Ports)
	if err := p.to.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	if err := json.NewEncoder(p.to).Encode(open); err != nil {
		return err
	}
	_, err := p.to.Read(make([]byte, 1))
	return err
}

// listenToPorts takes what is open from the descriptor, which d reads, and answers with a
// byte, until its other end is closed.
func (k *broker) listenToPorts(d *json.Decoder, to io.Writer) {
	for {
		var open openPorts
		if d.Decode(&open) != nil {
			return // the command is about to end
		}
		k.mu.Lock()
		k.ports = open.Ports
		k.mu.Unlock()
		if _, err := to.Write([]byte{1}); err != nil {
			return
		}
	}
}

// isOpen reports whether a port is open; 0 stands for any.
func (k *broker) isOpen(port int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ports) > 0 && (port == 0 || slices.Contains(k.ports, port))
}

// network answers a call about sockets. Its error is ENOSYS for another call.
func (c *brokered) network() error {
	a := c.n.args
	switch uintptr(uint32(c.n.nr)) {
	case unix.SYS_SOCKET: // the filter has seen to the arguments
		if !c.isOpen(0) {
			return unix.EPERM
		}
		return c.goOn()
	case unix.SYS_CONNECT:
		return c.connect(int(int32(uint32(a[0]))), a[1], int(int32(uint32(a[2]))))
	case unix.SYS_LISTEN:
		return c.listen(int(int32(uint32(a[0]))), int(int32(uint32(a[1]))))
	}
	return unix.ENOSYS
}

// goOn has the kernel make the call as the process asked for it.
func (c *brokered) goOn() error {
	c.send(&notifyReply{id: c.n.id, flags: notifyContinue})
	return errAnswered
}

// duplicate returns a descriptor for the same open file as fd of the process.
func (c *brokered) duplicate(fd int) (int, error) {
	const pidfdThread = unix.O_EXCL // PIDFD_THREAD of linux/pidfd.h
	process, err := unix.PidfdOpen(int(c.n.pid), pidfdThread)
	if err != nil {
		return -1, unix.EPERM
	}
	defer unix.Close(process)
	if err := c.valid(); err != nil {
		return -1, err
	}
	return unix.PidfdGetfd(process, fd, 0)
}

// connect connects a socket to a server of this machine, if its port is open for the
// command. Any other address goes on to the kernel, where Landlock decides.
func (c *brokered) connect(fd int, addr uint64, size int) error {
	if size < 2 || size > 128 {
		return unix.EINVAL
	}
	raw, err := c.memory(addr, size)
	if err != nil {
		return err
	}
	to, ok := internetAddress(raw)
	if !ok {
		return c.goOn() // of the file system; Landlock refuses TCP
	}
	if !to.Addr().IsLoopback() && !to.Addr().IsUnspecified() {
		return unix.ENETUNREACH
	}
	if !c.isOpen(int(to.Port())) {
		return unix.ECONNREFUSED
	}
	socket, err := c.duplicate(fd)
	if err != nil {
		return err
	}
	if domain, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil ||
		domain != int(binary.NativeEndian.Uint16(raw)) {
		unix.Close(socket)
		return unix.EAFNOSUPPORT
	}
	onOwnThread(func() { // the server may take its time, and no other call waits with it
		defer unix.Close(socket)
		reply := notifyReply{id: c.n.id}
		if err := deafen(); err != nil {
			reply.errno = -int32(unix.EPERM)
		} else if err := connectSocket(socket, to); err != nil {
			reply.errno = -int32(errnoOf(err))
		}
		c.send(&reply)
	})
	return errAnswered
}

// connectSocket connects a socket to an address of this machine. It waits for the server
// if the socket does.
func connectSocket(socket int, to netip.AddrPort) error {
	if to.Addr().Is4() {
		return unix.Connect(socket, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
	}
	return unix.Connect(socket, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
}

// errnoOf returns the number of an error of a system call.
func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EPERM
}

// internetAddress reads struct sockaddr_in or sockaddr_in6.
func internetAddress(raw []byte) (netip.AddrPort, bool) {
	if len(raw) < 4 {
		return netip.AddrPort{}, false
	}
	port := binary.BigEndian.Uint16(raw[2:])
	switch family := binary.NativeEndian.Uint16(raw); {
	case family == unix.AF_INET && len(raw) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(raw[4:8])), port), true
	case family == unix.AF_INET6 && len(raw) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(raw[8:24])), port), true
	}
	return netip.AddrPort{}, false
}

// listen has a socket of the file system listen. One of the internet would get a port
// that anyone can connect to.
func (c *brokered) listen(fd, backlog int) error {
	socket, err := c.duplicate(fd)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	domain, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	if domain != unix.AF_UNIX {
		return unix.EACCES
	}
	return unix.Listen(socket, backlog)
}
