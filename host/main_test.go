package host_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/store"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	testbed.Main(m)
}

// A place is a directory with a workspace, a home and a script for the model.
// Hosts are opened in it one after the other, as programs are started.
type place struct {
	t     *testing.T
	dir   string
	env   map[string]string
	kinds []agents.Kind
	flows map[string]host.FlowMaker
	warn  []string
	mu    sync.Mutex
}

func newPlace(t *testing.T, script string) *place {
	t.Helper()
	p := placeAt(t, t.TempDir())
	for _, dir := range []string{"ws", "home/config/openmanus"} {
		if err := os.MkdirAll(p.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.write("s.txt", script)
	p.write("other.txt", script)
	return p
}

// placeAt returns a place that is there.
func placeAt(t *testing.T, dir string) *place {
	p := &place{t: t, dir: dir, env: make(map[string]string)}
	p.env["HOME"], p.env["XDG_CONFIG_HOME"] = p.path("home"), p.path("home/config")
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// open returns a host, which ends with the test or when close is called.
func (p *place) open(flags ...string) (h *host.Host, db *store.DB, close func()) {
	p.t.Helper()
	env := host.Env{Dir: p.path("ws"), Version: "1",
		Lookup: func(name string) (string, bool) { v, ok := p.env[name]; return v, ok },
		Warn: func(text string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.warn = append(p.warn, text)
		}}
	given := map[string]string{"model": "scripted:" + p.path("s.txt"), "data-dir": p.path("data"), "approve": "all"}
	for _, f := range flags {
		name, value, _ := strings.Cut(f, "=")
		given[name] = value
	}
	cfg, err := env.Load(config.Sources{Flags: given})
	if err != nil {
		p.t.Fatal(err)
	}
	if db, err = store.Open(cfg.DataDir, nil); err != nil {
		p.t.Fatal(err)
	}
	if h, err = host.New(host.Options{Env: env, Config: cfg, Store: db, Kinds: p.kinds, Flows: p.flows}); err != nil {
		p.t.Fatal(err)
	}
	var once sync.Once
	close = func() {
		once.Do(func() {
			if err := h.Close(); err != nil {
				p.t.Error(err)
			}
			if err := db.Close(); err != nil {
				p.t.Error(err)
			}
		})
	}
	p.t.Cleanup(close)
	return h, db, close
}

// spec returns the configured spec, changed by change and completed.
func (p *place) spec(h *host.Host, change func(*openmanus.Spec)) openmanus.Spec {
	p.t.Helper()
	spec, err := h.Spec(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	if change != nil {
		change(&spec)
	}
	if spec, err = h.Complete(spec); err != nil {
		p.t.Fatal(err)
	}
	return spec
}

// says is a message of the user.
func says(id, text string) *openmanus.UserSaid {
	return &openmanus.UserSaid{ID: id, Message: llm.Say(llm.User, text)}
}

// do opens the session id with the spec, asks for something and drives it.
func (p *place) do(h *host.Host, db *store.DB, id string, spec openmanus.Spec) *openmanus.State {
	p.t.Helper()
	if _, err := h.Open(p.t.Context(), id, host.Opening{Spec: spec, Said: says("1", "Do it.")}); err != nil {
		p.t.Fatal(err)
	}
	return p.wake(h, db, id)
}

func (p *place) wake(h *host.Host, db *store.DB, id string) *openmanus.State {
	p.t.Helper()
	if err := h.Local.Wake(p.t.Context(), id); err != nil {
		p.t.Fatal(err)
	}
	return p.load(db, id)
}

func (p *place) load(db *store.DB, id string) *openmanus.State {
	p.t.Helper()
	s, err := openmanus.Load(p.t.Context(), db, id)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// counted is an agent that counts how often it is made.
func counted(name string, n *int) agents.Kind {
	manus, _ := agents.Find("manus")
	return agents.Kind{Name: name, Description: "Counts.", Make: func(o agents.Options) (*openmanus.Agent, io.Closer, error) {
		*n++
		return manus.Make(o)
	}}
}

// results are the texts that calls of a session came to.
func results(ctx context.Context, db *store.DB, id string) string {
	var b strings.Builder
	for ev, err := range db.Events(ctx, id, 0) {
		if err != nil {
			return err.Error()
		}
		if d, ok := ev.Body.(openmanus.CallDone); ok {
			b.WriteString(d.Parts.Text() + "\n")
		}
	}
	return b.String()
}

// environment returns what an agent that works in dir reads before the first message.
func environment(h *host.Host, dir string) string {
	note, _ := h.Environment(dir)
	return note.Text()
}
