package egress

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tlsHandshake is the first byte of a TLS connection.
const tlsHandshake = 0x16 // the first byte of TLS

// tunnel carries data between the client and up until both have ended, and
// closes them. In mode Hosts the client is held to target, HOST:PORT: on web
// ports before anything is sent, on others when it first sends something, since
// there a server may speak first.
func (s *serving) tunnel(down *conn, up net.Conn, target string) {
	t := &tunnelled{down: down, up: up, idle: s.idle}
	defer t.close()
	t.heard()
	_, port, err := readTarget(target)
	held := s.Dialer.rules.mode == Hosts
	web := held && (port == 80 || port == 443)
	if web && err == nil { // here the client speaks first
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

// handOver gives a tunnel with plain HTTP to the server of HTTP, which checks
// every request and connects anew.
func (s *serving) handOver(t *tunnelled, target string) {
	t.up.Close()
	t.down.SetDeadline(time.Time{})
	c := &conn{Conn: t.down.Conn, r: t.down.r, tunnel: target, freed: t.down.freed}
	t.down = nil
	s.http.put(c)
}

// inspect looks at what the client sends first, and reports whether it is not
// TLS.
func (s *serving) inspect(t *tunnelled, target string) (plain bool, err error) {
	first, err := t.down.r.Peek(1)
	if err != nil {
		return false, nil // the client has gone
	}
	if first[0] != tlsHandshake {
		return true, nil
	}
	err = serverName(t.down, target)
	t.last.Store(0)
	t.heard()
	return false, err
}

// serverName reads the first message of TLS from c, puts it back, and checks
// that it asks for the host of target.
func serverName(c *conn, target string) error {
	c.SetReadDeadline(time.Now().Add(helloTimeout))
	var said bytes.Buffer
	var name string
	var heard bool
	stop := errors.New("the name is known")
	err := tls.Server(listening{c.Conn, io.TeeReader(io.LimitReader(c.r, maxHeader), &said)}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name, heard = hello.ServerName, true
			return nil, stop
		},
	}).Handshake()
	c.r = bufio.NewReaderSize(io.MultiReader(&said, c.r), 16<<10)
	if !heard {
		return refuse(target, "the data in the tunnel looks like TLS but is not: %v", err)
	}
	h, port, err := readTarget(target)
	if err != nil {
		return err
	}
	switch {
	case h.name == "" && name == "":
		return nil
	case name == "":
		return refuse(target, "the client does not name the host in TLS (SNI)")
	}
	return sameHost(target, net.JoinHostPort(name, strconv.Itoa(int(port))))
}

// sameHost checks that asked, HOST or HOST:PORT, is target. Without a port it is
// that of plain HTTP.
func sameHost(target, asked string) error {
	h, p, err := readTarget(target)
	if err != nil {
		return err
	}
	if !strings.Contains(asked, ":") || strings.HasSuffix(asked, "]") {
		asked += ":80"
	}
	if a, n, err := readTarget(asked); err != nil || a != h || n != p {
		return refuse(target, "the tunnel to it is used to reach %s", clean(asked))
	}
	return nil
}

// A listening connection can be read, and drops what is written to it.
type listening struct {
	net.Conn
	r io.Reader
}

func (l listening) Read(p []byte) (int, error)  { return l.r.Read(p) }
func (l listening) Write(p []byte) (int, error) { return len(p), nil }

// A tunnelled has the ends of a tunnel.
type tunnelled struct {
	down *conn
	up   net.Conn
	idle time.Duration
	last atomic.Int64 // when something was sent, in Unix seconds
}

// close closes what was not handed over. It may be called more than once.
func (t *tunnelled) close() {
	t.up.Close()
	if t.down != nil {
		t.down.Close()
	}
}

// heard restarts the idle timeout. It sets deadlines at most once a second.
func (t *tunnelled) heard() {
	now := time.Now()
	if s := now.Unix(); t.last.Swap(s) != s {
		t.down.SetDeadline(now.Add(t.idle))
		t.up.SetDeadline(now.Add(t.idle))
	}
}

// pass carries data from one end to the other until that has no more.
func (t *tunnelled) pass(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			t.heard()
			if _, werr := to.Write(buf[:n]); werr != nil {
				from.Close() // the other end has gone
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
