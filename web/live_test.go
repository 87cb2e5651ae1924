//go:build live

package web

import (
	"net/http"
	"os"
	"testing"
	"time"
)

// keys are the person's: package testbed takes them out of the environment later.
var keys = Keys{SearXNG: os.Getenv("OPENMANUS_SEARCH_SEARXNG_URL"), Brave: os.Getenv("BRAVE_API_KEY"), Tavily: os.Getenv("TAVILY_API_KEY"), Serper: os.Getenv("SERPER_API_KEY")}

// TestLive asks every engine once, over the network: make live. Nothing but a
// person looks at what it prints.
func TestLive(t *testing.T) {
	for _, e := range Engines("Google", nil, keys) {
		s := &Searcher{Client: &http.Client{Timeout: 20 * time.Second}, Engines: []Engine{e}}
		hits, err := s.Search(t.Context(), Query{Text: "go programming language release notes", Count: 5, Lang: "en", Country: "us"})
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
		}
		for _, h := range hits {
			t.Logf("%s: %s\n  %s\n  %s", e.Name(), h.Title, h.URL, h.Description)
		}
	}
}
