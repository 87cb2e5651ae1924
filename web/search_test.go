package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
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

// waiting is an engine that cannot be reached: it answers when it is given up.
type waiting struct{ fake }

func (w *waiting) Search(ctx context.Context, _ *http.Client, _ Query) ([]Hit, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Without a network a search fails within two seconds, says why, and is not repeated.
// An engine that is not paused can be asked again at once.
func TestSearchWithoutANetwork(t *testing.T) {
	unknown := &net.DNSError{Err: "no such host", Name: "search.example", IsNotFound: true}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ENETUNREACH}
	for _, tt := range []struct {
		name    string
		engines []Engine
		time    time.Duration
		want    string
	}{
		{"no name is known", []Engine{&fake{name: "A", does: fails(unknown)}, &fake{name: "B", does: fails(refused)}}, 0,
			"\n- A: lookup search.example: no such host\n- B: dial tcp: network is unreachable"},
		{"nothing answers", []Engine{&waiting{fake{name: "A"}}, &waiting{fake{name: "B"}}, &waiting{fake{name: "C"}}}, connectTime,
			"\n- A: no connection within 2s\n- B: no connection within 2s\n- C: no connection within 2s"},
		{"one does not answer", []Engine{&fake{name: "A", does: fails(unknown)}, &waiting{fake{name: "B"}}}, connectTime,
			"\n- A: lookup search.example: no such host\n- B: no connection within 2s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &Searcher{Engines: tt.engines, Delay: time.Minute, Rounds: 3}
			for range 2 {
				begin := time.Now()
				_, err := s.Search(t.Context(), Query{Text: "q"})
				if !errors.Is(err, ErrUnreachable) || !strings.HasSuffix(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
				}
				if took := time.Since(begin); took != tt.time {
					t.Errorf("%s: it took %v", tt.name, took)
				}
			}
		})
	}
}

// An engine that is blocked is not waited for if another can be reached.
func TestSearchPastABlockedEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := &fake{name: "Good", does: finds("https://a.example/")}
		s := &Searcher{Engines: []Engine{&waiting{fake{name: "Blocked"}}, good}, Delay: time.Minute, Rounds: 3}
		begin := time.Now()
		hits, err := s.Search(t.Context(), Query{Text: "q"})
		if err != nil || len(hits) != 1 || time.Since(begin) != connectTime/2 {
			t.Errorf("%v, %v after %v", hits, err, time.Since(begin))
		}
	})
}

// Engines that want to be left alone for longer than the delay are not waited for,
// and neither are those that fail otherwise.
func TestSearchIsNotRepeatedInVain(t *testing.T) {
	for _, err := range []error{&Limited{Why: "HTTP 429"}, errors.New("HTTP 500")} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			s := &Searcher{Engines: []Engine{&fake{name: "A", does: fails(err)}}, Delay: time.Minute, Rounds: 3}
			if _, got := s.Search(t.Context(), Query{Text: "q"}); !errors.Is(got, ErrNothing) || time.Since(begin) != 0 {
				t.Errorf("%v: %v after %v", err, got, time.Since(begin))
			}
		})
	}
}

// A person sees what takes long, and why.
func TestSearchTellsHowItGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		does := func(n int) ([]Hit, error) {
			switch n {
			case 1:
				return nil, &Limited{Why: "it limits us", For: time.Second}
			case 2:
				return nil, nil
			}
			return []Hit{{URL: "https://a.example/"}}, nil
		}
		s := &Searcher{Engines: []Engine{&fake{name: "A", does: does}}, Delay: time.Minute, Rounds: 3}
		if _, err := s.Search(t.Context(), Query{Text: "q", Progress: &b}); err != nil {
			t.Error(err)
		}
		want := "A: it limits us\nall engines are asked again in 1m0s (1 of 3)\n" +
			"A: nothing found\nall engines are asked again in 1m0s (2 of 3)\n"
		if b.String() != want {
			t.Errorf("got %q, want %q", b.String(), want)
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
