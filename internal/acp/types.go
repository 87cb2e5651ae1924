package acp

import "encoding/json"

// Version is the version of the protocol.
const Version = 1

// object is a JSON object whose form the protocol leaves open, or an empty one, by which
// it says that there is something.
type object map[string]any

// A content is a block of text, an image or a file.
type content struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // base64
	MIMEType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

// A resource is the content of a file, as text or in base64.
type resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"`
}

// A toolContent is what a tool call shows: a block, or a change of a file.
type toolContent struct {
	Type    string   `json:"type"` // "content" or "diff"
	Content *content `json:"content,omitempty"`
	Path    string   `json:"path,omitempty"`
	OldText *string  `json:"oldText,omitempty"`
	NewText *string  `json:"newText,omitempty"`

	hunk string // of a diff, as it was
	gone bool   // the file of a diff is there no more
}

// A location is a file that a call is about.
type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// An update is any of the protocol's session updates; SessionUpdate says which.
type update struct {
	SessionUpdate string `json:"sessionUpdate,omitempty"`

	MessageID string `json:"messageId,omitempty"`
	Content   any    `json:"content,omitempty"` // *content of a message, []toolContent of a call

	ToolCallID string          `json:"toolCallId,omitempty"`
	Title      string          `json:"title,omitempty"`
	Name       string          `json:"name,omitempty"`
	Kind       string          `json:"kind,omitempty"`
	Status     string          `json:"status,omitempty"`
	Locations  []location      `json:"locations,omitempty"`
	RawInput   json.RawMessage `json:"rawInput,omitempty"`
	RawOutput  json.RawMessage `json:"rawOutput,omitempty"`

	Entries           *[]planEntry   `json:"entries,omitempty"`
	CurrentModeID     string         `json:"currentModeId,omitempty"`
	ConfigOptions     []configOption `json:"configOptions,omitempty"`
	AvailableCommands *[]command     `json:"availableCommands,omitempty"`
	UpdatedAt         string         `json:"updatedAt,omitempty"`
	Used              *int           `json:"used,omitempty"`
	Size              *int           `json:"size,omitempty"`
	Cost              *cost          `json:"cost,omitempty"`

	streamed string // of a piece of a reply: what of it is sent with this piece, for the frame id
}

// A planEntry is a step of a plan.
type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// A cost is what a session has cost.
type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// A command is one that the person can type after a slash.
type command struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *commandInput `json:"input,omitempty"`
}

type commandInput struct {
	Hint string `json:"hint"`
}

// A sessionMode is an approval mode.
type sessionMode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// sessionModes are the modes and the present one.
type sessionModes struct {
	CurrentModeID  string        `json:"currentModeId"`
	AvailableModes []sessionMode `json:"availableModes"`
}

// A configOption is a setting with a list of values.
type configOption struct {
	Type         string        `json:"type"`
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Category     string        `json:"category,omitempty"`
	CurrentValue string        `json:"currentValue"`
	Options      []configValue `json:"options"`
}

// A configValue is one of them.
type configValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// settings describe a session when it begins or goes on.
type settings struct {
	SessionID     string         `json:"sessionId,omitempty"`
	Modes         *sessionModes  `json:"modes,omitempty"`
	ConfigOptions []configOption `json:"configOptions,omitempty"`

	commands []command // of version 2 only
	second   bool      // in the words of version 2
	then     func()    // when the client has it
}

// A permissionOption is an answer to the question whether a call may run.
type permissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// A Server is an MCP server that an editor hands over.
type Server struct {
	Type    string // "" for a program, "http", "sse"
	Name    string
	Command string
	Args    []string
	Env     []Pair
	URL     string
	Headers []Pair
}

// A Pair is a variable or a header.
type Pair struct{ Name, Value string }

// sessionParams are the parameters of the methods about one session. Each uses some.
type sessionParams struct {
	SessionID             string    `json:"sessionId"`
	Cwd                   *string   `json:"cwd"`
	Cursor                *string   `json:"cursor"`
	AdditionalDirectories []string  `json:"additionalDirectories"`
	MCPServers            []Server  `json:"mcpServers"`
	Prompt                []content `json:"prompt"`
	ModeID                string    `json:"modeId"`
	ConfigID              string    `json:"configId"`
	Value                 any       `json:"value"`
	ReplayFrom            *struct {
		Type string `json:"type"`
	} `json:"replayFrom"`
	Meta struct {
		After string `json:"openmanus/after"`
	} `json:"_meta"`
}
