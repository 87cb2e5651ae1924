package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/install"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/tools"
)

// needs are what the tools of an agent call when a program is not there. Fields that
// are nil leave the tool to say so.
type needs struct {
	browser    func(context.Context, openmanus.Call) error // Chromium, where this program runs
	chromium   func(context.Context, openmanus.Call) error // Chromium, where commands run
	matplotlib func(context.Context, openmanus.Call, tools.Figureless) error
}

// needsOf returns what the tools of an agent call that works as spec says, in a sandbox
// of the given kind. A session that only reads installs nothing, and nothing is
// installed into containers, which are made anew from their image.
func (h *Host) needsOf(spec openmanus.Spec, kind string) (n needs) {
	if openmanus.Mode(spec.Approve).LooksOnly() {
		return n
	}
	chromium := func(ctx context.Context, call openmanus.Call) error {
		return h.installer.Need(ctx, call, install.Chromium, "")
	}
	n.browser = func(ctx context.Context, call openmanus.Call) error {
		if b := h.Config.Browser; os.Geteuid() == 0 && b.Sandbox && !slices.Contains(b.Args, "--no-sandbox") {
			return errors.New("no Chromium was found, and OpenManus runs as root, where Chromium starts only with " +
				"[browser] sandbox = false: go on without browser_use, or tell the user")
		}
		return chromium(ctx, call)
	}
	if kind == string(sandbox.Docker) || kind == string(sandbox.GVisor) {
		return n
	}
	n.chromium = chromium
	n.matplotlib = func(ctx context.Context, call openmanus.Call, i tools.Figureless) error {
		return h.needMatplotlib(ctx, call, i, spec.Workspace)
	}
	return n
}

// add gives the needs to what an agent is made with.
func (n needs) add(o *agents.Options) { o.Chromium, o.Matplotlib = n.chromium, n.matplotlib }

// needMatplotlib is [tools.Python].Matplotlib in a workspace. Only the system's own
// Python gets packages of the system. An interpreter of the workspace may be anything,
// so the agent uses it with the means that it has for commands; others belong to the
// user, who is asked to install it there.
func (h *Host) needMatplotlib(
	ctx context.Context, call openmanus.Call, i tools.Figureless, dir string,
) error {
	pip := shellWord(i.Executable) + " -m pip install matplotlib"
	in := func(path string) bool {
		rel, err := filepath.Rel(hostexec.RealPath(dir), hostexec.RealPath(path))
		return err == nil && filepath.IsLocal(rel)
	}
	switch {
	case i.Prefix == "/usr":
		return h.installer.Need(ctx, call, install.Matplotlib, "")
	case in(i.Prefix) || in(i.Executable):
		return fmt.Errorf("%s is not installed in %s, and the code did not run. To install it, call bash "+
			"with the command %q, \"network\": true and why: the user is asked", install.Matplotlib.Name, i.Prefix, pip)
	}
	return h.installer.Need(ctx, call, install.Matplotlib, pip)
}

// shellWord returns a path as a user can paste it into a shell.
func shellWord(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune(plainInShells, r) }) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// plainInShells are characters without a meaning of their own in shells.
const plainInShells = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%"
