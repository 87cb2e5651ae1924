package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
)

// A SearchTool says what the tool web_search is made with.
type SearchTool struct {
	Searcher      *Searcher
	Reader        *Reader // for fetch_content; nil means that it has no effect
	Lang, Country string  // for calls that do not give their own
}

// contentTime limits the reading of the pages that were found.
const contentTime = 10 * time.Second

// NewSearch returns the tool web_search. The Detail of its results is the list of
// [Hit]s.
func NewSearch(t SearchTool) openmanus.Tool {
	type input struct {
		Query   string `json:"query"`
		Num     int    `json:"num_results"`
		Lang    string `json:"lang"`
		Country string `json:"country"`
		Fetch   bool   `json:"fetch_content"`
	}
	query := openmanus.Argument{Name: "query", Kind: openmanus.TextArgument, Does: openmanus.Sends}
	return openmanus.Func(spec("web_search", readsOnly, query),
		func(ctx context.Context, call openmanus.Call, in input) (openmanus.Result, error) {
			if strings.TrimSpace(in.Query) == "" {
				return openmanus.Result{}, errors.New(`the argument "query" is empty: write what to search for`)
			}
			q := Query{
				Text:    in.Query,
				Count:   cmp.Or(in.Num, 5),
				Lang:    cmp.Or(in.Lang, t.Lang),
				Country: cmp.Or(in.Country, t.Country),

				Progress: call.Live,
			}
			hits, err := t.Search(ctx, q, in.Fetch)
			if err != nil {
				return openmanus.Result{Sources: t.Sources(nil)}, err
			}
			res := openmanus.TextResult("%s", Format(q, hits))
			res.Detail, res.Source, res.Sources = hits, "web_search: "+hits[0].Source, t.Sources(hits)
			return res, nil
		})
}

// Search searches. With fetch, it also reads the pages that were found, as far as
// that succeeds in time.
func (t SearchTool) Search(ctx context.Context, q Query, fetch bool) ([]Hit, error) {
	hits, err := t.Searcher.Search(ctx, q)
	if err != nil || !fetch || t.Reader == nil {
		return hits, err
	}
	ctx, cancel := context.WithTimeout(ctx, contentTime)
	defer cancel()
	var wg sync.WaitGroup
	for i := range hits {
		wg.Go(func() {
			if p, err := t.Reader.Read(ctx, hits[i].URL); err == nil {
				hits[i].Content = p.Markdown
			}
		})
	}
	wg.Wait()
	return hits, nil
}

// Sources returns the labels of results as [Format] writes them: the engine, which
// wrote the list, and the pages, of which it quotes. Without hits these are the
// labels of an error: it can repeat what any of the engines sent.
func (t SearchTool) Sources(hits []Hit) []openmanus.Source {
	if len(hits) == 0 {
		return t.Searcher.addresses("")
	}
	all := t.Searcher.addresses(hits[0].Source)
	for _, h := range hits {
		words := []string{h.URL, h.Title, h.Description, beginning(h.Content, hitText)}
		all = append(all, openmanus.Source{From: h.URL, Words: slices.DeleteFunc(words, blank)})
	}
	return all
}

// addresses returns the labels of what the engine with this name writes; of all
// engines if name is "".
func (s *Searcher) addresses(name string) []openmanus.Source {
	all := []openmanus.Source{}
	for _, e := range s.Engines {
		if name != "" && e.Name() != name {
			continue
		}
		from := "web_search: " + e.Name()
		if e, ok := e.(*engine); ok {
			from = e.request(Query{}).address
		}
		all = append(all, openmanus.Source{From: from})
	}
	return all
}

// hitText is how many characters of the page of a result are shown.
const hitText = 1000

// Format returns results as OpenManus writes them.
func Format(q Query, hits []Hit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Search results for '%s':\n", q.Text)
	for i, h := range hits {
		fmt.Fprintf(&b, "\n%d. %s\n   URL: %s\n", i+1, cmp.Or(h.Title, "No title"), h.URL)
		if h.Description != "" {
			fmt.Fprintf(&b, "   Description: %s\n", h.Description)
		}
		if c := beginning(h.Content, hitText); c != "" {
			fmt.Fprintf(&b, "   Content: %s\n", c)
		}
	}
	fmt.Fprintf(&b, "\nMetadata:\n- Total results: %d\n- Language: %s\n- Country: %s\n",
		len(hits), cmp.Or(q.Lang, "any"), cmp.Or(q.Country, "any"))
	if len(hits) > 0 {
		fmt.Fprintf(&b, "- Source: %s\n", hits[0].Source)
	}
	return b.String()
}
