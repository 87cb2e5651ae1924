package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// disarm makes a git directory harmless that a command made: it removes hooks,
// and keeps of its configuration what git init and git clone write. A file .git
// may name a git directory in the workspace alone.
func (g *guard) disarm(dir string) error {
	info, err := g.root.Lstat(dir)
	if err != nil {
		return nil // it was removed
	}
	if !info.IsDir() {
		if to, ok := strings.CutPrefix(strings.TrimSpace(readSmall(g.root, dir)), "gitdir:"); ok &&
			info.Mode().IsRegular() && g.inside(dir, strings.TrimSpace(to)) {
			return nil
		}
		return g.quarantine(dir)
	}
	for _, name := range g.gitNames(dir) {
		if err := g.disarmFile(name); err != nil {
			return fmt.Errorf("git's %s: %w", name, err)
		}
	}
	return nil
}

// disarmFile disarms one of the protected names, unless it is as it was when it
// was found harmless.
func (g *guard) disarmFile(name string) error {
	now := g.stat(name)
	if now == (inode{}) || g.harmless[name] == now {
		return nil
	}
	switch path.Base(name) {
	case "hooks":
		if err := g.disarmHooks(name); err != nil {
			return err
		}
	case "config", "config.worktree":
		if err := g.disarmConfig(name); err != nil {
			return err
		}
	default:
		return g.quarantine(name)
	}
	g.harmless[name] = g.stat(name).settled()
	return nil
}

// disarmHooks removes every hook of a git directory but the samples, which git does not
// run. The removed ones are kept where the person can look at them.
func (g *guard) disarmHooks(dir string) error {
	if info, err := g.root.Lstat(dir); err == nil && !info.IsDir() {
		return g.quarantine(dir)
	}
	entries, err := fs.ReadDir(g.root.FS(), dir)
	if err != nil {
		return nil //nolint:nilerr // it was removed
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		if err := g.quarantine(path.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// disarmConfig reduces a configuration of git to its harmless lines, and keeps the
// original where the person can look at it.
func (g *guard) disarmConfig(name string) error {
	if info, err := g.root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return g.quarantine(name)
	}
	text := readSmall(g.root, name)
	harmless := harmlessConfig(text)
	if harmless == text {
		return nil
	}
	if err := g.quarantine(name); err != nil {
		return err
	}
	return g.root.WriteFile(name, []byte(harmless), 0o644)
}

// inside reports whether the path to, which is written in the file at name,
// leads to the workspace.
func (g *guard) inside(name, to string) bool {
	if !filepath.IsAbs(to) {
		to = filepath.Join(g.ws, path.Dir(name), to)
	}
	if real, err := filepath.EvalSymlinks(to); err == nil {
		to = real
	}
	return within(g.ws, filepath.Clean(to))
}

// harmlessConfig returns the lines of a git configuration that name no program
// and no other file. A line that it does not understand is left out.
func harmlessConfig(text string) string {
	var out strings.Builder
	eachSetting(text, func(_, line string, harmless bool) {
		if harmless {
			out.WriteString(line + "\n")
		}
	})
	return out.String()
}

// orders returns the settings that harmlessConfig leaves out, each with the
// heading of its section.
func orders(text string) (list []string) {
	eachSetting(text, func(section, line string, harmless bool) {
		if !harmless {
			list = append(list, section+" "+strings.TrimSpace(line))
		}
	})
	return list
}

// besideBranches returns the settings of a git configuration that are not of
// branches, and those that have a branch follow what is no remote by its name.
func besideBranches(text string) (list []string) {
	eachSetting(text, func(heading, line string, harmless bool) {
		line = strings.TrimSpace(line)
		branch := harmless && strings.HasPrefix(strings.ToLower(heading), "[branch ")
		_, value, _ := strings.Cut(line, "=")
		if line != "" && !(branch && (line[0] == '[' || !strings.ContainsAny(value, ":\\") &&
			!strings.HasPrefix(strings.Trim(value, ` "`), "/"))) {
			list = append(list, heading+" "+line)
		}
	})
	return list
}

// eachSetting calls do for the lines of a git configuration, with the heading
// above each, and whether the line is harmless.
func eachSetting(text string, do func(heading, line string, harmless bool)) {
	heading, section := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		trimmed := strings.TrimSpace(line)
		ok := true
		switch {
		case strings.HasPrefix(trimmed, "["):
			heading = trimmed
			end := strings.IndexByte(trimmed, ']')
			section = ""
			if ok = end == len(trimmed)-1; ok { // else there is something after it, or it does not end
				section = strings.ToLower(strings.Fields(trimmed[1:end] + " x")[0])
				ok = slices.Contains(harmlessSections, section)
			}
			if !ok {
				section = ""
			}
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		default:
			ok = section != "" && !strings.HasSuffix(trimmed, "\\") && harmlessLine(section, trimmed)
		}
		do(heading, line, ok)
	}
}

// harmlessSections are the sections that can have harmless keys.
var harmlessSections = []string{
	"core", "user", "remote", "branch", "init", "extensions", "submodule", "pull", "push",
}

// harmlessKeys are the keys, as SECTION.KEY in lower case, that git init and git
// clone write and that are only data.
var harmlessKeys = []string{
	"core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates",
	"core.ignorecase", "core.precomposeunicode", "core.symlinks", "core.autocrlf", "core.eol",
	"user.name", "user.email", "remote.url", "remote.fetch", "remote.pushurl", "remote.tagopt",
	"branch.remote", "branch.merge", "branch.rebase", "init.defaultbranch", "extensions.objectformat",
	"extensions.refstorage", "submodule.url", "submodule.active", "pull.rebase", "push.default",
}

// harmlessLine reports whether KEY = VALUE is harmless. A remote can be an order
// too: "ext::COMMAND" runs the command, also if quotes are within.
func harmlessLine(section, line string) bool {
	key, value, _ := strings.Cut(line, "=")
	key = section + "." + strings.ToLower(strings.TrimSpace(key))
	value = strings.TrimSpace(strings.ReplaceAll(value, `"`, ""))
	return slices.Contains(harmlessKeys, key) && !strings.Contains(value, "::") && !strings.HasPrefix(value, "-")
}

// gitConfig returns the configuration of git for commands: the name and the
// address of the person, from their own, and that the workspace may be trusted
// though its owner may differ.
func gitConfig() string {
	name, email := "OpenManus", "openmanus@localhost"
	if home, err := os.UserHomeDir(); err == nil {
		data, _ := os.ReadFile(filepath.Join(home, ".gitconfig")) // none: git uses the names above
		section := ""
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			key, value, _ := strings.Cut(line, "=")
			switch {
			case strings.HasPrefix(line, "["):
				section = strings.ToLower(line)
			case section == "[user]" && strings.EqualFold(strings.TrimSpace(key), "name"):
				name = gitValue(value, name)
			case section == "[user]" && strings.EqualFold(strings.TrimSpace(key), "email"):
				email = gitValue(value, email)
			}
		}
	}
	return fmt.Sprintf("[user]\n\tname = %q\n\temail = %q\n[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = "+
		"main\n[gc]\n\tauto = 0\n", name, email)
}

// gitValue returns a value as it is written in a configuration, or otherwise if
// it has to be quoted.
func gitValue(value, otherwise string) string {
	value = strings.Trim(strings.TrimSpace(value), `"`)
	if value == "" || strings.ContainsAny(value, "\"\\\n") {
		return otherwise
	}
	return value
}
