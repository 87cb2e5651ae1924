package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// A flight is a call under way at the server. It outlasts a run of the call's
// tool: a run ends when the server asks the person something, and the next run
// brings the answer.
//
// The request runs in a goroutine of its own. It talks to the run through asks,
// the reply of a question, and done. A call has at most one open question: the
// server may send more, which wait until a run receives from asks.
type flight struct {
	link  *link
	key   callKey
	token string // with which the server reports progress

	legacy atomic.Bool // the protocol is too old to recognize a call that is sent again
	cancel context.CancelCauseFunc
	limit  *limit
	asks   chan *question // unbuffered: wait receives
	done   chan struct{}  // closed at the end; then out and err are set
	out    any
	err    error

	mu      sync.Mutex         // guards the fields below
	live    io.Writer          // where progress is shown
	open    *question          // the last one, until it is answered
	answers []openmanus.Answer // for questions that the server asks again
}

// A callKey identifies a call of a session at a server.
type callKey struct{ session, call, server string }

// maxFlight is how long a call may wait for the answer of a person.
const maxFlight = time.Hour

var (
	errTimeLimit = errors.New("the idle timeout was reached")
	errAbandoned = errors.New("the person did not answer")
)

// flight returns the call's flight, which it begins unless it is under way. do
// sends the request; its context ends with the client and at the idle timeout.
func (l *link) flight(call openmanus.Call, do func(context.Context, *flight) (any, error)) (*flight, error) {
	key := callKey{call.Session, call.ID, l.cfg.Name}
	l.c.mu.Lock()
	f := l.c.flights[key]
	l.c.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f = &flight{link: l, key: key, asks: make(chan *question), done: make(chan struct{})}
	f.live, f.answers = call.Live, call.Answers
	if len(call.Answers) > 0 {
		if sess, _ := l.session(); sess == nil || version(sess) <= legacy {
			return nil, fmt.Errorf("the MCP server %s asked a question in a call that is no longer under "+
				"way: "+
				"it may or may not have happened; look before you try again", clip.Clean(l.cfg.Name))
		}
	}
	ctx, cancel := context.WithCancelCause(l.life)
	f.cancel = cancel
	f.limit = newLimit(l.cfg.Timeout, func() { cancel(errTimeLimit) })
	l.begin(f)
	ctx = context.WithValue(ctx, flightKey{}, f)
	if !l.c.background(func() {
		defer close(f.done)
		defer cancel(nil)
		defer f.limit.stop()
		defer l.finish(f)
		if f.out, f.err = do(ctx, f); f.err != nil && ctx.Err() != nil {
			f.err = context.Cause(ctx)
		}
	}) {
		l.finish(f)
		cancel(nil)
		return nil, errClosed
	}
	return f, nil
}

type flightKey struct{}

// begin registers a flight: under its call, for later runs, and under its
// token, for progress.
func (l *link) begin(f *flight) {
	l.mu.Lock()
	l.seq++
	f.token = "p" + strconv.Itoa(l.seq)
	l.progress[f.token] = f
	l.mu.Unlock()
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.c.flights[f.key] = f
}

// finish removes a flight that has ended.
func (l *link) finish(f *flight) {
	l.mu.Lock()
	delete(l.progress, f.token)
	l.mu.Unlock()
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.c.flights[f.key] == f {
		delete(l.c.flights, f.key)
	}
}

// wait passes the last answer of call to the flight, if that waits for one, and
// returns what comes next: the result, or a question as an [openmanus.Ask]. If
// ctx ends, it cancels the call at the server.
func (f *flight) wait(ctx context.Context, call openmanus.Call) (any, error) {
	f.mu.Lock()
	q := f.open
	f.live = call.Live
	f.mu.Unlock()
	if q != nil {
		if len(call.Answers) <= q.before {
			return nil, q.ask("")
		}
		reply, err := q.answer(call.Answers[len(call.Answers)-1])
		if err != nil {
			q.before = len(call.Answers)
			return nil, q.ask(err.Error())
		}
		f.mu.Lock()
		f.open = nil
		f.mu.Unlock()
		f.limit.start()
		q.reply <- reply
	}
	select {
	case q := <-f.asks:
		q.before = len(call.Answers)
		f.mu.Lock()
		f.open, f.live = q, io.Discard
		f.mu.Unlock()
		f.limit.wait(maxFlight, func() { f.cancel(errAbandoned) })
		return nil, q.ask("")
	case <-f.done:
		return f.out, f.err
	case <-ctx.Done():
		f.cancel(context.Canceled)
		<-f.done
		return nil, ctx.Err()
	}
}

// A limit is the idle timeout of a call. Time spent waiting for the person does
// not count.
type limit struct {
	d    time.Duration
	mu   sync.Mutex
	t    *time.Timer
	end  func()
	left time.Duration // by how much progress can still prolong the call
	last time.Time     // when the timeout was last started
}

// prolonged is how many times its timeout a call may take if it reports
// progress.
const prolonged = 10

func newLimit(d time.Duration, end func()) *limit {
	return &limit{d: d, t: time.AfterFunc(d, end), end: end, left: d * (prolonged - 1), last: time.Now()}
}

// progress restarts the timeout, up to the longest time of a call.
func (l *limit) progress() {
	l.mu.Lock()
	defer l.mu.Unlock()
	used := time.Since(l.last)
	if l.left -= used; l.left > 0 && l.t.Stop() {
		l.t.Reset(l.d)
		l.last = time.Now()
	}
}

// stop ends the timeout.
func (l *limit) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Stop()
}

// start restarts the timeout after wait.
func (l *limit) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Stop()
	l.t, l.last = time.AfterFunc(l.d, l.end), time.Now()
}

// wait replaces the timeout by another one, until start.
func (l *limit) wait(d time.Duration, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Stop()
	l.t = time.AfterFunc(d, end)
}

// onProgress shows the server's report of the progress of a call, and restarts
// its timeout.
func (l *link) onProgress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	l.mu.Lock()
	f := l.progress[token]
	l.mu.Unlock()
	if f == nil {
		return
	}
	f.limit.progress()
	f.mu.Lock()
	live := f.live
	f.mu.Unlock()
	if live == nil {
		return
	}
	of := ""
	if p.Total > 0 {
		of = "/" + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	about := strconv.FormatFloat(p.Progress, 'g', 6, 64) + of + " " + line(p.Message, 200)
	fmt.Fprintln(live, strings.TrimSpace(about)) // progress is not kept: an error does no harm
}
