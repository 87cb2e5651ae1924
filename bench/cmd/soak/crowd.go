package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A crowd is all clients of the server.
type crowd struct {
	http  *http.Client
	base  string
	token string

	asked, failed, broken atomic.Int64

	mu       sync.Mutex
	sessions []string
	why      error // of the first failure
}

func newCrowd(link string) (*crowd, error) {
	u, err := url.Parse(link)
	if err != nil {
		return nil, err
	}
	c := &crowd{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}, token: u.Query().Get("token")}
	u.RawQuery = ""
	c.base = u.String() + "api/v1"
	return c, nil
}

// run has the clients ask until ctx ends.
func (c *crowd) run(ctx context.Context, o options) {
	followers := o.clients / 4
	tickets := make(chan int64)
	var all sync.WaitGroup
	for range followers {
		all.Go(func() {
			for ctx.Err() == nil {
				c.follow(ctx)
			}
		})
	}
	for range o.clients - followers {
		all.Go(func() {
			for n := range tickets {
				c.act(ctx, n, o.every)
			}
		})
	}
	tick := time.NewTicker(time.Second / time.Duration(o.rate))
	defer tick.Stop()
	for n := int64(0); ctx.Err() == nil; n++ {
		select {
		case <-ctx.Done():
		case <-tick.C:
			select {
			case tickets <- n:
			case <-ctx.Done():
			}
		}
	}
	close(tickets)
	all.Wait()
}

// act does what the n-th request is about.
func (c *crowd) act(ctx context.Context, n int64, every int) {
	id := c.any()
	switch {
	case n%int64(every) == 0:
		c.begin(ctx)
	case id == "": // there is no session yet
		c.ask(ctx, http.MethodGet, "/sessions", nil, nil)
	case n%int64(every) == 1:
		c.say(ctx, id)
	case n%10 == 2:
		c.ask(ctx, http.MethodGet, "/sessions", nil, nil)
	case n%10 == 3:
		c.ask(ctx, http.MethodGet, "/sessions/"+id+"/log?last=300", nil, nil)
	case n%10 == 4:
		c.ask(ctx, http.MethodGet, "/sessions/"+id+"/files", nil, nil)
	default:
		c.ask(ctx, http.MethodGet, "/sessions/"+id, nil, nil)
	}
}

// begin begins a session, and gives it something to do.
func (c *crowd) begin(ctx context.Context) {
	var s struct{ ID string }
	if !c.ask(ctx, http.MethodPost, "/sessions", map[string]any{"approve": "all"}, &s) {
		return
	}
	c.say(ctx, s.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions = append(c.sessions, s.ID)
}

func (c *crowd) say(ctx context.Context, id string) {
	c.ask(ctx, http.MethodPost, "/sessions/"+id+"/messages", map[string]any{"id": fmt.Sprint(rand.Int64()), "text": "Start a shell."}, nil)
}

// any returns one of the last sessions, seldom an old one, or "" if there is none.
func (c *crowd) any() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.sessions)
	if n == 0 {
		return ""
	}
	if rand.IntN(10) > 0 {
		return c.sessions[n-1-rand.IntN(min(n, 20))]
	}
	return c.sessions[rand.IntN(n)]
}

// ask makes one request, and counts what becomes of it. The end of the time is no failure.
func (c *crowd) ask(ctx context.Context, method, path string, in, out any) bool {
	err := c.try(ctx, method, path, in, out)
	if ctx.Err() != nil {
		return false
	}
	if c.asked.Add(1); err != nil {
		c.fail(fmt.Errorf("%s %s: %w", method, path, err))
	}
	return err == nil
}

func (c *crowd) try(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	return err
}

func (c *crowd) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return nil, fmt.Errorf("%s: %s", resp.Status, text)
	}
	return resp, nil
}

// follow follows a session for ten to thirty seconds, as a page does that is open.
func (c *crowd) follow(ctx context.Context) {
	all := ctx
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second+rand.N(20*time.Second))
	defer cancel()
	path := "/events"
	if id := c.any(); id != "" {
		path += "?session=0:" + id
	}
	resp, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		if ctx.Err() == nil {
			c.fail(fmt.Errorf("GET %s: %w", path, err))
			<-ctx.Done()
		}
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); ctx.Err() == nil && all.Err() == nil {
		c.broken.Add(1)
		c.fail(fmt.Errorf("GET %s ended: %v", path, err))
	}
}

// held is how many sessions have a shell, according to the server; 0 if it does not say.
func (c *crowd) held(ctx context.Context) (n int) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.base, "api/v1")+"metrics", nil)
	if err != nil {
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if s, ok := strings.CutPrefix(lines.Text(), "openmanus_sessions_held "); ok {
			n, _ = strconv.Atoi(s)
		}
	}
	return n
}

func (c *crowd) fail(err error) {
	c.failed.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = err
	}
}

// verdict says whether requests have failed.
func (c *crowd) verdict() error {
	if n := c.failed.Load(); n > 0 {
		return fmt.Errorf("%d of %d requests failed, the first: %w", n, c.asked.Load(), c.why)
	}
	return nil
}
