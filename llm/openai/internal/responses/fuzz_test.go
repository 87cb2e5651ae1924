package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai/internal/responses"
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
		e := &responses.Encoder{Model: "m"}
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
	f.Add([]byte("data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"a\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"reasoning\",\"id\":\"r\",\"encrypted_content\":\"x\",\"summary\":[{\"text\":\"t\"}]}]}}\n\n"))
	f.Add([]byte("{\"object\":\"response\",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"output\":[{\"type\":\"function_call\",\"arguments\":{}}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r llm.Reply
		last, _, heard, err := responses.Read(bytes.NewReader(data), "m", func(d llm.Delta, err error) bool {
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
