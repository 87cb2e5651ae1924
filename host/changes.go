package host

import (
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/meant"
)

// An activity counts the calls in a workspace that may change it.
type activity struct {
	running, begun int
}

// activities are those of all workspaces of a host, by directory.
type activities struct {
	mu  sync.Mutex
	all map[string]*activity
}

// begin counts a call in dir. The function that it returns ends the call, and reports
// whether no other one ran in the meantime.
func (a *activities) begin(dir string) (end func() (alone bool)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = make(map[string]*activity)
	}
	act := a.all[dir]
	if act == nil {
		act = new(activity)
		a.all[dir] = act
	}
	act.running++
	act.begun++
	alone, begun := act.running == 1, act.begun
	return func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		if act.running--; act.running == 0 {
			delete(a.all, dir)
		}
		return alone && act.begun == begun
	}
}

const (
	maxChanges = openmanus.MaxFileChanges
	maxLook    = 250 * time.Millisecond // how long a workspace is looked at before a call, and after it
)

// changes looks at times and sizes, where no snapshots are taken. If a tool edits the files that
// its arguments name, only these files are compared before and after the call. For any other call,
// the workspace is; what differs then is the call's doing if no other call of this program ran in
// the workspace at that time.
func (h *Host) changes(
	s *openmanus.State, call openmanus.Call, spec openmanus.ToolSpec,
) func() (own, meanwhile []openmanus.FileChange) {
	none := func() (own, meanwhile []openmanus.FileChange) { return nil, nil }
	dir := s.Config.Workspace
	if _, large := h.large.Load(dir); large || dir == "" {
		return none
	}
	root, err := openDir(h.Config, dir)
	if err != nil {
		return none
	}
	own := h.Own(h.Config, root.Name())
	look := func() Scan {
		ctx, cancel := context.WithTimeout(context.Background(), maxLook)
		defer cancel()
		return ScanFiles(ctx, root.FS(), own)
	}
	named := spec.Hints.Edits
	if named {
		names := WrittenPaths(dir, call.Input, spec.Arguments)
		if named = len(names) > 0; named {
			look = func() Scan { return scanNames(root.FS(), own, names) }
		}
	}
	end := h.activities.begin(dir)
	before := look()
	return func() (mine, meanwhile []openmanus.FileChange) {
		defer root.Close()
		after := look()
		alone := end()
		if before.partial || after.partial { // nothing is said rather than something wrong
			h.large.Store(dir, true)
			return nil, nil
		}
		var all []openmanus.FileChange
		for _, c := range Changes(before, after) {
			all = append(all, openmanus.FileChange{Path: c.Path, Change: c.Change})
		}
		all = all[:min(len(all), maxChanges)]
		if named || alone {
			return all, nil
		}
		return nil, all
	}
}

// WrittenPaths returns the files and directories, relative to the workspace, that
// the arguments of a call say it writes or deletes: by their names there, and by those
// without symbolic links.
func WrittenPaths(dir, input string, arguments []openmanus.Argument) (names []string) {
	var in map[string]any
	if json.Unmarshal([]byte(input), &in) != nil {
		return nil
	}
	add := func(v any) {
		name, ok := v.(string)
		if !ok || name == "" {
			return
		}
		m, err := meant.In(dir, name)
		if err != nil {
			return
		}
		for _, name := range []string{m.Name, realName(dir, m.Name)} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, a := range arguments {
		if a.Kind != openmanus.PathArgument || a.Does != openmanus.Writes && a.Does != openmanus.Deletes {
			continue
		}
		v, given := in[a.Name]
		switch list, isList := v.([]any); {
		case isList:
			for _, v := range list {
				add(v)
			}
		case given:
			add(v)
		default:
			add(a.Value)
		}
	}
	return names
}

// realName returns a name without symbolic links, as far as it exists, or the name itself if
// it leads out of the workspace.
func realName(dir, name string) string {
	rel, err := filepath.Rel(hostexec.RealPath(dir), hostexec.RealPath(filepath.Join(dir, filepath.FromSlash(name))))
	if real := filepath.ToSlash(rel); err == nil && meant.Valid(real) {
		return real
	}
	return name
}

// scanNames is like [ScanFiles] for files, the directories below them, and those
// whose names begin with one of names and a dot: tools add extensions.
func scanNames(root fs.FS, own func(string) bool, names []string) Scan {
	all := Scan{files: make(map[string]fileStamp)}
	for _, name := range names {
		if info, err := fs.Lstat(root, name); err == nil && info.IsDir() {
			if sub, err := fs.Sub(root, name); err == nil {
				below := ScanFiles(context.Background(), sub, func(n string) bool { return own(path.Join(name, n)) })
				for n, f := range below.files {
					all.files[path.Join(name, n)] = f
				}
				all.partial = all.partial || below.partial
			}
			continue
		}
		entries, err := fs.ReadDir(root, path.Dir(name))
		if err != nil {
			continue
		}
		for _, d := range entries {
			if base := path.Base(name); d.IsDir() || d.Name() != base && !strings.HasPrefix(d.Name(), base+".") {
				continue
			}
			if info, err := d.Info(); err == nil {
				all.files[path.Join(path.Dir(name), d.Name())] = fileStamp{info.Size(), info.ModTime(), info.Mode()}
			}
		}
	}
	return all
}

// Large reports whether a workspace proved too large to look at call by call. Then only
// the files that tools name are compared.
func (h *Host) Large(dir string) bool {
	_, large := h.large.Load(dir)
	return large
}
