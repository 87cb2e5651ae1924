package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/server/a2a"
)

const (
	// lookForReceivers is how often the poster looks for receivers of other servers whose
	// process has died, and for those that it did not hear of.
	lookForReceivers = time.Minute

	// claimTime is for how long a process has a receiver to itself: longer than one post.
	claimTime = pushTimeout + 10*time.Second

	// giveUpAfter is how long a receiver may take nothing.
	giveUpAfter = 24 * time.Hour

	// longestPause is the most time between two tries.
	longestPause = time.Hour
)

// A poster posts what happens in tasks to the addresses of clients, and what happens in
// sessions to webhooks: at least once, in order, and with an id by which a client knows what
// it has had. A receiver is a
// subscriber whose place is kept in the store, so the journal is its outbox.
//
// Of several servers, each follows the session of a receiver, and the one that claims the
// receiver posts.
type poster struct {
	s      *Server
	store  journal.Receivers
	client *http.Client // for addresses of clients; nil: there are none
	own    *http.Client // for webhooks, which an administrator has configured
	pause  func(try int) time.Duration
	news   chan struct{} // holds one value if there may be a new receiver

	mu      sync.Mutex
	posting map[[2]string]bool // the receivers that are followed, by session and id
	again   chan struct{}      // hurry closes and replaces it: the pauses before tries end
}

// newPoster starts a poster, if the server has what it takes. It posts until the
// scheduler is closed.
func (s *Server) newPoster() *poster {
	store, ok := s.Store.(journal.Receivers)
	tasks := s.Push != nil && s.A2A
	if !ok || !tasks && len(s.Webhooks) == 0 {
		return nil
	}
	p := &poster{s: s, store: store, own: withoutRedirects(http.DefaultClient), pause: pauseOf, news: make(chan struct{}, 1), posting: make(map[[2]string]bool), again: make(chan struct{})}
	if tasks {
		p.client = withoutRedirects(s.Push.Client)
	}
	s.scheduler.all.Go(func() { p.run(s.scheduler.ctx) })
	return p
}

// withoutRedirects returns a client that takes a redirection for an answer.
func withoutRedirects(c *http.Client) *http.Client {
	next := *c
	next.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &next
}

// pauseOf returns the time before a try: a second, then twice as long each time.
func pauseOf(try int) time.Duration {
	d := min(longestPause, time.Second<<min(try, 20))
	return d/2 + rand.N(d/2+1)
}

// look says that there may be a new receiver.
func (p *poster) look() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// hurry ends the pauses before tries.
func (p *poster) hurry() {
	p.mu.Lock()
	close(p.again)
	p.again = make(chan struct{})
	p.mu.Unlock()
	p.look()
}

// rest waits before a try, or until an administrator asks for one, and reports whether ctx
// has not ended.
func (p *poster) rest(ctx context.Context, d time.Duration) bool {
	p.mu.Lock()
	again := p.again
	p.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-again:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// run looks for receivers from time to time, and follows each of them in a goroutine,
// until ctx ends. Several servers may do so: see [poster].
func (p *poster) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(lookForReceivers)
	defer tick.Stop()
	for ctx.Err() == nil {
		receivers, err := p.store.Receivers(ctx, "")
		if err != nil && ctx.Err() == nil {
			p.s.Log.Warn("cannot read to which addresses tasks are posted", "error", err)
		}
		for _, r := range receivers {
			if !dead(r) && p.take(r) {
				all.Go(func() {
					defer p.leave(r)
					p.follow(ctx, r)
				})
			}
		}
		select {
		case <-p.news:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// take claims a receiver for a goroutine of this process. It reports false if one has it
// already.
func (p *poster) take(r journal.Receiver) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]string{r.Session, r.ID}
	if p.posting[key] {
		return false
	}
	p.posting[key] = true
	return true
}

func (p *poster) leave(r journal.Receiver) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.posting, [2]string{r.Session, r.ID})
}

// errOver ends the following of a receiver.
var errOver = errors.New("nothing more is posted to it")

// follow posts what happens to one receiver until there is nothing more.
func (p *poster) follow(ctx context.Context, r journal.Receiver) {
	var err error
	if name, ok := strings.CutPrefix(r.ID, webhookPrefix); ok {
		err = p.followWebhook(ctx, &r, name)
	} else if p.client != nil {
		err = p.followTask(ctx, &r)
	}
	if err != nil && !errors.Is(err, errOver) && !errors.Is(err, openmanus.ErrNoSession) && ctx.Err() == nil {
		p.s.Log.Warn("cannot post what happens", "session", r.Session, "to", r.ID, "error", err)
	}
}

// followTask posts the events of a task to the address that a client gave, in their order,
// each until it is accepted, given up or superseded.
func (p *poster) followTask(ctx context.Context, r *journal.Receiver) error {
	var to a2a.Push
	if err := json.Unmarshal(r.Spec, &to); err != nil {
		return err
	}
	info, err := p.s.Store.Session(ctx, r.Session)
	if err != nil {
		return err
	}
	u := p.s.users.byName(info.Owner)
	if u == nil {
		return fmt.Errorf("its user %s is none of this server", info.Owner)
	}
	ctx = context.WithValue(ctx, userKey{}, u)
	a := &a2aService{p.s}
	tasks := a.projector(ctx, info)
	if r.At != "" {
		if tasks.From, err = a2a.ParseEventID(r.At); err != nil {
			return err
		}
	}
	return a.follow(ctx, nil, tasks, 0, func(tasks *a2a.Projector, events []a2a.Event) (bool, error) {
		for _, e := range tasks.After(events) {
			if e.ID == "" || e.Of() != to.Task {
				continue
			}
			if err := p.deliver(ctx, r, taskParcel(to, e)); err != nil {
				return true, err
			}
		}
		t := tasks.Task(to.Task)
		if t == nil || !t.Status.State.Ended() {
			return false, nil
		}
		over := *r
		over.Done = true
		_, err := p.store.MoveReceiver(ctx, *r, over)
		return true, err
	})
}

// A parcel is what is posted at once.
type parcel struct {
	what    string // for the log
	at      string // the position of a receiver that has taken it
	had     func(at string) bool
	url     string
	content any // as JSON
	head    func(h http.Header, body []byte)
}

// deliver posts a parcel until it is taken. The error is errOver if the receiver is gone, or
// took nothing for too long.
func (p *poster) deliver(ctx context.Context, r *journal.Receiver, o parcel) error {
	client := p.client
	if strings.HasPrefix(r.ID, webhookPrefix) {
		client = p.own
	}
	for try := 0; ; try++ {
		if had, err := p.claim(ctx, r, o); had || err != nil {
			return err
		}
		gone, err := post(ctx, client, o)
		now := *r
		now.Until = time.Time{}
		switch {
		case err == nil:
			now.At, now.Failing = o.at, time.Time{}
		case ctx.Err() != nil:
		case gone:
			now.Done = true
		case now.Failing.IsZero():
			now.Failing = time.Now()
		default:
			now.Done = time.Since(now.Failing) > giveUpAfter && client == p.client
		}
		moved, merr := p.store.MoveReceiver(context.WithoutCancel(ctx), *r, now)
		if merr != nil {
			return merr
		}
		if moved {
			*r = now
		}
		switch {
		case err == nil || ctx.Err() != nil:
			return ctx.Err()
		case now.Done || dead(now):
			p.s.Log.Warn("what happens is not posted any more", "of", o.what, "error", err)
			return errOver
		}
		p.s.Log.Info("cannot post what happened, and will try again", "of", o.what, "try", try+1, "error", err)
		if !p.rest(ctx, p.pause(try)) {
			return ctx.Err()
		}
	}
}

// claim waits until the receiver is this process's, and takes it. had reports that
// another process has posted the event.
func (p *poster) claim(ctx context.Context, r *journal.Receiver, o parcel) (had bool, err error) {
	for {
		if !sleep(ctx, time.Until(r.Until)) {
			return false, ctx.Err()
		}
		mine := *r
		mine.Until = time.Now().Add(claimTime).Truncate(time.Microsecond)
		moved, err := p.store.MoveReceiver(ctx, *r, mine)
		if err != nil || moved {
			*r = mine
			return false, err
		}
		all, err := p.store.Receivers(ctx, r.Session)
		if err != nil {
			return false, err
		}
		there := false
		for _, now := range all {
			if now.ID == r.ID && !now.Done {
				*r, there = now, true
			}
		}
		if !there {
			return false, errOver
		}
		if o.had(r.At) {
			return true, nil
		}
	}
}

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// taskParcel returns the post about an event of a task, which has the event as its body,
// and the token that the client chose.
func taskParcel(to a2a.Push, e a2a.Event) parcel {
	return parcel{
		what: to.ID + " of " + to.Task, at: e.ID, url: to.URL, content: e,
		had: func(at string) bool {
			pos, err := a2a.ParseEventID(at)
			return err == nil && pos.Has(e)
		},
		head: func(h http.Header, _ []byte) {
			h.Set("Content-Type", "application/a2a+json")
			h.Set("A2A-Version", a2a.Version)
			h.Set("Idempotency-Key", to.Task+"/"+e.ID)
			if to.Token != "" {
				h.Set("X-A2A-Notification-Token", to.Token)
			}
			if to.Auth != nil {
				h.Set("Authorization", to.Auth.Scheme+" "+to.Auth.Credentials)
			}
		},
	}
}

// post sends a parcel, within a time limit. gone reports whether the receiver wants
// nothing any more, which it says with 410. Redirects are not followed.
func post(ctx context.Context, client *http.Client, o parcel) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	body, err := json.Marshal(o.content)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	o.head(req.Header, body)
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return false, nil
	}
	return resp.StatusCode == http.StatusGone, fmt.Errorf("%s answers %s", req.URL.Host, resp.Status)
}
