package gemini_test

import (
	"testing"

	"github.com/openmanus-go/openmanus/internal/leaktest"
	"github.com/openmanus-go/openmanus/llm/google/internal/gemini"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func FuzzBody(f *testing.F) {
	e := &gemini.Encoder{Model: "m"}
	llmtest.FuzzBody(f, e.Encode)
}

func FuzzResponse(f *testing.F) {
	llmtest.FuzzResponse(f, gemini.Read,
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\",\"thought\":true},{\"functionCall\":{\"name\":\"f\",\"args\":{}},\"thoughtSignature\":\"s\"}]},\"finishReason\":\"STOP\"}]}\n\n",
		"[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]},{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}]",
	)
}
