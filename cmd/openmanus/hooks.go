package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// hooksCmd is openmanus hooks.
type hooksCmd struct {
	List    hooksListCmd    `cmd:"" help:"List the hooks of the configuration and of the workspace."`
	Test    hooksTestCmd    `cmd:"" help:"Run a hook with an event, and show what it answers."`
	Approve hooksApproveCmd `cmd:"" help:"Approve the hooks of a workspace as they are now."`
}

// hooksFlags are the flags of every command about hooks.
type hooksFlags struct {
	Workspace string `help:"The workspace. Default: the configured one." placeholder:"DIR"`
}

// load returns the hooks, and the configuration with the workspace that they are for.
func (f hooksFlags) load(t *terminal, g *globals) ([]host.HookSource, *config.Config, error) {
	cfg, err := t.load(g, flagsOf(f))
	if err != nil {
		return nil, nil, err
	}
	list, err := t.host().Hooks(cfg, cfg.Run.Workspace)
	return list, cfg, err
}

// hooksListCmd is openmanus hooks list.
type hooksListCmd struct {
	listing
	hooksFlags
}

// A hookInfo is a hook as it is listed.
type hookInfo struct {
	Name      string `json:"name"`
	On        string `json:"on"`
	Decides   bool   `json:"decides"`
	Approved  bool   `json:"approved"`
	Tools     string `json:"tools,omitempty"`
	Run       string `json:"run,omitempty"`
	URL       string `json:"url,omitempty"`
	TimeoutMS int64  `json:"timeout_ms"`
	Source    string `json:"source"`
}

// Run implements the command.
func (c *hooksListCmd) Run(_ context.Context, t *terminal, g *globals) error {
	list, _, err := c.load(t, g)
	if err != nil {
		return err
	}
	infos := []hookInfo{}
	tb := &table{head: []string{"NAME", "ON", "STATE", "TOOLS", "FROM", "WHAT IT IS"}}
	for _, s := range list {
		for _, h := range s.Hooks {
			in := hookInfo{
				Name: h.Name, On: h.On, Decides: h.Decides(), Approved: s.Approved, Tools: h.Tools, Run: h.Run, URL: h.URL,
				TimeoutMS: h.Limit().Milliseconds(), Source: h.Source,
			}
			infos = append(infos, in)
			state := map[bool]string{true: "approved", false: "not approved"}[s.Approved]
			tb.add(in.Name, in.On, state, in.Tools, in.Source, cmp.Or(in.Run, in.URL))
		}
	}
	if err := c.print(t, g, infos, tb, "There are no hooks. docs/hooks.md says how to configure one."); err != nil {
		return err
	}
	for _, s := range list {
		for _, r := range s.Remarks {
			fmt.Fprintf(t.err, "openmanus: warning: %s\n", clip.Plain(r))
		}
	}
	return nil
}

// hooksTestCmd is openmanus hooks test.
type hooksTestCmd struct {
	Name  string `arg:"" help:"The hook."`
	Tool  string `help:"The tool of the call that it is asked about." default:"bash"`
	Input string `help:"The arguments of that call, as JSON." default:"{\"command\": \"echo hello\"}"`
	Event bool   `help:"Print what the hook would read, and do not run it."`
	hooksFlags
}

// Help is more of the command.
func (hooksTestCmd) Help() string {
	return `The hook runs as it does in a session, with an event that is made up: nothing else happens. With --event, what it would read is printed. The exit code is 1 if the hook gives no answer.`
}

// Run implements the command.
func (c *hooksTestCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	list, cfg, err := c.load(t, g)
	if err != nil {
		return err
	}
	if !json.Valid([]byte(c.Input)) {
		return usage(errors.New("--input is no JSON: it has the arguments of a call, such as '{\"command\": \"ls\"}'"))
	}
	var names []string
	for _, s := range list {
		for _, h := range s.Hooks {
			names = append(names, h.Name)
			if h.Name != c.Name {
				continue
			}
			ev := host.HookEvent{Event: h.On, Hook: h.Name, Session: "test", Agent: "manus", Workspace: cfg.Run.Workspace, Mode: "ask"}
			if strings.HasSuffix(h.On, "_call") {
				ev.Call = &host.HookCall{ID: "c0-1", Tool: c.Tool, Input: json.RawMessage(c.Input)}
			}
			if c.Event {
				return t.printJSON(ev)
			}
			if !s.Approved {
				return usage(fmt.Errorf("the hooks of %s are not approved: openmanus hooks approve", clip.Plain(s.Name)))
			}
			if ev.Call != nil && !h.Fits(c.Tool) {
				fmt.Fprintf(t.err, "openmanus: warning: this hook is not asked about %s, but about %s\n", clip.Plain(c.Tool), clip.Plain(h.Tools))
			}
			begun := time.Now()
			a, err := t.host().TryHook(ctx, h, ev)
			took := time.Since(begun).Round(time.Millisecond)
			switch {
			case err != nil && h.Decides():
				return exit{code: exitFailed, err: fmt.Errorf("the hook %s gives no answer, which is a refusal: %w", h.Name, err)}
			case err != nil:
				return exit{code: exitFailed, err: fmt.Errorf("the hook %s: %w", h.Name, err)}
			case !h.Decides():
				fmt.Fprintf(t.out, "told in %v\n", took)
				return nil
			}
			fmt.Fprintf(t.out, "%s in %v", a.Decision, took)
			if a.Reason != "" {
				fmt.Fprintf(t.out, ": %s", clip.Plain(a.Reason))
			}
			fmt.Fprintln(t.out)
			if len(a.Input) > 0 {
				fmt.Fprintf(t.out, "arguments: %s\n", clip.Plain(string(a.Input)))
			}
			return nil
		}
	}
	return absent(fmt.Sprintf("hook %q", c.Name), names, "docs/hooks.md says how to configure one")
}

// hooksApproveCmd is openmanus hooks approve.
type hooksApproveCmd struct {
	Yes bool `help:"Do not ask: I have read them."`
	hooksFlags
}

// Help is more of the command.
func (hooksApproveCmd) Help() string {
	return `Hooks run with your rights and outside of the sandbox. Those in a file of a workspace, and those whose commands name a file of it, run only after you have read and approved them. An approval is bound to the content of the file and of what its commands name: when that changes, you are asked anew.`
}

// Run implements the command.
func (c *hooksApproveCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	list, cfg, err := c.load(t, g)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(s host.HookSource) bool { return s.Approved || len(s.Hooks) == 0 })
	if len(list) == 0 {
		_, err := io.WriteString(t.out, "There are no hooks that wait for your approval.\n")
		return err
	}
	for _, s := range list {
		what := question{text: s.Name + "\n" + host.DescribeHooks(s), ask: "Run these with your rights? [y/N] ", refused: "nothing was approved"}
		if err := t.confirm(ctx, what, c.Yes); err != nil {
			return err
		}
		if err := t.host().ApproveHooks(cfg, cfg.Run.Workspace, s); err != nil {
			return err
		}
		fmt.Fprintf(t.out, "approved, as they are now: %s\n%s", clip.Plain(s.Name), clip.Clean(host.DescribeHooks(s)))
	}
	return nil
}
