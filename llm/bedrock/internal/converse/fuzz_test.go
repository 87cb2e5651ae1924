package converse_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/bedrock/internal/converse"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// Whatever a conversation holds: a body that is JSON, in which the roles
// alternate, and that does not depend on what was kept; or an error.
func FuzzBody(f *testing.F) {
	f.Add([]byte(`[{"role":"user","parts":[{"type":"text","text":"a"},{"type":"blob","mime":"image/png","data":"iVBORw0KGgo="}]},
		{"role":"assistant","parts":[{"type":"thinking","text":"x"},{"type":"call","id":"a","name":"f","input":"{"}]},
		{"role":"tool","parts":[{"type":"result","id":"a","parts":[{"type":"text","text_base64":"/w=="}]}]},
		{"role":"user","parts":[{"type":"text","text":"steps are left"}]}]`), "system", 3, true)
	f.Fuzz(func(t *testing.T, data []byte, system string, fixed int, caches bool) {
		var conversation []llm.Message
		if json.Unmarshal(data, &conversation) != nil {
			return
		}
		e := &converse.Encoder{Model: "m", Caches: caches}
		req := &llm.Request{System: system, Messages: conversation, Fixed: fixed}
		once, err := wire.Encode(req, e)
		if err != nil {
			return
		}
		var body struct{ Messages []struct{ Role string } }
		if err := json.Unmarshal(once.Bytes(), &body); err != nil {
			t.Fatalf("%v: %s", err, once.Bytes())
		}
		for i := 1; i < len(body.Messages); i++ {
			if body.Messages[i].Role == body.Messages[i-1].Role {
				t.Fatalf("messages %d and %d are of one side: %s", i, i+1, once.Bytes())
			}
		}
		req.Memo = new(llm.Memo)
		for range 2 {
			if b, err := wire.Encode(req, e); err != nil || !bytes.Equal(b.Bytes(), once.Bytes()) {
				t.Fatalf("with memo\n%s\nwithout\n%s\nerror %v", b.Bytes(), once.Bytes(), err)
			}
		}
	})
}
