package web

import (
	"cmp"
	"net/url"

	"golang.org/x/net/html"
)

var duckResults = selectors(
	".result:not(.result--ad)", "a.result__a[href]", "a.result__a", ".result__snippet")

// DuckDuckGo returns the engine that reads DuckDuckGo's page without scripts. base
// replaces the address, for tests; "": the real one. A challenge in place of results is an
// error, so that the next engine is asked.
func DuckDuckGo(base string) Engine {
	return &engine{
		name: "DuckDuckGo",
		request: func(q Query) request {
			v := url.Values{"q": {q.Text}}
			if q.Lang != "" && q.Country != "" {
				v.Set("kl", q.Country+"-"+q.Lang)
			}
			return request{address: cmp.Or(base, "https://html.duckduckgo.com") + "/html/", query: v}
		},
		hits: func(page []byte, _ *url.URL) ([]Hit, error) {
			if containsAny(page, "anomaly-modal", "anomaly.js", "challenge-form") {
				return nil, errCaptcha
			}
			return duckResults.in(page, func(_, link *html.Node) string { return duckAddress(attr(link, "href")) })
		},
	}
}

// duckAddress returns where a link leads: it is a redirection that names its end.
func duckAddress(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return href
	}
	return cmp.Or(u.Query().Get("uddg"), href)
}
