package wire

import (
	"errors"
	"fmt"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// The wordings by which servers say that a request is longer than the window, and what
// they say of how long. The words are those of public reports and of the servers' source.
func TestOverflows(t *testing.T) {
	said := func(text string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, text) }
	for _, c := range []struct {
		from     string
		status   int
		body     string
		fit, had int
	}{
		{"OpenAI", 400, said("This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens."), 8192, 10000},
		{"OpenAI, with a reply", 400, said("This model's maximum context length is 4,097 tokens. However, you requested 5,000 tokens (1,000 in the messages, 4,000 in the completion)."), 4097, 5000},
		{"OpenAI's Responses", 400, `{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`, 0, 0},
		{"Anthropic", 400, said("prompt is too long: 200251 tokens > 200000 maximum"), 200000, 200251},
		{"Anthropic, with a reply", 400, said("input length and `max_tokens` exceed context limit: 170636 + 34048 > 200000, decrease input length or `max_tokens` and try again"), 200000, 0},
		{"Google", 400, said("The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."), 1048576, 1048577},
		{"Bedrock", 400, `{"message":"Input is too long for requested model."}`, 0, 0},
		{"xAI", 400, said("This model's maximum prompt length is 131072 but the request contains 537812 tokens."), 131072, 537812},
		{"Groq", 400, said("Please reduce the length of the messages or completion."), 0, 0},
		{"Mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length"}`, 32768, 40000},
		{"Moonshot", 400, said("Your request exceeded model token limit: 262144 (requested: 566084)"), 262144, 566084},
		{"MiniMax", 400, said("invalid params, context window exceeds limit"), 0, 0},
		{"Copilot", 400, said("prompt token count of 131213 exceeds the limit of 128000"), 128000, 131213},
		{"DashScope", 400, said("Range of input length should be [1, 129024]"), 129024, 0},
		{"GLM", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, 0, 0},
		{"Poolside", 400, said("Input length 131393 exceeds the maximum allowed input length of 131040 tokens."), 131040, 131393},
		{"LM Studio", 400, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}`, 4096, 0},
		{"LM Studio, older", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}`, 0, 0},
		{"vLLM", 400, `{"object":"error","message":"The decoder prompt (length 40960) is longer than the maximum model length of 32768. Make sure that max_model_len is no smaller","code":400}`, 32768, 40960},
		{"SGLang", 400, `{"object":"error","message":"The input (263000 tokens) is longer than the model's context length (262144 tokens).","code":400}`, 262144, 263000},
		{"TGI", 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`\",\"error_type\":\"validation\"}", 4096, 5000},
		{"SambaNova", 400, said("Requested generation length 1024 is not possible! The provided prompt is 5000 tokens long, so generating 1024 tokens requires a sequence length of 6024, but the maximum supported sequence length is just 4096!"), 4096, 5000},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9012,"n_ctx":8192}}`, 8192, 9012},
		{"llama.cpp, newer", 400, said("request (9012 tokens) exceeds the available context size (8192 tokens), try increasing it"), 8192, 9012},
		{"llama.cpp, in a reply", 500, said("Context size has been exceeded."), 0, 0},
		{"llama-cpp-python", 400, said("Requested tokens (11280) exceed context window of 2048"), 2048, 0},
		{"Ollama", 400, `{"error":"the input length exceeds the context length"}`, 0, 0},
		{"Cohere", 400, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5012."}`, 4081, 0},
		{"Cloudflare", 400, said("The estimated number of input and maximum output tokens (33000) exceeded this model context window limit (24000)."), 24000, 0},
		{"a gateway", 413, ``, 0, 0},
		{"a gateway, in bytes", 413, said("The request body of 1048577 bytes exceeds the limit of 1048576 bytes"), 0, 0},
		{"OpenAI, in characters", 400, `{"error":{"message":"Invalid 'messages[0].content': string too long. Expected a string with maximum length 1024, but got a string with length 2000 instead.","code":"string_above_max_length"}}`, 0, 0},
		{"a limit of nobody knows what", 413, said("Request too large: at most 4096"), 0, 0},
	} {
		e, text := Refusal(c.status, nil, []byte(c.body))
		if e.Kind != llm.Context {
			t.Errorf("%s: %s is taken for %s", c.from, text, e.Kind)
		}
		e.Err = errors.New(text)
		for _, text := range []string{text, e.Error()} { // with the status, as it is recorded
			if fit, had := llm.Overflow(text); fit != c.fit || had != c.had {
				t.Errorf("%s: %s: %d fit and it had %d; want %d and %d", c.from, text, fit, had, c.fit, c.had)
			}
		}
	}
	for _, text := range []string{
		"max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
		"Too many tokens, please wait before trying again.",
		"Invalid 'tools[0].function.name': string does not match pattern.",
		"temperature does not support 0.2 with this model.",
	} {
		if e, _ := Refusal(400, nil, []byte(said(text))); e.Kind == llm.Context {
			t.Errorf("%s is taken for a request that is too long", text)
		}
	}
}
