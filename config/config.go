package config

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// A Config is the configuration of a program, from all its sources. It does not
// change after [Load], so that many goroutines may use it, except that Catalogue
// is set before it is used.
//
// Every key of the manual is a field: keys.txt says which.
type Config struct {
	adopted atomic.Pointer[Config] // see Adopt

	DataDir string   // where sessions and blobs are kept; absolute
	Redact  []string // the names of environment variables whose values are secrets

	Run      Run
	Approval Approval
	// what where the arguments of a call came from does: "ask" or "record"
	Provenance string           // [provenance] mode
	LLM        *LLM             // [llm]
	Profiles   map[string]*LLM  // [llm.NAME], each with its own values alone: [Config.Model] adds what it inherits
	Models     map[string]*Info // [models."PROVIDER/NAME"]
	Python     Python           // [tools.python]
	Context    Context          // [context]
	Browser    Browser          // [browser]
	Search     Search           // [search]
	Web        Web              // [web]
	MCP        MCP              // [mcp]
	Serve      Serve
	Users      map[string]*User        // [users.NAME]
	Sandbox    Sandbox                 // [sandbox]
	History    History                 // [history]
	Store      Store                   // [store]
	Blobs      Blobs                   // [blobs]
	Temporal   Temporal                // [temporal]
	Worker     Worker                  // [worker]
	Mail       Mail                    // [mail]
	Hooks      []Hook                  // [[hooks]], in the order of the files
	Webhooks   []Webhook               // [[webhooks]], in the order of the files
	A2A        map[string]*RemoteAgent // [a2a.NAME]
	Schedules  map[string]*Schedule    // [schedules.NAME]
	Triggers   map[string]*Trigger     // [triggers.NAME]

	// Catalogue, if it is not nil, returns what is known of a model. [models]
	// in the configuration comes before it, value by value.
	Catalogue func(p *provider.Provider, name string) (Info, bool)

	// Learned, if it is not nil, returns the facts that the endpoint of a model has told.
	// Those of a refusal come before the configuration, all others between that and
	// the catalogue.
	Learned func(m Model) []Fact

	providers provider.List      // [Sources].Providers
	env       Lookup             // [Sources].Env
	dir       string             // where relative paths of flags and variables begin
	files     []FileState        // the weakest first
	settings  map[string]setting // by the name of the key: what is set, and defaults
	profiles  []string           // the names of [llm.NAME], in the order of the files
	models    []string           // the names of [models."NAME"]
	users     []string           // the names of [users.NAME]
	remotes   []string           // the names of [a2a.NAME]
	schedules []string           // the names of [schedules.NAME]
	triggers  []string           // the names of [triggers.NAME]
	secrets   []secret
}

// Run is [run]: the defaults of a run, or what its flags say.
type Run struct {
	Agent     string
	Model     string // as for [Config.Model]; "": that of [llm]
	BaseURL   string // the endpoint of that model, instead of its own
	Workspace string // absolute
	Approve   string // one of the modes of openmanus.Mode

	// AnyWorkspace reports whether Workspace may be a directory with keys or
	// the settings of programs, such as the home directory.
	AnyWorkspace bool

	FlowAnalyst bool // [runflow] use_data_analysis_agent
	Copies      bool // agents that work at once work in copies of the workspace

	MaxSteps int // here and in the next three, a negative number is no limit
	Tokens   int
	MaxCost  openmanus.Money
	DayCost  openmanus.Money // of all sessions in one day; 0: no limit
	Timeout  time.Duration

	Depth   int // here and in the next two, 0 is the default of openmanus.DefaultLimits
	FanOut  int
	Stuck   int
	Retries *int // nil: the default of llm.Retry
}

// Approval is [approval]: the rules, as texts. Package gate parses them.
type Approval struct{ Deny, Ask, Allow []string }

// LLM is a section [llm] or [llm.NAME]. A field with its zero value is not set.
// [Config.Model] makes a [Model] of it.
type LLM struct {
	Model          string
	BaseURL        string
	APIKey         Secret
	APIKeyEnv      string // the environment variable that holds the key
	API            string // "chat", "responses", "messages" or "converse"
	APIType        string // the name that OpenManus has for the provider
	APIVersion     string // Azure's
	Region         string // Bedrock's, or Vertex's location
	Project        string // Vertex's
	MaxTokens      int    // of a reply
	MaxInputTokens int    // of a session
	Temperature    *float64
	Effort         string
	Thoughts       string        // "auto" or "", "none", or the field that reasoning goes back in
	StreamOptions  *bool         // nil: they are sent
	IdleTimeout    time.Duration // the longest silence within a reply; 0: the default; below 0: no limit
	Timeout        time.Duration // of a whole reply; 0 or below: no limit
	Fallback       string        // the model that is asked when this one fails: a name as for [Config.Model]
}

// Context is [context]: how conversations are kept within the window.
type Context struct {
	CompactAt  int    // percent of the window, from which older messages are shortened
	Summarizer string // the model that writes summaries, as for [Config.Model]; "": the agent's own
}

// Info is what is known of a model, from [models] and the catalogue. A field with
// its zero value is not known.
type Info struct {
	Window          int             // tokens
	Output          int             // the most tokens of one reply
	PriceIn         openmanus.Money // per token, as the next three
	PriceOut        openmanus.Money
	PriceCached     openmanus.Money
	PriceCacheWrite openmanus.Money
	Free            bool // it costs nothing
	Vision          *bool
	Tools           *bool
	Reasoning       *bool
	Refuses         string // the settings that it refuses, separated by spaces: temperature, effort
	Pattern         string // the pattern of the line in the catalogue
	Day             string // on which its figures were compared; "": it has none

	Tiers []openmanus.Prices // what long requests cost: see [openmanus.Prices]
}

// Python is [tools.python].
type Python struct {
	Interpreter string // a path, or a name to look for; "": python3, then python
}

// MCP is [mcp]. The servers themselves stand in files that [MCPServers] reads.
type MCP struct {
	File       string // an mcp.json to read first, absolute; "": none
	Token      Secret // for clients of openmanus mcp serve --http; "": a new one each time
	Sandbox    bool   // servers that are programs run in the sandbox of commands
	DeferAbove int    // the most tools that are listed; of more, the model searches
}

// History is [history]: what is kept of workspaces, so that one can go back.
type History struct {
	Enabled bool          // snapshots are taken around calls that may change files
	MaxSize int64         // bytes that the snapshots of all sessions take
	MaxAge  time.Duration // how far back one can go; negative: there is no limit
}

// Mail is [mail]: the server that takes the mail of schedules.
type Mail struct {
	Server, Security, User, Password, PasswordEnv, From string
}

// Store is [store]: where sessions are kept.
type Store struct {
	URL string // of a PostgreSQL, or sqlite:///DIR; "": they are in DataDir
}

const sqlite = "sqlite:"

// Shared reports whether other machines use the store as well.
func (s Store) Shared() bool { return s.URL != "" && !strings.HasPrefix(s.URL, sqlite) }

// Dir returns the directory of a store that is not shared. data is the data directory.
func (s Store) Dir(data string) (string, error) {
	at, ok := strings.CutPrefix(s.URL, sqlite)
	if !ok {
		return data, nil
	}
	dir := strings.TrimSuffix(strings.TrimPrefix(at, "//"), "/journal.db")
	if runtime.GOOS == "windows" {
		dir = strings.TrimPrefix(dir, "/") // of /C:/DIR
	}
	if dir = filepath.FromSlash(dir); !filepath.IsAbs(dir) {
		return "", errors.New("the URL of the store names no directory by its whole path: give a whole path, as sqlite:///DIR")
	}
	return dir, nil
}

// Blobs is [blobs]: where large values are kept.
type Blobs struct {
	URL   string // of a bucket; "": they are where the sessions are
	Key   string // "": they are not encrypted
	Cache int64  // bytes
}

// Temporal is [temporal]: what spreads sessions over workers.
type Temporal struct {
	Address, Namespace, Queue string // without an address there are no workers
	TLS                       bool
	APIKey                    string
}

// Worker is [worker]: what a worker takes.
type Worker struct {
	Sessions int
	Browsers int // how many may run before it takes no more sessions
}

// Sandbox is [sandbox]: where commands run. A field with its zero value is not
// set.
type Sandbox struct {
	Kind    string // as in sandbox.Kind
	Network string // as in sandbox.Network
	Hosts   []string
	Read    []string
	// Toolchains is what sandbox.Options says: "auto" alone, directories, or nil for none.
	Toolchains []string
	Image      string
	WorkDir    string // of containers, besides the workspace's own path
	Memory     int64  // bytes
	CPUs       float64
	Timeout    time.Duration // of a command that does not say

	// OpenManus' switches, which Kind and Network override. After [Load] only
	// these two have an effect.
	UseDocker, UseNetwork *bool
}

// openManus applies OpenManus' switches for the sandbox, where no key of ours is
// set.
func (c *Config) openManus() {
	s := &c.Sandbox
	if s.UseDocker != nil && *s.UseDocker && !c.Set("sandbox.kind") {
		s.Kind = "docker"
	}
	if s.UseNetwork != nil && *s.UseNetwork && !c.Set("sandbox.network") {
		s.Network = "allow"
	}
}

// Browser is [browser]: how browser_use finds and starts its browser.
type Browser struct {
	Headless        bool
	Sandbox         bool // Chromium's own
	DisableSecurity bool
	Args            []string
	Path            string // the program; "": the first that is found
	Profile         string // "": a new one
	WSS, CDP        string // the address of a running browser, instead
	Proxy           string // OpenManus' own; not supported
}

// Search is [search]: how web_search searches.
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

// Web is [web]: what the web tools may reach.
type Web struct {
	Network string // "none", "hosts" or "allow"
	Hosts   []string
	Robots  bool

	MaxDownload int64 // bytes of a file that web_fetch saves
}

// Limits returns the limits of a session with the model m. [openmanus.Limits]
// has one limit for tokens read and written, so the smaller of budget_tokens and
// m's max_input_tokens counts.
func (c *Config) Limits(m Model) openmanus.Limits {
	tokens := c.Run.Tokens
	if n := m.MaxInputTokens; n > 0 && (tokens < 0 || n < tokens) {
		tokens = n
	}
	l := openmanus.Limits{Steps: c.Run.MaxSteps, Tokens: tokens, Money: c.Run.MaxCost, Time: c.Run.Timeout,
		Depth: c.Run.Depth, FanOut: c.Run.FanOut, Stuck: c.Run.Stuck}
	if c.Run.Retries != nil {
		l.Attempts = *c.Run.Retries + 1
	}
	return l
}

// Origin returns the source of a key's value; the zero Source, [Default], if the
// key is not set.
func (c *Config) Origin(name string) Source { return c.settings[name].source }

// Set reports whether a source sets the key, so that its value is not the
// default.
func (c *Config) Set(name string) bool { return c.settings[name].source.From != "" }

// Files returns the files that were looked for. Later ones override earlier
// ones.
func (c *Config) Files() []FileState { return c.files }

// Providers returns the providers that the configuration was loaded with.
func (c *Config) Providers() provider.List { return c.providers }

// ProfileNames returns the names of [llm.NAME], in the order of the files.
func (c *Config) ProfileNames() []string { return c.withModels().profiles }

// ModelNames returns the names of [models."PROVIDER/NAME"], in the order of the
// files.
func (c *Config) ModelNames() []string { return c.withModels().models }

// UserNames returns the names of [users.NAME], in the order of the files.
func (c *Config) UserNames() []string { return c.users }

// RemoteNames returns the names of [a2a.NAME], in the order of the files.
func (c *Config) RemoteNames() []string { return c.remotes }

// ScheduleNames returns the names of [schedules.NAME], in the order of the files.
func (c *Config) ScheduleNames() []string { return c.schedules }

// TriggerNames returns the names of [triggers.NAME], in the order of the files.
func (c *Config) TriggerNames() []string { return c.triggers }
