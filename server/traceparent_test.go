package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// The trace of a client is recorded with its message, in whatever protocol that came, if the
// client samples it. A message that comes again in another trace is the same one.
func TestTraceOfAClient(t *testing.T) {
	header := func(trace, flags string) string {
		return "00-" + strings.Repeat(trace, 32) + "-00f067aa0ba902b7-" + flags
	}
	x := open(t, t.TempDir(), llmtest.Script(llmtest.Say("Done.")))
	id := x.session(nil)
	messages := "/api/v1/sessions/" + id + "/messages"
	send := func(path string, body any, trace string) {
		t.Helper()
		if status, out, _ := x.rest("POST", path, body, "Content-Type", "application/json", "traceparent", trace); status >= 300 {
			t.Fatal(status, out)
		}
	}
	send(messages, map[string]any{"id": "m1", "text": "go"}, header("a", "01"))
	send(messages, map[string]any{"id": "m1", "text": "go"}, header("b", "01"))
	send("/a2a/v1/message:send", a2aSays("m2", "go", nil), header("c", "03"))
	send("/v1/chat/completions", chat("go"), header("d", "01"))
	send("/v1/chat/completions", chat("go"), header("e", "00"))
	send("/v1/chat/completions", chat("go"), "nonsense")
	var got []string
	for info, err := range x.db.Sessions(t.Context(), journal.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		for ev, err := range x.db.Events(t.Context(), info.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if said, ok := ev.Body.(openmanus.UserSaid); ok {
				got = append(got, said.Trace)
			}
		}
	}
	slices.Sort(got)
	if want := []string{"", "", header("a", "01"), header("c", "03"), header("d", "01")}; !slices.Equal(got, want) {
		t.Errorf("recorded are %q", got)
	}
}
