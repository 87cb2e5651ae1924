package native_test

import (
	"io"
	"testing"

	"go.uber.org/goleak"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/ollama/internal/native"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func FuzzBody(f *testing.F) {
	e := &native.Encoder{Model: "m"}
	llmtest.FuzzBody(f, func(req *llm.Request) ([]byte, error) {
		b, err := e.Encode(req)
		return b.Bytes(), err
	})
}

func FuzzResponse(f *testing.F) {
	llmtest.FuzzResponse(f, func(body io.Reader, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, bool, error) {
		return native.Read(body, "m", yield, finished)
	},
		"{\"message\":{\"content\":\"a\",\"thinking\":\"b\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{}}}]}}\n{\"done\":true,\"done_reason\":\"length\",\"eval_count\":3}\n",
	)
}
