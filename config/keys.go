package config

import (
	"fmt"
	"iter"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// trust is what a file that was found in a workspace may do with a key.
type trust int

const (
	refused trust = iota // nothing
	tighter              // set a value that allows no more
	adds                 // add to the list: what it says allows no more
	free                 // set it
)

// A key is one that can be configured. Everything about it stands here: the
// loader, the listing and the manual go by this.
type key struct {
	name      string // "*" stands for a name that the user chose
	kind      kind
	std       string // the default, as text
	flag      string // without dashes
	env       string // a variable besides the one that its name makes
	doc       string // a sentence for the manual
	later     string // why it has no effect: the warning
	workspace trust

	at func(c *Config, name string) any // where the value goes; nil if it has no effect
}

// A section is keys that stand together in the manual.
type section struct {
	name, doc string
	keys      []key
}

const (
	notYet  = "has no effect in this version yet"
	noProxy = "has no effect: `browser.proxy.server` is not supported"
	never   = "has no meaning here"
)

// schema is every key there is, in the order of the manual.
func schema() []section {
	return []section{
		{"", "Keys that stand before the first section.", generalKeys()},
		{"run", "What a run does unless its flags say otherwise.", runKeys()},
		{"approval", "What is allowed, asked about and denied, before `run.approve` counts: see [Approval](#approval).", approvalKeys()},
		{"llm", "The endpoint and the model. All of OpenManus' keys work.", llmKeys("llm.")},
		{"llm.*", "A profile: a model with a name of your own (`--model NAME`). What it does not set it inherits from `[llm]`; " +
			"`api_key` and `api_key_env` only if it talks to the same host. A profile with the name of an agent is that agent's model, unless a run names another; `planner` is that of the planner of `flow`.", llmKeys("llm.*.")},
		{"models.*", "What is known of a model, by `PROVIDER/NAME`, as in `[models.\"openai/gpt-5-mini\"]`. It comes before what the catalogue knows (`openmanus models known`), value by value. `[models.scripted]` is for all scripts.", modelKeys()},
		{"context", "How a long conversation is kept within the model's window (`models.*.window`): old large results give way to references, then what is old to a summary.", []key{
			{name: "context.compact_at", kind: kindShare, std: "80", workspace: free,
				doc: "How full, in percent of the room for requests, it may be before something is left out.",
				at:  func(c *Config, _ string) any { return &c.Context.CompactAt }},
			{name: "context.summarizer", kind: kindText,
				doc: "The model that writes summaries: a profile `NAME`, or `PROVIDER/NAME`. By default the agent's own.",
				at:  func(c *Config, _ string) any { return &c.Context.Summarizer }},
		}},
		{"tools.python", "How `python_execute` runs code.", []key{
			{name: "tools.python.interpreter", kind: kindPath, doc: "The Python interpreter: a path, or a name to look for. By default `python3`, then `python`.",
				at: func(c *Config, _ string) any { return &c.Python.Interpreter }},
		}},
		{"serve", "What `openmanus serve` does.", serveKeys()},
		{"users.*", "Who may use the server, by name. Without any there is one user, `local`, whose token is kept in the data directory.", userKeys()},
		{"browser", "The browser of `browser_use`. All of OpenManus' keys work, but for what is said here.", browserKeys()},
		{"browser.proxy", "OpenManus' proxy for the browser.", []key{
			{name: "browser.proxy.server", kind: kindURL, doc: "The proxy. It is not supported, and no browser starts while it is set: what a browser reaches is what `[web]` says.",
				at: func(c *Config, _ string) any { return &c.Browser.Proxy }},
			{name: "browser.proxy.username", kind: kindText, doc: "Its user.", later: noProxy},
			{name: "browser.proxy.password", kind: kindSecret, doc: "The user's password.", later: noProxy},
		}},
		{"search", "How `web_search` searches. All of OpenManus' keys work.", searchKeys()},
		{"web", "What the tools of the web may do.", webKeys()},
		{"sandbox", "What commands run in: `bash`, `python_execute` and all that they start.", sandboxKeys()},
		{"daytona", "OpenManus' cloud sandbox, which there is none of here.", daytonaKeys()},
		{"mcp", "MCP servers, which are themselves configured in `mcp.json`.", []key{
			{name: "mcp.file", kind: kindPath, flag: "mcp-config",
				doc: "A file of MCP servers to read before the others: `mcp.json` in the user's directory, and `mcp.json` and `config/mcp.json` in the working directory.",
				at:  func(c *Config, _ string) any { return &c.MCP.File }},
			{name: "mcp.token", kind: kindSecret,
				doc: "What clients of `openmanus mcp serve --http` show. By default a new one each time.",
				at:  func(c *Config, _ string) any { return &c.MCP.Token }},
			{name: "mcp.sandbox", kind: kindBool,
				doc: "Whether servers that are programs run in the sandbox that commands run in (`[sandbox]`), with its files and its network.",
				at:  func(c *Config, _ string) any { return &c.MCP.Sandbox }},
			{name: "mcp.defer_above", kind: kindCount, std: "40", workspace: free,
				doc: "How many tools of MCP servers are described in every request, at most. If there are more, the model searches for them instead.",
				at:  func(c *Config, _ string) any { return &c.MCP.DeferAbove }},
			{name: "mcp.server_reference", kind: kindText, doc: "A Python module.", later: never + ": it names a Python module", workspace: free},
		}},
		{"runflow", "OpenManus' planning flow.", []key{
			{name: "runflow.use_data_analysis_agent", kind: kindBool, doc: "Whether plans use the data analysis agent.", later: notYet, workspace: free},
		}},
	}
}

func generalKeys() []key {
	return []key{
		{name: "data_dir", kind: kindPath, flag: "data-dir",
			doc: "Where sessions are kept. By default `openmanus` in `$XDG_DATA_HOME` or `~/.local/share`; on macOS in `~/Library/Application Support`, on Windows in `%LocalAppData%`.",
			at:  func(c *Config, _ string) any { return &c.DataDir }},
		{name: "redact", kind: kindList,
			doc: "Names of environment variables whose values are secrets, besides those of the usual keys: they are kept out of the journal and the output.",
			at:  func(c *Config, _ string) any { return &c.Redact }},
	}
}

func runKeys() []key {
	std := openmanus.DefaultLimits()
	return []key{
		{name: "run.agent", kind: kindText, std: "manus", flag: "agent", workspace: free,
			doc: "The agent that does the task.",
			at:  func(c *Config, _ string) any { return &c.Run.Agent }},
		{name: "run.model", kind: kindText, flag: "model", env: "OPENMANUS_MODEL",
			doc: "The model: `PROVIDER/NAME`, a profile `NAME`, `scripted:FILE`, or a plain `NAME` at the endpoint of `[llm]`. By default the model of `[llm]`.",
			at:  func(c *Config, _ string) any { return &c.Run.Model }},
		{name: "run.base_url", kind: kindURL, flag: "base-url", env: "OPENMANUS_BASE_URL",
			doc: "The endpoint of that model, instead of its own.",
			at:  func(c *Config, _ string) any { return &c.Run.BaseURL }},
		{name: "run.workspace", kind: kindPath, std: ".", flag: "workspace",
			doc: "The directory the agent works in. In a file, a relative path begins at the file's directory.",
			at:  func(c *Config, _ string) any { return &c.Run.Workspace }},
		{name: "run.approve", kind: choice(openmanus.ApproveReadOnly, openmanus.ApproveAsk, openmanus.ApproveEdits, openmanus.ApproveAll),
			std: openmanus.ApproveAsk, flag: "approve", workspace: tighter,
			doc: "`readonly`: what changes something is denied. `ask`: you are asked about it. `edits`: files of the workspace may be edited, you are asked about the rest. `all`: everything is allowed.",
			at:  func(c *Config, _ string) any { return &c.Run.Approve }},
		{name: "run.max_steps", kind: kindLimit, std: fmt.Sprint(std.Steps), flag: "max-steps", workspace: tighter,
			doc: "Replies of the model to one request, at most. -1: no limit.",
			at:  func(c *Config, _ string) any { return &c.Run.MaxSteps }},
		{name: "run.budget_tokens", kind: kindLimit, std: fmt.Sprint(std.Tokens), flag: "budget-tokens", workspace: tighter,
			doc: "Tokens read and written in one session, at most. -1: no limit.",
			at:  func(c *Config, _ string) any { return &c.Run.Tokens }},
		{name: "run.max_cost", kind: kindDollars, std: fmt.Sprint(std.Money.USD()), flag: "max-cost", workspace: tighter,
			doc: "US dollars spent in one session, at most, if prices are known. -1: no limit.",
			at:  func(c *Config, _ string) any { return &c.Run.MaxCost }},
		{name: "run.max_cost_per_day", kind: kindDollars,
			doc: "US dollars that all sessions of this data directory together spend in one day (of UTC), at most, if prices are known. By default there is no limit.",
			at:  func(c *Config, _ string) any { return &c.Run.DayCost }},
		{name: "run.timeout", kind: kindDuration, std: std.Time.String(), flag: "timeout", workspace: tighter,
			doc: "Time at work on one request, at most, such as `90s` or `1h30m`; a bare number counts seconds. -1: no limit.",
			at:  func(c *Config, _ string) any { return &c.Run.Timeout }},
	}
}

func approvalKeys() []key {
	return []key{
		{name: "approval.deny", kind: kindList, workspace: adds, doc: "Rules for calls that never run.",
			at: func(c *Config, _ string) any { return &c.Approval.Deny }},
		{name: "approval.ask", kind: kindList, workspace: adds, doc: "Rules for calls that you are asked about, also where everything is allowed.",
			at: func(c *Config, _ string) any { return &c.Approval.Ask }},
		{name: "approval.allow", kind: kindList, doc: "Rules for calls that need no question.",
			at: func(c *Config, _ string) any { return &c.Approval.Allow }},
	}
}

// llmKeys are the keys of [llm], or of a profile if prefix has a star.
func llmKeys(prefix string) []key {
	at := func(field func(*LLM) any) func(*Config, string) any {
		return func(c *Config, profile string) any {
			if profile == "" {
				return field(c.LLM)
			}
			return field(c.Profiles[profile])
		}
	}
	keys := []key{
		{name: "model", kind: kindText, workspace: free, at: at(func(l *LLM) any { return &l.Model }),
			doc: "`PROVIDER/NAME`, or a plain `NAME` at `base_url`. With a key for OpenAI and no model it is `openai/gpt-5-mini`."},
		{name: "base_url", kind: kindURL, env: "OPENAI_BASE_URL", at: at(func(l *LLM) any { return &l.BaseURL }),
			doc: "The endpoint, up to and with `/v1`."},
		{name: "api_key", kind: kindSecret, env: "OPENAI_API_KEY", at: at(func(l *LLM) any { return &l.APIKey }),
			doc: "The key of that endpoint. Better kept in the environment."},
		{name: "api_key_env", kind: kindText, at: at(func(l *LLM) any { return &l.APIKeyEnv }),
			doc: "The environment variable that has the key of that endpoint, instead of `api_key`."},
		{name: "api", kind: choice("chat", "responses", "messages", "converse"), at: at(func(l *LLM) any { return &l.API }),
			doc: "What is spoken to an `openai` or `azure` model: Chat Completions (`chat`) or Responses (`responses`). By default Responses at OpenAI's own address, and Chat Completions elsewhere. `chat` has an `ollama` model asked in the same way instead of its own. A `bedrock` model is asked by Converse (`converse`), and Claude in Anthropic's own format (`messages`); an ARN does not tell whether it is Claude."},
		{name: "api_type", kind: kindText, at: at(func(l *LLM) any { return &l.APIType }),
			doc: "OpenManus' word for the provider: `azure`, `aws`, `ollama`; anything else is an OpenAI-compatible endpoint."},
		{name: "api_version", kind: kindText, env: "OPENAI_API_VERSION", at: at(func(l *LLM) any { return &l.APIVersion }),
			doc: "The version of Azure's interface. By default its newest, which has none."},
		{name: "region", kind: kindText, at: at(func(l *LLM) any { return &l.Region }),
			doc: "Where a model of a cloud is: Bedrock's region, or Vertex's location. By default what `AWS_REGION` or `~/.aws/config`, and `GOOGLE_CLOUD_LOCATION`, say."},
		{name: "project", kind: kindText, at: at(func(l *LLM) any { return &l.Project }),
			doc: "The project at Google that a model of Vertex is asked in. By default `GOOGLE_CLOUD_PROJECT`."},
		{name: "max_tokens", kind: kindCount, workspace: free, at: at(func(l *LLM) any { return &l.MaxTokens }),
			doc: "Tokens of one reply, at most. By default what the model allows."},
		{name: "max_input_tokens", kind: kindCount, at: at(func(l *LLM) any { return &l.MaxInputTokens }),
			doc: "A budget over the session, as in OpenManus. It is held together with `run.budget_tokens`: the smaller of the two counts."},
		{name: "temperature", kind: kindHeat, workspace: free, at: at(func(l *LLM) any { return &l.Temperature }),
			doc: "How random replies are, from 0 to 2. By default the model's own."},
		{name: "effort", kind: choice("low", "medium", "high"), workspace: free, at: at(func(l *LLM) any { return &l.Effort }),
			doc: "How much a reasoning model thinks. By default its own."},
		{name: "idle_timeout", kind: kindDuration, at: at(func(l *LLM) any { return &l.IdleTimeout }),
			doc: "How long a model may say nothing before it is asked again: `5m` by default; more for a large prompt on a slow machine. -1: for ever."},
		{name: "timeout", kind: kindDuration, at: at(func(l *LLM) any { return &l.Timeout }),
			doc: "How long one reply may take in all before it is asked for again. By default as long as it likes."},
		{name: "fallback", kind: kindText, at: at(func(l *LLM) any { return &l.Fallback }),
			doc: "The model that is asked when this one fails for good: a profile `NAME`, or `PROVIDER/NAME`. It may have one, too."},
	}
	for i := range keys {
		if strings.Contains(prefix, "*") {
			keys[i].env, keys[i].workspace = "", refused
		}
		keys[i].name = prefix + keys[i].name
	}
	return keys
}

func modelKeys() []key {
	at := func(field func(*Info) any) func(*Config, string) any {
		return func(c *Config, name string) any { return field(c.Models[name]) }
	}
	return []key{
		{name: "models.*.window", kind: kindCount, doc: "Tokens that fit into a request and its reply. A model of Ollama is loaded with so many, by default 32,768 at most.", at: at(func(m *Info) any { return &m.Window })},
		{name: "models.*.output", kind: kindCount, doc: "Tokens of one reply, at most.", at: at(func(m *Info) any { return &m.Output })},
		{name: "models.*.price_in", kind: kindPrice, doc: "What tokens that are read cost, in US dollars per million.", at: at(func(m *Info) any { return &m.PriceIn })},
		{name: "models.*.price_out", kind: kindPrice, doc: "Tokens that are written.", at: at(func(m *Info) any { return &m.PriceOut })},
		{name: "models.*.price_cached", kind: kindPrice, doc: "Tokens that are read from the provider's cache. By default as `price_in`.", at: at(func(m *Info) any { return &m.PriceCached })},
		{name: "models.*.price_cache_write", kind: kindPrice, doc: "Tokens that are read and written to the provider's cache. By default as `price_in`.", at: at(func(m *Info) any { return &m.PriceCacheWrite })},
		{name: "models.*.vision", kind: kindBool, doc: "Whether it sees images.", at: at(func(m *Info) any { return &m.Vision })},
		{name: "models.*.tools", kind: kindBool, doc: "Whether it calls tools.", at: at(func(m *Info) any { return &m.Tools })},
		{name: "models.*.reasoning", kind: kindBool, doc: "Whether it is a reasoning model.", at: at(func(m *Info) any { return &m.Reasoning })},
		{name: "models.*.refuses", kind: kindText, doc: "Settings that it does not take, separated by spaces: `temperature`, `effort`. They are left out.", at: at(func(m *Info) any { return &m.Refuses })},
	}
}

func browserKeys() []key {
	at := func(field func(*Browser) any) func(*Config, string) any {
		return func(c *Config, _ string) any { return field(&c.Browser) }
	}
	return []key{
		{name: "browser.headless", kind: kindBool, std: "true", doc: "Whether the browser has no window. With one, a person can watch and take over.",
			at: at(func(b *Browser) any { return &b.Headless })},
		{name: "browser.sandbox", kind: kindBool, std: "true", doc: "Whether Chromium's own sandbox is on. It cannot be for root, for whom no browser starts then; `false` gives a page that breaks out of Chromium your rights.",
			at: at(func(b *Browser) any { return &b.Sandbox })},
		{name: "browser.disable_security", kind: kindBool, std: "false", doc: "Whether the browser's own protection is off: pages may read each other, and certificates are not checked.",
			at: at(func(b *Browser) any { return &b.DisableSecurity })},
		{name: "browser.extra_chromium_args", kind: kindList, doc: "More arguments for Chromium.",
			at: at(func(b *Browser) any { return &b.Args })},
		{name: "browser.chrome_instance_path", kind: kindPath, doc: "The Chromium to start. By default one that is found.",
			at: at(func(b *Browser) any { return &b.Path })},
		{name: "browser.profile", kind: kindPath, doc: "The profile directory, with cookies and log-ins. One browser at a time can use it. By default each session has a new one.",
			at: at(func(b *Browser) any { return &b.Profile })},
		{name: "browser.wss_url", kind: kindText, doc: "A running browser to connect to, by the WebSocket of its protocol. What it connects to is its own affair: `[web]` does not hold for it.",
			at: at(func(b *Browser) any { return &b.WSS })},
		{name: "browser.cdp_url", kind: kindText, doc: "A running browser to connect to, such as `http://127.0.0.1:9222` of one that was started with `--remote-debugging-port=9222`. As for `wss_url`.",
			at: at(func(b *Browser) any { return &b.CDP })},
		{name: "browser.max_content_length", kind: kindCount, doc: "Characters of a page that are read, at most.", later: "has no effect: a long result is cut, and can be read on", workspace: free},
	}
}

func searchKeys() []key {
	at := func(field func(*Search) any) func(*Config, string) any {
		return func(c *Config, _ string) any { return field(&c.Search) }
	}
	return []key{
		{name: "search.engine", kind: kindText, std: "Google", doc: "The engine that is asked first: Google, DuckDuckGo, Baidu, Bing, SearXNG, Brave, Tavily or Serper.", workspace: free,
			at: at(func(s *Search) any { return &s.Engine })},
		{name: "search.fallback_engines", kind: kindList, std: "DuckDuckGo,Baidu,Bing", doc: "The engines to try when it fails, in order. The others follow.", workspace: free,
			at: at(func(s *Search) any { return &s.Fallback })},
		{name: "search.retry_delay", kind: kindNatural, std: "60", doc: "Seconds between two rounds of them, and for which an engine that limits us is left alone, at least.", workspace: free,
			at: at(func(s *Search) any { return &s.RetryDelay })},
		{name: "search.max_retries", kind: kindNatural, std: "3", doc: "Rounds after the first, at most.", workspace: free,
			at: at(func(s *Search) any { return &s.MaxRetries })},
		{name: "search.lang", kind: kindText, std: "en", doc: "The language of results, such as `en`.", workspace: free,
			at: at(func(s *Search) any { return &s.Lang })},
		{name: "search.country", kind: kindText, std: "us", doc: "The country of results, such as `us`.", workspace: free,
			at: at(func(s *Search) any { return &s.Country })},
		{name: "search.searxng_url", kind: kindText, doc: "The address of a SearXNG, which then can be asked. It has to allow the format JSON.",
			at: at(func(s *Search) any { return &s.SearXNG })},
		{name: "search.brave_api_key", kind: kindSecret, env: "BRAVE_API_KEY", doc: "A key for Brave's search, which then is asked first.",
			at: at(func(s *Search) any { return &s.Brave })},
		{name: "search.tavily_api_key", kind: kindSecret, env: "TAVILY_API_KEY", doc: "A key for Tavily, likewise.",
			at: at(func(s *Search) any { return &s.Tavily })},
		{name: "search.serper_api_key", kind: kindSecret, env: "SERPER_API_KEY", doc: "A key for Serper, likewise.",
			at: at(func(s *Search) any { return &s.Serper })},
	}
}

func webKeys() []key {
	return []key{
		{name: "web.network", kind: choice("none", "hosts", "allow"), std: "allow", workspace: tighter,
			doc: "What `browser_use`, `web_search` and `web_fetch` reach: `allow`, every public host and those of `hosts`; `hosts`, these alone; `none`.",
			at:  func(c *Config, _ string) any { return &c.Web.Network }},
		{name: "web.hosts", kind: kindList,
			doc: "Hosts, such as `example.com`, `.example.com` (with all below it), `10.0.0.0/8` or `localhost:3000`. Private addresses and those of this machine are reached only if they stand here.",
			at:  func(c *Config, _ string) any { return &c.Web.Hosts }},
		{name: "web.robots", kind: kindBool, std: "true",
			doc: "Whether `web_fetch` and `crawl` keep to what sites ask of robots (robots.txt).",
			at:  func(c *Config, _ string) any { return &c.Web.Robots }},
	}
}

func sandboxKeys() []key {
	return []key{
		{name: "sandbox.kind", kind: choice("auto", "bubblewrap", "landlock", "docker", "gvisor", "none"), std: "auto", flag: "sandbox",
			doc: "`auto`: bubblewrap, and where that does not work Landlock. `docker`, `gvisor`: a container of `image`. `none`: commands run with your own rights.",
			at:  func(c *Config, _ string) any { return &c.Sandbox.Kind }},
		{name: "sandbox.network", kind: choice("none", "hosts", "allow"), std: "none",
			doc: "What commands reach: `none`, their own loopback interface alone; `hosts`, what `hosts` lists, through a proxy; `allow`, everything that this machine reaches, and then you are asked about commands.",
			at:  func(c *Config, _ string) any { return &c.Sandbox.Network }},
		{name: "sandbox.hosts", kind: kindList, doc: "What the network `hosts` lets through: names (`example.com`), names and all below them (`.example.com`), addresses, each with a port (`:8443`) or without (80 and 443).",
			at: func(c *Config, _ string) any { return &c.Sandbox.Hosts }},
		{name: "sandbox.read", kind: kindList, doc: "Directories and files that commands see besides, read-only: absolute, or with `~/`.",
			at: func(c *Config, _ string) any { return &c.Sandbox.Read }},
		{name: "sandbox.image", kind: kindText, doc: "The container's image. By default `python:3.12-slim`.", at: func(c *Config, _ string) any { return &c.Sandbox.Image }},
		{name: "sandbox.memory_limit", kind: kindSize, doc: "Memory of all commands together, such as `512m` or `4g`; in containers, of each. By default three quarters of the machine's.",
			at: func(c *Config, _ string) any { return &c.Sandbox.Memory }},
		{name: "sandbox.cpu_limit", kind: kindNumber, doc: "Processors, such as `1.5`. By default all.",
			at: func(c *Config, _ string) any { return &c.Sandbox.CPUs }},
		{name: "sandbox.use_sandbox", kind: kindBool, doc: "OpenManus' switch: `true` is the kind `docker`, unless `kind` is set. Commands run in a sandbox anyway.",
			at: func(c *Config, _ string) any { return &c.Sandbox.useDocker }},
		{name: "sandbox.work_dir", kind: kindPath, doc: "Where the workspace is in a container besides its own path, such as `/workspace`. In other sandboxes it has its own path alone.",
			at: func(c *Config, _ string) any { return &c.Sandbox.WorkDir }},
		{name: "sandbox.timeout", kind: kindDuration,
			doc: "How long a command of `bash` or code of `python_execute` may take if the call does not say, such as `5m`; a bare number counts seconds. By default two minutes and half a minute. A call may ask for up to ten minutes, or for this if it is more.",
			at:  func(c *Config, _ string) any { return &c.Sandbox.Timeout }},
		{name: "sandbox.network_enabled", kind: kindBool, doc: "OpenManus' switch: `true` is the network `allow`, unless `network` is set.",
			at: func(c *Config, _ string) any { return &c.Sandbox.useNetwork }},
	}
}

func daytonaKeys() []key {
	return []key{
		{name: "daytona.daytona_api_key", kind: kindSecret, doc: "A key.", later: never},
		{name: "daytona.daytona_server_url", kind: kindURL, doc: "A server.", later: never},
		{name: "daytona.daytona_target", kind: kindText, doc: "A region.", later: never},
		{name: "daytona.sandbox_image_name", kind: kindText, doc: "An image.", later: never},
		{name: "daytona.sandbox_entrypoint", kind: kindText, doc: "A command.", later: never},
		{name: "daytona.VNC_password", kind: kindSecret, doc: "A password.", later: never},
	}
}

// allKeys yields the keys of the schema.
func allKeys() iter.Seq[key] {
	return func(yield func(key) bool) {
		for _, s := range schema() {
			for _, k := range s.keys {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// variable is the environment variable that name makes.
func variable(name string) string {
	upper := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}
	return "OPENMANUS_" + strings.Map(upper, name)
}

// with returns the name of k for the profile or model called sub.
func (k key) with(sub string) string { return strings.Replace(k.name, "*", quotedName(sub), 1) }

// secret reports whether the values of k must not be shown.
func (k key) secret() bool { return k.kind.name == kindSecret.name }
