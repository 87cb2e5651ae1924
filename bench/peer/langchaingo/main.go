// Langchaingo is a loop by hand over github.com/tmc/langchaingo's OpenAI
// model, which has no agent for native tool calls.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/openmanus-go/openmanus/bench/peer"
	"github.com/openmanus-go/openmanus/bench/server"
)

func main() { peer.Main(run) }

func run(ctx context.Context, c peer.Config) error {
	model, err := openai.New(openai.WithToken(peer.Key), openai.WithBaseURL(c.URL), openai.WithModel(c.Model))
	if err != nil {
		return err
	}
	options := []llms.CallOption{llms.WithTools([]llms.Tool{noop()})}
	if c.Stream {
		options = append(options, llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
	}
	said := []llms.MessageContent{
		llms.TextParts(llms.ChatMessageTypeSystem, peer.Instructions),
		llms.TextParts(llms.ChatMessageTypeHuman, peer.Prompt),
	}
	for {
		resp, err := model.GenerateContent(ctx, said, options...)
		if err != nil {
			return err
		}
		if len(resp.Choices) == 0 {
			return fmt.Errorf("a reply without choices")
		}
		calls := resp.Choices[0].ToolCalls
		if len(calls) == 0 {
			return nil
		}
		if said, err = answer(said, calls); err != nil {
			return err
		}
	}
}

func answer(said []llms.MessageContent, calls []llms.ToolCall) ([]llms.MessageContent, error) {
	reply := llms.MessageContent{Role: llms.ChatMessageTypeAI}
	for _, call := range calls {
		reply.Parts = append(reply.Parts, call)
	}
	said = append(said, reply)
	for _, call := range calls {
		var in peer.Input
		if err := json.Unmarshal([]byte(call.FunctionCall.Arguments), &in); err != nil {
			return nil, err
		}
		said = append(said, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
			llms.ToolCallResponse{ToolCallID: call.ID, Name: call.FunctionCall.Name, Content: server.Result(in.I, in.Size)},
		}})
	}
	return said, nil
}

func noop() llms.Tool {
	integer := func(description string) map[string]any {
		return map[string]any{"type": "integer", "description": description}
	}
	return llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
		Name: server.Tool, Description: peer.ToolDescription,
		Parameters: map[string]any{
			"type":       "object",
			"properties": map[string]any{"i": integer("number of the call"), "size": integer("bytes of the result")},
			"required":   []string{"i", "size"},
		},
	}}
}
