package gist_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/tools"
)

// done returns the result of an edit with a diff.
func done(t testing.TB, diff string) openmanus.CallDone {
	t.Helper()
	data, err := json.Marshal(map[string]string{"diff": diff})
	if err != nil {
		t.Fatal(err)
	}
	return openmanus.CallDone{Detail: data}
}

// The lines of each file of a patch are counted by its name, whatever that is.
func TestLinesOf(t *testing.T) {
	diff := tools.Diff("a b.txt", []byte("one\n-- x\n"), []byte("one\n++ y\nz\n")) + tools.Diff("new\n.go", nil, []byte("x\n")) + tools.Diff("gone", []byte("x\ny\n"), nil)
	want := map[string]gist.Lines{"a b.txt": {Added: 2, Removed: 1}, "new\n.go": {Added: 1}, "gone": {Removed: 2}}
	if got := gist.LinesOf(done(t, diff)); !maps.Equal(got, want) {
		t.Errorf("%v, want %v of\n%s", got, want, diff)
	}
	failed := done(t, diff)
	failed.IsError = true
	if got := gist.LinesOf(failed); len(got) > 0 {
		t.Errorf("an edit that failed changed %v", got)
	}
}

// FuzzLines gives any two texts of a file, in which no line may be taken for another.
func FuzzLines(f *testing.F) {
	f.Add("a", "one\ntwo\n", "--- a\n+++ b\n@@ -1,9 +1,9 @@\n")
	f.Add("\"x\\", "-- \n", "++ ")
	f.Fuzz(func(t *testing.T, name, before, after string) {
		diff := tools.Diff(name, []byte(before), []byte(after))
		if diff == "" || strings.Contains(diff, "more bytes)") || name != strings.ToValidUTF8(name, "") {
			return
		}
		count := func(s string) int {
			n := strings.Count(s, "\n")
			if s != "" && !strings.HasSuffix(s, "\n") {
				n++
			}
			return n
		}
		got := gist.LinesOf(done(t, diff))
		if n, ok := got[name]; len(got) != 1 || !ok || n.Added-n.Removed != count(after)-count(before) {
			t.Errorf("%v of %q\n%s", got, name, diff)
		}
	})
}
