package openmanus_test

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// TestSecretsAreNotInTheWholeOfALongOutput: what is cut for the model is kept
// whole as a blob, and a secret must not lie there either.
func TestSecretsAreNotInTheWholeOfALongOutput(t *testing.T) {
	const secret = "hunter2-hunter2"
	secrets := openmanus.NewSecrets(map[string]string{"KEY": secret})
	print := openmanus.Func(openmanus.Spec{ToolSpec: llm.ToolSpec{Name: "print"}, Hints: openmanus.Hints{ReadOnly: true}},
		func(context.Context, openmanus.Call, struct{}) (openmanus.Result, error) {
			return openmanus.TextResult("%s", strings.Repeat("x", 10_000)+secret+strings.Repeat("y", 10_000)), nil
		})
	mem := &openmanus.Memory{Secrets: secrets}
	a := &openmanus.Agent{Name: "a", Model: llmtest.Script(llmtest.Use("", "print", struct{}{}), llmtest.Say("done")), Tools: []openmanus.Tool{print}}
	l := &openmanus.Local{Worker: openmanus.Worker{Journal: mem, Flow: openmanus.Only(a), Secrets: secrets}}
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
	s := openmanus.NewSecrets(map[string]string{"KEY": secret})
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
