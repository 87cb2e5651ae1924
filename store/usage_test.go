package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// usedText returns what db adds up, a line for each group without the day.
func usedText(t *testing.T, db *DB, by, owner string) string {
	t.Helper()
	used, err := db.Used(t.Context(), journal.MeterOptions{By: by, Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, u := range used {
		if by == "day" {
			u.Name = "day"
		}
		fmt.Fprintf(&b, "%s: %d, %d in, %d out, %d estimated, %d unpriced, %d\n", u.Name, u.Requests, u.Usage.Input, u.Usage.Output,
			u.Usage.Estimated, u.Unpriced, u.Cost)
	}
	return b.String()
}

// spend appends a session of two agents and three models.
func spend(t *testing.T, db *DB) {
	t.Helper()
	put := func(session string, bodies ...openmanus.Body) {
		t.Helper()
		if _, err := db.Append(t.Context(), session, bodies...); err != nil {
			t.Fatal(err)
		}
	}
	config := openmanus.Configured{Spec: openmanus.Spec{Model: "a/one"}}
	put("s", openmanus.Opened{Flow: "manus", Owner: "ann", Version: 2}, config)
	put("s", openmanus.ModelSaid{Turn: 0, By: "a/one", Usage: llm.Usage{Input: 10, Output: 1}, Cost: 5,
		Aside: []openmanus.ModelUse{{By: "b/eye", Usage: llm.Usage{Input: 7, Output: 3, Estimated: 10}}}},
		openmanus.ModelFailed{Turn: 1, Usage: llm.Usage{Input: 2}, Cost: 1})
	put("s", openmanus.Compacted{N: 0, By: "c/free", Usage: llm.Usage{Input: 4}, Free: true})
	put("s.c", openmanus.Opened{Flow: "swe", Parent: "s", Owner: "ann", Version: 2}, config,
		openmanus.ModelSaid{Turn: 0, By: "a/one", Usage: llm.Usage{Input: 100, Output: 10}, Cost: 50})
	// the report of a child does not count twice
	put("s", openmanus.ChildOpened{Child: "s.c"}, openmanus.ChildDone{Child: "s.c", Usage: llm.Usage{Input: 100, Output: 10}, Cost: 50})
	put("bob", openmanus.Opened{Flow: "manus", Owner: "bob", Version: 2}, config,
		openmanus.ModelSaid{Turn: 0, By: "a/one", Usage: llm.Usage{Input: 1}, Cost: 1})
}

// The sessions of an older database are added up when it is opened.
func TestMigratesSchemaWithoutUsage(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	spend(t, db)
	if err := journal.Fork(t.Context(), db, "s.c", 0, "copy"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	execSQL(t, filepath.Join(dir, "journal.db"), withoutUsage)
	if db, err = Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// older events have nothing aside, and do not tell a free model from an unknown price
	const want = "a/one: 3, 112 in, 11 out, 0 estimated, 0 unpriced, 56\nc/free: 1, 4 in, 0 out, 0 estimated, 4 unpriced, 0\n"
	if got := usedText(t, db, "model", "ann"); got != want {
		t.Errorf("by model:\n%swant\n%s", got, want)
	}
	spend2 := openmanus.ModelSaid{Turn: 5, By: "a/one", Usage: llm.Usage{Input: 1}, Cost: 1}
	if _, err := db.Append(t.Context(), "s", spend2); err != nil {
		t.Fatal(err)
	}
	if got := usedText(t, db, "day", "ann"); !strings.Contains(got, "117 in") {
		t.Errorf("by day: %s", got)
	}
}
