package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/sandbox/egress"
)

// A Query is what is searched for.
type Query struct {
	Text    string
	Count   int    // of results, at most; 0 means any number
	Lang    string // such as "en"; "" means any
	Country string // such as "us"; "" means any

	Progress io.Writer // what did not work and how long it takes, a line each; nil: it is not written
}

// A Hit is one result of a search.
type Hit struct {
	URL         string `json:"url"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Content     string `json:"content,omitempty"` // of the page, if it was read
	Source      string `json:"source"`            // the name of the engine
}

// An Engine is a search engine. It is safe for concurrent use, and keeps no state:
// how often it is asked is up to the [Searcher].
type Engine interface {
	// Name returns a name that is unique among the engines of a Searcher.
	Name() string

	// Search returns what the engine finds, in its order. If the error is a
	// [Limited], the engine is not to be asked again for a while.
	Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error)
}

// A Limited is the error of an engine that wants to be left alone.
type Limited struct {
	Why string        // such as "it asks for proof that we are human"
	For time.Duration // how long, if the engine says so
}

func (l *Limited) Error() string { return l.Why }

// ErrNothing is the error of a search for which no engine finds anything.
var ErrNothing = refuse("All search engines failed to return results after multiple retries.")

// refuse returns an error in the words of OpenManus, which begin with a capital
// letter and which models know.
func refuse(format string, a ...any) error { return fmt.Errorf(format, a...) }

// limitedTime is how long an engine is left alone that does not say for how long.
const limitedTime = 10 * time.Minute

// A Searcher asks engines one after the other until one of them finds something.
// An engine that fails is not asked again for a while. The fields are set before
// use; then a Searcher is safe for concurrent use.
type Searcher struct {
	Client  *http.Client  // nil means http.DefaultClient
	Engines []Engine      // in the order in which they are asked
	Rounds  int           // how often all of them are asked again
	Delay   time.Duration // between rounds; 0 means one round only
	Timeout time.Duration // for one engine; 0 means 15 seconds

	mu     sync.Mutex
	paused map[string]time.Time // by engine: until when it is not asked
}

// ErrUnreachable is the error of a search for which no engine can be reached.
var ErrUnreachable = errors.New("the web cannot be searched: no search engine can be reached. " +
	"There is no network, or nothing there leads to them")

// connectTime is how long it may take until the first engine can be reached.
const connectTime = 2 * time.Second

// errSlow is the error of an engine that could not be reached in connectTime.
var errSlow = fmt.Errorf("no connection within %v", connectTime)

// Search returns the results of the first engine that finds something. The error is
// [ErrNothing] if none does, and [ErrUnreachable] if none can be reached, which it
// knows after two seconds; both name each engine and why. An engine that finds
// nothing is not paused: other words may find something. All are asked again, after
// the delay, if one that found nothing or wanted to be left alone can be asked then.
func (s *Searcher) Search(ctx context.Context, q Query) ([]Hit, error) {
	why := make(map[string]string) // by engine
	for round := 0; ; round++ {
		r := &searchRound{s: s, q: q, why: why}
		if hits, err := r.run(ctx); hits != nil || err != nil {
			return hits, err
		}
		if !r.again || round >= s.Rounds || s.Delay <= 0 {
			if r.unreachable {
				return nil, s.failure(ErrUnreachable, why)
			}
			return nil, s.failure(ErrNothing, why)
		}
		q.tell("all engines are asked again in %v (%d of %d)", s.Delay, round+1, s.Rounds)
		select {
		case <-time.After(s.Delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// A searchRound asks each engine once: one after the other, unless the first cannot be
// reached in half of the time that there is; then all others at once.
type searchRound struct {
	s   *Searcher
	q   Query
	why map[string]string

	answers   chan engineAnswer
	connected chan struct{} // has a value if any engine was reached
	running   sync.WaitGroup
	open      int // engines that have not answered

	again       bool // it may help to ask again later
	unreachable bool // none of the engines was reached
}

type engineAnswer struct {
	engine Engine
	hits   []Hit
	err    error
}

// run returns the first results, or an error if ctx ends.
func (r *searchRound) run(ctx context.Context) ([]Hit, error) {
	within, cancel := context.WithCancelCause(ctx)
	defer func() {
		cancel(nil)
		r.running.Wait()
	}()
	todo := r.askable()
	r.answers, r.connected = make(chan engineAnswer, len(todo)), make(chan struct{}, 1)
	r.unreachable = len(todo) > 0
	start := func(n int) {
		for _, e := range todo[:min(n, len(todo))] {
			r.start(within, e)
		}
		todo = todo[min(n, len(todo)):]
	}
	hurry, end := time.After(connectTime/2), time.After(connectTime)
	for start(1); r.open > 0; {
		select {
		case <-r.connected:
			r.unreachable, hurry, end = false, nil, nil
		case <-hurry:
			start(len(todo))
		case <-end:
			cancel(errSlow)
			todo = nil
		case a := <-r.answers:
			if r.open--; ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if r.take(a, context.Cause(within)); len(a.hits) > 0 && a.err == nil {
				return a.hits, nil
			}
			if r.open == 0 {
				start(1)
			}
		}
	}
	return nil, ctx.Err()
}

// askable returns the engines that are not paused.
func (r *searchRound) askable() []Engine {
	var list []Engine
	for _, e := range r.s.Engines {
		left := r.s.pauseLeft(e.Name())
		switch {
		case left <= 0:
			list = append(list, e)
		case r.why[e.Name()] == "":
			r.why[e.Name()] = "it failed before, and is not asked for " + left.Round(time.Second).String()
		}
	}
	return list
}

// start asks an engine.
func (r *searchRound) start(ctx context.Context, e Engine) {
	r.open++
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		select {
		case r.connected <- struct{}{}:
		default:
		}
	}})
	r.running.Go(func() {
		hits, err := r.s.ask(ctx, e, r.q)
		r.answers <- engineAnswer{e, hits, err}
	})
}

// take notes what an engine answered. ended is why no engine is waited for any more.
func (r *searchRound) take(a engineAnswer, ended error) {
	name, limited := a.engine.Name(), (*Limited)(nil)
	switch {
	case a.err == nil && len(a.hits) > 0:
		return
	case a.err == nil:
		r.why[name], r.again, r.unreachable = "nothing found", true, false
	case errors.Is(ended, errSlow):
		r.why[name] = errSlow.Error()
	case unreached(a.err):
		r.why[name] = a.err.Error()
	default:
		r.why[name], r.unreachable = a.err.Error(), false
		r.s.pause(name, a.err)
		r.again = r.again || errors.As(a.err, &limited) && r.s.pauseLeft(name) <= r.s.Delay
	}
	r.q.tell("%s: %s", name, r.why[name])
}

// unreached reports whether err says that there is no way to a host: its name is not
// known, nothing answers there, or it must not be reached.
func unreached(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	var refused *egress.Refused
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial" || errors.As(err, &refused)
}

// tell writes a line of progress.
func (q Query) tell(format string, a ...any) {
	if q.Progress != nil {
		fmt.Fprintf(q.Progress, format+"\n", a...) // people miss it if this fails, and the search goes on
	}
}

// failure returns the error of a search without results. It lists the engines in
// their order, so that the text is always the same.
func (s *Searcher) failure(err error, why map[string]string) error {
	var b strings.Builder
	for _, e := range s.Engines {
		if w := why[e.Name()]; w != "" {
			fmt.Fprintf(&b, "\n- %s: %s", e.Name(), w)
		}
	}
	return fmt.Errorf("%w%s", err, b.String())
}

// ask asks one engine.
func (s *Searcher) ask(ctx context.Context, e Engine, q Query) ([]Hit, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Timeout, 15*time.Second))
	defer cancel()
	hits, err := e.Search(ctx, cmp.Or(s.Client, http.DefaultClient), q)
	if err != nil {
		return nil, err
	}
	return tidy(hits, e.Name(), q.Count), nil
}

// tidy names the source of the hits and leaves out those that lead to no page, or
// to the page of an earlier one: "www." and a slash at the end make no difference.
// It keeps count of them at most.
func tidy(hits []Hit, source string, count int) []Hit {
	seen := make(map[string]bool)
	var kept []Hit
	for _, h := range hits {
		u, err := url.Parse(h.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		page := strings.TrimPrefix(strings.ToLower(u.Host), "www.") +
			strings.TrimSuffix(u.EscapedPath(), "/") + "?" + u.RawQuery
		if seen[page] {
			continue
		}
		seen[page] = true
		h.Title, h.Description, h.Source = first(h.Title), first(h.Description), source
		if kept = append(kept, h); count > 0 && len(kept) == count {
			break
		}
	}
	return kept
}

// pauseLeft returns for how long an engine is not asked.
func (s *Searcher) pauseLeft(name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.paused[name])
}

// pause keeps an engine that failed from being asked until the next round; longer
// if it wants to be left alone.
func (s *Searcher) pause(name string, err error) {
	d := s.Delay
	if l := (*Limited)(nil); errors.As(err, &l) {
		d = max(s.Delay, cmp.Or(l.For, limitedTime))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == nil {
		s.paused = make(map[string]time.Time)
	}
	s.paused[name] = time.Now().Add(d - time.Millisecond) // over when the next round begins
}

// retryAfter returns how long a server asks us to wait, an hour at most; 0 if it
// does not say. The header has seconds or a date (RFC 9110, 10.2.3).
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		return min(time.Duration(n)*time.Second, time.Hour)
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(0, time.Until(t)), time.Hour)
	}
	return 0
}

// Keys are what the engines need that are not open to everyone. An engine whose
// key is empty is not asked.
type Keys struct {
	SearXNG               string // the address of one
	Brave, Tavily, Serper string
}

// Engines returns the engines in the order in which they are to be asked: those
// with a key, the preferred one, the fallbacks, and then the rest. Unknown names
// are ignored.
func Engines(preferred string, fallback []string, k Keys) []Engine {
	var keyed, open []Engine
	if k.Brave != "" {
		keyed = append(keyed, Brave("", k.Brave))
	}
	if k.Tavily != "" {
		keyed = append(keyed, Tavily("", k.Tavily))
	}
	if k.Serper != "" {
		keyed = append(keyed, Serper("", k.Serper))
	}
	if k.SearXNG != "" {
		open = append(open, SearXNG(k.SearXNG))
	}
	open = append(open, Google(""), DuckDuckGo(""), Baidu(""), Bing(""))
	names := append([]string{preferred}, fallback...)
	place := func(e Engine) int {
		i := slices.IndexFunc(names, func(n string) bool {
			return strings.EqualFold(strings.TrimSpace(n), e.Name())
		})
		if i < 0 {
			return len(names)
		}
		return i
	}
	slices.SortStableFunc(open, func(a, b Engine) int { return place(a) - place(b) })
	return append(keyed, open...)
}
