package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is a program that scripts use as an MCP server: it has a tool for
// every argument, NAME=DESCRIPTION, that says what it was called with. The one
// called read says what is in a file, if it can be read, and ask asks a person.
// Each start adds a line to the file STARTS.
func mcpServer() {
	if err := noteStart(os.Getenv("STARTS")); err != nil {
		fmt.Fprintln(os.Stderr, err) // in a sandbox it may not
	}
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
			switch r.Params.Name {
			case "where":
				text, _ = os.Getwd()
			case "read":
				text = readFile(r.Params.Arguments)
			case "ask":
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

func noteStart(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("started\n")
	return errors.Join(err, f.Close())
}

// readFile is what is in the file that input names as its text.
func readFile(input json.RawMessage) string {
	var in struct{ Text string }
	if err := json.Unmarshal(input, &in); err != nil {
		return err.Error()
	}
	data, err := os.ReadFile(in.Text)
	if err != nil {
		return "not read: " + err.Error()
	}
	return "read: " + string(data)
}
