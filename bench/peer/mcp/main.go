// Mcp is an MCP server whose list of tools grows while it is used. It keeps
// what it learned in the file that its argument names, so that it knows it from
// the start when it is started again.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type learnArgs struct {
	Name string `json:"name"`
}

func main() {
	if err := serve(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, file string) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "school", Version: "1"}, nil)
	learned, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, name := range strings.Fields(string(learned)) {
		know(s, name)
	}
	mcp.AddTool(s, &mcp.Tool{Name: "learn", Description: "Learn something: there is a tool for it from then on."},
		func(_ context.Context, _ *mcp.CallToolRequest, in learnArgs) (*mcp.CallToolResult, any, error) {
			learned = append(learned, in.Name+"\n"...)
			if err := os.WriteFile(file, learned, 0o600); err != nil {
				return nil, nil, err
			}
			know(s, in.Name)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Learned: " + in.Name}}}, nil, nil
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}

// know gives the server the tool that was learned.
func know(s *mcp.Server, name string) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: "What was learned as " + name + "."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + ": done"}}}, nil, nil
		})
}
