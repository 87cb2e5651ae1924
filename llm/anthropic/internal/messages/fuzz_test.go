package messages_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/anthropic/internal/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whatever a conversation holds: a body that is JSON and does not depend on
// what was kept, or an error.
func FuzzBody(f *testing.F) {
	f.Add([]byte(`[{"role":"user","parts":[{"type":"text","text":"a"},{"type":"blob","mime":"image/png","data":"iVBORw0KGgo="}]},
		{"role":"assistant","parts":[{"type":"thinking","text":"x","opaque":{},"by":"m"},{"type":"call","id":"a","name":"f","input":"{"}]},
		{"role":"tool","parts":[{"type":"result","id":"a","parts":[{"type":"blob","data":"R0lGODlh"},{"type":"text","text_base64":"/w=="}]}]}]`), "system", 2)
	f.Fuzz(func(t *testing.T, data []byte, system string, fixed int) {
		var conversation []llm.Message
		if json.Unmarshal(data, &conversation) != nil {
			return
		}
		e := &messages.Encoder{Model: "m", Output: 100}
		req := &llm.Request{System: system, Messages: conversation, Fixed: fixed}
		once, err := e.Encode(req)
		if err != nil {
			return
		}
		if !json.Valid(once.Bytes()) {
			t.Fatalf("not JSON: %s", once.Bytes())
		}
		req.Memo = new(llm.Memo)
		for range 2 {
			if b, err := e.Encode(req); err != nil || !bytes.Equal(b.Bytes(), once.Bytes()) {
				t.Fatalf("with memo\n%s\nwithout\n%s\nerror %v", b.Bytes(), once.Bytes(), err)
			}
		}
	})
}

// Whatever a server sends: a reply that can be put together, or an error.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":3}}\n\n"))
	f.Add([]byte("{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"x\",\"signature\":\"s\"},{\"type\":\"text\",\"text\":\"a\"}],\"stop_reason\":\"end_turn\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r llm.Reply
		last, _, heard, err := messages.Read(bytes.NewReader(data), "m", func(d llm.Delta, err error) bool {
			if err == nil {
				err = r.Add(d)
			}
			if err != nil || d.Stop != "" {
				t.Fatalf("delta %+v, error %v", d, err)
			}
			return true
		}, func() {})
		if !heard {
			t.Fatal("it says that nobody listens")
		}
		if err != nil {
			var e *llm.Error
			if !errors.As(err, &e) || e.Error() == "" {
				t.Fatalf("error %v (%T)", err, err)
			}
			return
		}
		if err := r.Add(last); err != nil || r.Stop == "" {
			t.Fatalf("last %+v, error %v", last, err)
		}
		if u := r.Usage; u.Input < 0 || u.Output < 0 || u.Cached > u.Input || u.Reasoning > u.Output {
			t.Fatalf("usage %+v", u)
		}
	})
}
