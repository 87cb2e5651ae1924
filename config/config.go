package config

import (
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// A Config is what all sources together say. Its fields may be read by any
// number of goroutines; nobody changes them after [Load].
type Config struct {
	DataDir string   // absolute: sessions, blobs
	Redact  []string // names of environment variables whose values are secrets

	Run      Run
	Approval Approval
	LLM      *LLM             // [llm]
	Profiles map[string]*LLM  // [llm.NAME], each with its own values alone: [Config.Model] adds what it inherits
	Models   map[string]*Info // [models."PROVIDER/NAME"]
	Python   Python           // [tools.python]
	Context  Context          // [context]
	Browser  Browser          // [browser]
	Search   Search           // [search]
	Web      Web              // [web]
	MCP      MCP              // [mcp]
	Serve    Serve
	Users    map[string]*User // [users.NAME]
	Sandbox  Sandbox          // [sandbox]

	// Catalogue, if it is not nil, returns what is known of a model. [models]
	// in the configuration comes before it, value by value.
	Catalogue func(p *provider.Provider, name string) (Info, bool)

	providers provider.List      // [Sources].Providers
	env       Lookup             // [Sources].Env
	dir       string             // where relative paths of flags and variables begin
	files     []FileState        // where files were looked for
	settings  map[string]setting // by name: whatever was set, and defaults
	profiles  []string           // in the order of the files
	models    []string           // likewise
	users     []string           // likewise
	secrets   []secret
}

// Run is what flags of a run say.
type Run struct {
	Agent     string
	Model     string // as for [Config.Model]; "": that of [llm]
	BaseURL   string // the endpoint of that model, instead of its own
	Workspace string // absolute
	Approve   string // one of the modes of openmanus.Mode
	MaxSteps  int    // here and in the next three, a negative number is no limit
	Tokens    int
	MaxCost   openmanus.Money
	DayCost   openmanus.Money // of all sessions in one day; 0: no limit
	Timeout   time.Duration
}

// Approval has the rules of [approval], as texts. What they mean is for who
// rules by them.
type Approval struct{ Deny, Ask, Allow []string }

// LLM is a section [llm] or [llm.NAME]. Zero values are not set.
type LLM struct {
	Model          string
	BaseURL        string
	APIKey         Secret
	APIKeyEnv      string // the variable that has the key
	API            string // "chat", "responses", "messages" or "converse"
	APIType        string // the name that OpenManus has for the provider
	APIVersion     string // Azure's
	Region         string // Bedrock's, or Vertex's location
	Project        string // Vertex's
	MaxTokens      int    // of a reply
	MaxInputTokens int    // of a session
	Temperature    *float64
	Effort         string
	IdleTimeout    time.Duration // without a word of a reply; 0: the default; below 0: none
	Timeout        time.Duration // of one reply; 0 or below: none
	Fallback       string        // the model that is asked when this one fails, as for [Config.Model]
}

// Context is how conversations are kept within the window.
type Context struct {
	CompactAt  int    // percent of the room
	Summarizer string // who writes summaries, as for [Config.Model]; "": the model itself
}

// Info is what is known of a model. Zero values are not known.
type Info struct {
	Window          int             // tokens
	Output          int             // tokens of one reply, at most
	PriceIn         openmanus.Money // per token, as the next three
	PriceOut        openmanus.Money
	PriceCached     openmanus.Money
	PriceCacheWrite openmanus.Money
	Vision          *bool
	Tools           *bool
	Reasoning       *bool
	Refuses         string // settings that it does not take, separated by spaces: temperature, effort
	Pattern         string // the line of the catalogue that it is known by
}

// Python is how python_execute finds its interpreter.
type Python struct {
	Interpreter string // a path, or a name to look for; "": python3, then python
}

// MCP is what is configured of MCP besides the servers, which [MCPServers]
// reads.
type MCP struct {
	File       string // an mcp.json to read first, absolute; "": none
	Token      Secret // for clients of openmanus mcp serve --http; "": a new one each time
	Sandbox    bool   // servers that are programs run in the sandbox of commands
	DeferAbove int    // tools above which they are found, not listed
}

// Sandbox is what commands run in. Zero values are not set.
type Sandbox struct {
	Kind    string // as in sandbox.Kind
	Network string // as in sandbox.Network
	Hosts   []string
	Read    []string
	Image   string
	WorkDir string // of containers, besides the workspace's own path
	Memory  int64  // bytes
	CPUs    float64
	Timeout time.Duration // of a command that does not say

	UseDocker, UseNetwork *bool // OpenManus'
}

// openManus gives the sandbox what OpenManus' switches say, where nothing else
// does.
func (c *Config) openManus() {
	s := &c.Sandbox
	if s.UseDocker != nil && *s.UseDocker && !c.Set("sandbox.kind") {
		s.Kind = "docker"
	}
	if s.UseNetwork != nil && *s.UseNetwork && !c.Set("sandbox.network") {
		s.Network = "allow"
	}
}

// Browser is how browser_use finds and runs its browser.
type Browser struct {
	Headless        bool
	Sandbox         bool // Chromium's own
	DisableSecurity bool
	Args            []string
	Path            string // the program; "": one that is found
	Profile         string // "": a new one
	WSS, CDP        string // a browser that runs
	Proxy           string // OpenManus' own; not supported
}

// Search is how web_search searches.
type Search struct {
	Engine     string
	Fallback   []string
	RetryDelay int // seconds
	MaxRetries int
	Lang       string
	Country    string
	SearXNG    string // an address
	Brave      Secret
	Tavily     Secret
	Serper     Secret
}

// Web is what the tools of the web reach.
type Web struct {
	Network string // "none", "hosts" or "allow"
	Hosts   []string
	Robots  bool
}

// Limits are the limits of a session that m answers to. [openmanus.Limits]
// counts what is read and written together: max_input_tokens of m and
// budget_tokens are both held by the smaller of the two.
func (c *Config) Limits(m Model) openmanus.Limits {
	tokens := c.Run.Tokens
	if n := m.MaxInputTokens; n > 0 && (tokens < 0 || n < tokens) {
		tokens = n
	}
	return openmanus.Limits{Steps: c.Run.MaxSteps, Tokens: tokens, Money: c.Run.MaxCost, Time: c.Run.Timeout}
}

// Origin says where the value of a key came from. It is the default for a key
// that nobody set.
func (c *Config) Origin(name string) Source { return c.settings[name].source }

// Set reports whether somebody set the key, so that its value is not merely
// the default.
func (c *Config) Set(name string) bool { return c.settings[name].source.From != "" }

// Files are the files that were looked for, in the order in which later ones
// come before earlier ones.
func (c *Config) Files() []FileState { return c.files }

// Providers returns the providers that the configuration was loaded with.
func (c *Config) Providers() provider.List { return c.providers }

// ProfileNames are the names of [llm.NAME], in the order of the files.
func (c *Config) ProfileNames() []string { return c.profiles }

// ModelNames are the names of [models."PROVIDER/NAME"], in the order of the
// files.
func (c *Config) ModelNames() []string { return c.models }

// UserNames are the names of [users.NAME], in the order of the files.
func (c *Config) UserNames() []string { return c.users }
