package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// userAgent is the browser as which the engines' pages are asked. They give no
// results to a client that calls itself a robot.
const userAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)" +
	" Chrome/140.0.0.0 Safari/537.36"

// An engine is an [Engine] that is asked with one HTTP request. Each has a file of
// its own, engine_NAME.go, with a function that makes it. These functions take the
// address to ask in place of the real one, for tests; "" means the real one.
type engine struct {
	name    string
	request func(q Query) request
	hits    func(data []byte, final *url.URL) ([]Hit, error) // final is the address after redirects
}

// A request is what an engine is asked: by POST if there is a body, which is sent
// as JSON, else by GET. Keys go into the header and never into the address, which
// ends up in logs.
type request struct {
	address string // without query
	query   url.Values
	body    any
	header  http.Header
}

// Name implements [Engine].
func (e *engine) Name() string { return e.name }

// Search implements [Engine]. An answer of more than 8 MiB is cut, which is more
// than any engine sends.
func (e *engine) Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error) {
	r := e.request(q)
	address := r.address
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	method, body := http.MethodGet, io.Reader(nil)
	if r.body != nil {
		j, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		method, body = http.MethodPost, bytes.NewReader(j)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	if r.header != nil {
		req.Header = r.header
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept-Language", acceptLanguage(q))
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer res.Body.Close()
	if err := refusal(res); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return nil, err
	}
	return e.hits(data, res.Request.URL)
}

// refusal returns the error of an answer that is not one of success, or nil. It is
// a [Limited] where asking again at once would make matters worse.
func refusal(res *http.Response) error {
	switch res.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusTooManyRequests, http.StatusForbidden, http.StatusServiceUnavailable:
		return &Limited{Why: fmt.Sprintf("it limits us (HTTP %d)", res.StatusCode), For: retryAfter(res.Header)}
	case http.StatusUnauthorized:
		return &Limited{Why: "it refuses the key (HTTP 401)"}
	case http.StatusAccepted: // so DuckDuckGo asks for a captcha
		return &Limited{Why: "it asks for proof that we are human (HTTP 202)"}
	}
	if res.StatusCode/100 == 2 {
		return nil
	}
	return fmt.Errorf("HTTP %d", res.StatusCode)
}

// withoutAddress returns err without the address that net/http puts before it. The
// caller names the address or the engine itself.
func withoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// acceptLanguage returns the Accept-Language of a query, English by default. The
// engines' pages choose results by it as much as by their parameters.
func acceptLanguage(q Query) string {
	switch {
	case q.Lang == "":
		return "en"
	case q.Country == "":
		return q.Lang
	}
	return q.Lang + "-" + strings.ToUpper(q.Country) + "," + q.Lang + ";q=0.9"
}

// set sets a parameter unless its value is empty.
func set(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

// errCaptcha is the error of an engine that shows a captcha in place of results.
var errCaptcha = &Limited{Why: "it asks for proof that we are human (a captcha)"}

// containsAny reports whether a page contains one of the marks. Marks are taken
// from pages that engines have sent; those in testdata/engines show where.
func containsAny(page []byte, marks ...string) bool {
	return slices.ContainsFunc(marks, func(m string) bool { return bytes.Contains(page, []byte(m)) })
}

// A results finds the results on an engine's page, by CSS selectors: each item
// has a link, a title and a text. Without a title, the text of the link counts.
type results struct{ item, link, title, text cascadia.Selector }

// selectors compiles the four selectors. It panics if one is wrong, which is a
// programmer's mistake.
func selectors(item, link, title, text string) results {
	must := cascadia.MustCompile
	return results{must(item), must(link), must(title), must(text)}
}

// in returns the results on a page. address returns where the link of an item
// leads, since engines link to themselves and redirect. An item without a link is
// an advertisement or a box, and is left out.
func (r results) in(page []byte, address func(item, link *html.Node) string) ([]Hit, error) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for _, item := range cascadia.QueryAll(doc, r.item) {
		link := cascadia.Query(item, r.link)
		if link == nil {
			continue
		}
		h := Hit{URL: address(item, link), Title: textOf(link)}
		if t := cascadia.Query(item, r.title); t != nil {
			h.Title = textOf(t)
		}
		if t := cascadia.Query(item, r.text); t != nil {
			h.Description = textOf(t)
		}
		hits = append(hits, h)
	}
	return hits, nil
}

// An answer is the JSON of the engines that have an API. It has the fields of all
// of them.
type answer struct {
	Results []answerHit
	Organic []answerHit
	Web     struct{ Results []answerHit }
}

// An answerHit is a hit as one of the APIs has it.
type answerHit struct{ URL, Link, Title, Content, Snippet, Description string }

// jsonHits decodes an answer. It has the signature of engine.hits.
func jsonHits(data []byte, _ *url.URL) ([]Hit, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, err
	}
	var hits []Hit
	for _, list := range [][]answerHit{a.Results, a.Organic, a.Web.Results} {
		for _, h := range list {
			hits = append(hits, Hit{
				URL:         cmp.Or(h.URL, h.Link),
				Title:       h.Title,
				Description: cmp.Or(h.Content, h.Snippet, h.Description),
			})
		}
	}
	return hits, nil
}
