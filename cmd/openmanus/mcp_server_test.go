package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is a program that scripts use as an MCP server: it has a tool for
// every argument, NAME=DESCRIPTION, that says what it was called with.
func mcpServer() {
	s := sdk.NewServer(&sdk.Implementation{Name: "scripted", Version: "1"}, nil)
	for _, arg := range os.Args[1:] {
		var name, description string
		for i := range arg {
			if arg[i] == '=' {
				name, description = arg[:i], arg[i+1:]
				break
			}
		}
		t := &sdk.Tool{Name: name, Description: description + os.Getenv("SUFFIX"), InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}
		s.AddTool(t, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			text := fmt.Sprintf("%s got %s", r.Params.Name, r.Params.Arguments)
			if r.Params.Name == "ask" {
				got, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult)
				if !ok {
					return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": &sdk.ElicitParams{Message: "What is your name?",
						RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}}}, nil
				}
				text = fmt.Sprint(got.Action, " ", got.Content["name"])
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		})
	}
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
