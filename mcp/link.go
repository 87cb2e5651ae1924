package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// A link is one server: its configuration, its connection if there is one, and
// what it offers.
//
// Its connection comes and goes: connected makes one when it is needed, watch notices
// its end, and drop forgets it. Every connection has its own program or HTTP transport,
// which end stops. After close, there is no connection any more: a server that comes
// back gets another link.
type link struct {
	c   *Client
	cfg ServerConfig

	life   context.Context // ends with the client's, or earlier, by close
	ending context.CancelCauseFunc

	turn chan struct{} // holds one element; its receiver may connect and list

	// mu guards the fields below. No call of the server is made while it is held,
	// and Client.mu may not be locked by its holder.
	mu       sync.Mutex
	news     *sync.Cond         // of mu: the connection has ended, or stale is set; for tests to wait for
	sess     *sdk.ClientSession // nil if it is not connected
	end      func() error       // ends sess and what belongs to it
	list     *listing           // the last one; nil before the first
	stale    bool               // the server said that its list has changed
	took     time.Duration      // to connect
	failed   error              // why the last attempt to connect failed
	fails    int                // failed attempts in a row
	nextTry  time.Time          // no attempt before
	since    time.Time          // when sess began
	progress map[string]*flight // by token
	seq      int                // of tokens
}

// newLink returns the link of a server, which is not connected yet.
func newLink(c *Client, cfg ServerConfig) *link {
	l := &link{c: c, cfg: cfg, turn: make(chan struct{}, 1), progress: map[string]*flight{}}
	l.life, l.ending = context.WithCancelCause(c.life)
	l.news = sync.NewCond(&l.mu)
	l.turn <- struct{}{}
	return l
}

// known returns what the server offered when it was last asked, or nil.
func (l *link) known() *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list
}

// session returns the connection, if there is one, and whether it can be used
// with the known listing.
func (l *link) session() (*sdk.ClientSession, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sess, l.sess != nil && !l.stale
}

// connected returns a connection to the server. It connects if there is none,
// and lists the tools again if they have changed. Concurrent callers wait for
// one attempt.
func (l *link) connected(ctx context.Context) (*sdk.ClientSession, error) {
	if sess, ok := l.session(); ok {
		return sess, nil
	}
	select {
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.life.Done():
		return nil, l.over()
	}
	sess, ok := l.session()
	if ok {
		return sess, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.life, func() { cancel(l.over()) })()
	lim := newLimit(l.cfg.StartTimeout, func() {
		cancel(fmt.Errorf("it did not answer within %s", l.cfg.StartTimeout))
	})
	defer lim.stop()
	ctx = context.WithValue(ctx, limitKey{}, lim)
	if sess == nil {
		if err := l.pause(); err != nil {
			return nil, err
		}
		began := time.Now()
		var err error
		if sess, err = l.connect(ctx); err != nil {
			err = cause(ctx, err)
			l.failing(err)
			return nil, err
		}
		l.mu.Lock()
		l.took = time.Since(began)
		l.mu.Unlock()
	}
	if err := l.relist(ctx, sess); err != nil {
		err = cause(ctx, fmt.Errorf("listing its tools: %w", err))
		l.drop(sess, err)
		return nil, err
	}
	return sess, nil
}

// errGone says that a person took the server away.
var errGone = errors.New("it is not connected any more")

// over returns why the life of the link has ended.
func (l *link) over() error {
	if errors.Is(context.Cause(l.life), errGone) {
		return errGone
	}
	return errClosed
}

// limitKey is the context key of the limit of an attempt to connect. That limit
// stops while a person signs in.
type limitKey struct{}

// cause returns why ctx ended if it ended, and err otherwise.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); ctx.Err() != nil && why != nil {
		return why
	}
	return err
}

// The pauses between attempts to connect to a server that fails.
const (
	firstPause  = time.Second
	longestWait = time.Minute
)

// pause returns an error if it is too early for another attempt.
func (l *link) pause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := time.Until(l.nextTry); wait > 0 {
		return fmt.Errorf("%w; the next attempt is in %s", l.failed, wait.Round(100*time.Millisecond))
	}
	return nil
}

// failing records that the server could not be reached, or ended early.
func (l *link) failing(err error) {
	if errors.Is(err, context.Canceled) {
		return // this side gave up, which says nothing about the server
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
	wait := min(firstPause<<min(l.fails, 10), longestWait)
	l.fails++
	l.nextTry = time.Now().Add(wait)
	l.news.Broadcast()
}

// connect makes a connection, and watches it in the background.
func (l *link) connect(ctx context.Context) (*sdk.ClientSession, error) {
	sess, end, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.sess, l.end, l.failed, l.since = sess, end, nil, time.Now()
	l.mu.Unlock()
	if !l.c.background(func() { l.watch(sess) }) {
		return nil, errors.Join(errClosed, end())
	}
	return sess, nil
}

// steady is how long a connection must last for its end not to count as a
// failure to start.
const steady = time.Minute

// watch waits for the end of a connection.
func (l *link) watch(sess *sdk.ClientSession) {
	err := sess.Wait()
	if err == nil {
		err = sdk.ErrConnectionClosed
	}
	l.drop(sess, err)
}

// drop forgets sess, which ended or cannot be used, and ends what belongs to
// it. It does nothing if sess is not the connection any more.
func (l *link) drop(sess *sdk.ClientSession, why error) {
	l.mu.Lock()
	if l.sess != sess {
		l.mu.Unlock()
		return
	}
	end, since := l.end, l.since
	l.sess, l.end = nil, nil
	if time.Since(since) > steady {
		l.fails = 0
	}
	l.mu.Unlock()
	if err := end(); err != nil {
		why = err
	}
	if l.life.Err() == nil {
		l.failing(fmt.Errorf("it ended: %w", why))
	}
}

// close ends the connection and the calls that are under way, for good.
func (l *link) close() {
	l.ending(errGone)
	select { // an attempt to connect ends soon: its context is canceled
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	case <-time.After(l.cfg.StartTimeout):
	}
	l.mu.Lock()
	sess, end := l.sess, l.end
	l.sess, l.end = nil, nil
	l.mu.Unlock()
	if sess != nil {
		end() // how a server reacts to its end does not matter
	}
}

// changed notes that the server's list has changed.
func (l *link) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = true
	l.news.Broadcast()
}

// status returns the state of the server for people. Tools keep the names that
// they show here.
func (l *link) status() Status {
	list := l.known()
	if list != nil {
		l.c.name(list.tools)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Name: l.cfg.Name, Took: l.took}
	switch {
	case l.sess != nil:
		if r := l.sess.InitializeResult(); r != nil {
			s.Protocol = r.ProtocolVersion
			if r.ServerInfo != nil {
				s.Software = line(r.ServerInfo.Name+" "+r.ServerInfo.Version, 80)
			}
		}
	case l.failed != nil:
		s.Err = l.failed
	default:
		s.Err = errors.New("it is not connected")
	}
	if list != nil {
		s.Notes = list.notes
		for _, t := range list.tools {
			s.Tools = append(s.Tools, ToolStatus{t.spec.Name, clip.Clean(t.tool), t.spec.Description, t.held})
		}
	}
	return s
}
