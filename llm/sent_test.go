package llm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// conversation returns a request with so many messages, of which the last is for this
// request alone.
func conversation(n int, memo *llm.Memo) *llm.Request {
	req := &llm.Request{System: "Be brief.", Fixed: n - 1, Memo: memo, Tools: []llm.ToolSpec{{Name: "look", Input: json.RawMessage(`{"type": "object"}`)}}}
	for i := range n {
		m := llm.Say(llm.User, strings.Repeat("x", i+1))
		if i == n-1 {
			m = llm.Say(llm.User, "a nudge")
		}
		req.Messages = append(req.Messages, m)
	}
	return req
}

func TestSentIsTheSameWithAMemo(t *testing.T) {
	memo := new(llm.Memo)
	for n := 1; n < 60; n += 3 {
		with, without := llm.SentOf(conversation(n, memo)), llm.SentOf(conversation(n, nil))
		if part, at := without.Differs(with); part != "" {
			t.Fatalf("%d messages: %s %d differ with a memo: %+v and %+v", n, part, at, with, without)
		}
		if got := len(strings.Fields(with.Last)); got != min(n, 4) {
			t.Errorf("%d messages: the digests of %d messages, want those of the %d new ones", n, got, min(n, 4))
		}
	}
}

func TestSentDiffers(t *testing.T) {
	for want, change := range map[string]func(*llm.Request){
		"system -1":   func(r *llm.Request) { r.System += " " },
		"tools -1":    func(r *llm.Request) { r.Tools[0].Description = "Look." },
		"settings -1": func(r *llm.Request) { r.Settings.MaxTokens = 7 },
		"messages 5": func(r *llm.Request) {
			r.Messages[5].Parts = llm.Parts{llm.Call{ID: "c", Name: "look", Input: "{}"}}
		},
		"messages 19": func(r *llm.Request) { r.Messages = r.Messages[:19] },
		"messages 20": func(r *llm.Request) { r.Messages = append(r.Messages, llm.Say(llm.User, "more")) },
		"messages -1": func(r *llm.Request) { r.Messages[1].Role = llm.Assistant }, // no digest of its own
		" -1":         func(r *llm.Request) { r.Tools[0].Input = json.RawMessage("{\n\"type\":\"object\"}") },
	} {
		req := conversation(20, nil)
		was := llm.SentOf(req)
		change(req)
		part, at := was.Differs(llm.SentOf(req))
		if got := strings.TrimSpace(part) + " " + string(mustJSON(t, at)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A cache identifies requests as one does that knows nothing of those before, whatever they
// have in common with them.
func TestSentCache(t *testing.T) {
	var all []llm.Message
	for i := range 40 {
		all = append(all, llm.Say(llm.User, fmt.Sprint("message ", i)))
	}
	other := slices.Clone(all)
	other[3] = llm.Say(llm.User, "another")
	tools := []llm.ToolSpec{{Name: "a", Description: "Does it.", Input: []byte(`{}`)}}
	again := []llm.ToolSpec{{Name: "a", Description: "Does it.", Input: []byte(`{"type":"object"}`)}}
	var c llm.SentCache
	for i, req := range []llm.Request{
		{}, {System: "s"}, {System: "s", Tools: tools}, {System: "s", Tools: again},
		{Messages: all[:2]}, {Messages: all[:30]}, {Messages: other[:30]}, {Messages: all[:5]}, {Messages: all},
		{Messages: append(slices.Clone(all[:7]), llm.Message{Role: llm.User})},
		{Messages: append(slices.Clone(all[:7]), llm.Message{Role: llm.Assistant}), Settings: llm.Settings{MaxTokens: 7}},
		{System: "t", Messages: all},
	} {
		if got, want := c.Of(&req), llm.SentOf(&req); got != want {
			t.Errorf("request %d: %+v, not %+v", i, got, want)
		}
	}
}
