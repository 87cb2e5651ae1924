package host

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/llm"
)

// Pieces of what streams are short, in whole characters, and together what they are of.
func TestPieces(t *testing.T) {
	long := strings.Repeat("long — ", 3000)
	for name, b := range map[string]openmanus.Body{
		"a little":    openmanus.Typing{Turn: 3, Parts: llm.Parts{llm.Text{Text: "a"}}},
		"much":        openmanus.Typing{Turn: 3, Parts: llm.Parts{llm.Text{Text: long}, llm.Call{ID: "c", Name: "bash", Input: long}}},
		"a beginning": openmanus.Typing{Turn: 3, Reset: true, Parts: llm.Parts{llm.Thinking{Text: long}, llm.Text{Text: "b"}}},
		"nothing yet": openmanus.Typing{Turn: 3, Reset: true},
		"output":      openmanus.Output{Call: "c", At: 7, Text: long},
		"reading":     openmanus.Reading{Call: "c", Files: 7},
	} {
		var typed, want llm.Reply
		printed := openmanus.Output{}
		for i, p := range pieces(b) {
			data, err := openmanus.EncodeBody(p)
			if err != nil || len(data) > maxRelayed || !utf8.Valid(data) {
				t.Errorf("%s: a piece has %d bytes, %v", name, len(data), err)
			}
			switch p := p.(type) {
			case openmanus.Typing:
				if p.Turn != 3 || p.Reset != (i == 0 && b.(openmanus.Typing).Reset) {
					t.Errorf("%s: piece %d is %+v", name, i, p)
				}
				add(t, &typed, p)
			case openmanus.Output:
				if i > 0 && p.At != printed.At+int64(len(printed.Text)) {
					t.Errorf("%s: piece %d is at %d", name, i, p.At)
				}
				if i == 0 {
					printed = p
				} else {
					printed.Text += p.Text
				}
			case openmanus.Reading:
				if !reflect.DeepEqual(p, b) {
					t.Errorf("%s: %+v", name, p)
				}
			}
		}
		switch b := b.(type) {
		case openmanus.Typing:
			add(t, &want, b)
			if !reflect.DeepEqual(typed.Message, want.Message) {
				t.Errorf("%s: %.200v, want %.200v", name, typed.Message, want.Message)
			}
		case openmanus.Output:
			if !reflect.DeepEqual(printed, b) {
				t.Errorf("%s: %d bytes at %d", name, len(printed.Text), printed.At)
			}
		}
	}
}

func add(t *testing.T, r *llm.Reply, p openmanus.Typing) {
	t.Helper()
	for i, part := range p.Parts {
		if err := r.Add(llm.Delta{Part: p.Part + i, Piece: part}); err != nil {
			t.Fatal(err)
		}
	}
}

// Missed pieces are noticed, and requested again.
func TestRelayMisses(t *testing.T) {
	r := &relay{h: &Host{}, watched: map[string]*watched{}, changed: make(chan struct{}, 1)}
	w := &watched{}
	for i, c := range []struct {
		m    relayed
		anew bool
	}{
		{relayed{Stream: "a", N: 2, Type: "none"}, false}, // of a stream that is not known
		{relayed{Stream: "a", N: 1, Type: "none"}, false},
		{relayed{Stream: "a", N: 2, Type: "none"}, false},
		{relayed{Stream: "a", N: 4, Type: "none"}, true},
		{relayed{Stream: "a", N: 5, Type: "none"}, true},
		{relayed{Stream: "b", N: 1, Type: "none"}, false},
		{relayed{Stream: "a", N: 6, Type: "none"}, false}, // the old one, late
		{relayed{Stream: "b", N: 2, Type: "none"}, false},
	} {
		c.m.Body = []byte("broken")
		if r.take(w, c.m); w.anew != c.anew {
			t.Errorf("step %d: asks again: %v", i, w.anew)
		}
	}
}

// A provider that asks one host to wait asks all that use the same key, within reason.
func TestRelayPauses(t *testing.T) {
	var hosts [2]Host
	for i := range hosts {
		hosts[i].relay = &relay{h: &hosts[i], changed: make(chan struct{}, 1)}
	}
	used := config.Model{BaseURL: "https://models.example.org", Key: "key"}
	other := config.Model{BaseURL: "https://models.example.org", Key: "another key"}
	there, apart := hosts[1].limiter(used), hosts[1].limiter(other)
	until := time.Now().Add(time.Minute)
	hosts[0].limiter(used).Told(until)
	texts := hosts[0].relay.texts(false)
	if len(texts) != 1 || strings.Contains(texts[0], "example") {
		t.Fatalf("it says %q", texts)
	}
	hosts[1].relay.hear(texts[0])
	if there.Pause(until) {
		t.Error("the other host does not wait")
	}
	if !apart.Pause(until) {
		t.Error("one with another key waits")
	}
	hosts[0].limiter(used).Told(until.Add(24 * time.Hour))
	hosts[1].relay.hear(hosts[0].relay.texts(false)[0])
	if !there.Pause(until.Add(time.Hour)) {
		t.Error("a host lets another one wait for a day")
	}
}
