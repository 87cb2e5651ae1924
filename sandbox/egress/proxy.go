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

// A Proxy serves HTTP (with CONNECT) and SOCKS5 on one listener, and connects
// through a [Dialer]. It does not authenticate clients: expose the listener only
// to the processes that the policy is for, such as by a socket in a directory of
// their own.
//
// In mode [Hosts] a tunnel is held to its host: by the name in the first message
// of TLS, or the Host header of plain HTTP. On the ports 80 and 443 nothing else
// passes.
type Proxy struct {
	Dialer *Dialer

	// Refused, if it is not nil, is called with what was refused or failed.
	// Calls come from many goroutines at once, and must not block.
	Refused func(error)

	// Named reports whether the user of the proxy named a host, as in
	// [WithNamed]. Calls come from many goroutines at once. nil: none is named.
	Named func(host string) bool

	// Local reports whether the user of the proxy may connect to a server on this
	// machine or in a private network, as in [WithLocal]. Requests that a page of
	// another site makes may not, as far as the browser tells. nil: none may.
	Local func(target string) bool

	// MaxConns is how many connections are served at once; more wait. 0: 256.
	MaxConns int

	// Idle is the idle timeout of a tunnel: how long neither side may send
	// nothing. 0: 10 minutes.
	Idle time.Duration
}

const (
	helloTimeout = 15 * time.Second // for a client to say what it wants
	maxHeader    = 64 << 10
)

// Serve serves what l accepts until ctx is done or l fails, and then closes l
// and every connection. It returns nil if ctx ended it.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	if p.Named != nil {
		ctx = WithNamed(ctx, p.Named)
	}
	if p.Local != nil {
		ctx = WithLocal(ctx, p.Local)
	}
	s := &serving{Proxy: p, ctx: ctx, http: newQueue(l.Addr()),
		slots: make(chan struct{}, either(p.MaxConns, 256)), idle: either(p.Idle, 10*time.Minute)}
	s.transport = p.Dialer.Transport()
	s.transport.DisableCompression = true // bodies are passed on unchanged
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: helloTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog:                     log.New(complaints(s.tell), "", 0),
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	s.wait.Go(func() { server.Serve(s.http) }) // it ends with the queue
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

// either returns v, or if that is zero or.
func either[T comparable](v, or T) T {
	var zero T
	if v == zero {
		return or
	}
	return v
}

// A complaints is a writer that receives the log of an [http.Server].
type complaints func(error)

func (c complaints) Write(p []byte) (int, error) {
	c(fmt.Errorf("%s", p))
	return len(p), nil
}

// A serving is a proxy that is serving.
type serving struct {
	*Proxy
	ctx       context.Context
	http      *queue // the connections that speak HTTP
	transport *http.Transport
	slots     chan struct{} // has an element for each connection
	idle      time.Duration
	wait      sync.WaitGroup
}

// tell reports an error to Proxy.Refused.
func (s *serving) tell(err error) {
	if s.Refused != nil && err != nil && s.ctx.Err() == nil {
		s.Refused(err)
	}
}

// accept accepts connections while there are slots.
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

// next accepts a connection. If the system is short of file descriptors it waits
// and tries again.
func (s *serving) next(l net.Listener) (net.Conn, error) {
	for {
		c, err := l.Accept()
		if err == nil || !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) &&
			!errors.Is(err, syscall.ECONNABORTED) {
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

// serve finds out which protocol c speaks, by its first byte.
func (s *serving) serve(c *conn) {
	c.SetDeadline(time.Now().Add(helloTimeout))
	first, err := c.r.Peek(1)
	if err != nil {
		c.Close() // the client sent nothing
		return
	}
	if first[0] == socksVersion {
		s.socks(c)
		return
	}
	c.SetDeadline(time.Time{})
	s.http.put(c)
}

// A conn is a connection of a client. It reads through a buffer, so that what
// was looked at can be read again.
type conn struct {
	net.Conn
	r *bufio.Reader

	// tunnel is HOST:PORT of the tunnel, if plain HTTP is spoken in one.
	tunnel string

	freed func() // gives the slot back; called by the first Close
}

// connKey is the key of the conn in the context of a request.
type connKey struct{}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) { return c.r.Read(p) }

// Close implements [net.Conn]. It may be called more than once.
func (c *conn) Close() error {
	c.freed()
	return c.Conn.Close()
}

// CloseWrite closes the connection for writing alone.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite closes c for writing, or as a whole if it has no halves.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// A queue is a listener for connections that have been accepted already.
type queue struct {
	addr  net.Addr
	conns chan *conn
	done  chan struct{}
	once  sync.Once
}

func newQueue(addr net.Addr) *queue {
	return &queue{addr: addr, conns: make(chan *conn), done: make(chan struct{})}
}

// put has the server of the queue serve c.
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

// handler returns the server of HTTP: it opens tunnels, and forwards requests
// for http URLs.
func (s *serving) handler() http.Handler {
	forward := &httputil.ReverseProxy{
		Transport:     &proxied{s.Dialer, s.transport},
		FlushInterval: -1,
		Rewrite:       func(*httputil.ProxyRequest) {}, // without the headers that a reverse proxy adds
		ErrorLog:      log.New(complaints(s.tell), "", 0),
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { s.refuse(w, err) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			s.connect(w, r)
			return
		}
		if crossSite(r) {
			r = withoutLocal(r)
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

// A proxied transport sends the requests that a proxy forwards, which are checked.
type proxied struct {
	d  *Dialer
	tr *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (p *proxied) RoundTrip(req *http.Request) (*http.Response, error) {
	return p.d.ownConnection(req, p.tr).RoundTrip(req)
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
		return "", refuse(r.Host, "this is a proxy, and the request is not one for a proxy")
	}
	switch {
	case u.Scheme != "http":
		return "", refuse(u.Host, "%s cannot be forwarded in plain text: use CONNECT", clean(u.Scheme))
	case u.User != nil:
		return "", refuse(u.Host, "there is a name or password before the host")
	}
	if c.tunnel != "" {
		u.Host = c.tunnel
	}
	if err := s.Dialer.CheckURL(r.Context(), u); err != nil {
		return "", err
	}
	return u.Host, nil
}

// refuse answers a request with the error.
func (s *serving) refuse(w http.ResponseWriter, err error) {
	s.tell(err)
	code, kind := http.StatusBadGateway, "destination_unavailable"
	if no := (*Refused)(nil); errors.As(err, &no) {
		code, kind = http.StatusForbidden, "http_request_denied"
	}
	// RFC 9209, for clients that do not show the body of a refused CONNECT.
	w.Header().Set("Proxy-Status", "openmanus; error="+kind+"; details="+strconv.QuoteToASCII(err.Error()))
	http.Error(w, err.Error(), code)
}

// connect opens a tunnel for CONNECT.
func (s *serving) connect(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(connKey{}).(*conn)
	if c.tunnel != "" {
		s.refuse(w, refuse(r.Host, "a tunnel within a tunnel"))
		return
	}
	if r.URL.Path != "" || r.Host != r.URL.Host {
		s.refuse(w, refuse(r.RequestURI, "CONNECT takes HOST:PORT"))
		return
	}
	up, err := s.Dialer.DialContext(s.ctx, "tcp", r.Host) // the context of r ends with the request
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
	if n := rw.Reader.Buffered(); n > 0 { // sent before the tunnel was open
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
