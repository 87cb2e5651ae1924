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
)

// protected are the names in a workspace that other programs take orders from,
// outside the sandbox: shells, editors, agents. They are read-only, and where
// they do not exist they are not to be made.
var protected = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile",
	".zlogin", ".zlogout", ".inputrc", ".envrc", ".gitconfig", ".ripgreprc",
	".vscode", ".idea", ".zed", ".devcontainer", ".vim", ".vimrc", ".nvimrc", ".exrc", ".nvim.lua", ".dir-locals.el", ".editorrc",
	".claude", ".codex", ".cursor", ".gemini", ".openmanus", "openmanus.toml", ".mcp.json", ".aider.conf.yml", ".continue",
}

// protectedInGit are the names in a git directory that git takes orders from.
var protectedInGit = []string{"hooks", "config", "config.worktree", "info/attributes"}

// refuseProtected is the [workspace.Dir.Guard] of a caged workspace: what commands may
// not write, the file tools may not either.
func refuseProtected(name string) error {
	parts := strings.Split(name, "/")
	if slices.Contains(protected, parts[0]) {
		return fmt.Errorf("%s is protected: programs outside the sandbox take orders from it", parts[0])
	}
	if i := slices.Index(parts, ".git"); i >= 0 {
		return errors.New("the files of git are protected: use git in the tool bash")
	}
	return nil
}

// A guard sees to it that what is protected in a workspace stays as it is.
//
// Where the cage can mount, what exists is mounted read-only. The guard looks
// at the rest: it takes away what was made, and puts back what was changed. It
// reaches into the workspace by [os.Root], and so never outside.
type guard struct {
	ws      string
	root    *os.Root
	warn    func(string)
	mounted bool // what exists is mounted read-only

	mu            sync.Mutex
	original      map[string]tree  // what is protected, as it was; nil if it was not there
	gitDirs       map[string]inode // git directories that were there
	newGitDirs    map[string]bool  // git directories that were made since
	harmless      map[string]inode // files of these that were found harmless
	quarantineDir string           // where what was taken away is
	quarantined   int              // of what was taken away
	warned        map[string]bool  // what was warned of
}

// An inode says which file it is, and whether it changed.
type inode struct {
	dev, ino  uint64
	size      int64
	sec, nsec int64
}

// settleTime is how old a change must be for the next one to have another time:
// clocks of file systems are coarse, and a number is soon used again.
const settleTime = time.Second

// settled is i, or the zero inode if it changed so lately that another change
// could leave all of it as it is.
func (i inode) settled() inode {
	if time.Since(time.Unix(i.sec, i.nsec)) < settleTime {
		return inode{}
	}
	return i
}

func newGuard(v *mountView, warn func(string)) (*guard, error) {
	root, err := os.OpenRoot(v.ws)
	if err != nil {
		return nil, err
	}
	g := &guard{ws: v.ws, root: root, warn: warn, original: make(map[string]tree), gitDirs: make(map[string]inode),
		newGitDirs: make(map[string]bool), harmless: make(map[string]inode), warned: make(map[string]bool)}
	for _, name := range protected {
		g.original[name] = g.read(name)
	}
	for _, dir := range g.findGitDirs() {
		g.gitDirs[dir] = g.stat(dir)
		for _, name := range g.gitNames(dir) {
			g.original[name] = g.read(name)
		}
	}
	return g, nil
}

// Close lets go of the workspace.
func (g *guard) Close() error { return g.root.Close() }

// gitNames are the protected names of a git directory, or the file .git that
// names one.
func (g *guard) gitNames(dir string) []string {
	if info, err := g.root.Lstat(dir); err == nil && !info.IsDir() {
		return []string{dir}
	}
	var names []string
	for _, name := range protectedInGit {
		names = append(names, dir+"/"+name)
	}
	for _, pattern := range []string{"modules/*/config", "modules/*/hooks", "modules/*/*/config", "modules/*/*/hooks", "worktrees/*/config.worktree"} {
		found, _ := fs.Glob(g.root.FS(), dir+"/"+pattern) // the patterns are right
		names = append(names, found...)
	}
	return names
}

// mounts are the files and directories that are there and protected. Who asks
// mounts them read-only.
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

// restore puts everything back as it was; far means also in directories that
// take time to find.
func (g *guard) restore(far bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, name := range sorted(g.original) {
		errs = append(errs, g.putBack(name))
	}
	if far {
		for _, dir := range g.findGitDirs() {
			if _, old := g.gitDirs[dir]; !old {
				g.newGitDirs[dir] = true
			}
		}
	} else if _, old := g.gitDirs[".git"]; !old && g.stat(".git") != (inode{}) {
		g.newGitDirs[".git"] = true
	}
	for dir := range g.newGitDirs {
		errs = append(errs, g.disarm(dir))
	}
	return errors.Join(errs...)
}

// putBack puts one name back.
func (g *guard) putBack(name string) error {
	was := g.original[name]
	if was != nil && g.mounted && g.sameParent(name) {
		return nil // it is mounted read-only: who changed it did so outside
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
	g.original[name] = was.written() // and not what is there now, which may be the next change already
	return nil
}

// sameParent reports whether the directory of name is the one that it was: a
// directory in which something is mounted cannot be removed, but renamed.
func (g *guard) sameParent(name string) bool {
	for dir, was := range g.gitDirs {
		if within(dir, name) {
			now := g.stat(dir)
			return now.dev == was.dev && now.ino == was.ino
		}
	}
	return true
}

// take takes name away. What it was is kept outside the workspace, as far as
// it is not large, and a person is told.
func (g *guard) quarantine(name string) error {
	content := g.read(name)
	if content == nil && g.stat(name) == (inode{}) {
		return nil
	}
	if g.quarantineDir == "" {
		dir, err := os.MkdirTemp("", "openmanus-taken-")
		if err != nil {
			return err
		}
		g.quarantineDir = dir
	}
	g.quarantined++
	kept := fmt.Sprintf("%d-%s", g.quarantined, strings.ReplaceAll(name, "/", "-"))
	if root, err := os.OpenRoot(g.quarantineDir); err == nil && g.quarantined < 1000 {
		_ = content.write(root, kept) // what cannot be kept goes
		root.Close()
	}
	if !g.warned[name] {
		g.warned[name] = true
		g.warn(fmt.Sprintf("the sandbox took away %s, which programs outside take orders from; what it was is in %s", filepath.Join(g.ws, name), filepath.Join(g.quarantineDir, kept)))
	}
	return g.root.RemoveAll(name)
}

// stat is the zero inode if there is nothing.
func (g *guard) stat(name string) inode {
	info, err := g.root.Lstat(name)
	if err != nil {
		return inode{}
	}
	return inodeOf(info)
}

func inodeOf(info fs.FileInfo) inode {
	st, ok := info.Sys().(*unixStat)
	if !ok {
		return inode{}
	}
	return inode{uint64(st.Dev), st.Ino, st.Size, int64(st.Ctim.Sec), int64(st.Ctim.Nsec)}
}

// maxFindDirs is in how many directories git directories are looked for.
const maxFindDirs = 2000

// find returns the git directories, and the files that stand for one, of the
// workspace: breadth first, as far as maxFindDirs goes.
func (g *guard) findGitDirs() []string {
	var found []string
	queue := []string{"."}
	for n := 0; len(queue) > 0 && n < maxFindDirs; n++ {
		dir := queue[0]
		queue = queue[1:]
		f, err := g.root.Open(dir)
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(-1) // what was read counts
		f.Close()
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case e.Name() == ".git":
				found = append(found, name)
			case e.IsDir() && e.Name() != "node_modules":
				queue = append(queue, name)
			}
		}
	}
	return found
}
