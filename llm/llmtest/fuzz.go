package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// A Reader reads the response of a model in one wire format: it yields what
// comes of it but for the last delta, calls finished with every event from the
// one that ends the reply on, and reports whether it was heard.
type Reader func(body io.Reader, model string, yield func(llm.Delta, error) bool, finished func()) (last llm.Delta, heard bool, err error)

// FuzzBody is the fuzz target of what writes requests in a wire format:
// whatever a conversation holds, it gives a body that is JSON and does not
// depend on what was kept, or an error.
func FuzzBody[Body interface{ Bytes() []byte }](f *testing.F, encode func(*llm.Request) (Body, error)) {
	f.Add([]byte(`[{"role":"user","parts":[{"type":"text","text":"a"},{"type":"blob","mime":"image/png","data":"iVBORw0KGgo="}]},
		{"role":"assistant","parts":[{"type":"thinking","text":"x","opaque":{},"by":"m"},{"type":"call","id":"a","name":"f","input":"{"}]},
		{"role":"tool","parts":[{"type":"result","id":"a","parts":[{"type":"blob","data":"R0lGODlh"},{"type":"text","text_base64":"/w=="}]}]}]`), "system", 2)
	f.Fuzz(func(t *testing.T, data []byte, system string, fixed int) {
		var conversation []llm.Message
		if json.Unmarshal(data, &conversation) != nil {
			return
		}
		req := &llm.Request{System: system, Messages: conversation, Fixed: fixed}
		body, err := encode(req)
		if err != nil {
			return
		}
		once := body.Bytes()
		if !json.Valid(once) {
			t.Fatalf("not JSON: %s", once)
		}
		req.Memo = new(llm.Memo)
		for range 2 {
			if b, err := encode(req); err != nil || !bytes.Equal(b.Bytes(), once) {
				t.Fatalf("with memo\n%s\nwithout\n%s\nerror %v", b.Bytes(), once, err)
			}
		}
	})
}

// FuzzResponse is the fuzz target of what reads responses in a wire format:
// whatever a server sends is a reply that can be put together, or an error.
func FuzzResponse(f *testing.F, read Reader, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r llm.Reply
		last, heard, err := read(bytes.NewReader(data), "m", func(d llm.Delta, err error) bool {
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
