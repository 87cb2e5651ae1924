// Eino is the ReAct agent of github.com/cloudwego/eino over eino-ext's OpenAI
// model, as its documentation sets them up.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/openmanus-go/openmanus/bench/peer"
	"github.com/openmanus-go/openmanus/bench/server"
)

func main() { peer.Main(run) }

func run(ctx context.Context, c peer.Config) error {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: peer.Key, BaseURL: c.URL, Model: c.Model})
	if err != nil {
		return err
	}
	noop, err := utils.InferTool(server.Tool, peer.ToolDescription, func(_ context.Context, in peer.Input) (string, error) {
		return server.Result(in.I, in.Size), nil
	})
	if err != nil {
		return err
	}
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: model,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{noop}},
		MaxStep:          2*c.Steps + 12, // a step is a node of its graph
	})
	if err != nil {
		return err
	}
	said := []*schema.Message{schema.SystemMessage(peer.Instructions), schema.UserMessage(peer.Prompt)}
	if !c.Stream {
		_, err = agent.Generate(ctx, said)
		return err
	}
	stream, err := agent.Stream(ctx, said)
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
