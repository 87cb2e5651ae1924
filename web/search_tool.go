package web

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/toolspec"
)

const searchDescription = `
Search the web for real-time information about any topic. Returns titles, addresses and descriptions; with fetch_content also the beginning of each page. Read what matters with web_fetch before you rely on it.
Example: {"query":"go 1.26 release notes","num_results":5}`

const searchSchema = `{
	"type": "object",
	"properties": {
		"query": {"type": "string", "description": "What to search for."},
		"num_results": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many results: 5 if not given."},
		"lang": {"type": "string", "description": "Language code of the results, such as en."},
		"country": {"type": "string", "description": "Country code of the results, such as us."},
		"fetch_content": {"type": "boolean", "description": "Whether to read the pages as well: false if not given."}
	},
	"required": ["query"],
	"additionalProperties": false
}`

// A SearchTool says what the tool web_search is made with.
type SearchTool struct {
	Searcher      *Searcher
	Reader        *Reader // for fetch_content
	Lang, Country string  // where a call does not say
}

// NewSearch returns the tool web_search. The Detail of its results is the list
// of [Hit]s.
func NewSearch(t SearchTool) openmanus.Tool {
	type input struct {
		Query   string `json:"query"`
		Num     int    `json:"num_results"`
		Lang    string `json:"lang"`
		Country string `json:"country"`
		Fetch   bool   `json:"fetch_content"`
	}
	return openmanus.Func(toolspec.New("web_search", searchDescription, searchSchema, reads,
		openmanus.Argument{Name: "query", Kind: openmanus.TextArgument, Does: openmanus.Sends}),
		func(ctx context.Context, _ openmanus.Call, in input) (openmanus.Result, error) {
			if strings.TrimSpace(in.Query) == "" {
				return openmanus.Result{}, fmt.Errorf("the argument \"query\" is empty: write what to search for")
			}
			q := Query{Text: in.Query, Count: cmp.Or(in.Num, 5), Lang: cmp.Or(in.Lang, t.Lang), Country: cmp.Or(in.Country, t.Country)}
			hits, err := t.Search(ctx, q, in.Fetch)
			if err != nil {
				return openmanus.Result{}, err
			}
			res := openmanus.TextResult("%s", Format(q, hits))
			res.Detail, res.Source = hits, "web_search: "+hits[0].Source
			return res, nil
		})
}

// Search searches, and reads the pages that were found if fetch says so.
func (t SearchTool) Search(ctx context.Context, q Query, fetch bool) ([]Hit, error) {
	hits, err := t.Searcher.Search(ctx, q)
	if err != nil || !fetch || t.Reader == nil {
		return hits, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for i := range hits {
		wg.Go(func() {
			if p, err := t.Reader.Read(ctx, hits[i].URL); err == nil { // a page that cannot be read has no content
				hits[i].Content = p.Markdown
			}
		})
	}
	wg.Wait()
	return hits, nil
}

// Format writes results as OpenManus does.
func Format(q Query, hits []Hit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Search results for '%s':\n", q.Text)
	for i, h := range hits {
		fmt.Fprintf(&b, "\n%d. %s\n   URL: %s\n", i+1, cmp.Or(h.Title, "No title"), h.URL)
		if h.Description != "" {
			fmt.Fprintf(&b, "   Description: %s\n", h.Description)
		}
		if c := strings.Join(strings.Fields(h.Content), " "); c != "" {
			if r := []rune(c); len(r) > 1000 {
				c = string(r[:1000]) + "..."
			}
			fmt.Fprintf(&b, "   Content: %s\n", c)
		}
	}
	fmt.Fprintf(&b, "\nMetadata:\n- Total results: %d\n- Language: %s\n- Country: %s\n", len(hits), cmp.Or(q.Lang, "any"), cmp.Or(q.Country, "any"))
	if len(hits) > 0 {
		fmt.Fprintf(&b, "- Source: %s\n", hits[0].Source)
	}
	return b.String()
}
