package surface

import (
	"context"
	"time"
)

// A ServerKeeper shows and changes the MCP servers that are configured. The names and hashes
// are those of the settings. An error about a server says what happened in a sentence,
// without secrets.
type ServerKeeper interface {
	// Servers lists them, approved or not. It connects to none.
	Servers(ctx context.Context) ([]ServerSetting, error)

	// ChangeServer changes a server of the person's file.
	ChangeServer(ctx context.Context, name string, c ServerChange) error

	// RemoveServer removes a server of the person's file, with its approvals and sign-ins.
	RemoveServer(ctx context.Context, name string) error

	// ApproveServer approves the server as it was when it had this hash and, with the hash of
	// its tools, everything that it offers now, if that is what was shown.
	ApproveServer(ctx context.Context, name, hash, tools string) error

	// TestServer connects to a server. One that is not approved is not started.
	TestServer(ctx context.Context, name string) (ServerTested, error)

	// SignIn signs in to a server. See [SigningIn].
	SignIn(ctx context.Context, name string) (SigningIn, error)
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

// Pruned is what was deleted of what is kept of workspaces, or would be.
type Pruned struct {
	Sessions []PrunedSession `json:"sessions"`
	Free     int64           `json:"free" doc:"Bytes that are free then."`
	Total    int64           `json:"total" doc:"Bytes that are kept."`
}

// A PrunedSession is a session whose files cannot be put back as far any more.
type PrunedSession struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Free    int64     `json:"free"`
	Since   time.Time `json:"since,omitzero" doc:"As far as its files can still be put back; none: not at all."`
	Skipped string    `json:"skipped,omitempty" doc:"Why nothing of it is deleted."`
}
