package web

import (
	"cmp"
	"net/http"
)

// Serper returns the engine that asks Serper's API, which asks Google.
func Serper(base, key string) Engine {
	return &engine{
		name: "Serper",
		request: func(q Query) request {
			body := map[string]any{"q": q.Text, "num": max(1, q.Count)}
			if q.Lang != "" {
				body["hl"] = q.Lang
			}
			if q.Country != "" {
				body["gl"] = q.Country
			}
			return request{
				address: cmp.Or(base, "https://google.serper.dev") + "/search",
				body:    body,
				header:  http.Header{"X-Api-Key": {key}},
			}
		},
		hits: jsonHits,
	}
}
