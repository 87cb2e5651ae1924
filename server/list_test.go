package server_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A session that waits for its user is found however many newer ones there are, and every
// list can be read page by page to its end.
func TestListPages(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	put := func(id string, bodies ...openmanus.Body) {
		t.Helper()
		opening := []openmanus.Body{
			openmanus.Opened{Flow: "manus", Owner: "ann", Version: 2}, openmanus.Configured{Spec: openmanus.Spec{Agent: "manus"}},
			openmanus.UserSaid{ID: "u", Message: llm.Say(llm.User, "task "+id)},
		}
		if _, err := x.db.Append(t.Context(), id, append(opening, bodies...)...); err != nil {
			t.Fatal(err)
		}
	}
	asks := []openmanus.Body{
		openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llmtest.Use("c0-1", "bash", map[string]any{"command": "ls"})},
		openmanus.Asked{Call: "c0-1", Kind: openmanus.AskRuling, Question: "May it?"},
	}
	ends := func(s openmanus.Status) []openmanus.Body { return []openmanus.Body{openmanus.Ended{Re: 3, Status: s}} }
	put("old-asks", asks...)
	put("old-failed", ends(openmanus.Failed)...)
	put("old-named", append(asks, openmanus.Titled{ID: "t", Title: "task old"})...) // still waits
	for i := range 70 {
		put(fmt.Sprintf("new-%02d", i), ends(openmanus.Finished)...)
	}
	ids := func(query string) (all []string, next string) {
		t.Helper()
		out := x.call("GET", "/api/v1/sessions?"+query, nil, 200)
		for _, it := range out["items"].([]any) {
			all = append(all, it.(map[string]any)["id"].(string))
		}
		next, _ = out["next"].(string)
		return all, next
	}
	whole := func(query string) (all []string, pages int) {
		t.Helper()
		for next := ""; ; {
			page, after := ids(query + next)
			all, pages = append(all, page...), pages+1
			if after == "" || pages > 100 {
				return all, pages
			}
			next = "&after=" + url.QueryEscape(after)
		}
	}
	for range 2 { // and again, when the index knows what has nothing to do
		for query, want := range map[string]string{
			"limit=60&status=waiting":                       "old-asks old-named",
			"limit=1&status=waiting":                        "old-asks old-named",
			"limit=60&status=waiting&status=running":        "old-asks old-named",
			"limit=2&status=failed":                         "old-failed",
			"limit=2&status=stopped":                        "",
			"limit=1&q=task+old&status=waiting&status=idle": "old-asks old-named",
		} {
			if got, _ := whole(query); strings.Join(slices.Sorted(slices.Values(got)), " ") != want {
				t.Errorf("%s has %q, want %q", query, got, want)
			}
		}
	}
	for query, want := range map[string]int{"limit=10": 8, "limit=73": 1, "limit=10&q=task": 8, "limit=10&status=finished": 7, "limit=10&status=finished&status=waiting": 8} {
		all, pages := whole(query)
		seen := make(map[string]bool)
		for _, id := range all {
			seen[id] = true
		}
		total := 73
		switch {
		case strings.HasSuffix(query, "status=finished"):
			total = 70
		case strings.HasSuffix(query, "status=waiting"):
			total = 72
		}
		if pages != want || len(seen) != total || len(all) != total {
			t.Errorf("%s has %d sessions on %d pages, want %d on %d", query, len(all), pages, total, want)
		}
	}

	// While pages are read, sessions move to the front: nothing that was behind is left out.
	first, next := ids("limit=40")
	for _, id := range []string{first[39], "old-failed"} {
		if _, err := x.db.Append(t.Context(), id, openmanus.Titled{ID: "t", Title: "moved"}); err != nil {
			t.Fatal(err)
		}
	}
	rest, _ := ids("limit=500&after=" + url.QueryEscape(next))
	if len(rest) != 32 || strings.Contains(strings.Join(rest, " "), first[39]) {
		t.Errorf("after the first page come %d: %q", len(rest), rest)
	}

	for _, query := range []string{"status=lost", "status=", "after=x", "after=-1", "after=7", "q=task&after=7.old-asks", "after=99999999999999999999.x"} {
		x.call("GET", "/api/v1/sessions?"+query, nil, 422)
	}
}

// The server knows what the page asks for a file with: another value of v loads it anew.
func TestFileVersion(t *testing.T) {
	x := open(t, t.TempDir(), llmtest.Script())
	id := x.session(map[string]any{"workspace": "w"})
	path := "/api/v1/sessions/" + id + "/files/a.svg"
	x.call("PUT", path, "<svg/>", 204)
	for query, want := range map[string]int{"?inline=true&v=3": 200, "?inline=true&version=3": 422} {
		if status, _, _ := x.raw(wrong{method: "GET", path: path + query}); status != want {
			t.Errorf("%s: %d, want %d", query, status, want)
		}
	}
}
