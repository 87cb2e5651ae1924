package web

import (
	"cmp"
	"net/http"
)

// Tavily returns the engine that asks Tavily's API.
func Tavily(base, key string) Engine {
	return &engine{
		name: "Tavily",
		request: func(q Query) request {
			return request{
				address: cmp.Or(base, "https://api.tavily.com") + "/search",
				body:    map[string]any{"query": q.Text, "max_results": max(1, q.Count)},
				header:  http.Header{"Authorization": {"Bearer " + key}},
			}
		},
		hits: jsonHits,
	}
}
