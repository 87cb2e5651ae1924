package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/regular"
)

// The folders with skills: in a workspace, and in the user's configuration.
var (
	workspaceSkills = []string{"skills", ".agents/skills", ".claude/skills"}
	userSkills      = []string{"skills"}
)

// A Team is the agents and skills that can be used in one workspace: those of
// the program, then the user's own, then the workspace's. A name that is taken
// stays with the one that comes first, except that a file of the user's replaces
// the instructions of a built-in agent: see [agents.File.Replaces].
type Team struct {
	Kinds    []agents.Kind
	Skills   []agents.Skill
	Problems []error // files that could not be read, or whose name is taken
}

// ReadTeam reads the team of the workspace dir for display. kinds are those of the
// program. For sessions there is [Host.Team].
func (e Env) ReadTeam(dir string, kinds []agents.Kind) *Team {
	return e.readTeam(dir, kinds, all)
}

// all is the filter of readTeam that leaves out nothing.
func all(files fs.FS) fs.FS { return files }

// readTeam is ReadTeam with those files of the workspace that only leaves.
func (e Env) readTeam(dir string, kinds []agents.Kind, only func(fs.FS) fs.FS) *Team {
	tm := &Team{Kinds: slices.Clip(kinds)}
	if user, err := config.UserDir("", e.lookup); err == nil {
		tm.add(user, "user", userSkills, all)
	}
	tm.add(dir, "workspace", workspaceSkills, only)
	return tm
}

// add adds the agents in dir/agents and the skills in the folders of dir. from is
// the [agents.File].From of the agents, only what leaves some files out. That dir does not exist is no problem.
func (tm *Team) add(dir, from string, folders []string, only func(fs.FS) fs.FS) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			tm.Problems = append(tm.Problems, err)
		}
		return
	}
	files := only(regular.FS(root))
	list, problems := agents.Files(files, from)
	for _, f := range list {
		f.Path = filepath.Join(dir, filepath.FromSlash(f.Path))
		i := slices.IndexFunc(tm.Kinds, func(k agents.Kind) bool { return k.Name == f.Name })
		if i >= 0 && from == "user" && tm.Kinds[i].File == nil && !tm.Kinds[i].Bare {
			tm.Kinds = slices.Clone(tm.Kinds)
			tm.Kinds[i] = f.Replaces(tm.Kinds[i])
			continue
		}
		if i >= 0 {
			problems = append(problems, fmt.Errorf("%s: there is another agent %q, which comes before it", f.Path, f.Name))
			continue
		}
		tm.Kinds = append(tm.Kinds, f.Kind())
	}
	skills, more := agents.Skills(files, filepath.ToSlash(dir), from, folders...)
	for _, s := range skills {
		if slices.ContainsFunc(tm.Skills, func(o agents.Skill) bool { return o.Name == s.Name }) {
			more = append(more, fmt.Errorf("%s: there is another skill %q, which comes before it", s.Dir, s.Name))
			continue
		}
		tm.Skills = append(tm.Skills, s)
	}
	tm.Problems = append(tm.Problems, slices.Concat(problems, more)...)
	if len(skills) == 0 {
		root.Close() // it was only read from
	} // else agents with skills read from it for as long as they exist; the finalizer of the root closes it
}

// Find returns the agent with the name.
func (tm *Team) Find(name string) (agents.Kind, bool) {
	for _, k := range tm.Kinds {
		if k.Name == name {
			return k, true
		}
	}
	return agents.Kind{}, false
}

// Names returns the names of the agents that users choose from, in the order in
// which they come before each other.
func (tm *Team) Names() []string {
	var names []string
	for _, k := range tm.Kinds {
		if !k.Hidden {
			names = append(names, k.Name)
		}
	}
	return names
}

// Choose returns the agent that a user has chosen by name. Hidden agents, which
// only flows use, cannot be chosen. The error lists those that can, and the files
// that could not be read: the name may be in one of them.
func (tm *Team) Choose(name string) (agents.Kind, error) {
	if k, ok := tm.Find(name); ok && !k.Hidden {
		if k.Refused != nil {
			return k, mistake(k.Refused)
		}
		return k, nil
	}
	return agents.Kind{}, tm.NoAgent(name)
}

// NoAgent is the error for a name that is no agent's. It lists the agents, and
// the files that could not be read.
func (tm *Team) NoAgent(name string) error {
	err := fmt.Errorf("there is no agent %q; there are %s", name, strings.Join(tm.Names(), ", "))
	for _, p := range tm.Problems {
		err = fmt.Errorf("%w\n%w", err, p)
	}
	return mistake(err)
}

// WarnOf warns of what could not be read of a team.
func (e Env) WarnOf(tm *Team) {
	for _, p := range tm.Problems {
		e.warnf("warning: %s", p)
	}
}
