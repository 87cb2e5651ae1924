package web

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/toolspec"
)

const crawlDescription = `
Read many pages of a site: from one or more addresses, as deep as asked, within their hosts. Returns each page's title, address, number of words and beginning; read a page in full with web_fetch.
Example: {"urls":["https://example.com/docs/"],"depth":1,"max_pages":20}`

const crawlSchema = `{
	"type": "object",
	"properties": {
		"urls": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "Where to begin."},
		"depth": {"type": "integer", "minimum": 0, "maximum": 5, "description": "How many links deep to go, within the same hosts: 0, these pages alone, if not given."},
		"max_pages": {"type": "integer", "minimum": 1, "maximum": 200, "description": "How many pages to read at most: 20 if not given."},
		"word_count_threshold": {"type": "integer", "minimum": 1, "description": "Pages with fewer words are left out: 10 if not given."}
	},
	"required": ["urls"],
	"additionalProperties": false
}`

// A Crawled is a page that was crawled.
type Crawled struct {
	Saved
	Words int    `json:"words"`
	Links int    `json:"links"`
	Error string `json:"error,omitempty"`

	markdown string
	leads    []Link
}

// atOnce is how many pages are read at once.
const atOnce = 4

// NewCrawl returns the tool crawl. The Detail of its results is a list of
// [Crawled].
func NewCrawl(r *Reader) openmanus.Tool {
	type input struct {
		URLs     []string `json:"urls"`
		Depth    int      `json:"depth"`
		Max      int      `json:"max_pages"`
		MinWords int      `json:"word_count_threshold"`
	}
	return openmanus.Func(toolspec.New("crawl", crawlDescription, crawlSchema, reads, opens("urls")),
		func(ctx context.Context, call openmanus.Call, in input) (openmanus.Result, error) {
			all, err := r.Crawl(ctx, call, in.URLs, in.Depth, cmp.Or(in.Max, 20))
			if err != nil {
				return openmanus.Result{}, err
			}
			res := openmanus.TextResult("%s", listing(all, cmp.Or(in.MinWords, 10)))
			res.Detail, res.Source = all, all[0].URL
			return res, nil
		})
}

// Crawl reads pages and what they lead to within their hosts, level by level,
// and tells how far it is.
func (r *Reader) Crawl(ctx context.Context, call openmanus.Call, from []string, depth, most int) ([]Crawled, error) {
	hosts, seen := make(map[string]bool), make(map[string]bool)
	var level []string
	for _, f := range from {
		if u, err := parse(f); err == nil && !seen[u.String()] {
			hosts[u.Host], seen[u.String()] = true, true
			level = append(level, u.String())
		}
	}
	if len(level) == 0 {
		return nil, refuse("No valid URLs provided")
	}
	var all []Crawled
	for d := 0; d <= depth && len(level) > 0 && len(all) < most; d++ {
		got := r.readAll(ctx, call, level[:min(len(level), most-len(all))], d)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		all = append(all, got...)
		level = nil
		for _, c := range got {
			for _, l := range c.leads {
				if u, err := url.Parse(l.URL); err == nil && hosts[u.Host] && !seen[l.URL] {
					seen[l.URL] = true
					level = append(level, l.URL)
				}
			}
		}
	}
	return all, nil
}

// readAll reads pages, a few at once.
func (r *Reader) readAll(ctx context.Context, call openmanus.Call, urls []string, depth int) []Crawled {
	got := make([]Crawled, len(urls))
	var wg sync.WaitGroup
	var live sync.Mutex
	done := 0
	slots := make(chan struct{}, atOnce)
	for i, u := range urls {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			got[i] = r.one(ctx, call, u)
			live.Lock()
			defer live.Unlock()
			done++
			fmt.Fprintf(call.Live, "depth %d: %d of %d, %s\n", depth, done, len(urls), u)
		})
	}
	wg.Wait()
	return got
}

func (r *Reader) one(ctx context.Context, call openmanus.Call, address string) Crawled {
	c := Crawled{Saved: Saved{URL: address}}
	p, err := r.Read(ctx, address)
	if err == nil {
		c.Saved, err = save(ctx, call.Blobs, p)
	}
	if err != nil {
		c.URL, c.Error = address, err.Error()
		return c
	}
	c.Words, c.Links, c.markdown, c.leads = len(strings.Fields(p.Text)), len(p.Links), p.Markdown, p.Links
	return c
}

// listing tells of pages.
func listing(all []Crawled, minWords int) string {
	failed, short := 0, 0
	var b strings.Builder
	for _, c := range all {
		switch {
		case c.Error != "":
			failed++
			fmt.Fprintf(&b, "\n%s\n   failed: %s\n", c.URL, c.Error)
		case c.Words < minWords:
			short++
		default:
			text := strings.Join(strings.Fields(c.markdown), " ")
			if r := []rune(text); len(r) > 300 {
				text = string(r[:300]) + "..."
			}
			fmt.Fprintf(&b, "\n%s\n   Title: %s\n   Words: %d, links: %d\n   Content: %s\n", c.URL, cmp.Or(c.Title, "No title"), c.Words, c.Links, text)
		}
	}
	return fmt.Sprintf("Total: %d, successful: %d, failed: %d, too short: %d\n", len(all), len(all)-failed, failed, short) + b.String()
}
