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

// What is cleaned is still what it was: bytes stay bytes, numbers numbers, and
// the key is that of the body.
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
