package web

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// A Crawled is a page that was crawled, or the address of one that could not be
// read.
type Crawled struct {
	Saved
	Words int    `json:"words"`
	Links int    `json:"links"`
	Error string `json:"error,omitempty"`

	markdown string
	links    []Link
}

// crawledText is how many characters of each page are shown.
const crawledText = 300

func blank(text string) bool { return text == "" }

// crawlers is how many pages are read at the same time.
const crawlers = 4

// NewCrawl returns the tool crawl. The Detail of its results is a list of
// [Crawled].
func NewCrawl(r *Reader) openmanus.Tool {
	type input struct {
		URLs     []string `json:"urls"`
		Depth    int      `json:"depth"`
		Max      int      `json:"max_pages"`
		MinWords int      `json:"word_count_threshold"`
	}
	return localTool{openmanus.Func(spec("crawl", readsOnly, opens("urls")),
		func(ctx context.Context, call openmanus.Call, in input) (openmanus.Result, error) {
			all, err := r.Crawl(naming(ctx, call, in.URLs...), call, in.URLs, in.Depth, cmp.Or(in.Max, 20))
			if err != nil {
				return openmanus.Result{Sources: wrote(call, in.URLs...)}, err
			}
			res := openmanus.TextResult("%s", listCrawled(all, cmp.Or(in.MinWords, 10)))
			res.Detail, res.Source = all, all[0].URL
			for _, c := range all {
				words := []string{c.URL, c.Title, beginning(c.markdown, crawledText), c.Error}
				res.Sources = append(res.Sources, openmanus.Source{From: c.URL, Private: call.Scope != "", Words: slices.DeleteFunc(words, blank)})
			}
			return res, nil
		}), r}
}

// Crawl reads pages and the pages that they link to, level by level down to depth
// and within their hosts, maxPages at most. It writes its progress to call.Live
// and keeps the pages in call.Blobs. Addresses of other schemes than http and
// https are left out; if none is left, that is an error.
func (r *Reader) Crawl(
	ctx context.Context, call openmanus.Call, from []string, depth, maxPages int,
) ([]Crawled, error) {
	hosts, seen := make(map[string]bool), make(map[string]bool)
	var level []string
	for _, f := range from {
		if u, err := parseAddress(f); err == nil && !seen[u.String()] {
			hosts[u.Host], seen[u.String()] = true, true
			level = append(level, u.String())
		}
	}
	if len(level) == 0 {
		return nil, refuse("No valid URLs provided")
	}
	var all []Crawled
	for d := 0; d <= depth && len(level) > 0 && len(all) < maxPages; d++ {
		pages := r.readAll(ctx, call, level[:min(len(level), maxPages-len(all))], d)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		all = append(all, pages...)
		level = nil
		for _, c := range pages {
			for _, l := range c.links {
				if u, err := url.Parse(l.URL); err == nil && hosts[u.Host] && !seen[l.URL] {
					seen[l.URL] = true
					level = append(level, l.URL)
				}
			}
		}
	}
	return all, nil
}

// readAll reads the pages of a level, a few at the same time. The results are in
// the order of the addresses.
func (r *Reader) readAll(ctx context.Context, call openmanus.Call, urls []string, depth int) []Crawled {
	pages := make([]Crawled, len(urls))
	var wg sync.WaitGroup
	var mu sync.Mutex // guards done and call.Live
	done := 0
	slots := make(chan struct{}, crawlers)
	for i, u := range urls {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			pages[i] = r.crawlPage(ctx, call, u)
			mu.Lock()
			defer mu.Unlock()
			done++
			fmt.Fprintf(call.Live, "depth %d: %d of %d, %s\n", depth, done, len(urls), u)
		})
	}
	wg.Wait()
	return pages
}

// crawlPage reads and keeps one page. An error is part of the result.
func (r *Reader) crawlPage(ctx context.Context, call openmanus.Call, address string) Crawled {
	c := Crawled{Saved: Saved{URL: address}}
	p, err := r.Read(ctx, address)
	if err == nil {
		c.Saved, err = save(ctx, call.Blobs, p)
	}
	if err != nil {
		c.URL, c.Error = address, err.Error()
		return c
	}
	c.Words, c.Links, c.markdown, c.links = len(strings.Fields(p.Text)), len(p.Links), p.Markdown, p.Links
	return c
}

// listCrawled describes the pages. Those with fewer than minWords are only
// counted.
func listCrawled(all []Crawled, minWords int) string {
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
			fmt.Fprintf(&b, "\n%s\n   Title: %s\n   Words: %d, links: %d\n   Content: %s\n",
				c.URL, cmp.Or(c.Title, "No title"), c.Words, c.Links, beginning(c.markdown, crawledText))
		}
	}
	return fmt.Sprintf("Total: %d, successful: %d, failed: %d, too short: %d\n",
		len(all), len(all)-failed, failed, short) + b.String()
}

// beginning returns the first characters of a text, on one line, and "..." if
// there are more.
func beginning(text string, characters int) string {
	text = first(text)
	if r := []rune(text); len(r) > characters {
		return string(r[:characters]) + "..."
	}
	return text
}
