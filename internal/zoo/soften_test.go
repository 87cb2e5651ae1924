package zoo_test

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/internal/zoo"
	"github.com/openmanus-go/openmanus/journal/replay"
	"github.com/openmanus-go/openmanus/run"
)

// A server that no adapter can please ends no session: what it refuses becomes text, in at
// most two further requests, and one line says so.
func TestWhatIsRefusedIsSoftened(t *testing.T) {
	n := 0
	o := zoo.Unlike().Open(t.Cleanup, func(int, string) zoo.Turn {
		n++
		if n%4 == 0 {
			return zoo.Turn{Text: "Done."}
		}
		return script[n%3]
	})
	j := drive(t, o, func() bool { return n >= 12 })
	replays(t, j)
	var softened []openmanus.Softened
	for ev, err := range j.Events(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case openmanus.Softened:
			softened = append(softened, b)
			if line, bad := view.Note(b); bad || !strings.Contains(line, "roles must alternate") || strings.Contains(line, "\n") {
				t.Errorf("people read %q", line)
			}
		case openmanus.ModelFailed:
			t.Errorf("it failed: %s", b.Error)
		}
	}
	if len(softened) < 4 || softened[0].Plain || !softened[1].Plain || !softened[len(softened)-1].Plain {
		t.Errorf("%+v", softened)
	}
	if most := len(softened) + 1; len(o.Refusals()) > most {
		t.Errorf("%d refusals, %d softenings", len(o.Refusals()), len(softened))
	}
}

// replays plays a session again: today's program makes the same of it.
func replays(t *testing.T, j openmanus.Journal) {
	t.Helper()
	rec, err := replay.Load(t.Context(), j, j.(openmanus.Blobs), "s")
	if err != nil {
		t.Fatal(err)
	}
	a := &openmanus.Agent{Name: "a", Tools: tools(t), Gate: openmanus.AllowAll}
	if _, err := replay.Run(t.Context(), rec, replay.Options{Flow: run.FlowsByName(a)}); err != nil {
		t.Error(err)
	}
}

// A refusal that no softening helps against fails, names the event to go back to, and leaves
// the conversation as it was: after the person has gone back, the session goes on.
func TestWhatCannotBeSoftenedNamesAWayOut(t *testing.T) {
	refuses := true
	s := zoo.Unlike()
	o := s.Open(t.Cleanup, func(n int, _ string) zoo.Turn {
		if n%2 == 0 {
			return zoo.Turn{Calls: []zoo.Call{{Name: "look", Arguments: "{}"}}}
		}
		return zoo.Turn{Text: "Done."}
	})
	o.Refuse = func(body string) string {
		if refuses && strings.Contains(body, "and so on") {
			return "the word so is not allowed"
		}
		return ""
	}
	j, l := begin(t, o)
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	st, err := openmanus.Load(t.Context(), j, "s")
	if err != nil {
		t.Fatal(err)
	}
	replays(t, j)
	to := st.TakenUpTo()
	if st.Status() != openmanus.Failed || len(o.Refusals()) != 2 || to != 3 ||
		!strings.Contains(st.Outcome.Error, "not allowed") || !strings.Contains(st.Outcome.Error, "openmanus sessions rewind s --to 3 --talk") {
		t.Fatalf("%s after %d refusals, back to %d: %s", st.Status(), len(o.Refusals()), to, st.Outcome.Error)
	}
	if len(st.Said[len(st.Said)-1].Calls()) != 1 {
		t.Errorf("the call is gone: %+v", st.Said)
	}
	if _, err := j.Append(t.Context(), "s", openmanus.Rewound{ID: "back", To: to, Talk: true}, says(1)); err != nil {
		t.Fatal(err)
	}
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if st, err = openmanus.Load(t.Context(), j, "s"); err != nil || st.Status() != openmanus.Finished {
		t.Errorf("it is %s, %v: %s", st.Status(), err, st.Outcome.Error)
	}
}
