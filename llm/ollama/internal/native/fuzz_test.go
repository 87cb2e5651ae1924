package native_test

import (
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/ollama/internal/native"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func FuzzBody(f *testing.F) {
	e := &native.Encoder{Model: "m"}
	llmtest.FuzzBody(f, func(req *llm.Request) (wire.Segments, error) { return wire.Encode(req, e) })
}

func FuzzResponse(f *testing.F) {
	llmtest.FuzzResponse(f, native.Read,
		"{\"message\":{\"content\":\"a\",\"thinking\":\"b\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{}}}]}}\n{\"done\":true,\"done_reason\":\"length\",\"eval_count\":3}\n",
	)
}
