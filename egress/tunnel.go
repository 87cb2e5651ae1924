package egress

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const tlsHandshake = 0x16 // the first byte of TLS

// tunnel passes on what down and up say to each other, and closes both. In
// mode Hosts, down is held to target, HOST:PORT.
func (s *serving) tunnel(down *conn, up net.Conn, target string) {
	t := &tunnelled{down: down, up: up, idle: s.idle}
	defer t.close()
	t.heard()
	_, port, err := readTarget(target)
	held := s.Dialer.rules.mode == Hosts
	web := held && (port == 80 || port == 443)
	if web && err == nil { // the client speaks first
		var plain bool
		if plain, err = s.inspect(t, target); plain && err == nil {
			s.handOver(t, target)
			return
		}
	}
	if err != nil {
		s.tell(err)
		return
	}
	var back sync.WaitGroup
	defer back.Wait()
	back.Go(func() { t.pass(down, up) })
	if held && !web {
		if _, err := s.inspect(t, target); err != nil {
			s.tell(err)
			t.close()
			return
		}
	}
	t.pass(up, down)
}

// handOver lets the server of HTTP pass on what the client says in a tunnel:
// it checks every request, and connects anew.
func (s *serving) handOver(t *tunnelled, target string) {
	t.up.Close()
	t.down.SetDeadline(time.Time{})
	c := &conn{Conn: t.down.Conn, r: t.down.r, tunnel: target, freed: t.down.freed}
	t.down = nil
	s.http.put(c)
}

// inspect looks at what the client says first. It reports whether that is not
// TLS.
func (s *serving) inspect(t *tunnelled, target string) (plain bool, err error) {
	first, err := t.down.r.Peek(1)
	if err != nil {
		return false, nil // they left
	}
	if first[0] != tlsHandshake {
		return true, nil
	}
	err = serverName(t.down, target)
	t.last.Store(0)
	t.heard()
	return false, err
}

// serverName reads the first message of TLS from c, leaves it to be read
// again, and checks that it asks for the host of target.
func serverName(c *conn, target string) error {
	c.SetReadDeadline(time.Now().Add(helloTimeout))
	var said bytes.Buffer
	var name string
	var heard bool
	stop := errors.New("heard enough")
	err := tls.Server(listening{io.TeeReader(io.LimitReader(c.r, maxHeader), &said)}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name, heard = hello.ServerName, true
			return nil, stop
		},
	}).Handshake()
	c.r = bufio.NewReaderSize(io.MultiReader(&said, c.r), 16<<10)
	if !heard {
		return &Refused{Host: clean(target), Rule: "what is said in the tunnel looks like TLS and is not: " + err.Error()}
	}
	h, port, err := readTarget(target)
	if err != nil {
		return err
	}
	switch {
	case h.name == "" && name == "":
		return nil
	case name == "":
		return &Refused{Host: clean(target), Rule: "the client does not say in TLS which host it wants (SNI)"}
	}
	return sameHost(target, net.JoinHostPort(name, strconv.Itoa(int(port))))
}

// sameHost checks that asked, HOST or HOST:PORT, is target; the port is that of
// plain HTTP if none is named.
func sameHost(target, asked string) error {
	h, p, err := readTarget(target)
	if err != nil {
		return err
	}
	if !strings.Contains(asked, ":") || strings.HasSuffix(asked, "]") {
		asked += ":80"
	}
	if a, n, err := readTarget(asked); err != nil || a != h || n != p {
		return &Refused{Host: clean(target), Rule: fmt.Sprintf("within the tunnel to it, %s is asked for", clean(asked))}
	}
	return nil
}

// listening is a connection on which nothing can be said.
type listening struct{ io.Reader }

func (listening) Write(p []byte) (int, error)      { return len(p), nil }
func (listening) Close() error                     { return nil }
func (listening) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (listening) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (listening) SetDeadline(time.Time) error      { return nil }
func (listening) SetReadDeadline(time.Time) error  { return nil }
func (listening) SetWriteDeadline(time.Time) error { return nil }

// tunnelled are the ends of a tunnel.
type tunnelled struct {
	down *conn
	up   net.Conn
	idle time.Duration
	last atomic.Int64 // when something was said, in seconds
}

// close closes what was not handed over. It may be called again.
func (t *tunnelled) close() {
	t.up.Close()
	if t.down != nil {
		t.down.Close()
	}
}

// heard puts off the end of a tunnel in which somebody speaks.
func (t *tunnelled) heard() {
	now := time.Now()
	if s := now.Unix(); t.last.Swap(s) != s {
		t.down.SetDeadline(now.Add(t.idle))
		t.up.SetDeadline(now.Add(t.idle))
	}
}

// pass passes on what from says until it has nothing more to say.
func (t *tunnelled) pass(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			t.heard()
			if _, werr := to.Write(buf[:n]); werr != nil {
				from.Close() // nobody listens
				return
			}
		}
		if err == io.EOF {
			if closeWrite(to) != nil {
				to.Close()
			}
			return
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}
