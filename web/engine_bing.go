package web

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

var bingResults = selectors("li.b_algo", "h2 a[href]", "h2", ".b_caption p, p.b_lineclamp2, p")

// Bing returns the engine that reads Bing's result page. base replaces the address of
// Bing, for tests; "": the real one. A captcha in place of results is an error, so that
// the next engine is asked.
func Bing(base string) Engine {
	return &engine{
		name: "Bing",
		request: func(q Query) request {
			v := url.Values{"q": {q.Text}, "count": {strconv.Itoa(max(10, q.Count))}}
			set(v, "setlang", q.Lang)
			set(v, "cc", strings.ToUpper(q.Country))
			return request{address: cmp.Or(base, "https://www.bing.com") + "/search", query: v}
		},
		hits: func(page []byte, _ *url.URL) ([]Hit, error) {
			hits, err := bingResults.in(page, func(_, link *html.Node) string {
				return bingAddress(attr(link, "href"))
			})
			if len(hits) == 0 && containsAny(page, "captcha", "CfConfig", "One last step") {
				return nil, errCaptcha
			}
			return hits, err
		},
	}
}

// bingAddress returns where a link leads: a redirection of Bing's has its end as
// base64 after "a1".
func bingAddress(href string) string {
	u, err := url.Parse(href)
	if err != nil || !strings.HasPrefix(u.Path, "/ck/") {
		return href
	}
	encoded, ok := strings.CutPrefix(u.Query().Get("u"), "a1")
	if !ok {
		return href
	}
	if data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "=")); err == nil {
		return string(data)
	}
	return href
}
