package ids_test

import (
	"regexp"
	"testing"

	"github.com/openmanus-go/openmanus/internal/ids"
)

func TestIDs(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		id, session := ids.New(), ids.Session()
		if !regexp.MustCompile(`^[a-z2-7]{16}$`).MatchString(id) || !regexp.MustCompile(`^\d{8}-\d{4}-[a-z2-7]{8}$`).MatchString(session) {
			t.Fatalf("%q is not an id, or %q not one of a session", id, session)
		}
		if seen[id] || seen[session] {
			t.Fatalf("%s or %s came twice", id, session)
		}
		seen[id], seen[session] = true, true
	}
}
