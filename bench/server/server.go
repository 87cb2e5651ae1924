// Package server is a scripted model on a loopback port: an endpoint that
// speaks OpenAI's Chat Completions, streamed and plain, and that keeps the
// time, the size and the bytes of every request.
//
// It is stateless: what it answers depends on the model name and on the
// number of tool results in the request alone, so a client that is killed and
// asks again gets the same answer.
//
//	srv, err := server.Listen("127.0.0.1:0", server.Steps)
//	…
//	srv.Begin(nil)
//	// point a client with the model "steps-100-1024" at srv.URL()
//	run := srv.End()
//	fmt.Println(run.Gaps())
//
// The accounting is cheap on purpose, so that the server may live in the
// process of the driver: a request costs one read into a buffer that is used
// again, a comparison with the request before it, and what is new in it as
// memory. All of that happens between a request's arrival and its answer,
// which is outside of what [Run.Gaps] measures.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Server answers and records. Its methods are safe for concurrent use.
type Server struct {
	scripts func(model string) (Script, error)
	ln      net.Listener
	http    http.Server
	done    chan struct{} // closed when the accept loop has ended

	mu   sync.Mutex
	run  *Run
	hook func(Record)
	busy map[net.Conn]bool // connections with a request that has no answer yet
	calm *sync.Cond        // busy has become empty
}

// Listen starts a server on addr. scripts finds the script for a model name;
// its error is answered with status 404, as a provider would.
func Listen(addr string, scripts func(model string) (Script, error)) (*Server, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("model server: %w", err)
	}
	s := &Server{scripts: scripts, ln: &listener{Listener: ln}, done: make(chan struct{}), run: &Run{}, busy: make(map[net.Conn]bool)}
	s.calm = sync.NewCond(&s.mu)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	s.http.Handler = mux
	s.http.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	s.http.ConnState = s.state
	go func() {
		defer close(s.done)
		s.http.Serve(s.ln) // returns when Close is called
	}()
	return s, nil
}

// URL is the base URL for clients, ending in /v1.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() + "/v1" }

// Close ends the server and its connections.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// Begin forgets what was recorded and records anew. If hook is not nil, it is
// called with every request that has arrived in whole; the answer waits until
// it returns. A hook must not call Begin, End or Close.
func (s *Server) Begin(hook func(Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.hook = &Run{}, hook
}

// End waits until every request has its answer, returns what was recorded
// since Begin, and begins anew without a hook.
func (s *Server) End() *Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.busy) > 0 {
		s.calm.Wait()
	}
	run := s.run
	run.close()
	s.run, s.hook = &Run{}, nil
	return run
}

func (s *Server) state(c net.Conn, to http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch to {
	case http.StateActive:
		s.busy[c] = true
	case http.StateIdle, http.StateClosed:
		if delete(s.busy, c); len(s.busy) == 0 {
			s.calm.Broadcast()
		}
	}
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	run, hook := s.run, s.hook
	s.mu.Unlock()

	body, err := run.read(r.Body, r.ContentLength)
	in := time.Now()
	if err != nil {
		return // the client went away
	}
	q, err := parse(body)
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	name, plain := strings.CutSuffix(q.model, Plain)
	script, err := s.scripts(name)
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	reply := script(q.step)
	if q.sum {
		reply = Reply{Text: summary}
	}
	conn := r.Context().Value(connKey{}).(*conn)
	rec := Record{In: in, Size: len(body), Model: q.model, Step: q.step, Stream: q.stream && !plain,
		Last: len(reply.Calls) == 0 && !q.sum, Conn: conn.id, Summary: q.sum}
	run.add(rec, conn, body)
	if hook != nil {
		hook(rec)
	}
	if q.stream && !plain {
		writeStream(w, q, reply)
	} else {
		writePlain(w, q, reply)
	}
}

// Plain, at the end of a model's name, says that the answer is one JSON value
// even to who asks for a stream, as some servers do.
const Plain = "-plain"

// connKey is the context key of a request's *conn.
type connKey struct{}

// A conn knows when the last write to it began. Its end would be the better
// name for when bytes leave, but on loopback the client may have them, and be
// at work, before the write returns; so a gap holds one write, of whichever
// client.
type conn struct {
	net.Conn
	id    int
	wrote atomic.Pointer[time.Time]
}

func (c *conn) Write(p []byte) (int, error) {
	now := time.Now()
	c.wrote.Store(&now)
	return c.Conn.Write(p)
}

type listener struct {
	net.Listener
	n atomic.Int64
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, id: int(l.n.Add(1))}, nil
}

// read returns the whole of a request's body, in a buffer of the run's if its
// size is known.
func (r *Run) read(body io.Reader, size int64) ([]byte, error) {
	if size < 0 {
		return io.ReadAll(body)
	}
	if size > maxBody {
		return nil, errors.New("the request is too large")
	}
	buf := r.buffer(int(size))
	_, err := io.ReadFull(body, buf)
	return buf, err
}

// maxBody bounds what one request may make the server allocate.
const maxBody = 256 << 20
