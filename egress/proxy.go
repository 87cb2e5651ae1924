package egress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A Proxy lends a [Dialer] to whoever speaks HTTP (with CONNECT) or SOCKS5 to
// it, on one listener. It asks nobody who they are: the listener is to be
// within reach of those alone whom the policy is for, such as a socket in a
// directory of theirs.
//
// In mode [Hosts], what is said in a tunnel is held to the tunnel's host: the
// name in the first message of TLS, and the Host of plain HTTP. On the ports
// 80 and 443 nothing else is let through.
type Proxy struct {
	Dialer *Dialer

	// Refused, if not nil, is told of what is refused or failed. It is safe
	// for concurrent use and does not block.
	Refused func(error)

	// MaxConns is how many are served at once; more wait. 0 means 256.
	MaxConns int

	// Idle is after how long a tunnel is cut in which nobody speaks. 0 means
	// 10 minutes.
	Idle time.Duration
}

const (
	helloTimeout = 15 * time.Second // for whoever connects to say what they want
	maxHeader    = 64 << 10
)

// Serve serves what l accepts until ctx ends or l fails, and closes l and every
// connection.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &serving{Proxy: p, ctx: ctx, http: newQueue(l.Addr()), slots: make(chan struct{}, either(p.MaxConns, 256)), idle: either(p.Idle, 10*time.Minute)}
	s.transport = p.Dialer.Transport()
	s.transport.DisableCompression = true // what is passed on is passed on as it is
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: helloTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog:                     log.New(complaints(s.tell), "", 0),
		DisableGeneralOptionsHandler: true,
		ConnContext:                  func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	s.wait.Go(func() { server.Serve(s.http) }) // ends with the queue
	err := s.accept(l)
	if ctx.Err() != nil {
		err = nil
	}
	stop()
	cancel()
	err = errors.Join(err, s.http.Close(), server.Close())
	s.wait.Wait()
	s.transport.CloseIdleConnections()
	if cerr := l.Close(); !errors.Is(cerr, net.ErrClosed) {
		err = errors.Join(err, cerr)
	}
	return err
}

func either[T comparable](v, or T) T {
	var zero T
	if v == zero {
		return or
	}
	return v
}

// complaints is a writer for the remarks of an [http.Server].
type complaints func(error)

func (c complaints) Write(p []byte) (int, error) {
	c(fmt.Errorf("%s", p))
	return len(p), nil
}

// serving is a proxy at work.
type serving struct {
	*Proxy
	ctx       context.Context
	http      *queue // connections that speak HTTP
	transport *http.Transport
	slots     chan struct{}
	idle      time.Duration
	wait      sync.WaitGroup
}

func (s *serving) tell(err error) {
	if s.Refused != nil && err != nil && s.ctx.Err() == nil {
		s.Refused(err)
	}
}

func (s *serving) accept(l net.Listener) error {
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			return nil
		}
		c, err := s.next(l)
		if err != nil {
			return err
		}
		pc := &conn{Conn: c, r: bufio.NewReaderSize(c, 16<<10), freed: sync.OnceFunc(func() { <-s.slots })}
		s.wait.Go(func() {
			unwatch := context.AfterFunc(s.ctx, func() { pc.Close() })
			defer unwatch()
			s.serve(pc)
		})
	}
}

// next accepts a connection. It waits while the system has none to give, such
// as for lack of file descriptors.
func (s *serving) next(l net.Listener) (net.Conn, error) {
	for {
		c, err := l.Accept()
		if err == nil || !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) && !errors.Is(err, syscall.ECONNABORTED) {
			return c, err
		}
		s.tell(err)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}

// serve finds out what is spoken on c.
func (s *serving) serve(c *conn) {
	c.SetDeadline(time.Now().Add(helloTimeout))
	first, err := c.r.Peek(1)
	if err != nil {
		c.Close() // they said nothing
		return
	}
	if first[0] == socksVersion {
		s.socks(c)
		return
	}
	c.SetDeadline(time.Time{})
	s.http.put(c)
}

// conn is a connection to the proxy.
type conn struct {
	net.Conn
	r *bufio.Reader

	// tunnel is what it was connected to, if plain HTTP is spoken within.
	tunnel string

	freed func() // when it is closed; once
}

type connKey struct{}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) { return c.r.Read(p) }

// Close implements [net.Conn]. It may be called again.
func (c *conn) Close() error {
	c.freed()
	return c.Conn.Close()
}

// CloseWrite says that no more will be written.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// queue is a listener of connections that were accepted already.
type queue struct {
	addr  net.Addr
	conns chan *conn
	done  chan struct{}
	once  sync.Once
}

func newQueue(addr net.Addr) *queue {
	return &queue{addr: addr, conns: make(chan *conn), done: make(chan struct{})}
}

func (q *queue) put(c *conn) {
	select {
	case q.conns <- c:
	case <-q.done:
		c.Close()
	}
}

// Accept implements [net.Listener].
func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (q *queue) Close() error { q.once.Do(func() { close(q.done) }); return nil }

// Addr implements [net.Listener].
func (q *queue) Addr() net.Addr { return q.addr }

// handler serves HTTP: tunnels, and requests for http addresses.
func (s *serving) handler() http.Handler {
	forward := &httputil.ReverseProxy{
		Transport:     s.transport,
		FlushInterval: -1,
		Rewrite:       func(*httputil.ProxyRequest) {}, // without what another proxy would add
		ErrorLog:      log.New(complaints(s.tell), "", 0),
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { s.refuse(w, err) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			s.connect(w, r)
			return
		}
		target, err := s.target(r)
		if err != nil {
			s.refuse(w, err)
			return
		}
		r.URL.Scheme, r.URL.Host = "http", target
		forward.ServeHTTP(w, r)
	})
}

// target returns where a request goes, HOST or HOST:PORT, if it may.
func (s *serving) target(r *http.Request) (string, error) {
	c := r.Context().Value(connKey{}).(*conn)
	u := &url.URL{Scheme: "http", Host: r.Host}
	switch {
	case c.tunnel != "" && !r.URL.IsAbs():
		if err := sameHost(c.tunnel, r.Host); err != nil {
			return "", err
		}
	case c.tunnel == "" && r.URL.IsAbs():
		u = r.URL
	default:
		return "", &Refused{Host: clean(r.Host), Rule: "this is a proxy, and nothing was asked of it that a proxy does"}
	}
	switch {
	case u.Scheme != "http":
		return "", &Refused{Host: clean(u.Host), Rule: fmt.Sprintf("%s is not passed on in the clear: open a tunnel with CONNECT", clean(u.Scheme))}
	case u.User != nil:
		return "", &Refused{Host: clean(u.Host), Rule: "there is a name or password before the host"}
	}
	if c.tunnel != "" {
		u.Host = c.tunnel
	}
	if err := s.Dialer.CheckURL(u); err != nil {
		return "", err
	}
	return u.Host, nil
}

// refuse answers with why something was refused or failed.
func (s *serving) refuse(w http.ResponseWriter, err error) {
	s.tell(err)
	code, kind := http.StatusBadGateway, "destination_unavailable"
	if no := (*Refused)(nil); errors.As(err, &no) {
		code, kind = http.StatusForbidden, "http_request_denied"
	}
	// RFC 9209: for who does not show the body of a refused CONNECT.
	w.Header().Set("Proxy-Status", "openmanus; error="+kind+"; details="+strconv.QuoteToASCII(err.Error()))
	http.Error(w, err.Error(), code)
}

// connect opens a tunnel.
func (s *serving) connect(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(connKey{}).(*conn)
	if c.tunnel != "" {
		s.refuse(w, &Refused{Host: clean(r.Host), Rule: "a tunnel within a tunnel"})
		return
	}
	if r.URL.Path != "" || r.Host != r.URL.Host {
		s.refuse(w, &Refused{Host: clean(r.RequestURI), Rule: "CONNECT takes HOST:PORT"})
		return
	}
	up, err := s.Dialer.DialContext(s.ctx, "tcp", r.Host) // r's context ends with what they say
	if err != nil {
		s.refuse(w, err)
		return
	}
	raw, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.tell(errors.Join(err, up.Close()))
		return
	}
	down := raw.(*conn)
	if n := rw.Reader.Buffered(); n > 0 { // said before the tunnel was there
		said, _ := rw.Reader.Peek(n)
		said = bytes.Clone(said)
		down.r = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(said), down.r), 16<<10)
	}
	unwatch := context.AfterFunc(s.ctx, func() { down.Close(); up.Close() })
	defer unwatch()
	if _, err := io.WriteString(down, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		down.Close()
		up.Close()
		return
	}
	s.tunnel(down, up, r.Host)
}
