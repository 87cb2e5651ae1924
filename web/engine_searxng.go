package web

import (
	"errors"
	"net/url"
	"strings"
)

// SearXNG returns the engine that asks a SearXNG of the user's own at base. Its
// settings have to allow the format json.
func SearXNG(base string) Engine {
	return &engine{
		name: "SearXNG",
		request: func(q Query) request {
			v := url.Values{"q": {q.Text}, "format": {"json"}}
			set(v, "language", q.Lang)
			return request{address: strings.TrimSuffix(base, "/") + "/search", query: v}
		},
		hits: func(data []byte, final *url.URL) ([]Hit, error) {
			hits, err := jsonHits(data, final)
			if err != nil {
				return nil, errors.New("it answers, but not with JSON: allow the format json in its settings")
			}
			return hits, nil
		},
	}
}
