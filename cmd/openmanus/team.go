package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
)

// The folders of a workspace, and of the user's configuration, that skills are
// in.
var (
	workspaceSkills = []string{"skills", ".agents/skills", ".claude/skills"}
	userSkills      = []string{"skills"}
)

// A team is the agents and the skills that there are in a workspace.
type team struct {
	kinds    []agents.Kind
	skills   []agents.Skill
	problems []error // what could not be read, or has a name that is taken
}

// newTeam reads what there is: built in, the user's own, and the workspace's,
// none of which takes the name of one before it.
func (t *terminal) newTeam(dir string) *team {
	tm := &team{kinds: agents.Kinds()}
	if user, err := config.UserDir("", t.env); err == nil {
		tm.add(user, "user", userSkills)
	}
	tm.add(dir, "workspace", workspaceSkills)
	return tm
}

func (tm *team) add(dir, from string, folders []string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			tm.problems = append(tm.problems, err)
		}
		return
	}
	files, problems := agents.Files(root.FS(), from)
	for _, f := range files {
		f.Path = filepath.Join(dir, filepath.FromSlash(f.Path))
		if _, taken := tm.find(f.Name); taken {
			problems = append(problems, fmt.Errorf("%s: there is another agent %q, which comes before it", f.Path, f.Name))
			continue
		}
		tm.kinds = append(tm.kinds, f.Kind())
	}
	skills, more := agents.Skills(root.FS(), filepath.ToSlash(dir), from, folders...)
	for _, s := range skills {
		if slices.ContainsFunc(tm.skills, func(o agents.Skill) bool { return o.Name == s.Name }) {
			more = append(more, fmt.Errorf("%s: there is another skill %q, which comes before it", s.Dir, s.Name))
			continue
		}
		tm.skills = append(tm.skills, s)
	}
	tm.problems = append(tm.problems, slices.Concat(problems, more)...)
	if len(skills) == 0 {
		root.Close() // of what was only read
	} // else it is closed when nothing reads its files any more: skills do, for as long as an agent has them
}

func (tm *team) find(name string) (agents.Kind, bool) {
	for _, k := range tm.kinds {
		if k.Name == name {
			return k, true
		}
	}
	return agents.Kind{}, false
}

// names are those of the agents that people choose.
func (tm *team) names() []string {
	var names []string
	for _, k := range tm.kinds {
		if !k.Hidden {
			names = append(names, k.Name)
		}
	}
	return names
}

// noAgent is the error for an agent that there is none of.
func (tm *team) noAgent(name string) error {
	err := fmt.Errorf("there is no agent %q; there is %s", name, strings.Join(tm.names(), ", "))
	for _, p := range tm.problems {
		err = fmt.Errorf("%w\n%w", err, p)
	}
	return usage(err)
}

// warn says what of the team could not be read.
func (t *terminal) warn(tm *team) {
	for _, p := range tm.problems {
		fmt.Fprintf(t.err, "openmanus: warning: %s\n", plain(p.Error()))
	}
}

// strictness is the order of the approval modes.
var strictness = []string{openmanus.ApproveReadOnly, openmanus.ApproveAsk, openmanus.ApproveEdits, openmanus.ApproveAll}

// stricter is the mode of the two that lets less be done.
func stricter(a, b string) string {
	i, j := slices.Index(strictness, a), slices.Index(strictness, b)
	if i < 0 || j >= 0 && j < i {
		return b
	}
	return a
}
