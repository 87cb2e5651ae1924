package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Query is what is looked for.
type Query struct {
	Text    string
	Count   int    // of results, at most
	Lang    string // such as "en"
	Country string // such as "us"
}

// A Hit is one result.
type Hit struct {
	URL         string `json:"url"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Content     string `json:"content,omitempty"` // of the page, if it was read
	Source      string `json:"source"`            // the engine
}

// An Engine answers queries. An error that is a [Limited] says that it is to
// be left alone for a while.
type Engine interface {
	Name() string
	Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error)
}

// A Limited is the error of an engine that wants to be left alone.
type Limited struct {
	Why string        // such as "it shows a captcha"
	For time.Duration // how long, if it says so
}

func (l *Limited) Error() string { return l.Why }

// ErrNothing is the error of a search that no engine answers.
var ErrNothing = refuse("All search engines failed to return results after multiple retries.")

// A Searcher asks engines, one after the other until one answers. One that
// fails is left for the next at once, and rests for a while. It is safe for
// concurrent use; its fields are set before use.
type Searcher struct {
	Client  *http.Client // how requests go out; nil: http.DefaultClient
	Engines []Engine     // in the order in which they are asked
	Delay   time.Duration
	Rounds  int           // after the first, with Delay between them
	Timeout time.Duration // for one engine; 0: 15 s

	mu      sync.Mutex
	resting map[string]time.Time // until when
}

// limitedTime is how long an engine rests that limits us and does not say for
// how long, at least.
const limitedTime = 10 * time.Minute

// Search returns what the first engine finds that finds something.
func (s *Searcher) Search(ctx context.Context, q Query) ([]Hit, error) {
	why := make(map[string]string)
	for round := 0; ; round++ {
		for _, e := range s.Engines {
			if left := s.rests(e.Name()); left > 0 {
				if why[e.Name()] == "" {
					why[e.Name()] = "it rests after it failed, for " + left.Round(time.Second).String()
				}
				continue
			}
			hits, err := s.ask(ctx, e, q)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err == nil && len(hits) > 0 {
				return hits, nil
			}
			why[e.Name()] = "nothing found"
			if err != nil {
				why[e.Name()] = err.Error()
				s.rest(e.Name(), err)
			}
		}
		if round >= s.Rounds || s.Delay <= 0 {
			return nil, s.failure(why)
		}
		select {
		case <-time.After(s.Delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *Searcher) failure(why map[string]string) error {
	var b strings.Builder
	for _, e := range s.Engines {
		if w := why[e.Name()]; w != "" {
			fmt.Fprintf(&b, "\n- %s: %s", e.Name(), w)
		}
	}
	return fmt.Errorf("%w%s", ErrNothing, b.String())
}

// ask asks one engine.
func (s *Searcher) ask(ctx context.Context, e Engine, q Query) ([]Hit, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Timeout, 15*time.Second))
	defer cancel()
	c := s.Client
	if c == nil {
		c = http.DefaultClient
	}
	hits, err := e.Search(ctx, c, q)
	if err != nil {
		return nil, err
	}
	return tidy(hits, e.Name(), q.Count), nil
}

// tidy leaves out what is there twice, or leads nowhere.
func tidy(hits []Hit, source string, count int) []Hit {
	seen := make(map[string]bool)
	var kept []Hit
	for _, h := range hits {
		u, err := url.Parse(h.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		k := strings.TrimPrefix(strings.ToLower(u.Host), "www.") + strings.TrimSuffix(u.EscapedPath(), "/") + "?" + u.RawQuery
		if seen[k] {
			continue
		}
		seen[k] = true
		h.Title, h.Description, h.Source = first(h.Title), first(h.Description), source
		if kept = append(kept, h); count > 0 && len(kept) == count {
			break
		}
	}
	return kept
}

// rests is for how long an engine still rests.
func (s *Searcher) rests(name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.resting[name])
}

// rest lets an engine rest that failed.
func (s *Searcher) rest(name string, err error) {
	pause := s.Delay
	if l := (*Limited)(nil); errors.As(err, &l) {
		pause = max(s.Delay, cmp.Or(l.For, limitedTime))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resting == nil {
		s.resting = make(map[string]time.Time)
	}
	// A round later it is asked again.
	s.resting[name] = time.Now().Add(pause - time.Millisecond)
}

// retryAfter is what a server says of when to come back.
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

// Keys are what engines need that are not open to all.
type Keys struct {
	SearXNG               string // an address
	Brave, Tavily, Serper string
}

// Engines returns the engines in the order in which they are to be asked:
// those with a key, the one that is preferred, the fallbacks, and the rest.
// Names that it does not know are left out.
func Engines(preferred string, fallback []string, k Keys) []Engine {
	open := []Engine{&Google{}, &DuckDuckGo{}, &Baidu{}, &Bing{}}
	var all []Engine
	if k.Brave != "" {
		all = append(all, &Brave{Key: k.Brave})
	}
	if k.Tavily != "" {
		all = append(all, &Tavily{Key: k.Tavily})
	}
	if k.Serper != "" {
		all = append(all, &Serper{Key: k.Serper})
	}
	keyed := len(all)
	if k.SearXNG != "" {
		open = append([]Engine{&SearXNG{Base: k.SearXNG}}, open...)
	}
	add := func(name string) {
		for _, e := range append(slices.Clone(all[:keyed]), open...) {
			if strings.EqualFold(e.Name(), strings.TrimSpace(name)) && !slices.Contains(all[keyed:], e) && !slices.Contains(all[:keyed], e) {
				all = append(all, e)
			}
		}
	}
	add(preferred)
	for _, f := range fallback {
		add(f)
	}
	for _, e := range open {
		add(e.Name())
	}
	return all
}
