package store_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/store"
)

// EventsJSON yields what encoding the events does, whatever they contain.
func TestEventsJSON(t *testing.T) {
	db, err := store.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	large := strings.Repeat("large <b>&amp;</b> \u2028 ", 2000)
	bodies := []openmanus.Body{
		openmanus.Opened{Flow: "<script>", Version: openmanus.FormatVersion},
		openmanus.UserSaid{ID: `a "quoted" id`, Message: llm.Say(llm.User, "it says \"$blob\", \\, \n and é")},
		openmanus.UserSaid{ID: "2", Message: llm.Say(llm.User, large)},
		openmanus.Foreign{Type: "later", Stored: "later/1", Content: json.RawMessage("{ \"a\":\n 1, \"$blob\": \"x\" }")},
	}
	if _, err := db.Append(t.Context(), "s", bodies...); err != nil {
		t.Fatal(err)
	}
	var want []openmanus.Event
	for ev, err := range db.Events(t.Context(), "s", 1) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, ev)
	}
	i := 0
	for l, err := range db.EventsJSON(t.Context(), "s", 1) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(want[i])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(l.JSON, data) || l.Seq != want[i].Seq || l.Type != openmanus.TypeName(want[i].Body) {
			t.Errorf("line %d is %d %s\n%.300s\nand the event\n%.300s", i, l.Seq, l.Type, l.JSON, data)
		}
		i++
	}
	if i != len(want) || i != 3 {
		t.Errorf("%d lines of %d events", i, len(want))
	}
	for l, err := range db.EventsJSON(t.Context(), "none", 0) {
		t.Errorf("a session that does not exist has a line: %v, %v", l, err)
	}
}
