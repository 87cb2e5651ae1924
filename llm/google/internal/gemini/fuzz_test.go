package gemini_test

import (
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/google/internal/gemini"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func FuzzBody(f *testing.F) {
	e := &gemini.Encoder{Model: "m"}
	llmtest.FuzzBody(f, func(req *llm.Request) (wire.Segments, error) { return wire.Encode(req, e) })
}

func FuzzResponse(f *testing.F) {
	llmtest.FuzzResponse(f, gemini.Read,
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\",\"thought\":true},{\"functionCall\":{\"name\":\"f\",\"args\":{}},\"thoughtSignature\":\"s\"}]},\"finishReason\":\"STOP\"}]}\n\n",
		"[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]},{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}]",
	)
}
