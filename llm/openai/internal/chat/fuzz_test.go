package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai/internal/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endless says the same for ever.
type endless string

func (e endless) Read(p []byte) (n int, err error) {
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

func TestAResponseWithoutEndIsGivenUp(t *testing.T) {
	body := endless(": " + strings.Repeat("still here ", 100) + "\n\n")
	_, _, _, err := chat.Read(body, "m", func(llm.Delta, error) bool { return true }, func() {})
	if err == nil || err.Error() != "the response is longer than 256 MiB" {
		t.Errorf("error %v", err)
	}
}

// Whatever a conversation holds: a body that is JSON and does not depend on
// what was kept, or an error.
func FuzzBody(f *testing.F) {
	f.Add([]byte(`[{"role":"user","parts":[{"type":"text","text":"a"},{"type":"blob","mime":"image/png","data":"R0lG"}]},
		{"role":"assistant","parts":[{"type":"call","id":"a","name":"f","input":"{"}]},
		{"role":"tool","parts":[{"type":"result","id":"a","parts":[{"type":"blob","data":"R0lGODlh"},{"type":"text","text_base64":"/w=="}]}]}]`), "system", 2)
	f.Fuzz(func(t *testing.T, data []byte, system string, fixed int) {
		var messages []llm.Message
		if json.Unmarshal(data, &messages) != nil {
			return
		}
		e := &chat.Encoder{Model: "m"}
		req := &llm.Request{System: system, Messages: messages, Fixed: fixed}
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
	f.Add([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"}}]}\n\ndata: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"text":"x"}],"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1}}`))
	f.Add([]byte("\xef\xbb\xbfdata:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"a\"}},{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"b\",\"arguments\":\"{\"}}]},\"finish_reason\":\"length\"}]}\r\rdata: [DONE]"))
	f.Add([]byte(`[{"error":{"code":1e9,"message":"x"}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r llm.Reply
		last, _, heard, err := chat.Read(bytes.NewReader(data), "m", func(d llm.Delta, err error) bool {
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
