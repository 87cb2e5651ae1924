// Eino is the ReAct agent of github.com/cloudwego/eino over eino-ext's OpenAI
// model, as its documentation sets them up.
package main

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"

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
	if c.Idle > 0 {
		return idle(ctx, c)
	}
	return c.Each(func(model string) error { return converse(ctx, c, model) })
}

// idle holds agents with the messages that their callers keep, and prints what
// one takes. Nothing of it is kept elsewhere.
func idle(ctx context.Context, c peer.Config) error {
	before, routines := peer.Heap()
	type held struct {
		agent *react.Agent
		said  []*schema.Message
	}
	all := make([]held, c.Idle)
	for i := range all {
		agent, err := build(ctx, c, "scripted")
		if err != nil {
			return err
		}
		all[i].agent = agent
		for n := range peer.Messages / 2 {
			text := server.Result(n, peer.MessageSize)
			all[i].said = append(all[i].said, schema.UserMessage(text), schema.AssistantMessage(strings.Clone(text), nil))
		}
	}
	warm, after := peer.Heap()
	err := peer.Tell(c.Idle, before, before, warm, after-routines)
	runtime.KeepAlive(all)
	return err
}

func build(ctx context.Context, c peer.Config, name string) (*react.Agent, error) {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: peer.Key, BaseURL: c.URL, Model: name})
	if err != nil {
		return nil, err
	}
	noop, err := utils.InferTool(server.Tool, peer.ToolDescription, func(_ context.Context, in peer.Input) (string, error) {
		return server.Result(in.I, in.Size), nil
	})
	if err != nil {
		return nil, err
	}
	return react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: model,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{noop}},
		MaxStep:          2*c.Steps + 12, // a step is a node of its graph
	})
}

func converse(ctx context.Context, c peer.Config, name string) error {
	agent, err := build(ctx, c, name)
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
