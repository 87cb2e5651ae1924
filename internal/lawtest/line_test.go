package lawtest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// Deltas are encoded by hand, with the same result.
func TestAppendJSON(t *testing.T) {
	at := time.Date(2026, 11, 22, 1, 2, 3, 4000, time.UTC)
	for _, b := range []openmanus.Body{
		openmanus.Typing{},
		openmanus.Typing{Turn: 3, Reset: true},
		openmanus.Typing{Turn: 1, Part: 2, Parts: llm.Parts{llm.Text{Text: "plain"}}},
		openmanus.Typing{Parts: llm.Parts{llm.Text{}, llm.Thinking{Text: "hm", By: "a/b"}, llm.Text{Text: "ä<b>&\u2028\"\\\n\x00", By: "x\"y"}}},
		openmanus.Typing{Parts: llm.Parts{llm.Text{Text: "\xff"}, llm.Text{Text: "signed", Opaque: json.RawMessage(`{"s":1}`)}}},
		openmanus.Typing{Parts: llm.Parts{llm.Call{ID: "c1", Name: "bash", Input: `{"command":"ls"}`}}},
		openmanus.Output{Call: "c1-1", Text: "<out>"},
		openmanus.Output{Call: "c1-1", At: 5, Text: "<out>"},
		openmanus.Noted{ID: "1", Text: "stored"},
	} {
		ev := openmanus.Event{Time: at, Body: b}
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
