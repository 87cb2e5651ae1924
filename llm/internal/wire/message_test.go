package wire

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/llm"
)

// The arguments of a call go out as a JSON object, whatever a model wrote.
func TestCallInput(t *testing.T) {
	for in, want := range map[string]string{
		"":                            `{}`,
		" \n":                         `{}`,
		"{\"a\": 1}\n":                `{"a": 1}`,
		`{"command":"echo h`:          `{"INVALID_JSON":"{\"command\":\"echo h"}`,
		`{}{"command":"x"}`:           `{"INVALID_JSON":"{}{\"command\":\"x\"}"}`,
		`["x"]`:                       `{"INVALID_JSON":"[\"x\"]"}`,
		`"x"`:                         `{"INVALID_JSON":"\"x\""}`,
		`null`:                        `{"INVALID_JSON":"null"}`,
		`let me see`:                  `{"INVALID_JSON":"let me see"}`,
		`{'a': 1}`:                    `{"INVALID_JSON":"{'a': 1}"}`,
		"{\"a\":\"x\ny\"}":            `{"INVALID_JSON":"{\"a\":\"x\ny\"}"}`,
		`{"a":NaN}`:                   `{"INVALID_JSON":"{\"a\":NaN}"}`,
		"{\"a\":\"\xff\"}":            "{\"a\":\"\uFFFD\"}",
		"\xff":                        `{"INVALID_JSON":"\ufffd"}`,
		`{"a":"\ud83d\ude00"}`:        `{"a":"\ud83d\ude00"}`,
		`{"a":"\ud83d","b":"\ude00"}`: `{"a":"\ufffd","b":"\ufffd"}`,
		`{"a":"\\ud83d"}`:             `{"a":"\\ud83d"}`,
	} {
		got := CallInput(llm.Call{Input: in})
		if string(got) != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		var object map[string]any
		if json.Unmarshal(got, &object) != nil || object == nil || !utf8.Valid(got) {
			t.Errorf("%q: %s is no object", in, got)
		}
	}
	if got := CallInput(llm.Call{Input: `{'a': 1}`, Ran: `{"a": 1}`}); string(got) != `{"a": 1}` {
		t.Errorf("a repaired call: %s", got)
	}
}
