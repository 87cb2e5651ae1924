package server

import (
	"fmt"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// The cache holds few long sessions, but always the one that is viewed.
func TestStatesAreBounded(t *testing.T) {
	j := new(journal.Memory)
	s := newStates(j)
	s.max = 25
	look := func(id string, want int64) {
		t.Helper()
		err := s.view(t.Context(), id, func(st *openmanus.State) error {
			if st.Seq != want {
				t.Errorf("session %s has %d events, want %d", id, st.Seq, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add := func(id string, from, n int) {
		t.Helper()
		var bodies []openmanus.Body
		if from == 0 {
			bodies = append(bodies, openmanus.Opened{Flow: "f", Version: openmanus.FormatVersion}, openmanus.Configured{})
		}
		for i := len(bodies); i < n; i++ {
			bodies = append(bodies, openmanus.Noted{ID: fmt.Sprint(from + i)})
		}
		if _, err := j.Append(t.Context(), id, bodies...); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b", "c"} {
		add(id, 0, 10)
		look(id, 10)
	}
	if len(s.known) != 2 || s.known["a"] != nil || s.size != 20 {
		t.Errorf("%d states of %d events are kept", len(s.known), s.size)
	}
	add("b", 10, 90)
	look("b", 100)
	if len(s.known) != 1 || s.known["b"] == nil || s.size != 100 {
		t.Errorf("%d states of %d events are kept beside a long one", len(s.known), s.size)
	}
	look("a", 10)
	if len(s.known) != 1 || s.known["a"] == nil || s.size != 10 {
		t.Errorf("%d states of %d events are kept after a long one", len(s.known), s.size)
	}
	s.forget("a")
	if len(s.known) != 0 || s.size != 0 {
		t.Errorf("%d states of %d events are left", len(s.known), s.size)
	}
}
