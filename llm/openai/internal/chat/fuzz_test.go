package chat_test

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/openai/internal/chat"
)

func TestMain(m *testing.M) { testbed.Main(m) }

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
	_, _, err := chat.Read(body, "m", func(llm.Delta, error) bool { return true }, func() {})
	if err == nil || err.Error() != "the response is longer than 256 MiB" {
		t.Errorf("error %v", err)
	}
}

func FuzzBody(f *testing.F) {
	e := &chat.Encoder{Model: "m"}
	llmtest.FuzzBody(f, func(req *llm.Request) (wire.Segments, error) { return wire.Encode(req, e) })
}

func FuzzResponse(f *testing.F) {
	llmtest.FuzzResponse(f, chat.Read,
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"}}]}\n\ndata: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		`{"choices":[{"message":{"content":[{"text":"x"}],"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1}}`,
		"\xef\xbb\xbfdata:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"a\"}},{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"b\",\"arguments\":\"{\"}}]},\"finish_reason\":\"length\"}]}\r\rdata: [DONE]",
		`[{"error":{"code":1e9,"message":"x"}}]`,
	)
}
