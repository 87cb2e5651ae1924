package server

import "context"

// A ServerKeeper configures MCP servers. The names and hashes are those of the settings. An
// error about a server says what happened in a sentence, without secrets.
type ServerKeeper interface {
	// AddServer saves a server in the user's file and approves it: to add it is to approve it.
	AddServer(ctx context.Context, s NewServer) error

	// ChangeServer changes a server of the user's file.
	ChangeServer(ctx context.Context, name string, c ServerChange) error

	// RemoveServer removes a server of the user's file, with its approvals and sign-ins.
	RemoveServer(ctx context.Context, name string) error

	// ApproveServer approves the server as it was when it had this hash and, with the hash of
	// its tools, everything that it offers now, if that is what was shown.
	ApproveServer(ctx context.Context, name, hash, tools string) error

	// TestServer connects to a server. One that is not approved is not started.
	TestServer(ctx context.Context, name string) (ServerTested, error)

	// SignIn signs in to a server. See [SigningIn].
	SignIn(ctx context.Context, name string) (SigningIn, error)

	// SignedIn says how the sign-in goes.
	SignedIn(ctx context.Context, name string) (SigningIn, error)
}

// A ServerSetting is an MCP server that is configured.
type ServerSetting struct {
	Name     string `json:"name"`
	Shown    string `json:"shown" doc:"How it is started or reached."`
	Hash     string `json:"hash" doc:"It changes with everything that is approved."`
	Source   string `json:"source"`
	Found    bool   `json:"found" doc:"It comes from a workspace, and must be approved."`
	Own      bool   `json:"own" doc:"It is in the user's file, and can be changed here."`
	Approved bool   `json:"approved"`
	Disabled bool   `json:"disabled,omitempty"`
	Remote   bool   `json:"remote,omitempty" doc:"It is reached at an address."`
}

// A NewServer is an MCP server to add: a program or an address.
type NewServer struct {
	Name    string            `json:"name" minLength:"1" maxLength:"64"`
	Command []string          `json:"command,omitempty" maxItems:"200" doc:"The program and its arguments."`
	Env     map[string]string `json:"env,omitempty" doc:"Its variables. ${NAME} is read from the environment."`
	URL     string            `json:"url,omitempty" maxLength:"2000" doc:"In place of a command."`
	Headers map[string]string `json:"headers,omitempty" doc:"Of every request to the address. ${NAME} is read from the environment."`
}

// A ServerChange changes a server. Fields that are null stay as they are.
type ServerChange struct {
	Disabled *bool    `json:"disabled,omitempty"`
	Without  []string `json:"without,omitempty" maxItems:"1000" doc:"Tools that agents do not get, by the server's names."`
	With     []string `json:"with,omitempty" maxItems:"1000" doc:"Tools that agents get again."`
}

// A ServerTested is what a server is and offers.
type ServerTested struct {
	Software string       `json:"software" doc:"As it calls itself."`
	Protocol string       `json:"protocol"`
	Millis   int64        `json:"connected_ms"`
	Tools    []ServerTool `json:"tools"`
	Hash     string       `json:"hash" doc:"Of the tools, for their approval."`
	Notes    []string     `json:"notes" doc:"Problems with what it offers."`
}

// A ServerTool is a tool of an MCP server.
type ServerTool struct {
	Name        string `json:"name" doc:"At the server."`
	Description string `json:"description"`
	Held        string `json:"held,omitempty" doc:"Why agents do not get it before it is approved."`
	Off         bool   `json:"off,omitempty" doc:"Agents do not get it, because the configuration says so."`
}

// SigningIn is where a person is on the way to sign in to a server.
type SigningIn struct {
	Link  string `json:"link,omitempty" doc:"The page to open. It leads back to an address of the server's machine."`
	Ended bool   `json:"ended" doc:"The server can be used, unless there is an error."`
	Error string `json:"error,omitempty"`
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
