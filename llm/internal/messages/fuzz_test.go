package messages_test

import (
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/messages"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func FuzzBody(f *testing.F) {
	e := &messages.Encoder{Model: "m", Output: 100}
	llmtest.FuzzBody(f, func(req *llm.Request) (wire.Segments, error) { return wire.Encode(req, e) })
}

func FuzzResponse(f *testing.F) {
	llmtest.FuzzResponse(f, messages.Read,
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":3}}\n\n",
		"{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"x\",\"signature\":\"s\"},{\"type\":\"text\",\"text\":\"a\"}],\"stop_reason\":\"end_turn\"}",
	)
}
