package llm_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// everyPart has each kind of part with each field in use.
var everyPart = llm.Parts{
	llm.Text{Text: "a <b> & \u2028 é", Opaque: json.RawMessage(`{"id":1}`), By: "m"},
	llm.Text{},
	llm.Text{Text: "not \xff UTF-8"},
	llm.Thinking{Text: "hm", Opaque: json.RawMessage(`"sig"`), By: "m"},
	llm.Blob{MIME: "image/png", Name: "a.png", Data: []byte{0, 255, 10}},
	llm.Call{ID: "c1", Name: "bash", Input: `{"command":"a && b > c"`, Opaque: json.RawMessage(`[1]`), By: "m"},
	llm.Call{Name: "bash", Input: "\xed\xa0\x80"}, // a lone surrogate
	llm.Result{ID: "c1", Parts: llm.Parts{llm.Text{Text: "out"}, llm.Blob{MIME: "image/gif", Data: []byte("GIF")}}, IsError: true},
	llm.Unknown{Raw: json.RawMessage(`{"type":"hologram","depth":3}`)},
}

func TestPartsComeBackAsTheyWere(t *testing.T) {
	data, err := json.Marshal(everyPart)
	if err != nil {
		t.Fatal(err)
	}
	var back llm.Parts
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	for i := range everyPart {
		if !reflect.DeepEqual(back[i], everyPart[i]) {
			t.Errorf("part %d: got %#v, want %#v", i, back[i], everyPart[i])
		}
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(data) {
		t.Errorf("encoded again:\n%s\nfirst:\n%s\nerror: %v", again, data, err)
	}
}

// A part that a later version writes may use our field names for something
// else. It must not make the journal unreadable.
func TestForeignPartsAreKept(t *testing.T) {
	for _, raw := range []string{
		`{"type":"quote","text":{"from":3,"to":5}}`,
		`{"type":7,"text":"x"}`,
		`{"text":"of no type"}`,
		`"a string"`,
		`null`,
	} {
		var ps llm.Parts
		if err := json.Unmarshal([]byte("["+raw+"]"), &ps); err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if out, err := json.Marshal(ps); err != nil || string(out) != "["+raw+"]" {
			t.Errorf("%s became %s, error %v", raw, out, err)
		}
	}
}

func TestBrokenPartsAreErrors(t *testing.T) {
	for raw, want := range map[string]string{
		`[{"type":"text","text":5}]`:          "part of type text",
		`[{"type":"blob","data":"not base"}]`: "part of type blob",
		`{"type":"text"}`:                     "cannot unmarshal object",
	} {
		var ps llm.Parts
		if err := json.Unmarshal([]byte(raw), &ps); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", raw, err, want)
		}
	}
	if _, err := json.Marshal(llm.Parts{nil}); err == nil {
		t.Error("a nil part was encoded")
	}
}

func FuzzParts(f *testing.F) {
	seed, _ := json.Marshal(everyPart)
	f.Add(seed)
	f.Add([]byte(`[{"type":"result","parts":[{"type":"result","parts":null}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var ps llm.Parts
		if json.Unmarshal(data, &ps) != nil {
			return
		}
		once, err := json.Marshal(ps)
		if err != nil {
			t.Fatalf("decoded, but not encoded: %v", err)
		}
		var back llm.Parts
		if err := json.Unmarshal(once, &back); err != nil {
			t.Fatalf("encoded, but not decoded: %v\n%s", err, once)
		}
		if twice, _ := json.Marshal(back); string(twice) != string(once) {
			t.Fatalf("not stable:\n%s\n%s", once, twice)
		}
	})
}
