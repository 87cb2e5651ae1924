package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/doctor"
	"github.com/openmanus-go/openmanus/internal/hooks"
	"github.com/openmanus-go/openmanus/internal/install"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/workspace"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// A Store keeps the sessions of a host. The store package has one. A store
// that many processes use is an [openmanus.Locker] too.
type Store interface {
	openmanus.Journal
	openmanus.Blobs
	journal.Index
}

// Options are what a host is made with. Config and Store are needed; the zero
// value of every other field is useful.
type Options struct {
	Env

	Config *config.Config
	Store  Store

	// Secrets are replaced in what is recorded. Nil: those of Config and of
	// the MCP servers, see [Env.Secrets].
	Secrets *journal.Secrets

	// Servers are the MCP servers whose tools agents get: see [Env.Servers].
	// They are started when the first agent is made. A server that cannot be
	// started is left out, with a warning.
	Servers []config.MCPServer

	// AskToInstall says that whoever answers questions is a user of this machine, who can
	// be asked to install what a call needs and does not find: Chromium, Matplotlib.
	// Otherwise such a call fails, and its error says what to install.
	AskToInstall bool

	// Buffers, if not nil, are texts that an editor has open: the agents' tools that view
	// and edit files use them, see [workspace.WithBuffers].
	Buffers workspace.Buffers

	// Cluster, if not nil, has hosts on other machines, which use the same Store.
	Cluster *Cluster

	// Kinds are agents beside those that are built in. They come first, and
	// so may take the name of one.
	Kinds []agents.Kind

	// Flows are flows beside those that are built in, by name.
	Flows map[string]FlowMaker
}

// A Host makes the agents of one configuration and drives their sessions. It
// is safe for concurrent use, but for its exported fields, which are set before
// use.
type Host struct {
	Options

	// Local drives the sessions. New makes it.
	Local *run.Local

	// OnRetry and OnFailover, if not nil, are called when a model did not
	// answer and is asked again after wait, or at once, as err then says, and when the model named to is
	// asked in its place.
	OnRetry    func(err error, wait time.Duration)
	OnFailover func(err error, to string)

	warned        sync.Map // the warnings of warnOnce: text → true
	follower      follower
	reader        *snapshot.Reader // of what follower stored
	activities    activities
	screens       screens
	large         sync.Map // the workspaces that are too large to look at before and after a call
	installer     *install.Installer
	merging       sync.Mutex   // copies of workspaces are merged one at a time
	browsers      atomic.Int32 // that run
	limiters      sync.Map     // limiterName → *llm.Limiter
	seen          sync.Map     // learner → *llm.Seen
	wrongEndpoint atomic.Bool
	book          endpointBook
	refused       sync.Map // learner → *llm.Refusals
	toolless      sync.Map // learner → *atomic.Int32: how often its endpoint left tools out
	inWords       sync.Map // learner → true: what was said of it that its tools are described in words
	forgotten     sync.Map // bookKey → time.Time: when what was learnt of it was dropped

	servers serverClients // of MCP
	hooks   hookBook
	watcher *hooks.Watcher

	teamMu sync.Mutex
	teams  map[string]*Team // by workspace

	mu      sync.Mutex
	agents  map[string]agentInstance   // by their spec without limits, in JSON
	flows   map[string]openmanus.Flow  // by their spec, in JSON: those that are no agents
	holders map[string]map[string]bool // the sessions that Hold was called for, by workspace

	// chosen are the models that a user of this process chose, by name and
	// endpoint. Those get their key wherever they are: the user said so.
	chosen    map[[2]string]config.Model
	places    places
	relay     *relay    // nil: there is no cluster
	recording sync.Once // the warning that nothing is asked about provenance
}

// New returns a host. It connects to nothing and starts nothing yet. It makes the data
// directory, which only the user can read, if there is none: where sessions are in a
// database of others, nothing else does. The caller closes the host, and then the store.
func New(o Options) (*Host, error) {
	if dir := o.Config.DataDir; dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, mistake(fmt.Errorf("the data directory: %w", err))
		}
	}
	if o.Secrets == nil {
		o.Secrets = o.Env.Secrets(o.Config, o.Servers)
	}
	h := &Host{
		Options: o, teams: make(map[string]*Team), agents: make(map[string]agentInstance),
		flows:   make(map[string]openmanus.Flow),
		holders: make(map[string]map[string]bool), chosen: make(map[[2]string]config.Model),
	}
	h.book.dir = o.Config.DataDir
	h.installer = install.New(func() bool { return h.AskToInstall })
	h.installer.NotIn = agentDirs(h.Config, h.Dir)
	h.follower.h, h.reader = h, snapshot.NewReader(o.Store)
	name, _ := os.Hostname() // a worker without a host name is still a worker
	h.Local = &run.Local{Worker: run.Worker{
		Journal: o.Store, Flow: h.flow, Child: h.childSpec, Changes: &h.follower, Note: h.note, Secrets: o.Secrets,
		Ended: h.mergeChild, Ceiling: h.Ceiling,
		Name: fmt.Sprintf("%s/%d", name, os.Getpid()),
	}}
	h.Local.Hooks = hooks.NewSet(h.hookList, h.hookPrograms())
	h.watcher = hooks.NewWatcher(o.Store, h.hookList, h.hookPrograms(), func(text string) { h.warnOnce("hooks: " + text) })
	h.Local.OnEvent = h.watcher.Stored
	if o.Cluster != nil {
		h.Local.Name = o.Cluster.Name
		h.Local.Elsewhere = h.childElsewhere
		if h.relay = newRelay(h); h.relay != nil {
			h.Local.OnWatch, h.Local.OnDrive = h.relay.watch, h.relay.began
		}
	}
	if o.Config.DataDir != "" {
		h.Local.Spool = spool{filepath.Join(o.Config.DataDir, "spool")}
	}
	h.Local.Budget = newDayBudget(o.Config, o.Store)
	return h, nil
}

// Secrets returns the values that must not be stored or shown: keys and passwords of the
// configuration, of the MCP servers and of agents elsewhere, by the names under which
// placeholders show them.
func (e Env) Secrets(cfg *config.Config, servers []config.MCPServer) *journal.Secrets {
	values := cfg.Secrets()
	e.serverSecrets(servers, values)
	e.remoteSecrets(cfg, values)
	return journal.NewSecrets(values)
}

// Close ends what the agents keep running: shells, browsers, MCP servers. It gives hooks
// that watch a few seconds for what they have not heard of. No
// session may be driven any more.
func (h *Host) Close() error {
	if h.watcher != nil {
		h.closeWatcher()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	errs := closeAgents(slices.Collect(maps.Values(h.agents)))
	clear(h.agents)
	errs = append(errs, h.follower.close())
	h.PruneNowAndThen(context.Background())
	return errors.Join(append(errs, h.servers.close())...)
}

// WrongEndpoint reports whether the endpoint of a model turned out to be
// configured wrongly: nothing answers there, or nothing that is trusted.
func (h *Host) WrongEndpoint() bool { return h.wrongEndpoint.Load() }

// Team returns the agents and skills of the workspace dir, without those that
// changed since the user last saw them: see [Instructions]. They are read once,
// and again after a session there was released: until then a session keeps the
// agents that it began with. Files that cannot be read are warned of for the
// first workspace alone, since a server has many.
func (h *Host) Team(dir string) *Team {
	h.teamMu.Lock()
	defer h.teamMu.Unlock()
	tm := h.teams[dir]
	if tm == nil {
		_, tell := h.instructions(dir)
		tm = h.readTeam(dir, h.AllKinds(), tell.only)
		if len(h.teams) == 0 {
			h.WarnOf(tm)
		}
		h.teams[dir] = tm
	}
	return tm
}

// AllKinds returns the agents of the program: its own, then those that are
// built in, then those elsewhere that the configuration names.
func (h *Host) AllKinds() []agents.Kind {
	return slices.Concat(h.Kinds, agents.Kinds(), h.RemoteKinds(h.Config))
}

// Choose returns the model that is configured for new sessions: its name, as
// sessions record it, and what is known of it. If the configuration names none
// and an Ollama runs on this machine, it is asked for its models, for at most a
// second. Remarks about the choice go to Warn.
func (h *Host) Choose(ctx context.Context) (string, config.Model, error) {
	choose := func() (config.Model, error) {
		if own := h.ownModel(h.Config.Run.Agent); own != "" && !h.Config.Set("run.model") {
			return h.Config.Model(own)
		}
		return h.Config.Choose(func(base string, key config.Secret) ([]string, error) { return served(ctx, base, key) })
	}
	m, err := choose()
	if err == nil {
		told, note := h.book.lookAt(ctx, h.Config, m)
		if note != "" {
			h.warnf("%s", note)
		}
		if told {
			m, err = choose()
		}
	}
	if err != nil {
		return "", m, mistake(err)
	}
	for _, n := range m.Notes {
		h.warnf("%s", n)
	}
	forget(h, m)
	name := cmp.Or(m.Profile, m.String())
	h.mu.Lock()
	defer h.mu.Unlock()
	h.chosen[[2]string{name, m.BaseURL}] = m
	return name, m, nil
}

// ownModel returns the model profile with the name of an agent, or "". Such an
// agent uses it unless the user chooses another model.
func (h *Host) ownModel(agent string) string {
	if slices.Contains(h.Config.ProfileNames(), agent) {
		return agent
	}
	return ""
}

// served returns the names of the models that the server at base offers, if it
// answers within a second.
func served(ctx context.Context, base string, key config.Secret) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return doctor.Models(ctx, base, string(key))
}

// ModelsAt returns the names of the models that the endpoint of m offers, if it answers within
// a second.
func ModelsAt(ctx context.Context, m config.Model) ([]string, error) {
	return served(ctx, m.BaseURL, m.Key)
}

// Model makes the model with the given name, PROVIDER/NAME or a profile, at
// endpoint if that is not "". It retries, and asks the configured fallbacks when
// it fails. Nothing is connected before it is used.
func (h *Host) Model(name, endpoint string) (llm.Model, config.Model, error) {
	return h.model(name, endpoint)
}
