package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/protected"
)

// protectedInGit are the names in a git directory that git obeys.
var protectedInGit = []string{"hooks", "config", "config.worktree", "commondir", "info/attributes", "info/grafts",
	"objects/info/alternates"}

// refuseGit returns the [workspace.Dir.Guard] of a workspace with a sandbox: no file
// tool writes what is git's own, nor makes a directory that git takes for its own.
// Whether one may write what other programs take orders from is asked before, by the
// gate.
func refuseGit(ws string) func(name string) error {
	refused := errors.New("git's files are protected: run git with the tool bash")
	return func(name string) error {
		if r, ok := protected.Find(name); ok && r.Class == protected.Git {
			return refused
		}
		if strings.EqualFold(filepath.Base(name), "HEAD") {
			return errors.New("git takes a directory with a file HEAD for a repository: give the file another name")
		}
		for at := filepath.Clean(name); at != "."; {
			dir := filepath.Dir(at)
			first, _, _ := strings.Cut(strings.TrimPrefix(filepath.Clean(name), strings.TrimPrefix(dir+"/", "./")), "/")
			if hasFile(ws, dir, "HEAD") &&
				(slices.Contains(gitsOwn, strings.ToLower(first)) || hasFile(ws, dir, "objects") && hasFile(ws, dir, "refs")) {
				return refused
			}
			at = dir
		}
		return nil
	}
}

// gitsOwn are the names in a directory with a file HEAD that make git take it for a
// repository, or that git reads orders from.
var gitsOwn = []string{"objects", "refs", "commondir", "config", "config.worktree", "hooks", "info"}

// hasFile reports whether there is something of that name in a directory of ws.
func hasFile(ws, dir, name string) bool {
	_, err := os.Lstat(filepath.Join(ws, dir, name))
	return err == nil
}

// A guard knows what is protected in a workspace when the sandbox is made: it
// says what to mount read-only, and makes the nameRules of the broker.
//
// Where there is no broker, the guard keeps what is protected as it was, while
// commands run and after each: it moves away what was made, and writes back what
// was changed. At the top of the workspace it looks every watchTime, elsewhere
// every twentieth time and when a command has ended, in the first maxFindDirs
// directories. It reaches into the workspace by [os.Root] alone, so no link can
// lead it outside. Until it acts, a program outside can read what a command wrote.
//
// Its methods may be called from any goroutine.
type guard struct {
	ws      string
	hide    []string // the directories that commands do not see
	root    *os.Root
	warn    func(string)
	mounted bool // what exists is mounted read-only

	readOnly bool // commands change nothing in the workspace

	mu            sync.Mutex
	original      map[string]tree  // what is protected, as it was; nil if it was not there
	gitDirs       map[string]inode // git directories that were there
	newGitDirs    map[string]bool  // git directories that were made since
	harmless      map[string]inode // files of these that were found harmless
	quarantineDir string           // where what was taken away is
	quarantined   int              // of what was taken away
	warned        map[string]bool  // what was warned of
}

// An inode identifies a file and its last change. The zero value stands for no
// file, or for one about which that cannot be said.
type inode struct {
	dev, ino  uint64
	size      int64
	sec, nsec int64
}

// settleTime is the age from which a change is certain to have another time than
// the next one: file systems have coarse clocks, and reuse inode numbers soon.
const settleTime = time.Second

// settled returns i, or the zero inode if i changed too recently for its time to
// reveal another change.
func (i inode) settled() inode {
	if time.Since(time.Unix(i.sec, i.nsec)) < settleTime {
		return inode{}
	}
	return i
}

// newGuard remembers the protected files of the workspace, so that it can put back what a
// command changes or makes.
func newGuard(v *mountView, warn func(string)) (*guard, error) {
	root, err := os.OpenRoot(v.ws)
	if err != nil {
		return nil, err
	}
	g := &guard{ws: v.ws, hide: v.hide, root: root, warn: warn, readOnly: v.shut,
		original:   make(map[string]tree),
		gitDirs:    make(map[string]inode),
		newGitDirs: make(map[string]bool), harmless: make(map[string]inode), warned: make(map[string]bool)}
	names, gitDirs := g.find(maxFindDirs)
	for _, name := range names {
		g.original[name] = g.read(name)
	}
	for _, dir := range gitDirs {
		g.gitDirs[dir] = g.stat(dir)
		for _, name := range g.gitNames(dir) {
			g.original[name] = g.read(name)
		}
	}
	return g, nil
}

// rules returns the rules for names of the workspace.
func (g *guard) rules() nameRules {
	r := nameRules{Workspace: g.ws, Extra: g.extra(), ReadOnly: g.readOnly}
	for _, is := range g.gitDirs {
		r.Old = append(r.Old, [2]uint64{is.dev, is.ino})
	}
	return r
}

// extra returns the paths of what protected names lead to: the targets of links,
// and what a configuration of git names: hooks, and programs and included files.
func (g *guard) extra() (list []string) {
	add := func(path string, dirs bool) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || real == g.ws || !within(g.ws, real) {
			return
		}
		if info, err := os.Lstat(real); err == nil && (dirs || info.Mode().IsRegular()) {
			list = append(list, strings.TrimPrefix(real, g.ws+"/"))
		}
	}
	for _, name := range sorted(g.original) {
		if info, err := g.root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			add(filepath.Join(g.ws, name), true)
		}
	}
	for dir := range g.gitDirs {
		for _, order := range orders(readSmall(g.root, path.Join(dir, "config"))) {
			words := strings.FieldsFunc(order, func(r rune) bool { return strings.ContainsRune(" \t=\"'!;|&()", r) })
			hooks := strings.Contains(strings.ToLower(order), "hookspath")
			for _, word := range words {
				if filepath.IsAbs(word) {
					add(word, hooks)
					continue
				}
				add(filepath.Join(g.ws, path.Dir(dir), word), hooks) // as hooks see it
				add(filepath.Join(g.ws, dir, word), hooks)           // as an included file is named
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Close closes the workspace's root.
func (g *guard) Close() error { return g.root.Close() }

// gitNames returns the protected names of the git directory dir, those of its
// submodules and worktrees included. If dir is a file, which names a git
// directory, it is itself the only one.
func (g *guard) gitNames(dir string) []string {
	if info, err := g.root.Lstat(dir); err == nil && !info.IsDir() {
		return []string{dir}
	}
	var names []string
	for _, name := range protectedInGit {
		names = append(names, path.Join(dir, name))
	}
	for _, pattern := range []string{"modules/*/config", "modules/*/hooks", "modules/*/*/config",
		"modules/*/*/hooks", "worktrees/*/config.worktree"} {
		found, _ := fs.Glob(g.root.FS(), path.Join(dir, pattern)) // the patterns are right
		names = append(names, found...)
	}
	return names
}

// mountPoints returns the absolute paths of what is protected and exists. The
// caller mounts each read-only; from then on the guard relies on that.
func (g *guard) mountPoints() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mounted = true
	var places []string
	for _, name := range sorted(g.original) {
		if g.original[name] == nil {
			continue
		}
		if info, err := g.root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			places = append(places, filepath.Join(g.ws, name))
		}
	}
	return places
}

// maxDenied is how many files a workspace may have that is searched for files
// that commands must not see.
const maxDenied = 100_000

// denied returns mounts that show nothing in place of the files that rules deny. A
// workspace with too many files is an error, since they cannot be looked at one by one.
func (g *guard) denied(p *private, deny func(string) bool) (list []mount, err error) {
	if deny == nil {
		return nil, nil
	}
	count := 0
	err = fs.WalkDir(g.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if count++; count > maxDenied {
			return fmt.Errorf("rules deny paths, and the workspace %s has more than %d files: choose a part of it",
				g.ws, maxDenied)
		}
		if err != nil || name == "." || !deny(name) {
			return nil //nolint:nilerr // what this process cannot read, commands cannot read
		}
		at := filepath.Join(g.ws, name)
		switch {
		case d.IsDir():
			list = append(list, mount{readOnly, p.path("empty"), at})
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink == 0: // what a link leads to is judged by its own name
			list = append(list, mount{readOnly, p.path("nothing"), at})
		}
		return nil
	})
	return list, err
}

// restore makes everything as it was. With far it searches the workspace for what
// is new, which takes time in a large one; otherwise it looks at the top alone.
// An error means that something that is not as it was could not be restored.
func (g *guard) restore(far bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, name := range sorted(g.original) {
		errs = append(errs, g.putBack(name))
	}
	depth := 1
	if far {
		depth = maxFindDirs
	}
	names, gitDirs := g.find(depth)
	for _, name := range names {
		if _, old := g.original[name]; !old {
			errs = append(errs, g.quarantine(name))
		}
	}
	for _, dir := range gitDirs {
		if _, old := g.gitDirs[dir]; !old {
			g.newGitDirs[dir] = true
		}
	}
	for dir := range g.newGitDirs {
		errs = append(errs, g.disarm(dir))
	}
	return errors.Join(errs...)
}

// putBack restores one protected name to its original content, and keeps the changed one
// where the person can look at it.
func (g *guard) putBack(name string) error {
	was := g.original[name]
	if was != nil && g.mounted && g.sameParent(name) {
		return nil // it is mounted read-only, so any change came from outside
	}
	if was == nil && g.stat(name) == (inode{}) || was != nil && was.unchanged(g, name) {
		return nil
	}
	if err := g.quarantine(name); err != nil {
		return fmt.Errorf("%s was changed in the sandbox and cannot be put back: %w", name, err)
	}
	if was == nil {
		return nil
	}
	if err := g.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := was.write(g.root, name); err != nil {
		return fmt.Errorf("%s was changed in the sandbox and cannot be put back: %w", name, err)
	}
	g.original[name] = was.written() // not what is there now, which may be changed again already
	return nil
}

// sameParent reports whether the git directory of name is the one that was there
// at first. A directory in which something is mounted can be renamed, though not
// removed, so another may stand in its place.
func (g *guard) sameParent(name string) bool {
	for dir, was := range g.gitDirs {
		if within(dir, name) {
			now := g.stat(dir)
			return now.dev == was.dev && now.ino == was.ino
		}
	}
	return true
}

// quarantine removes name from the workspace. A copy is kept in a directory
// outside, if it is small, and the first removal of a name is reported to the
// person.
func (g *guard) quarantine(name string) error {
	content := g.read(name)
	if content == nil && g.stat(name) == (inode{}) {
		return nil
	}
	if g.quarantineDir == "" {
		parent, err := hostexec.Outside(g.ws).Dir()
		if err != nil {
			return err
		}
		dir, err := os.MkdirTemp(parent, "openmanus-taken-")
		if err != nil {
			return err
		}
		g.quarantineDir = dir
	}
	g.quarantined++
	kept := fmt.Sprintf("%d-%s", g.quarantined, strings.ReplaceAll(name, "/", "-"))
	if root, err := os.OpenRoot(g.quarantineDir); err == nil && g.quarantined < 1000 {
		_ = content.write(root, kept) // what cannot be kept is lost
		root.Close()
	}
	if !g.warned[name] {
		g.warned[name] = true
		g.warn(fmt.Sprintf("the sandbox removed %s, which programs outside obey; a copy is in %s",
			filepath.Join(g.ws, name), filepath.Join(g.quarantineDir, kept)))
	}
	return g.root.RemoveAll(name)
}

// stat returns the zero inode if name does not exist.
func (g *guard) stat(name string) inode {
	info, err := g.root.Lstat(name)
	if err != nil {
		return inode{}
	}
	return inodeOf(info)
}

// inodeOf returns the inode of a file.
func inodeOf(info fs.FileInfo) inode {
	st, ok := info.Sys().(*unixStat)
	if !ok {
		return inode{}
	}
	return inode{uint64(st.Dev), st.Ino, st.Size, int64(st.Ctim.Sec), int64(st.Ctim.Nsec)}
}

// maxFindDirs is how many directories are searched for what is protected.
const maxFindDirs = 2000

// find returns the protected names in the workspace, and the paths of its git
// directories, by their name or what is in them, and of the files that stand for
// one. It searches breadth first, in
// at most limit directories, and skips node_modules.
func (g *guard) find(limit int) (names, gitDirs []string) {
	queue := []string{"."}
	for n := 0; len(queue) > 0 && n < limit; n++ {
		dir := queue[0]
		queue = queue[1:]
		f, err := g.root.Open(dir)
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(-1) // a part of them is better than none
		f.Close()
		has := func(name string) bool {
			return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
		}
		if has("HEAD") && has("objects") {
			gitDirs = append(gitDirs, dir) // a bare repository
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			r, _ := protected.Find(name)
			switch {
			case withinAny(g.hide, filepath.Join(g.ws, name)): // commands do not see it
			case r.Class == protected.Git:
				gitDirs = append(gitDirs, name)
			case r.Protected:
				names = append(names, name)
			case e.IsDir() && e.Name() != "node_modules":
				queue = append(queue, name)
			}
		}
	}
	return names, gitDirs
}
