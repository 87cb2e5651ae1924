package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

func TestSearch(t *testing.T) {
	db := open(t, t.TempDir(), nil)
	say := func(session, owner string, words ...string) {
		t.Helper()
		bodies := []openmanus.Body{openmanus.Opened{Flow: "manus", Owner: owner}}
		for i, w := range words {
			bodies = append(bodies, openmanus.UserSaid{ID: string(rune('a' + i)), Message: llm.Say(llm.User, w)})
		}
		if _, err := db.Append(t.Context(), session, bodies...); err != nil {
			t.Fatal(err)
		}
	}
	say("sales", "ann", "read sales.csv", "find the three best months")
	say("weather", "ann", "what is the weather in Köln?")
	say("tea", "bob", "北京的茶馆在哪里")
	say("long", "bob", strings.Repeat("nothing of note, ", 2000)+"needle")

	search := func(words string, opts journal.ListOptions) string {
		t.Helper()
		hits, err := db.Search(t.Context(), words, opts)
		if err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		var ids []string
		for _, h := range hits {
			if !strings.Contains(h.Snippet, journal.MarkBegin) || !strings.Contains(h.Snippet, journal.MarkEnd) || h.Seq < 2 {
				t.Errorf("%q: event %d, %q", words, h.Seq, h.Snippet)
			}
			ids = append(ids, h.ID)
		}
		return strings.Join(ids, " ")
	}
	for words, want := range map[string]string{
		"months":         "sales",
		"BEST month":     "sales",
		"best weather":   "",
		"köln":           "weather",
		"koln?":          "",
		"茶馆在":            "tea",
		"needle":         "long",
		`"quoted" OR (`:  "",
		`sales.csv"`:     "",
		"best th":        "sales",
		"best of":        "",
		"茶馆":             "tea",
		"馆 京 在哪里":        "tea",
		"Ö":              "",
		"茶 %":            "",
		"NEAR(the, AND)": "",
	} {
		if got := search(words, journal.ListOptions{}); got != want {
			t.Errorf("%q found %q, want %q", words, got, want)
		}
	}
	if got := search("the", journal.ListOptions{Owner: "bob"}); got != "" {
		t.Errorf("bob found %q", got)
	}
	if _, err := db.Search(t.Context(), " \xff", journal.ListOptions{}); !errors.Is(err, journal.ErrNoWords) {
		t.Errorf("no words: %v", err)
	}

	// Later messages are found, and deleted sessions are not.
	if _, err := db.Append(t.Context(), "tea", openmanus.Titled{ID: "1", Title: "the best tea"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Delete(t.Context(), "sales"); err != nil {
		t.Fatal(err)
	}
	if got := search("best", journal.ListOptions{}); got != "tea" {
		t.Errorf("found %q, want tea alone", got)
	}
}
