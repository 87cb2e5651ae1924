package server

import (
	"context"

	"github.com/openmanus-go/openmanus/internal/surface"
)

// A ServerKeeper configures MCP servers. See [surface.ServerKeeper], of which it is the rest.
type ServerKeeper interface {
	surface.ServerKeeper

	// AddServer saves a server in the user's file and approves it: to add it is to approve it.
	AddServer(ctx context.Context, s NewServer) error

	// SignedIn says how the sign-in goes.
	SignedIn(ctx context.Context, name string) (SigningIn, error)
}

// MCP servers as every surface shows them.
type (
	ServerSetting = surface.ServerSetting
	ServerChange  = surface.ServerChange
	ServerTested  = surface.ServerTested
	ServerTool    = surface.ServerTool
	SigningIn     = surface.SigningIn
)

// A NewServer is an MCP server to add: a program or an address.
type NewServer struct {
	Name    string            `json:"name" minLength:"1" maxLength:"64"`
	Command []string          `json:"command,omitempty" maxItems:"200" doc:"The program and its arguments."`
	Env     map[string]string `json:"env,omitempty" doc:"Its variables. ${NAME} is read from the environment."`
	URL     string            `json:"url,omitempty" maxLength:"2000" doc:"In place of a command."`
	Headers map[string]string `json:"headers,omitempty" doc:"Of every request to the address. ${NAME} is read from the environment."`
}

type (
	serverToApprove struct {
		Name  string `json:"name" maxLength:"200"`
		Hash  string `json:"hash" maxLength:"200" doc:"Of the server as it was shown."`
		Tools string `json:"tools,omitempty" maxLength:"200" doc:"The hash of the tools as they were shown, to approve those too."`
	}
	serverName struct {
		Name string `path:"name" maxLength:"200"`
	}
	serverToChange struct {
		Name string `path:"name" maxLength:"200"`
		Body ServerChange
	}
)

// serverRoutes registers the operations on MCP servers.
func (s *Server) serverRoutes(options ...option) {
	noContent := append(options, status(204))
	const at = "/api/v1/settings/servers"
	administrators(s, "POST "+at, "add-mcp-server", "Add an MCP server, and approve it", func(ctx context.Context, a Administrator, in *body[NewServer]) (*struct{}, error) {
		return nil, mendable(a.AddServer(ctx, in.Body))
	}, noContent...)
	administrators(s, "PATCH "+at+"/{name}", "change-mcp-server", "Switch an MCP server or its tools on or off", func(ctx context.Context, a Administrator, in *serverToChange) (*struct{}, error) {
		return nil, mendable(a.ChangeServer(ctx, in.Name, in.Body))
	}, noContent...)
	administrators(s, "DELETE "+at+"/{name}", "remove-mcp-server", "Remove an MCP server with its approvals and sign-ins", func(ctx context.Context, a Administrator, in *serverName) (*struct{}, error) {
		return nil, mendable(a.RemoveServer(ctx, in.Name))
	}, noContent...)
	administrators(s, "POST "+at+"/test", "test-mcp-server", "Connect to an MCP server and list its tools", func(ctx context.Context, a Administrator, in *body[nameOf]) (*body[ServerTested], error) {
		v, err := a.TestServer(ctx, in.Body.Name)
		return &body[ServerTested]{v}, mendable(err)
	}, options...)
	administrators(s, "POST "+at+"/approve", "approve-mcp-server", "Approve an MCP server as it was shown", func(ctx context.Context, a Administrator, in *body[serverToApprove]) (*struct{}, error) {
		return nil, mendable(a.ApproveServer(ctx, in.Body.Name, in.Body.Hash, in.Body.Tools))
	}, noContent...)
	administrators(s, "POST "+at+"/sign-in", "sign-in-to-mcp-server", "Begin to sign in to an MCP server", func(ctx context.Context, a Administrator, in *body[nameOf]) (*body[SigningIn], error) {
		v, err := a.SignIn(ctx, in.Body.Name)
		return &body[SigningIn]{v}, mendable(err)
	}, options...)
	administrators(s, "GET "+at+"/{name}/sign-in", "read-mcp-sign-in", "Read how signing in to an MCP server goes", func(ctx context.Context, a Administrator, in *serverName) (*body[SigningIn], error) {
		v, err := a.SignedIn(ctx, in.Name)
		return &body[SigningIn]{v}, mendable(err)
	}, options...)
}
