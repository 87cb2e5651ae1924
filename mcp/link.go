package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A link is one server: its connection, when there is one, and what it offers.
type link struct {
	c   *Client
	cfg ServerConfig

	turn chan struct{} // has one element: who takes it may connect and list

	mu       sync.Mutex
	sess     *sdk.ClientSession
	end      func() error // ends what belongs to sess
	list     *listing     // the last one, nil before the first
	stale    bool         // the server said that list is no longer true
	took     time.Duration
	failed   error // why the last attempt to connect failed
	fails    int   // in a row
	nextTry  time.Time
	since    time.Time // when sess began
	progress map[string]*flight
	seq      int
}

func newLink(c *Client, cfg ServerConfig) *link {
	l := &link{c: c, cfg: cfg, turn: make(chan struct{}, 1), progress: map[string]*flight{}}
	l.turn <- struct{}{}
	return l
}

// known returns what the server offered when it was last asked, or nil.
func (l *link) known() *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list
}

// session returns the connection there is, if what is known of it is true.
func (l *link) session() (*sdk.ClientSession, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sess, l.sess != nil && !l.stale
}

// connected returns a connection to the server, which it makes if there is
// none, and sees to it that the listing is that of the server now.
func (l *link) connected(ctx context.Context) (*sdk.ClientSession, error) {
	if sess, ok := l.session(); ok {
		return sess, nil
	}
	select {
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.c.life.Done():
		return nil, errClosed
	}
	sess, ok := l.session()
	if ok {
		return sess, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.c.life, func() { cancel(errClosed) })()
	lim := newLimit(l.cfg.StartTimeout, func() { cancel(fmt.Errorf("it did not answer within %s", l.cfg.StartTimeout)) })
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

// limitKey finds the limit of an attempt to connect, which does not run while
// a person signs in.
type limitKey struct{}

// cause is err, or why ctx ended if that is the reason for it.
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

// pause is an error if it is too early to try again.
func (l *link) pause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := time.Until(l.nextTry); wait > 0 {
		return fmt.Errorf("%w; it is tried again in %s", l.failed, wait.Round(100*time.Millisecond))
	}
	return nil
}

// failing notes that the server could not be reached, or ended early.
func (l *link) failing(err error) {
	if errors.Is(err, context.Canceled) {
		return // we did not wait for it
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
	wait := min(firstPause<<min(l.fails, 10), longestWait)
	l.fails++
	l.nextTry = time.Now().Add(wait)
}

// connect makes a connection, and watches it.
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

// steady is how long a connection lasts for its end not to count as a failure
// to start.
const steady = time.Minute

// watch waits for the end of a connection.
func (l *link) watch(sess *sdk.ClientSession) {
	err := sess.Wait()
	if err == nil {
		err = sdk.ErrConnectionClosed
	}
	l.drop(sess, err)
}

// drop forgets sess, which ended or is no use, and ends what belongs to it.
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
	if l.c.life.Err() == nil {
		l.failing(fmt.Errorf("it ended: %w", why))
	}
}

// close ends the connection.
func (l *link) close() error {
	select { // an attempt to connect is over soon: its context has ended
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	case <-time.After(l.cfg.StartTimeout):
	}
	l.mu.Lock()
	sess, end := l.sess, l.end
	l.sess, l.end = nil, nil
	l.mu.Unlock()
	if sess != nil {
		end() // what a server says as it is ended is nobody's fault
	}
	return nil
}

// changed says that the server's list is another now.
func (l *link) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = true
}

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
			s.Tools = append(s.Tools, ToolStatus{t.spec.Name, clean(t.tool), t.spec.Description, t.held})
		}
	}
	return s
}
