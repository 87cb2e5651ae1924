package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// TestSources: results and errors name who wrote them: pages by their addresses
// after redirects, search results and the engine that listed them.
func TestSources(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/to":
			http.Redirect(w, r, "/page", http.StatusFound)
		case "/search":
			fmt.Fprintf(w, `{"results":[{"url":"http://%s/page","title":"A title","content":"A text"}]}`, r.Host)
		case "/page":
			fmt.Fprint(w, "<title>A page</title><p>Words of a page</p>")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	reader := &Reader{Client: s.Client()}
	search := SearchTool{Reader: reader, Searcher: &Searcher{Client: s.Client(), Engines: Engines("searxng", nil, Keys{SearXNG: s.URL})}}
	research := NewResearch(reader, ws, ws.Dir())
	plan := planned(t, research)
	for _, c := range []struct {
		tool        openmanus.Tool
		input, want string
		fails       bool
	}{
		{NewFetch(reader, nil), `{"url":"URL/to"}`, "URL/page", false},
		{NewFetch(reader, nil), `{"url":"URL/none"}`, "URL/none", true},
		{NewCrawl(reader), `{"urls":["URL/to","URL/none"],"word_count_threshold":1}`,
			"URL/page: URL/page|A page|Words of a page; URL/none: URL/none|URL/none answers with HTTP 404 Not Found", false},
		{NewSearch(search), `{"query":"q"}`, "URL/search; URL/page: URL/page|A title|A text", false},
		{NewSearch(search), `{"query":" "}`, "", true},
		{research, `{"command":"read","urls":["URL/page"]}`, "URL/page; URL/page", false},
		{research, `{"command":"read","urls":["URL/none"]}`, "URL/none", false},
		{research, `{"command":"status"}`, "", false},
	} {
		call := openmanus.Call{Session: "s", Blobs: new(journal.Memory), Live: io.Discard, Call: llm.Call{
			ID: "c", Name: c.tool.Spec().Name, Input: strings.ReplaceAll(c.input, "URL", s.URL),
		}}
		if c.tool == research {
			call.Last = plan
		}
		res, err := c.tool.Run(t.Context(), call)
		var got []string
		for _, src := range res.Sources {
			text := src.From
			if len(src.Words) > 0 {
				text += ": " + strings.Join(src.Words, "|")
			}
			got = append(got, strings.ReplaceAll(text, s.URL, "URL"))
			if src.Trusted || src.Private {
				t.Errorf("%s: %+v", c.input, src)
			}
		}
		if text := strings.Join(got, "; "); text != c.want || err != nil != c.fails {
			t.Errorf("%s: %s, want %s (%v)", c.input, text, c.want, err)
		}
	}
}

// planned returns the notes of the tool research after its first call.
func planned(t *testing.T, research openmanus.Tool) json.RawMessage {
	t.Helper()
	res, err := research.Run(t.Context(), openmanus.Call{Call: llm.Call{Name: "research", Input: `{"command":"plan","questions":["q"]}`}})
	if err != nil {
		t.Fatal(err)
	}
	notes, err := json.Marshal(res.Detail)
	if err != nil {
		t.Fatal(err)
	}
	return notes
}

// A report is not written where programs or later sessions would obey it, and
// reading pages is for the gate to look at.
func TestResearchIsHarmless(t *testing.T) {
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	tool := NewResearch(&Reader{}, ws, ws.Dir())
	plan := planned(t, tool)
	for _, name := range []string{"AGENTS", "AGENTS.md", "skills/x/SKILL.md", ".github/x"} {
		call := openmanus.Call{Call: llm.Call{Name: "research", Input: fmt.Sprintf(`{"command":"report","title":"t","sections":[{"heading":"h","text":"x"}],"file":%q}`, name)}, Last: plan}
		if _, err := tool.Run(t.Context(), call); err == nil || !strings.Contains(err.Error(), "choose another name") {
			t.Errorf("%s: %v", name, err)
		}
	}
	h := tool.(openmanus.CallHinter)
	read := h.Hints(openmanus.Call{Call: llm.Call{Input: `{"command":"read","urls":["x"]}`}})
	if note := h.Hints(openmanus.Call{Call: llm.Call{Input: `{"command":"note"}`}}); !read.ReadOnly || read.Internal || !note.Internal {
		t.Errorf("reading: %+v, a note: %+v", read, note)
	}
}
