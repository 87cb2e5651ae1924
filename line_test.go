package openmanus_test

import (
	"encoding/json"
	"testing"
	"time"

	om "github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// What is typed is encoded by hand, and the same.
func TestAppendJSON(t *testing.T) {
	at := time.Date(2026, 11, 22, 1, 2, 3, 4000, time.UTC)
	for _, b := range []om.Body{
		om.Typing{},
		om.Typing{Turn: 3, Reset: true},
		om.Typing{Turn: 1, Part: 2, Parts: llm.Parts{llm.Text{Text: "plain"}}},
		om.Typing{Parts: llm.Parts{llm.Text{}, llm.Thinking{Text: "hm", By: "a/b"}, llm.Text{Text: "ä<b>&\u2028\"\\\n\x00", By: "x\"y"}}},
		om.Typing{Parts: llm.Parts{llm.Text{Text: "\xff"}, llm.Text{Text: "signed", Opaque: json.RawMessage(`{"s":1}`)}}},
		om.Typing{Parts: llm.Parts{llm.Call{ID: "c1", Name: "bash", Input: `{"command":"ls"}`}}},
		om.Output{Call: "c1-1", Text: "<out>"},
		om.Noted{ID: "1", Text: "stored"},
	} {
		ev := om.Event{Time: at, Body: b}
		if b.Key() != "" {
			ev.Seq = 7
		}
		want, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ev.AppendJSON([]byte("data: "))
		if err != nil || string(got) != "data: "+string(want) {
			t.Errorf("got  %s, %v\nwant data: %s", got, err, want)
		}
	}
}
