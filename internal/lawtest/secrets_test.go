package lawtest_test

import (
	"context"
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// TestSecretsAreNotInTheWholeOfALongOutput: what is cut for the model is kept
// whole as a blob, and a secret must not lie there either.
func TestSecretsAreNotInTheWholeOfALongOutput(t *testing.T) {
	const secret = "hunter2-hunter2"
	secrets := journal.NewSecrets(map[string]string{"KEY": secret})
	print := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "print"}, Hints: openmanus.Hints{ReadOnly: true}},
		func(context.Context, openmanus.Call, struct{}) (openmanus.Result, error) {
			return openmanus.TextResult("%s", strings.Repeat("x", 10_000)+secret+strings.Repeat("y", 10_000)), nil
		})
	mem := &journal.Memory{Secrets: secrets}
	a := &openmanus.Agent{Name: "a", Model: llmtest.Script(llmtest.Use("", "print", struct{}{}), llmtest.Say("done")), Tools: []openmanus.Tool{print}}
	l := &run.Local{Worker: run.Worker{Journal: mem, Flow: run.FlowsByName(a), Secrets: secrets}}
	if err := openmanus.Open(t.Context(), mem, "s", a, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")}); err != nil {
		t.Fatal(err)
	}
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	for ev := range mem.Events(t.Context(), "s", 0) {
		d, ok := ev.Body.(openmanus.CallDone)
		if !ok {
			continue
		}
		whole, err := openmanus.ReadBlob(t.Context(), mem, d.Whole)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(whole); strings.Contains(text, secret) || !strings.Contains(text, "[[secret:KEY]]") {
			t.Errorf("the whole output has the secret, or lost its place")
		}
		return
	}
	t.Fatal("no result")
}

// A call reads the blobs of its own session. It cannot read another session's by
// their hash, wherever it has that from.
func TestACallReadsTheBlobsOfItsSession(t *testing.T) {
	mem := new(journal.Memory)
	print := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "print"}, Hints: openmanus.Hints{ReadOnly: true}},
		func(_ context.Context, _ openmanus.Call, in struct{ Text string }) (openmanus.Result, error) {
			return openmanus.TextResult("%s", strings.Repeat(in.Text, 20_000)), nil
		})
	read := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "read"}, Hints: openmanus.Hints{ReadOnly: true}},
		func(ctx context.Context, call openmanus.Call, in struct{ Ref openmanus.Ref }) (openmanus.Result, error) {
			data, err := openmanus.ReadBlob(ctx, call.Blobs, in.Ref)
			return openmanus.TextResult("read %d", len(data)), err
		})
	ref := map[string]openmanus.Ref{"bob": openmanus.RefOf([]byte(strings.Repeat("b", 20_000))), "ann": openmanus.RefOf([]byte(strings.Repeat("a", 20_000)))}
	for _, name := range []string{"bob", "ann"} {
		a := &openmanus.Agent{Name: "a", Tools: []openmanus.Tool{print, read}, Model: llmtest.Script(
			llmtest.Use("", "print", map[string]any{"Text": name[:1]}),
			llmtest.Use("", "read", map[string]any{"Ref": ref["bob"]}),
			llmtest.Say("done"))}
		l := &run.Local{Worker: run.Worker{Journal: mem, Flow: run.FlowsByName(a)}}
		if err := openmanus.Open(t.Context(), mem, name, a, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, string(ref["bob"]))}); err != nil {
			t.Fatal(err)
		}
		if err := l.Wake(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		var results []string
		for ev := range mem.Events(t.Context(), name, 0) {
			if d, ok := ev.Body.(openmanus.CallDone); ok {
				results = append(results, d.Parts.Text())
			}
		}
		if len(results) != 2 || (results[1] == "read 20000") != (name == "bob") {
			t.Errorf("%s reads bob's output: %.300q", name, results)
		}
	}
}

func TestSecretsAreFoundInEveryForm(t *testing.T) {
	const secret = `p&ss "wörd"/1`
	s := journal.NewSecrets(map[string]string{"KEY": secret})
	for name, text := range map[string]string{
		"as it is":        "the key is " + secret + ".",
		"in a URL":        "https://x/?k=" + url.QueryEscape(secret),
		"in base64":       base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64, shift 1": base64.StdEncoding.EncodeToString([]byte("a" + secret + "b")),
		"base64, shift 2": base64.StdEncoding.EncodeToString([]byte("ab" + secret + "c")),
		"in JSON":         `{"k":"p&ss \"wörd\"/1"}`,
	} {
		if got := s.Replace(text); got == text || !strings.Contains(got, "[[secret:KEY]]") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if text := "nothing of the sort"; s.Replace(text) != text {
		t.Error("too much was replaced")
	}
}

// Redaction keeps the kind of each value: bytes stay bytes, numbers numbers,
// and the key is that of the body.
func TestSecretsAreReplacedWithinValues(t *testing.T) {
	const secret, digits = "hunter2-hunter2", "4111111111111111"
	c := journal.Codec{Secrets: journal.NewSecrets(map[string]string{"KEY": secret, "CARD": digits})}
	notUTF8 := "\xff\xfe " + secret + " \xff"
	for what, b := range map[string]openmanus.Body{
		"text that is not UTF-8":       openmanus.CallDone{Call: "c0-0", Parts: llm.Parts{llm.Text{Text: notUTF8}}},
		"an image":                     openmanus.CallDone{Call: "c0-0", Parts: llm.Parts{llm.Blob{MIME: "image/png", Data: []byte("\x89PNG" + secret)}}},
		"arguments that are not UTF-8": openmanus.ModelSaid{Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c0-0", Name: "bash", Input: notUTF8}}}},
		"a number of a detail":         openmanus.CallDone{Call: "c0-0", Detail: []byte(`{"card":` + digits + `,"more":[` + digits + `0]}`)},
		"a name in a detail":           openmanus.CallDone{Call: "c0-0", Detail: []byte(`{"` + secret + `":1}`)},
		"a detail in other letters":    openmanus.CallDone{Call: "c0-0", Detail: []byte(`{"a":"\u003c ` + secret + `"}`)},
		"an id":                        openmanus.UserSaid{ID: secret, Message: llm.Say(llm.User, "hi")},
		"a foreign body":               openmanus.Foreign{Type: "teleported", Stored: "teleport/" + secret, Content: []byte(`{"to":"` + secret + `"}`)},
	} {
		stored, events, err := c.Round(t.Context(), b)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		plain := string(stored[0].Body) + stored[0].Key
		for _, found := range regexp.MustCompile(`"(?:text_base64|input_base64|data)":"([^"]*)"`).FindAllStringSubmatch(plain, -1) {
			raw, err := base64.StdEncoding.DecodeString(found[1])
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			plain += string(raw)
		}
		if strings.Contains(plain, secret) || strings.Contains(plain, digits) || !strings.Contains(plain, "[[secret:") && !strings.Contains(plain, ":0") {
			t.Errorf("%s is stored as %s %s", what, stored[0].Key, plain)
		}
		if key := events[0].Body.Key(); key != stored[0].Key {
			t.Errorf("%s: stored as %q, read as %q", what, stored[0].Key, key)
		}
	}
}
