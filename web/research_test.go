package web

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/workspace"
)

func TestSays(t *testing.T) {
	const text = "The tower is **330** metres\nhigh — “they said”, in 1889. It’s ﬁne; not 331."
	for q, want := range map[string]bool{
		"The tower is 330 metres high":    true,
		"tower is 330\n metres  high":     true,
		"“The tower is 330 metres high.”": true,
		`"they said", in 1889`:            true,
		"It's fine":                       true,
		"The tower is 331 metres high":    false,
		"the tower is 330 metres high":    false,
		"tower is 33":                     false, // no part of a word
		"The tower is ... high":           false,
		"The tower is not 331":            false,
		"The tower is metres high":        false,
		"":                                false,
		"...":                             false,
	} {
		if got := Says(text, q); got != want {
			t.Errorf("%q: %v", q, got)
		}
	}
}

func FuzzSays(f *testing.F) {
	f.Add("one two three", 1, 3)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		words := strings.Fields(normalize(text))
		if from < 0 || to > len(words) || from >= to {
			return
		}
		if q := strings.Join(words[from:to], " "); normalize(q) == q && !Says(text, q) {
			t.Errorf("%q does not say %q", text, q)
		}
	})
}

// A piece of research over a local site: a false quotation is caught, an
// unsupported claim is marked, and the report says where all is from.
func TestResearch(t *testing.T) {
	url, r := local(t, map[string]http.HandlerFunc{"/tower": sends("text/html", article), "/other": sends("text/plain", "Other words.")})
	dir := t.TempDir()
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	tool, blobs := NewResearch(r, ws, dir), new(journal.Memory)
	var last any
	do := func(input map[string]any) (string, error) {
		res, err := call(t, tool, blobs, last, input)
		if err == nil {
			last = res.Detail
		}
		return text(res), err
	}
	fails := func(want string, input map[string]any) {
		t.Helper()
		if said, err := do(input); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v: %s, %v", input, said, err)
		}
	}
	works := func(want string, input map[string]any) {
		t.Helper()
		if said, err := do(input); err != nil || !strings.Contains(said, want) {
			t.Fatalf("%v: %s, %v", input, said, err)
		}
	}
	fails("plan comes first", map[string]any{"command": "read", "urls": []string{url}})
	works("1. How high?", map[string]any{"command": "plan", "questions": []string{"How high?", "When?"}})
	works("== p1: "+url+"/tower", map[string]any{"command": "read", "urls": []string{url + "/tower", url + "/gone", url + "/other"}})
	works("== p1", map[string]any{"command": "read", "urls": []string{url + "/tower"}})
	fails("not on the page p1", map[string]any{"command": "note", "question": 1, "page": "p1", "claim": "331 m", "quote": "The tower is 331 metres high."})
	fails("not on the page p2", map[string]any{"command": "note", "question": 1, "page": "p2", "claim": "330 m", "quote": "The tower is 330 metres high."})
	fails(`no page "p9"`, map[string]any{"command": "note", "question": 1, "page": "p9", "claim": "x", "quote": "x"})
	works("Note 1: checked word for word", map[string]any{"command": "note", "question": 1, "page": "p1", "claim": "330 m", "quote": "The tower is 330 metres high."})
	works("  3. Who paints it?", map[string]any{"command": "follow_up", "question": 2, "questions": []string{"Who paints it?"}})
	fails("as deep as it may go", map[string]any{"command": "follow_up", "question": 3, "questions": []string{"And then?"}})
	fails("there are notes 1 to 1", map[string]any{"command": "report", "title": "T", "sections": []any{map[string]any{"heading": "H", "claims": []any{map[string]any{"text": "x", "notes": []int{2}}}}}})
	works("1 claims with checked quotations, 1 marked as unsupported", map[string]any{"command": "report", "title": "The <tower>", "summary": "High.", "sections": []any{
		map[string]any{"heading": "Height", "claims": []any{map[string]any{"text": "It is 330 m high.", "notes": []int{1}}, map[string]any{"text": "It is green."}}}}})
	for name, wants := range map[string][]string{
		"report.md":   {"- It is 330 m high. [p1]\n  > “The tower is 330 metres high.” [p1]", "- It is green. **[unsupported]**", "[p1] The Tower <" + url + "/tower>, read ", "sha256:"},
		"report.html": {"<h1>The &lt;tower&gt;</h1>", `It is green. <strong class="unsupported">[unsupported]</strong>`, `<a href="#p1">[p1]</a>`},
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(data), want) {
				t.Errorf("%s has no %q:\n%s", name, want, data)
			}
		}
	}
	// A note that is no longer on the saved page is not shown as if it was.
	s := last.(Research)
	s.Notes[0].Quote = "The tower is 400 metres high."
	last = s
	works("0 claims with checked quotations, 1 marked", map[string]any{"command": "report", "title": "T", "sections": []any{
		map[string]any{"heading": "Height", "claims": []any{map[string]any{"text": "It is 400 m high.", "notes": []int{1}}}}}})
}

// After the time limit nothing is read any more.
func TestResearchEnds(t *testing.T) {
	tool := NewResearch(&Reader{}, nil, "")
	s := Research{Questions: []Question{{Text: "q", Depth: 1}}, Seconds: 1, Depth: 2}
	for _, c := range []map[string]any{{"command": "read", "urls": []string{"https://x.example"}}, {"command": "follow_up", "question": 1, "questions": []string{"y"}}} {
		if _, err := call(t, tool, new(journal.Memory), s, c); err == nil || !strings.Contains(err.Error(), "time limit") {
			t.Errorf("%v: %v", c, err)
		}
	}
}
