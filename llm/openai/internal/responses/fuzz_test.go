package responses_test

import (
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/openai/internal/responses"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func FuzzBody(f *testing.F) {
	e := &responses.Encoder{Model: "m"}
	llmtest.FuzzBody(f, func(req *llm.Request) (wire.Segments, error) { return wire.Encode(req, e) })
}

func FuzzResponse(f *testing.F) {
	llmtest.FuzzResponse(f, responses.Read,
		"data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"a\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"reasoning\",\"id\":\"r\",\"encrypted_content\":\"x\",\"summary\":[{\"text\":\"t\"}]}]}}\n\n",
		"{\"object\":\"response\",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"output\":[{\"type\":\"function_call\",\"arguments\":{}}]}",
	)
}
