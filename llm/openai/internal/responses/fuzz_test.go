package responses_test

import (
	"io"
	"testing"

	"go.uber.org/goleak"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/llm/openai/internal/responses"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func FuzzBody(f *testing.F) {
	e := &responses.Encoder{Model: "m"}
	llmtest.FuzzBody(f, func(req *llm.Request) ([]byte, error) {
		b, err := e.Encode(req)
		return b.Bytes(), err
	})
}

func FuzzResponse(f *testing.F) {
	llmtest.FuzzResponse(f, func(body io.Reader, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, bool, error) {
		return responses.Read(body, "m", yield, finished)
	},
		"data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"a\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"reasoning\",\"id\":\"r\",\"encrypted_content\":\"x\",\"summary\":[{\"text\":\"t\"}]}]}}\n\n",
		"{\"object\":\"response\",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"output\":[{\"type\":\"function_call\",\"arguments\":{}}]}",
	)
}
