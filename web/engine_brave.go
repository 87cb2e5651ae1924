package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// Brave returns the engine that asks Brave's API with a key. base replaces the address of
// the API, for tests; "": the real one. Brave returns at most 20 results.
func Brave(base, key string) Engine {
	return &engine{
		name: "Brave",
		request: func(q Query) request {
			v := url.Values{"q": {q.Text}, "count": {strconv.Itoa(min(20, max(1, q.Count)))}}
			set(v, "search_lang", q.Lang)
			set(v, "country", strings.ToUpper(q.Country))
			return request{
				address: cmp.Or(base, "https://api.search.brave.com") + "/res/v1/web/search",
				query:   v,
				header:  http.Header{"X-Subscription-Token": {key}},
			}
		},
		hits: func(data []byte, final *url.URL) ([]Hit, error) {
			hits, err := jsonHits(data, final)
			for i := range hits {
				hits[i].Title = withoutTags(hits[i].Title)
				hits[i].Description = withoutTags(hits[i].Description)
			}
			return hits, err
		},
	}
}

// withoutTags returns the text of an HTML fragment.
func withoutTags(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	n, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return s
	}
	return textOf(n)
}
