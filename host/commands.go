package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/regular"
)

// Commands returns the commands that a person can use in the workspace dir: their own,
// and those of the workspace whose content they have vouched for (openmanus trust),
// because a command speaks in their name. A name that is taken stays with the first. The
// problems are about files that cannot be used, those of others among them.
func (h *Host) Commands(dir string) (commands []*agents.Command, problems []error) {
	commands, problems = h.OwnCommands()
	in, err := readInstructions(h.Config, dir, h.originOf(dir))
	if err != nil {
		return commands, append(problems, err)
	}
	unread := in.unvouched()
	for _, name := range slices.Sorted(maps.Keys(in.files)) {
		if !strings.HasPrefix(name, commandFolder) {
			continue
		}
		c, err := agents.ParseCommand(name, []byte(in.files[name])) // the content that the user trusted; the file may have changed since
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		case slices.Contains(unread, name):
			problems = append(problems, fmt.Errorf("%s of the workspace may have been written by anyone, so /%s is left out; to read and accept it: openmanus trust %s",
				name, c.Name, dir))
		case slices.ContainsFunc(commands, func(o *agents.Command) bool { return o.Name == c.Name }):
			problems = append(problems, fmt.Errorf("%s: there is another command /%s, which comes before it", name, c.Name))
		default:
			c.Path, c.From = filepath.Join(dir, filepath.FromSlash(name)), "workspace"
			commands = append(commands, c)
		}
	}
	return commands, problems
}

// OwnCommands returns the commands in the user's configuration, as [Host.Commands] does.
func (e Env) OwnCommands() (commands []*agents.Command, problems []error) {
	user, err := config.UserDir("", e.lookup)
	if err != nil {
		return nil, nil // without a home there are none
	}
	root, err := os.OpenRoot(user)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, []error{err}
	}
	defer root.Close()
	commands, problems = agents.Commands(regular.FS(root), "user")
	for _, c := range commands {
		c.Path = filepath.Join(user, filepath.FromSlash(c.Path))
	}
	return commands, problems
}

// commandFolder is where a workspace has commands.
const commandFolder = "commands/"
