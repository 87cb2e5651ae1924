package hooks

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// maxNamed is the size of the largest file that counts as one that a command names.
const maxNamed = 16 << 20

// Named returns the files of a workspace that the command of a hook names: what an agent
// could change to have something else run. Both paths are without links.
func Named(h Hook, workspace string) (files []string) {
	dir := h.Dir
	if h.Claude {
		dir = workspace
	}
	script := strings.NewReplacer(
		"$CLAUDE_PROJECT_DIR", workspace, "${CLAUDE_PROJECT_DIR}", workspace,
		"$OPENMANUS_WORKSPACE", workspace, "${OPENMANUS_WORKSPACE}", workspace, `"`, "", "'", "", `\`, "",
	).Replace(h.Run)
	words := strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&()<>`=", r) })
	for _, w := range words {
		if !filepath.IsAbs(w) {
			w = filepath.Join(dir, w)
		}
		real, err := filepath.EvalSymlinks(w)
		if err != nil {
			continue
		}
		if inside, err := filepath.Rel(workspace, real); err != nil || !filepath.IsLocal(inside) {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && !slices.Contains(files, real) {
			files = append(files, real)
		}
	}
	return files
}

// Runs returns what the command of a hook runs at this moment, for a session in the
// workspace, without links: see [hostexec.Finder.Runs]. The files of the workspace, which
// [Content] has, are left out. lookup returns a variable of the environment, and sums of
// known parts count.
func Runs(h Hook, workspace string, lookup func(string) (string, bool), known []hostexec.Part) []hostexec.Part {
	if h.Run == "" {
		return nil
	}
	dir := h.Dir
	if h.Claude {
		dir = workspace
	}
	p := Programs{Lookup: lookup}
	parts := hostexec.Outside(workspace).Runs(hostexec.Started{Shell: h.Run, Dir: dir, Env: p.environment(h, Input{Workspace: workspace}), Known: known})
	return slices.DeleteFunc(parts, func(part hostexec.Part) bool {
		inside, err := filepath.Rel(workspace, cmp.Or(part.Real, part.Name))
		return err == nil && filepath.IsLocal(inside) && filepath.IsAbs(part.Name)
	})
}

// Content returns what an approval of a hook is bound to: its command and what is in the
// files of the workspace that it names.
func Content(h Hook, workspace string) (content string, files []string, err error) {
	files = Named(h, workspace)
	content = fmt.Sprintf("%s\n%q\n%q\n", h.On, h.Run+h.URL, h.Tools)
	for _, name := range files {
		info, err := os.Stat(name)
		if err == nil && info.Size() > maxNamed {
			err = fmt.Errorf("%s has %d bytes: too many for a hook", name, info.Size())
		}
		if err != nil {
			return "", nil, err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return "", nil, err
		}
		inside, err := filepath.Rel(workspace, name) // so that it holds in a copy as well
		if err != nil {
			return "", nil, err
		}
		content += fmt.Sprintf("%q %x\n", inside, sha256.Sum256(data))
	}
	return content, files, nil
}
