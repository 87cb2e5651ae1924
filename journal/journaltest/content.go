package journaltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

func contentCases() []testCase {
	return []testCase{
		{name: "what append returns is what events yields, of every type", run: everyType},
		{name: "events begin after a number", run: eventsAfter},
		{name: "events may be read more than once, and left in the middle", run: readTwice},
		{name: "arguments come back byte for byte", run: exactArguments},
		{name: "a body of five megabytes comes back", run: bigBody},
		{name: "a type from the future is kept with its key", run: future},
		{name: "known secrets are never stored", run: secretsReplaced},
		{name: "a signed part that holds a secret is dropped whole", run: signedDropped},
	}
}

func everyType(t testing.TB, open Opener) {
	j := simple(t, open)
	var evs []openmanus.Event
	for i, b := range Bodies() {
		if i > 0 && b.Key() == "model/0" {
			evs = append(evs, add(t, j, "s", b, said("more", "and another"))...)
			continue
		}
		evs = append(evs, add(t, j, "s", b)...)
	}
	contiguous(t, evs, 1)
	same(t, "what was read", read(t, j, "s", 0), evs)
	for _, ev := range evs {
		var back openmanus.Event
		if err := json.Unmarshal([]byte(encode(t, ev)), &back); err != nil {
			t.Fatal(err)
		}
		same(t, "an event that was encoded and decoded", []openmanus.Event{back}, []openmanus.Event{ev})
	}
}

func eventsAfter(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	evs := read(t, j, "s", 0)
	for i := range 9 {
		evs = append(evs, add(t, j, "s", said(fmt.Sprint("u", i), "x"))...)
	}
	for after := int64(-1); after <= 12; after++ {
		want := evs[min(max(after, 0), 10):]
		same(t, fmt.Sprint("events after ", after), read(t, j, "s", after), want)
	}
	if n := len(read(t, j, "unknown", 0)); n > 0 {
		t.Errorf("a session that does not exist has %d events", n)
	}
}

func readTwice(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	add(t, j, "s", said("u1", "x"), said("u2", "y"))
	seq := j.Events(t.Context(), "s", 1)
	for _, want := range []int64{2, 2, 3} {
		for ev, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Seq == want {
				break
			}
		}
	}
	n := 0
	for ev, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		// Using the journal while reading it is allowed.
		if n++; ev.Seq == 2 {
			add(t, j, "s", said("u3", "z"))
		}
		if _, err := j.Append(t.Context(), "s", said("u1", "x")); !errors.Is(err, openmanus.ErrExists) {
			t.Fatalf("append while reading: %v", err)
		}
	}
	if n != 2 {
		t.Errorf("events yielded %d events, want the 2 that were there when it began", n)
	}
}

// exact are strings that careless encodings change.
func exact() []string {
	return []string{
		"", `{}`, `{"a":"<b> & 'c'"}`, "{\"a\":\"\u2028\u2029\"}", `{"broken`, `{'single': True,}`, "null", " {\"space\" :  1 } \r\n",
		"\xff\xfe\x00invalid", "\xed\xa0\x80 half a surrogate", "\x00", "\u0000\u0001\u001f\u007f", "\ufeffBOM", "\ufffd", `\u00e9\/`, "é", "e\u0301",
		`{"n":12345678901234567890,"x":1e999,"d":1.10}`, `{"a":1,"a":2}`, "{\"$blob\":\"sha256:00\"}", "🙂\U0010ffff",
	}
}

func exactArguments(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	for i, input := range exact() {
		add(t, j, "s", openmanus.ModelSaid{Turn: i, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{
			llm.Call{ID: "c", Name: "bash", Input: input}, llm.Text{Text: input}, llm.Thinking{Text: input},
		}}})
	}
	for i, ev := range read(t, j, "s", 1) {
		want := exact()[i]
		parts := ev.Body.(openmanus.ModelSaid).Message.Parts
		for _, got := range []string{parts[0].(llm.Call).Input, parts[1].(llm.Text).Text, parts[2].(llm.Thinking).Text} {
			if got != want {
				t.Errorf("%q came back as %q", want, got)
			}
		}
	}
}

func bigBody(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	text := strings.Repeat("0123456789 plain words, and now and then <äöü> or \x00\n", 5<<20/54)
	evs := add(t, j, "s", openmanus.CallDone{Call: "c0-0", Parts: llm.Parts{llm.Text{Text: text}}}, said("u1", "x"))
	got := read(t, j, "s", 1)
	if !reflect.DeepEqual(got, evs) {
		t.Error("what was read is not what append returned")
	}
	if got[0].Body.(openmanus.CallDone).Parts.Text() != text {
		t.Error("the text is not what was appended")
	}
}

func future(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	f := openmanus.Foreign{Type: "teleported", Stored: "teleport/<1>", Content: json.RawMessage(`{"n":12345678901234567890,"x":1e999,"deep":[{"$":null}],"s":"\u003c"}`)}
	evs := add(t, j, "s", f)
	if got := evs[0].Body; got.Key() != f.Stored || string(got.(openmanus.Foreign).Content) != string(f.Content) || openmanus.TypeName(got) != f.Type {
		t.Errorf("append returned %#v, want %#v", got, f)
	}
	same(t, "what was read", read(t, j, "s", 1), evs)
	if _, err := j.Append(t.Context(), "s", f); !errors.Is(err, openmanus.ErrExists) || errors.Is(err, openmanus.ErrConflict) {
		t.Errorf("the same again: %v, want ErrExists", err)
	}
	f.Content = json.RawMessage(`{}`)
	if _, err := j.Append(t.Context(), "s", f); !errors.Is(err, openmanus.ErrConflict) {
		t.Errorf("another content: %v, want ErrConflict", err)
	}
}

const secret = "hunter2/Pa$$w0rd+<&>é"

func withSecret(t testing.TB, open Opener) openmanus.Journal {
	return open(t, Options{Dir: t.TempDir(), Secrets: journal.NewSecrets(map[string]string{"db": secret})})
}

func secretsReplaced(t testing.TB, open Opener) {
	j := withSecret(t, open)
	begin(t, j, "s")
	big := strings.Repeat("x", journal.BigString) + secret
	quoted, _ := json.Marshal(map[string]string{"password": secret})
	bodies := []openmanus.Body{
		said("u-"+secret, "the password is "+secret),
		openmanus.ModelSaid{Message: llm.Message{Parts: llm.Parts{llm.Call{ID: "c", Name: "bash", Input: `{"password":"` + secret + `"}`}}}},
		openmanus.CallDone{Call: "c0-0", Parts: llm.Parts{llm.Text{Text: big}}, Detail: quoted},
		openmanus.Foreign{Type: "teleported", Stored: "teleport/1", Content: quoted},
	}
	evs := add(t, j, "s", bodies...)
	same(t, "what was read", read(t, j, "s", 1), evs)
	for _, ev := range evs {
		line := encode(t, ev)
		if strings.Contains(line, "hunter2") || strings.Contains(line, "w0rd") || !strings.Contains(line, "[[secret:db]]") {
			t.Errorf("a secret was stored, or its placeholder was not: %.300s", line)
		}
	}
	if _, err := j.Append(t.Context(), "s", bodies...); !errors.Is(err, openmanus.ErrExists) || errors.Is(err, openmanus.ErrConflict) {
		t.Errorf("the same again: %v, want ErrExists", err)
	}
	if b, ok := j.(openmanus.Blobs); ok {
		if _, err := openmanus.ReadBlob(t.Context(), b, openmanus.RefOf([]byte(big))); err == nil {
			t.Error("a blob holds the secret")
		}
	}
}

func signedDropped(t testing.TB, open Opener) {
	j := withSecret(t, open)
	begin(t, j, "s")
	add(t, j, "s", openmanus.ModelSaid{Message: llm.Message{Parts: llm.Parts{
		llm.Thinking{Text: "it is " + secret, Opaque: json.RawMessage(`{"signature":"c2ln"}`)},
		llm.Thinking{Text: "it is known", Opaque: json.RawMessage(`{"signature":"c2ln"}`)},
	}}})
	parts := read(t, j, "s", 1)[0].Body.(openmanus.ModelSaid).Message.Parts
	if len(parts) != 1 || parts[0].(llm.Thinking).Text != "it is known" {
		t.Errorf("the parts are %v, want only the one without the secret", parts)
	}
}
