package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// A dropper is a server that leaves the tools out of what its model reads, or does not.
type dropper struct {
	drops bool
	asked []*llm.Request
}

func (d *dropper) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	d.asked = append(d.asked, req)
	return func(yield func(llm.Delta, error) bool) {
		read := llm.CountHead(nil, req.System, req.Tools)
		if d.drops {
			read = llm.CountHead(nil, req.System, nil)
		}
		for _, m := range req.Messages {
			read += llm.Count(nil, m)
		}
		text := "I have no tools."
		if strings.Contains(req.System, "read0") {
			text = "<tool_call>\n{\"name\": \"read0\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>"
		}
		_ = yield(llm.Delta{Piece: llm.Text{Text: text}}, nil) && yield(llm.Delta{Stop: llm.End, Usage: &llm.Usage{Input: read, Output: 5}}, nil)
	}
}

// A server that leaves tools out silently is noticed by what it counts: the reply begins
// again with tools in words. The second time, later ones have them in words at once. One
// that does not is left alone.
func TestKeepTools(t *testing.T) {
	req := &llm.Request{System: strings.Repeat("Be thorough. ", 100), Messages: []llm.Message{llm.Say(llm.User, "Read the file a.")}}
	for i := range 8 {
		req.Tools = append(req.Tools, llm.ToolSpec{Name: fmt.Sprint("read", i), Description: strings.Repeat("It reads a file. ", 40),
			Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)})
	}
	for _, drops := range []bool{true, false} {
		server, dropped, told := &dropper{drops: drops}, new(atomic.Int32), 0
		m := llm.KeepTools(server, nil, dropped, func() { told++ })
		for n := 1; n <= 3; n++ {
			reply, err := llm.Generate(t.Context(), m, req)
			if err != nil {
				t.Fatal(err)
			}
			if sure := dropped.Load() == 2; sure != (drops && n >= 2) {
				t.Errorf("drops %v: sure after %d replies: %v", drops, n, sure)
			}
			if calls := reply.Message.Calls(); drops != (len(calls) == 1) {
				t.Errorf("drops %v: reply %d has %d calls: %s", drops, n, len(calls), reply.Message.Text())
			}
		}
		want := map[bool]int{true: 5, false: 3}[drops]
		if (told == 1) != drops || told > 1 || len(server.asked) != want {
			t.Errorf("drops %v: it told %d times, and asked %d times", drops, told, len(server.asked))
		}
	}
	// a request without tools goes through
	server := &dropper{drops: true}
	if _, err := llm.Generate(t.Context(), llm.KeepTools(server, nil, new(atomic.Int32), nil), &llm.Request{Messages: req.Messages}); err != nil || len(server.asked) != 1 {
		t.Errorf("%v, %d requests", err, len(server.asked))
	}
}

// A server whose tokens are smaller than was counted is noticed, too: what it is suspected
// of, a call that is written as text proves.
func TestKeepToolsOfAServerThatCountsOtherwise(t *testing.T) {
	req := &llm.Request{System: strings.Repeat("Be thorough. ", 100), Messages: []llm.Message{llm.Say(llm.User, "Read the file a.")}}
	for i := range 8 {
		req.Tools = append(req.Tools, llm.ToolSpec{Name: fmt.Sprint("read", i), Description: strings.Repeat("It reads a file. ", 40)})
	}
	call := llm.Text{Text: "<tool_call>\n{\"name\": \"read0\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>"}
	for _, c := range []struct {
		name  string
		first bool // it is suspected
		says  llm.Part
		calls int
	}{
		{"a call as text", true, call, 1},
		{"a call as text, of a server that was not suspected", false, call, 0},
		{"an answer", true, llm.Text{Text: "It is empty."}, 0},
	} {
		dropped, told := new(atomic.Int32), 0
		if c.first {
			dropped.Store(1)
		}
		many := sounds(llm.End, c.says)
		many.deltas[1].Usage.Input = 1 << 20
		m := llm.KeepTools(&attempts{streams: []stream{many}}, nil, dropped, func() { told++ })
		reply, err := llm.Generate(t.Context(), m, req)
		if err != nil || len(reply.Message.Calls()) != c.calls || told != c.calls {
			t.Errorf("%s: %d calls, told %d times, %v", c.name, len(reply.Message.Calls()), told, err)
		}
	}
}
