package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fake is an engine that does as it is told.
type fake struct {
	name  string
	asked int
	does  func(n int) ([]Hit, error)
}

func (f *fake) Name() string { return f.name }

func (f *fake) Search(context.Context, *http.Client, Query) ([]Hit, error) {
	f.asked++
	return f.does(f.asked)
}

func finds(urls ...string) func(int) ([]Hit, error) {
	return func(int) ([]Hit, error) {
		var hits []Hit
		for _, u := range urls {
			hits = append(hits, Hit{URL: u, Title: "T"})
		}
		return hits, nil
	}
}

func fails(err error) func(int) ([]Hit, error) { return func(int) ([]Hit, error) { return nil, err } }

// An engine that raises is left for the next at once, and rests.
func TestSearchFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &fake{name: "Broken", does: fails(&Limited{Why: "HTTP 429"})}
		good := &fake{name: "Good", does: finds("https://a.example/", "https://a.example", "ftp://x", "https://b.example/")}
		s := &Searcher{Engines: []Engine{broken, good}, Delay: time.Minute, Rounds: 3}
		begin := time.Now()
		for range 3 {
			hits, err := s.Search(t.Context(), Query{Text: "q", Count: 5})
			if err != nil || len(hits) != 2 || hits[0].Source != "Good" {
				t.Fatalf("%v, %v", hits, err)
			}
		}
		if broken.asked != 1 || time.Since(begin) != 0 {
			t.Errorf("it was asked %d times, in %v", broken.asked, time.Since(begin))
		}
		time.Sleep(limitedTime)
		s.Search(t.Context(), Query{Text: "q"})
		if broken.asked != 2 {
			t.Errorf("after its rest it was asked %d times in all", broken.asked)
		}
	})
}

// Where nobody finds anything, it is tried again after a while, and the wait
// can be ended.
func TestSearchFindsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		empty := &fake{name: "Empty", does: finds()}
		broken := &fake{name: "Broken", does: fails(errors.New("it is gone"))}
		s := &Searcher{Engines: []Engine{empty, broken}, Delay: time.Minute, Rounds: 3}
		begin := time.Now()
		_, err := s.Search(t.Context(), Query{Text: "q"})
		if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "All search engines failed to return results after multiple retries.\n- Empty: nothing found\n- Broken: it is gone") {
			t.Errorf("%v", err)
		}
		if empty.asked != 4 || broken.asked != 4 || time.Since(begin) != 3*time.Minute {
			t.Errorf("asked %d and %d times in %v", empty.asked, broken.asked, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Search(ctx, Query{Text: "q"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("given up: %v", err)
		}
	})
}

func TestOrderOfEngines(t *testing.T) {
	order := func(preferred string, fallback []string, k Keys) string {
		var names []string
		for _, e := range Engines(preferred, fallback, k) {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	for _, c := range [][2]string{
		{order("Google", []string{"DuckDuckGo", "Baidu", "Bing"}, Keys{}), "Google DuckDuckGo Baidu Bing"},
		{order("bing", []string{"nonsense", " duckduckgo "}, Keys{}), "Bing DuckDuckGo Google Baidu"},
		{order("Google", nil, Keys{Tavily: "k", SearXNG: "http://s"}), "Tavily Google SearXNG DuckDuckGo Baidu Bing"},
		{order("", nil, Keys{Brave: "b", Serper: "s"}), "Brave Serper Google DuckDuckGo Baidu Bing"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %s, want %s", c[0], c[1])
		}
	}
}

// The results as OpenManus writes them.
func TestFormat(t *testing.T) {
	got := Format(Query{Text: "q", Lang: "en", Country: "us"}, []Hit{{URL: "https://a/", Description: "D", Content: strings.Repeat("x\n", 1001), Source: "Bing"}})
	want := fmt.Sprintf("Search results for 'q':\n\n1. No title\n   URL: https://a/\n   Description: D\n   Content: %s...\n\nMetadata:\n- Total results: 1\n- Language: en\n- Country: us\n- Source: Bing\n", strings.Repeat("x ", 500))
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
