package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/internal/hooks"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/regular"
)

// HookEvent is an event before which a hook of [HookSource] decides, for [Env.TryHook].
type HookEvent = hooks.Event

// HookCall is the call in a [HookEvent].
type HookCall = hooks.Call

// A HookSource is where hooks come from: one of the configuration, or a file of a workspace.
type HookSource struct {
	Name    string // "hook NAME", or the path of the file in the workspace
	Found   bool   // in the workspace: it may come from anyone
	Hooks   []hooks.Hook
	Remarks []string // what of the file is not understood
	Files   []string // of the workspace, which commands name

	// Approved says that the hooks may run: they are the user's own and name no file of
	// the workspace, or the user approved them with their present content; and what their
	// commands run has not changed since.
	Approved bool

	Parts   []hostexec.Part // what the commands run
	Changed string          // how that differs from what was approved, as a clause; "": it does not

	asked bool // the person saw the parts

	key string
}

// Hooks returns the hooks of the configuration and of the workspace dir, each source with
// the reason why it does not run yet, if it needs an approval. Files of the workspace are
// read as they are now. A directory that does not exist has no hooks.
func (e Env) Hooks(cfg *config.Config, dir string) (list []HookSource, err error) {
	dir = hostexec.RealPath(dir)
	for _, c := range cfg.Hooks {
		h := hooks.Hook{
			Name: c.Name, On: c.On, Run: c.Run, URL: c.URL, Tools: c.Tools, Timeout: c.Timeout, Dir: c.Dir, Env: c.Env, Source: c.Source.String(),
		}
		list = append(list, e.hookSource(cfg, dir, HookSource{Name: "hook " + c.Name, Hooks: []hooks.Hook{h}}, ""))
	}
	root, err := openDir(cfg, dir)
	if errors.Is(err, os.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return list, err
	}
	defer root.Close()
	taken := 0
	for _, name := range hooks.ClaudeFiles {
		data, err := regular.Read(root, name, 1<<20)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		s := HookSource{Name: name, Found: true}
		if err == nil {
			s.Hooks, s.Remarks, err = hooks.ParseClaude(name, data)
		}
		if err != nil {
			s.Remarks = append(s.Remarks, err.Error())
		}
		for i := range s.Hooks {
			taken++
			s.Hooks[i].Name = fmt.Sprintf("claude-%d", taken)
		}
		if len(s.Hooks)+len(s.Remarks) > 0 {
			list = append(list, e.hookSource(cfg, dir, s, string(data)))
		}
	}
	return list, nil
}

// hookSource returns s with its files and whether it is approved.
func (e Env) hookSource(cfg *config.Config, dir string, s HookSource, content string) HookSource {
	for _, h := range s.Hooks {
		c, files, err := hooks.Content(h, dir)
		if err != nil {
			s.Remarks = append(s.Remarks, err.Error())
			return s
		}
		content += "\n" + c
		s.Files = append(s.Files, files...)
	}
	s.key = gate.Key("hooks", s.Name, content)
	if s.Approved = !s.Found && len(s.Files) == 0; !s.Approved {
		d, known, err := e.Memory().Recall(s.key)
		if err != nil {
			e.warnf("warning: %v", err)
		}
		s.Approved = known && d.Allow
	}
	return e.boundHooks(cfg, dir, s)
}

// boundHooks adds what the hooks run, and how that differs from what it was.
func (e Env) boundHooks(cfg *config.Config, dir string, s HookSource) HookSource {
	s.asked = true
	var changed []string
	for _, h := range s.Hooks {
		b, err := bindings(cfg).Compare(e.hookRuns(h, dir))
		if err != nil {
			e.warnf("warning: %v", err)
			s.Approved = false
		}
		s.Parts = append(s.Parts, b.Parts...)
		s.asked = s.asked && (len(b.Parts) == 0 || b.Asked)
		if b.Changed != "" {
			changed = append(changed, b.Changed)
		}
	}
	if s.Changed = strings.Join(changed, "; "); s.Changed != "" {
		s.Approved = false
	}
	return s
}

// ApproveHooks remembers that the hooks of a source may run in the workspace dir. The
// approval is for exactly these commands and the content of their files: any change asks
// again.
func (e Env) ApproveHooks(cfg *config.Config, dir string, s HookSource) error {
	dir = hostexec.RealPath(dir)
	for _, h := range s.Hooks {
		key, runs := e.hookRuns(h, dir)
		if err := bindings(cfg).Bind(key, h.Run+h.URL, runs); err != nil {
			return err
		}
	}
	what := "hooks of " + s.Name + " in " + dir
	return e.Memory().Remember(gate.Decision{Key: s.key, Allow: true, What: what, By: act.ByPerson, At: time.Now().UTC()})
}

// hooksOf are the hooks of one workspace, as they were when its first session began.
type hooksOf struct {
	list    []hooks.Hook
	content map[string]string // what the approval of each is bound to, by name; "": it may not run
}

// A hookBook has the hooks of workspaces. It is safe for concurrent use.
type hookBook struct {
	mu sync.Mutex
	by map[string]*hooksOf
}

// hooksIn returns the hooks of a workspace. They are read once, so that nobody can take
// one away from a session that runs; a hook whose program has changed since fails.
func (h *Host) hooksIn(dir string) *hooksOf {
	h.hooks.mu.Lock()
	defer h.hooks.mu.Unlock()
	if known := h.hooks.by[dir]; known != nil {
		return known
	}
	of := &hooksOf{content: map[string]string{}}
	list, err := h.Hooks(h.Config, dir)
	if err != nil {
		h.warnf("hooks: %v", err)
	}
	for _, s := range list {
		use := s.Approved && (s.asked || h.Ask == nil) || h.mayHook(dir, s)
		if s.Found && !use {
			continue
		}
		for _, k := range s.Hooks {
			of.list = append(of.list, k)
			if use {
				of.content[k.Name], _, _ = hooks.Content(k, hostexec.RealPath(dir))
			}
		}
	}
	if h.hooks.by == nil {
		h.hooks.by = map[string]*hooksOf{}
	}
	h.hooks.by[dir] = of
	return of
}

// mayHook asks the user whether hooks that are not approved may run. No mode answers for
// them: hooks run outside the sandbox.
func (h *Host) mayHook(dir string, s HookSource) bool {
	if len(s.Hooks) == 0 {
		return false
	}
	text := DescribeHooks(s)
	switch {
	case h.Ask == nil && s.Found:
		h.warnf("hooks: those in %s are not approved, and are left out. To approve them: openmanus hooks approve\n%s", s.Name, text)
		return false
	case h.Ask == nil:
		h.warnf("hooks: %s is not approved as it is now, and refuses what it is asked. To approve it: openmanus hooks approve\n%s", s.Name, text)
		return false
	}
	line, err := h.Ask(context.Background(), fmt.Sprintf("%s wants to run programs with your rights:\n%sApprove? [y/N] ", s.Name, text))
	if err != nil || !IsYes(line) {
		return false
	}
	if err := h.ApproveHooks(h.Config, dir, s); err != nil {
		h.warnf("hooks: %v", err)
	}
	return true
}

// DescribeHooks returns what a user approves, a line for each hook and each file.
func DescribeHooks(s HookSource) string {
	var b strings.Builder
	for _, h := range s.Hooks {
		what := h.Run
		if h.URL != "" {
			what = h.URL
		}
		fmt.Fprintf(&b, "  %s: %s\n", h.On, what)
	}
	for _, f := range slices.Compact(slices.Sorted(slices.Values(s.Files))) {
		fmt.Fprintf(&b, "  with the content of %s\n", f)
	}
	for _, p := range s.Parts {
		if !slices.Contains(s.Files, p.Real) {
			fmt.Fprintf(&b, "  runs %s\n", p)
		}
	}
	if s.Changed != "" {
		fmt.Fprintf(&b, "  since it was approved, this changed: %s\n", s.Changed)
	}
	return b.String()
}

// checkHook is [hooks.Programs].Check: what a hook runs is what the user approved.
func (h *Host) checkHook(k hooks.Hook, dir string) error {
	approved, ok := h.hooksIn(dir).content[k.Name]
	if !ok {
		return errors.New("it names a file of the workspace, which an agent can change, and you have not approved it: openmanus hooks approve")
	}
	now, _, err := hooks.Content(k, hostexec.RealPath(dir))
	if err == nil && now != approved {
		err = errors.New("a file of the workspace that it names has changed since you approved it: openmanus hooks approve, and begin anew")
	}
	if err != nil {
		return err
	}
	key, runs := h.hookRuns(k, hostexec.RealPath(dir))
	changed, err := bindings(h.Config).Holds(key, k.Run+k.URL, runs)
	if err == nil && changed != "" {
		err = fmt.Errorf("what it runs has changed since it was approved: %s; if that is as it should be: openmanus hooks approve", changed)
	}
	return err
}

// hookList returns the hooks of a workspace that may run.
func (h *Host) hookList(dir string) []hooks.Hook { return h.hooksIn(dir).list }

// watchGrace is how long the end of the program waits for hooks that watch.
const watchGrace = 5 * time.Second

func (h *Host) closeWatcher() {
	ctx, cancel := context.WithTimeout(context.Background(), watchGrace)
	defer cancel()
	h.watcher.Close(ctx)
}

// hookPrograms is what runs the hooks of a host.
func (h *Host) hookPrograms() hooks.Programs {
	return hooks.Programs{Lookup: h.lookup, Check: h.checkHook}
}

// TryHook asks a deciding hook about an event, or gives one to a hook that watches. The
// answer is "" for the latter. The error says why there is none.
func (e Env) TryHook(ctx context.Context, k hooks.Hook, ev HookEvent) (hooks.Answer, error) {
	r := hooks.Programs{Lookup: e.lookup}
	if k.Decides() {
		return hooks.Ask(ctx, r, k, ev)
	}
	return hooks.Answer{}, hooks.Tell(ctx, r, k, ev)
}
