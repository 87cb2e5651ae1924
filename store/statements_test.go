package store

import (
	"path/filepath"
	"regexp"
	"testing"
)

// Statements are prepared when they are used. This prepares all of them, so that
// a mistake in one that is rarely used shows.
func TestQueriesPrepare(t *testing.T) {
	db, err := Open(filepath.Join(t.TempDir(), "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	complete := regexp.MustCompile(`^(BEGIN|COMMIT|PRAGMA|SELECT|INSERT|UPDATE|DELETE|WITH) ?`)
	n := 0
	for name := range queryTexts() {
		text := queryText(name)
		if !complete.MatchString(text) || name == "matched" || name == "scanned" {
			continue // a part of others
		}
		n++
		stmt, err := db.read.PrepareContext(t.Context(), text)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		if err := stmt.Close(); err != nil {
			t.Error(err)
		}
	}
	if n < 25 {
		t.Errorf("only %d queries were found", n)
	}
}
