package gemini_test

import (
	"io"
	"testing"

	"go.uber.org/goleak"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/google/internal/gemini"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func FuzzBody(f *testing.F) {
	e := &gemini.Encoder{Model: "m"}
	llmtest.FuzzBody(f, func(req *llm.Request) ([]byte, error) {
		b, err := e.Encode(req)
		return b.Bytes(), err
	})
}

func FuzzResponse(f *testing.F) {
	llmtest.FuzzResponse(f, func(body io.Reader, yield func(llm.Delta, error) bool, finished func()) (llm.Delta, bool, bool, error) {
		return gemini.Read(body, "m", yield, finished)
	},
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\",\"thought\":true},{\"functionCall\":{\"name\":\"f\",\"args\":{}},\"thoughtSignature\":\"s\"}]},\"finishReason\":\"STOP\"}]}\n\n",
		"[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]},{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}]",
	)
}
